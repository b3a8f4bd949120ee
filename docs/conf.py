"""Sphinx configuration: `sphinx-build -W -b html docs docs/_build`."""

import hitrate_adapters

project = "hitrate_adapters"
author = "The hitrate_adapters authors"
copyright = "2026, the hitrate_adapters authors"  # noqa: A001
version = release = hitrate_adapters.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
# Frameworks whose extras are not part of `all`.
autodoc_mock_imports = ["deepeval", "haystack", "inspect_ai", "mlflow", "phoenix", "pydantic_evals", "trulens"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"

html_theme = "furo"
html_title = f"hitrate_adapters {version}"
