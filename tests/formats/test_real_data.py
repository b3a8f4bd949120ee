"""Real golden sets, runs and corpora are read; the figures were counted by a loop over sets."""

import os
from pathlib import Path

import pytest

import hitrate_adapters as hr

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
HITS = {
    "cranfield": {
        "bm25": (72, 159, 176, 194, 209),
        "minilm": (79, 159, 178, 195, 206),
        "hybrid": (87, 169, 184, 202, 212),
        "bm25_split": (72, 145, 162, 178, 201),
    },
    "code_chunks": {
        "bm25": (103, 150, 170, 201, 214),
        "minilm": (109, 162, 176, 189, 208),
        "hybrid": (132, 179, 196, 216, 231),
        "bm25_split": (26, 45, 56, 70, 79),
    },
}
"""Set -> run -> how many queries are hit at 1, 3, 5, 10 and 20."""


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
@pytest.mark.parametrize(("name", "n"), [("cranfield", 225), ("code_chunks", 248)])
def test_real_runs(name, n):
    folder = Path(os.environ["HITRATE_TEST_DATA"], name)
    qrels, queries, corpus = (
        hr.read_qrels(folder / "qrels.jsonl"),
        hr.read_texts(folder / "queries.jsonl"),
        hr.read_texts(folder / "corpus.jsonl"),
    )
    assert qrels.keys() <= queries.keys()
    assert {item for items in qrels.values() for item in items} <= corpus.keys()
    for run, hits in HITS[name].items():
        evaluation = hr.evaluate(qrels, hr.read_run(folder / "runs" / f"{run}.jsonl"))
        assert tuple(round(n * evaluation.hit_rate(k)) for k in (1, 3, 5, 10, 20)) == hits


def test_the_handbook():
    qrels = hr.read_qrels(HANDBOOK / "qrels.jsonl")
    assert qrels["q06"] == {"fog-alder": 2, "fog-brent": 1}
    assert qrels.keys() <= hr.read_texts(HANDBOOK / "queries.jsonl").keys()
    assert hr.read_texts(HANDBOOK / "corpus.jsonl")["wind-alder"].startswith("The Alder may sail in a mean wind")
