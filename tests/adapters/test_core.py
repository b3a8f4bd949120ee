"""The core's own way through the conformance table."""

import warnings

from hitrate_adapters import Metric, evaluate


def drive(case):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no relevant (id|text|item) was ever retrieved")  # the case wants that
        evaluation = evaluate(case.relevant, case.retrieved, match=case.match, unique=case.unique)
    return {
        spec: {query: Metric.parse(spec)(evaluation[query]) if query in evaluation else None for query in case.relevant}
        for spec in case.expect
    }


def build(*, k, theta=None, match=None):
    Metric("hit_rate", k, theta)
    return evaluate({"q": ["a"]}, {"q": ["a"]}, match=match)
