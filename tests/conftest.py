"""What all tests share: nothing is sent anywhere, and the run says which adapters it tested."""

import os
import re
from collections import Counter
from importlib.util import find_spec

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before litellm is imported
os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before ragas is imported
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"

ALONE = {"deepeval": "deepeval"}
"""Adapter -> the framework that is installed in an environment of its own; elsewhere its tests are not collected."""

collect_ignore = [f"adapters/test_{adapter}.py" for adapter, name in ALONE.items() if find_spec(name) is None]

CONFORMANCE = re.compile(r"test_conformance\.py::test_case\[(\w+)-")
passed = Counter()


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and (case := CONFORMANCE.search(report.nodeid)):
        passed[case[1]] += 1


def pytest_terminal_summary(terminalreporter):
    if passed:
        terminalreporter.line("conformance: " + " ".join(f"{adapter}={n}" for adapter, n in passed.items()))
