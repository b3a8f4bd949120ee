"""An absent framework gives advice, and every other failure to import passes as it is."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from hitrate_adapters._extras import extra

ROOT = Path(__file__).parents[1]
CURES = {"oldhelper": "pip install 'oldhelper<2'"}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Give a function that makes a package importable until the test ends."""
    monkeypatch.syspath_prepend(tmp_path)
    installed = []

    def install(name, code=""):
        installed.append(name)
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(code, encoding="utf-8")

    yield install
    for name in installed:
        sys.modules.pop(name, None)


def test_what_can_be_imported_is():
    with extra("ragas", "json"):
        assert import_module("json")


def test_an_absent_package_gives_the_advice_with_the_extra():
    with (
        pytest.raises(
            ImportError, match=r"^absent_thing is not installed: pip install 'hitrate-adapters\[some-extra\]'$"
        ),
        extra("some-extra", "absent_thing"),
    ):
        import_module("absent_thing")


def test_a_module_of_an_absent_package_gives_the_advice_too():
    with pytest.raises(ImportError, match="absent_thing is not installed"), extra("some-extra", "absent_thing"):
        from absent_thing.parts import part  # noqa: F401


def test_the_advice_keeps_the_name_and_the_cause():
    with pytest.raises(ImportError) as caught, extra("some-extra", "absent_thing"):
        import_module("absent_thing")
    assert caught.value.name == "absent_thing"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_an_absent_module_of_a_package_that_is_there_passes(install):
    install("framework")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'framework.parts'$"), extra("x", "framework"):
        import_module("framework.parts")


def test_an_absent_dependency_of_the_package_passes(install):
    install("framework", "import absent_helper")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'absent_helper'$"), extra("x", "framework"):
        import_module("framework")


def test_a_name_that_the_package_lacks_passes(install):
    install("framework")
    with pytest.raises(ImportError, match=r"^cannot import name 'part' from 'framework'"), extra("x", "framework"):
        from framework import part  # noqa: F401


def test_an_import_error_of_the_packages_own_passes(install):
    install("framework", "raise ImportError('no GPU')")
    with pytest.raises(ImportError, match=r"^no GPU$"), extra("x", "framework"):
        import_module("framework")


def test_any_other_error_passes(install):
    install("framework", "1 / 0")
    with pytest.raises(ZeroDivisionError), extra("x", "framework", CURES):
        import_module("framework")


def test_a_known_culprit_gives_its_cure(install):
    install("oldhelper")
    install("framework", "import oldhelper.removed")
    with (
        pytest.raises(
            ImportError, match=r"framework is installed but .*'oldhelper.removed'.* pip install 'oldhelper<2'$"
        ),
        extra("x", "framework", CURES),
    ):
        import_module("framework")


def test_a_known_culprit_that_lacks_a_name_gives_its_cure(install):
    install("oldhelper")
    install("framework", "from oldhelper import removed")
    with pytest.raises(ImportError, match=r"The cure: pip install 'oldhelper<2'$"), extra("x", "framework", CURES):
        import_module("framework")


def test_the_cure_keeps_the_cause(install):
    install("framework", "import oldhelper")
    with pytest.raises(ImportError) as caught, extra("x", "framework", CURES):
        import_module("framework")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_another_culprit_gives_no_cure(install):
    install("framework", "import absent_helper")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'absent_helper'$"), extra("x", "framework", CURES):
        import_module("framework")


@pytest.mark.parametrize(
    ("adapter", "name"),
    [("langchain", "langchain"), ("langsmith", "langsmith"), ("llama_index", "llama-index"), ("ragas", "ragas")],
)
def test_every_adapter_without_its_framework_gives_the_advice(adapter, name):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import hitrate_adapters.{adapter}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(f"is not installed: pip install 'hitrate-adapters[{name}]'")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert name in extras
