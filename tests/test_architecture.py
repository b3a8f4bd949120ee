"""The shape of the package: what may import what, what an import costs, and what library code must not hold."""

import ast
import gc
import json
import re
import subprocess
import sys
import types
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

import hitrate_adapters

PACKAGE = Path(__file__).parents[1] / "hitrate_adapters"
CORE = sorted(path.stem for path in (PACKAGE / "core").glob("[!_]*.py"))
FORMATS = sorted((PACKAGE / "formats").glob("*.py"))
ADAPTERS = {
    path.stem: sorted(path.rglob("*.py")) or [path]
    for path in sorted(PACKAGE.glob("[!_]*"))
    if path.name not in ("core", "formats", "py.typed")
}
"""Adapter -> its files: a module is one, a package has several."""

LAYERS = [
    {"matching"},
    {"items"},
    {"records", "spans", "drift"},
    {"metrics", "intervals", "correlation", "significance"},
    {"display", "retrieval", "scores", "scoring"},
    {"answers", "curve", "segments"},
    {"comparison"},
    {"evaluation"},
    {"causes", "labels", "leaderboard", "sound"},
    {"diagnosis"},
]
"""A module of the core imports from earlier layers only."""

FRAMEWORKS = {
    "futureagi": "fi",
    "cli": "typer",
    "deepeval": "deepeval",
    "pydantic_evals": "pydantic_evals",
    "haystack": "haystack",
    "inspect_ai": "inspect_ai",
    "phoenix": "phoenix",
    "pytest_plugin": "pytest",
    "langchain": "langchain_core",
    "langsmith": "langsmith",
    "llama_index": "llama_index",
    "ragas": "ragas",
    "mlflow": "mlflow",
    "trulens": "trulens",
}
"""Adapter -> the one framework that it imports."""

COMPANIONS = {
    "cli": {"rich"},
    "inspect_ai": {"pydantic_core"},
    "langchain": {"tqdm"},
    "llama_index": {"pandas", "pydantic"},
    "phoenix": {"pandas"},
    "pydantic_evals": {"pydantic"},
    "ragas": {"pandas"},
    "trulens": {"pandas"},
}
"""Adapter -> what else it may import: dependencies of its framework, or what is imported when asked for."""


@pytest.fixture(scope="module", autouse=True)
def no_garbage():
    """Collect what tests left: a task that is collected inside `ast.parse` can break it (python/cpython#106905)."""
    gc.collect()


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path, *, for_typing=True):
    """Return the dotted name of everything that a module imports, relative names made absolute."""
    package = ("hitrate_adapters", *path.relative_to(PACKAGE).parent.parts)
    nodes = set(ast.walk(parse(path)))
    if not for_typing:
        blocks = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        nodes -= {inner for block in blocks for inner in ast.walk(block)}
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            found |= {".".join([*base, *filter(None, [node.module]), alias.name]) for alias in node.names}
    return found


def tops(path):
    return {name.partition(".")[0] for name in imports(path)}


def isolated(code, *options):
    """Run code in a Python that sees the standard library and this package alone."""
    command = [
        sys.executable,
        "-I",
        "-S",
        *options,
        "-c",
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); {code}",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True)


# Who imports whom


def test_every_module_of_the_core_has_a_layer():
    assert sorted(set().union(*LAYERS)) == CORE


@pytest.mark.parametrize("module", CORE)
def test_a_module_of_the_core_imports_earlier_layers_only(module):
    below = set().union(*LAYERS[: next(at for at, layer in enumerate(LAYERS) if module in layer)])
    allowed = {f"hitrate_adapters.core.{name}" for name in below}
    names = imports(PACKAGE / "core" / f"{module}.py", for_typing=False)
    own = {".".join(name.split(".")[:3]) for name in names if name.startswith("hitrate_adapters")}
    assert own <= allowed


@pytest.mark.parametrize("module", CORE)
def test_the_core_imports_the_standard_library_and_itself(module):
    assert tops(PACKAGE / "core" / f"{module}.py") <= {"hitrate_adapters", *sys.stdlib_module_names}


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_formats_import_the_standard_library_the_core_and_pyarrow_for_parquet(path):
    own = {".".join(name.split(".")[1:2]) for name in imports(path) if name.startswith("hitrate_adapters.")}
    assert own <= {"core", "formats", "_extras", "__version__"}
    third_party = tops(path) - {"hitrate_adapters", *sys.stdlib_module_names}
    assert third_party == ({"pyarrow"} if path.name == "parquet.py" else set())


def test_nothing_of_the_core_imports_the_formats():
    for module in CORE:
        assert not [name for name in imports(PACKAGE / "core" / f"{module}.py") if ".formats" in name]


def test_every_adapter_has_a_framework():
    assert FRAMEWORKS.keys() == ADAPTERS.keys()


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_imports_its_own_framework(adapter):
    third_party = set().union(*map(tops, ADAPTERS[adapter])) - {"hitrate_adapters", *sys.stdlib_module_names}
    assert {FRAMEWORKS[adapter]} <= third_party <= {FRAMEWORKS[adapter], *COMPANIONS.get(adapter, ())}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_imports_an_adapter_but_its_own_modules(path):
    if path.name == "__main__.py":
        return  # the command's
    others = {f"hitrate_adapters.{adapter}" for adapter, files in ADAPTERS.items() if path not in files}
    assert not [name for name in imports(path) if ".".join(name.split(".")[:2]) in others]


def test_what_adapters_share_imports_no_framework():
    for path in PACKAGE.glob("_*.py"):
        assert tops(path) <= {"hitrate_adapters", *sys.stdlib_module_names}


# What an import loads and costs


def test_importing_the_package_loads_the_standard_library_alone():
    loaded = json.loads(isolated("import json, hitrate_adapters; print(json.dumps(list(sys.modules)))").stdout)
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - {"__main__"} == {"hitrate_adapters"}


def test_importing_the_package_loads_its_core_alone():
    loaded = json.loads(isolated("import json, hitrate_adapters; print(json.dumps(list(sys.modules)))").stdout)
    own = [name for name in loaded if name.startswith("hitrate_adapters.")]
    assert {name.split(".")[1] for name in own} == {"core"}


def test_importing_the_package_costs_at_most_twice_an_import_of_dataclasses():
    def ratio():
        report = isolated("import dataclasses, hitrate_adapters", "-X", "importtime").stderr
        costs = re.findall(r"(\d+) \| (?:dataclasses|hitrate_adapters)$", report, re.MULTILINE)
        theirs, rest = map(int, costs)
        return (theirs + rest) / theirs

    assert median(ratio() for _ in range(9)) <= 2


# What the package says of itself


def test_all_is_exactly_the_public_names():
    names = {name for name, thing in vars(hitrate_adapters).items() if not isinstance(thing, types.ModuleType)}
    names = {name for name in names if not name.startswith("_")} - {"TYPE_CHECKING"}
    assert names | set(hitrate_adapters._LATER) == set(hitrate_adapters.__all__) == set(dir(hitrate_adapters))


def test_every_name_that_is_imported_later_is_there():
    for name, module in hitrate_adapters._LATER.items():
        home = module if module.startswith(".") else f".core.{module}"
        assert getattr(hitrate_adapters, name).__module__ == f"hitrate_adapters{home}"


def test_a_name_that_is_nowhere_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'hitrate_adapters' has no attribute 'spam'"):
        _ = hitrate_adapters.spam


def test_all_is_sorted_with_constants_first_then_classes():
    def place(name):
        return (not name.isupper(), not name[0].isupper(), name)

    assert hitrate_adapters.__all__ == sorted(hitrate_adapters.__all__, key=place)


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()


# What library code must not hold


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_library_code_has_no_assert(path):
    assert not [node.lineno for node in ast.walk(parse(path)) if isinstance(node, ast.Assert)]


@pytest.mark.parametrize("module", CORE)
def test_the_core_does_not_log_or_print(module):
    path = PACKAGE / "core" / f"{module}.py"
    assert "logging" not in tops(path)
    assert not [node for node in ast.walk(parse(path)) if isinstance(node, ast.Name) and node.id == "print"]


@pytest.mark.parametrize("path", [*chain(*ADAPTERS.values())], ids=lambda path: str(path.relative_to(PACKAGE)))
def test_an_adapter_holds_no_arithmetic(path):
    cores = {name.rpartition(".")[2] for name in imports(path) if name.startswith("hitrate_adapters.core.")}
    banned = {"sum", "fsum", "mean", "fmean", "average"}
    found = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div | ast.FloorDiv):
            found.append(f"line {node.lineno}: a division")
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", None)
            method = getattr(node.func, "attr", None)
            if (name in banned and name not in cores) or method in banned:
                found.append(f"line {node.lineno}: a call of {name or method}")
    assert not found, f"{path} computes: move it to the core: {found}"
