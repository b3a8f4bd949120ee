"""What all tests share: nothing is sent anywhere, and the run says which adapters it tested."""

import os
import re
from collections import Counter
from importlib.util import find_spec
from itertools import chain

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before litellm is imported
os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before ragas is imported
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # before haystack is imported

ALONE = ("deepeval", "haystack", "mlflow", "pydantic_evals", "trulens")
"""Adapters whose framework, of the same name, may be absent: then their doctests and tests are not collected."""

CONFORMANCE = re.compile(r"test_conformance\.py::test_case\[(\w+)-")
passed = Counter()


def pytest_configure(config):
    root = config.rootpath
    absent = [adapter for adapter in ALONE if find_spec(adapter) is None]
    paths = [[root / f"hitrate_adapters/{name}.py", root / f"tests/adapters/test_{name}.py"] for name in absent]
    config.option.ignore = [*(config.option.ignore or ()), *map(str, chain(*paths))]


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and (case := CONFORMANCE.search(report.nodeid)):
        passed[case[1]] += 1


def pytest_terminal_summary(terminalreporter):
    if passed:
        terminalreporter.line("conformance: " + " ".join(f"{adapter}={n}" for adapter, n in passed.items()))
