"""Every adapter passes the one table of cases, through its framework's own runner."""

import gc
import importlib

import pytest

from tests.adapters.cases import BAD_CONFIGURATIONS, CASES

FRAMEWORKS = {
    "core": "hitrate_adapters",
    "llama_index": "llama_index.core",
    "langchain": "langchain_core",
    "langsmith": "langsmith",
    "ragas": "ragas",
    "futureagi": "hitrate_adapters",
    "scorer": "hitrate_adapters",
    "scorer_braintrust": "braintrust",
    "futureagi_sdk": "fi",
    "deepeval": "deepeval",
    "pydantic_evals": "pydantic_evals",
    "haystack": "haystack",
    "inspect_ai": "inspect_ai",
    "phoenix": "phoenix",
    "mlflow": "mlflow",
    "trulens": "trulens",
}
"""Adapter -> the import name of its framework; where that is absent its cases are skipped (and CI fails)."""


@pytest.fixture(params=FRAMEWORKS, scope="module")
def adapter(request):
    pytest.importorskip(FRAMEWORKS[request.param].partition(".")[0])
    gc.collect()  # of what earlier tests left, a task that is collected while a module is parsed can break that
    return importlib.import_module(f"tests.adapters.test_{request.param}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(adapter, case):
    assert adapter.drive(case) == {
        metric: {query: None if value is None else pytest.approx(value, abs=1e-12) for query, value in values.items()}
        for metric, values in case.expect.items()
    }


@pytest.mark.parametrize(("configuration", "error", "word"), BAD_CONFIGURATIONS, ids=str)
def test_bad_configuration(adapter, configuration, error, word):
    with pytest.raises(error, match=word.replace(".", r"\.")):
        adapter.build(**configuration)
