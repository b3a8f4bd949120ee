"""What all tests share: nothing is sent anywhere, and the run says which adapters it tested."""

import os
import re
from collections import Counter
from importlib.util import find_spec

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before litellm is imported
os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before ragas is imported
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # before mlflow is imported
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # before haystack is imported

pytest_plugins = ["pytester"]  # for tests of our own plugin

FRAMEWORKS = {
    "braintrust": "scorer_braintrust",
    "deepeval": "deepeval",
    "fi": "futureagi_sdk",
    "haystack": "haystack",
    "inspect_ai": "inspect_ai",
    "phoenix": "phoenix",
    "langchain_core": "langchain",
    "langsmith": "langsmith",
    "llama_index": "llama_index",
    "mlflow": "mlflow",
    "pyarrow": "formats/parquet",
    "typer": "cli",
    "pydantic_evals": "pydantic_evals",
    "ragas": "ragas",
    "trulens": "trulens",
}
"""Import name of a package -> the module whose doctests and tests are not collected where it is absent."""

CONFORMANCE = re.compile(r"test_conformance\.py::test_case\[(\w+)-")
passed = Counter()


def pytest_configure(config):
    root = config.rootpath
    for framework, adapter in FRAMEWORKS.items():
        if find_spec(framework) is None:
            paths = [*root.glob(f"hitrate_adapters/{adapter}*"), *root.glob(f"tests/adapters/test_{adapter}*.py")]
            config.option.ignore = [*(config.option.ignore or ()), *map(str, paths)]


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and (case := CONFORMANCE.search(report.nodeid)):
        passed[case[1]] += 1


def pytest_terminal_summary(terminalreporter):
    if passed:
        terminalreporter.line("conformance: " + " ".join(f"{adapter}={n}" for adapter, n in passed.items()))
