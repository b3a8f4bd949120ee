"""Every code block of README.md and docs/ runs, and prints what it says it prints.

The blocks of a page run in order in one namespace, in a directory of their own. A `python` block is a program, or a
session where it has `>>>`. What a page needs but a reader does not stands in an HTML comment that begins with `run`.
"""

import ast
import doctest
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^(?:```python\n(?P<shown>.*?)^```|<!-- run\n(?P<hidden>.*?)^-->)", re.DOTALL | re.MULTILINE)
NEEDS = {
    "llama_index": "llama_index",
    "langchain": "langchain_core",
    "langsmith": "langsmith",
    "ragas": "ragas",
    "mlflow": "mlflow",
    "trulens": "trulens",
    "deepeval": "deepeval",
    "recipes": "autoevals braintrust langfuse langwatch opik weave",
    "pydantic_evals": "pydantic_evals",
    "haystack": "haystack",
    "inspect_ai": "inspect_ai",
    "phoenix": "phoenix",
    "files": "pandas pyarrow",
}


NO_FRAMEWORK = {"all", "cli", "parquet", "examples", "test", "lint", "bench", "docs"}
"""Extras that are no framework's."""


def test_python_blocks_have_no_other_name():
    for page in PAGES:
        fences = re.findall(r"^\s*```(\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not {"py", "pycon", "python3"} & set(fences), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for package in NEEDS.get(page.stem, "").split():
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{page.name} needs {package}")
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        code = block["shown"] or block["hidden"]
        line = text.count("\n", 0, block.start()) + 1
        if ">>> " in code:
            session = doctest.DocTestParser().get_doctest(code, namespace, page.name, str(page), line)
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            runner = doctest.DocTestRunner(optionflags=flags)
            report = []
            runner.run(session, out=report.append, clear_globs=False)
            assert not runner.failures, "".join(report)
            namespace.update(session.globs)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), namespace)  # noqa: S102


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "hitrate_adapters").rglob("*.py")) if path.parent.name not in ("core", "formats")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_api_names_all_that_is_public(path):
    listed = re.search(r"^__all__ = (\[.*?\])", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = [] if listed is None or module == "hitrate_adapters.cli" else ast.literal_eval(listed[1])
    assert [name for name in names if not re.search(rf"{re.escape(module)}\.{name}\b", text)] == []


def test_comparison_names_every_floor():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    named, last = {}, ""
    for extra, packages, floor in re.findall(r"^\| (?:`(.+?)` )?\| (.+?) \| ([\d.]+) \| ", text, re.MULTILINE):
        last = extra or last  # an empty cell is as the one above
        named.setdefault(last, []).extend(f"{each}>={floor}" for each in packages.partition(", but")[0].split(", "))
    floors = {
        extra: [package.partition(",")[0] for package in packages]
        for extra, packages in extras.items()
        if extra not in NO_FRAMEWORK
    }
    floors["ragas"] = floors["ragas"][:1]  # and what RAGAS needs
    assert named == floors
