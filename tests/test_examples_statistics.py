"""The example that compares saved runs, on small files and on real ones, and the tables of docs/statistics.md."""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

import hitrate_adapters as hr
from hitrate_adapters.core.intervals import wilson

EXAMPLES = Path(__file__).parents[1] / "examples"


PAGE = EXAMPLES.parent / "docs" / "statistics.md"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("compare_runs")
    sys.path.remove(str(EXAMPLES))


@pytest.fixture
def folder(tmp_path):
    """Return a folder of 40 queries and two runs."""
    runs = {"new": [["gold"] if query % 9 else [] for query in range(40)], "old": [["gold"]] * 20 + [["other"]] * 20}
    (tmp_path / "runs").mkdir()
    files = {"qrels.jsonl": ("relevant", [["gold"]] * 40)}
    files |= {f"runs/{name}.jsonl": ("retrieved", rankings) for name, rankings in runs.items()}
    for name, (field, items) in files.items():
        lines = [json.dumps({"query_id": str(query), field: each}) for query, each in enumerate(items)]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_table_of_intervals():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for n in (20, 50, 100, 200, 500, 1000, 5000):
        cells = ["{:.3f} - {:.3f}".format(*wilson(round(share * n), n)) for share in (0.5, 0.8, 0.9)]
        assert f"| {n:,} | {' | '.join(cells)} |" in lines


def test_table_of_sample_sizes():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for delta in (0.1, 0.05, 0.03, 0.02, 0.01):
        shares = [share if share is None or share >= delta else delta for share in (0.05, 0.1, 0.2, 0.3, None)]
        sizes = [hr.sample_size(p=0.8, delta=delta, discordant=share) for share in shares]
        line = f"| {delta:.2f} | {' | '.join(f'{size:,}' for size in sizes)} |"
        assert (line if delta <= 0.05 else line.replace("| 97 | 97 ", "| | 97 ")) in lines


def test_short():
    assert len((EXAMPLES / "compare_runs.py").read_text(encoding="utf-8").splitlines()) < 60


def test_two_runs(script, folder, capsys):
    script.main([str(folder), "new", "old"])
    printed = capsys.readouterr().out
    assert "hit_rate@5: +0.375 [0.161, 0.553], p = 0.0015; 18 won, 3 lost, n = 40: better\n" in printed
    assert "95.0% of the queries are hit by either, 42.5% by both\n" in printed


def test_no_such_run(script, folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        script.main([str(folder), "new", "older"])
    assert "has the runs new, old" in capsys.readouterr().err


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "code_chunks",
            [
                "hybrid 0.790 [0.735, 0.836] best",
                "minilm 0.710 [0.650, 0.763] -0.081 [-0.130, -0.030] 0.0022 10 30 worse",
                "hit_rate@5: +0.105 [0.050, 0.158], p < 0.001; 37 won, 11 lost, n = 248: better",
                "83.5% of the queries are hit by either, 64.1% by both",
                "248 queries show a difference of 0.082 in 80 % of trials",
                "to show a difference of 0.050 takes 646, where 19.4% of the queries differ",
            ],
        ),
        (
            "cranfield",
            [
                "minilm 0.791 [0.733, 0.839] -0.027 [-0.070, 0.017] 0.31 9 15 cannot be resolved at this size",
                "recall@5 0.299 0.327 +0.028 [0.010, 0.045] 0.0014 0.0042 67 28 better",
                "hit_rate@5 0.782 0.818 +0.036 [-0.007, 0.077] 0.13 0.13 15 7 cannot be resolved at this size",
                "84.9% of the queries are hit by either, 75.1% by both",
                "to show a difference of 0.050 takes 345, where 9.8% of the queries differ",
            ],
        ),
    ],
)
def test_hybrid_against_bm25_on_real_data(script, capsys, name, lines):
    script.main([str(Path(os.environ["HITRATE_TEST_DATA"], name)), "hybrid", "bm25"])
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for line in lines:
        assert line in printed
