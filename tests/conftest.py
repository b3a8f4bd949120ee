"""What all tests share: nothing is sent anywhere, and the run says which adapters it tested."""

import os
import re
from collections import Counter

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # before litellm is imported
os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # before ragas is imported
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"

CONFORMANCE = re.compile(r"test_conformance\.py::test_case\[(\w+)-")
passed = Counter()


def pytest_runtest_logreport(report):
    if report.when == "call" and report.passed and (case := CONFORMANCE.search(report.nodeid)):
        passed[case[1]] += 1


def pytest_terminal_summary(terminalreporter):
    if passed:
        terminalreporter.line("conformance: " + " ".join(f"{adapter}={n}" for adapter, n in passed.items()))
