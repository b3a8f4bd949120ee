"""The `hitrate` command: what it prints, where, and how it ends."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import hitrate_adapters as hr

pytest.importorskip("typer", minversion="0.26")  # a framework may bring an older one

from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hitrate_adapters.cli.commands import app
from hitrate_adapters.cli.inputs import evaluated
from hitrate_adapters.cli.options import Reading

COMMAND = [sys.executable, "-m", "hitrate_adapters"]
DOCS = Path(__file__).parents[1] / "docs" / "cli.md"

GOLD = {f"q{n}": ["gold"] for n in range(100)}


def found_at(*ranks):
    """Return a run in which query n finds what is relevant at ranks[n]; 0 is nowhere."""
    return {
        f"q{n}": [f"other-{at}" for at in range(rank - 1)] + ["gold"] if rank else ["x"] for n, rank in enumerate(ranks)
    }


RUNS = {
    "good": found_at(*[1] * 60, *[3] * 30, *[0] * 10),
    "alike": found_at(*[1] * 60, *[3] * 28, *[0] * 10, *[2] * 2),
    "better": found_at(*[1] * 98, *[0] * 2),
    "broken": found_at(*[1] * 20, *[0] * 80),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with gold.jsonl and each of the runs."""
    monkeypatch.chdir(tmp_path)
    hr.write_qrels(GOLD, "gold.jsonl")
    for name, run in RUNS.items():
        hr.write_run(run, f"{name}.jsonl")
    return tmp_path


@pytest.fixture
def hitrate(folder):  # noqa: ARG001 - where it is called
    """Return a function that runs the command and gives exit code, stdout and stderr."""

    def run(line):
        done = CliRunner().invoke(app, shlex.split(line), prog_name="hitrate")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run


def ran(*arguments, **options):
    """Run the command in a process of its own."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, check=False, **options)


# eval


def test_eval_prints_every_metric_at_every_cutoff_with_intervals(hitrate):
    code, out, err = hitrate("eval gold.jsonl good.jsonl")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["@1", "@3", "@5", "@10"]
    assert lines[1].split() == ["hit_rate", "0.600", "0.900", "0.900", "0.900"]
    assert lines[2].split()[:2] == ["[0.502,", "0.691]"]
    assert [line.split()[0] for line in lines[1:12:2]] == ["hit_rate", "recall", "precision", "mrr", "map", "ndcg"]
    assert lines[-1] == "100 queries scored; in brackets, 95 % intervals"
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line != line.rstrip()]


def test_few_cutoffs_have_their_intervals_beside_them(hitrate):
    _, out, _ = hitrate("eval gold.jsonl good.jsonl -k 3,1 -m hit_rate")
    assert out.splitlines()[:2] == [
        "                            @1                    @3",
        "hit_rate  0.600 [0.502, 0.691]  0.900 [0.826, 0.945]",
    ]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("-k 5,1 -m hit_rate,mrr", ["hit_rate@5", "hit_rate@1", "mrr@5", "mrr@1"]),
        ("-k 5 -k 1 -m hit_rate -m mrr", ["hit_rate@5", "hit_rate@1", "mrr@5", "mrr@1"]),
        ("-k all -m hit_rate", ["hit_rate"]),
        ("-k 5 -m 'mrr@10,hit_rate>=0.5'", ["mrr@10", "hit_rate@5>=0.5"]),
        ("--k 5 --metric success", ["hit_rate@5"]),
    ],
)
def test_metrics_and_cutoffs(hitrate, options, names):
    code, out, _ = hitrate(f"eval gold.jsonl good.jsonl {options} --format json")
    assert code == 0
    assert [row["metric"] for row in json.loads(out)["scores"]] == names


def test_json_has_everything_unrounded(hitrate, folder):
    (folder / "gold.jsonl").write_text(
        '{"query_id": "q1", "relevant": ["a"]}\n{"query_id": "q2", "relevant": []}\n'
        '{"query_id": "q3", "relevant": ["b"]}\n'
        '{"query_id": "q5", "relevant": ["b"]}\n'
    )
    (folder / "run.jsonl").write_text(
        '{"query_id": "q1", "retrieved": ["a"]}\n{"query_id": "q3", "error": "TimeoutError: late"}\n'
        '{"query_id": "q4", "retrieved": ["a"]}\n'
    )
    code, out, err = hitrate("eval gold.jsonl run.jsonl -k 1 -m hit_rate -f json")
    found = json.loads(out)
    assert code == 0
    assert found["scores"] == [
        {
            "metric": "hit_rate@1",
            "value": 1 / 3,
            "low": pytest.approx(0.061492, abs=1e-6),
            "high": pytest.approx(0.792340, abs=1e-6),
            "n": 3,
        }
    ]
    assert (found["queries"], found["unscored"], found["missing"]) == (3, ["q2", "q4"], ["q5"])
    assert found["errors"] == {"q3": "TimeoutError: late"}
    assert found["rules"] == {"match": None, "unique": False, "relevance_level": None}
    assert err.splitlines() == [
        "note: 1 query without relevant items, left out of every mean: q2",
        "note: 1 query without judgements, left out of every mean: q4",
        "note: 1 query not in the run, counted as a miss: q5",
        "note: 1 query whose retrieval failed, counted as a miss: q3",
    ]


def test_csv(hitrate):
    _, out, _ = hitrate("eval gold.jsonl good.jsonl -k 1,3 -m hit_rate -f csv")
    header, first, second = out.splitlines()
    assert header == "metric,value,low,high,n"
    assert first.startswith("hit_rate@1,0.6,0.50")
    assert second.startswith("hit_rate@3,0.9,0.82")


def test_markdown(hitrate):
    _, out, _ = hitrate("eval gold.jsonl good.jsonl -k 1 -m hit_rate -f markdown --fail-under hit_rate@1=0.5")
    assert out == (
        "### hitrate eval good.jsonl\n\n"
        "|  | @1 |\n| --- | ---: |\n| hit_rate | 0.600 [0.502, 0.691] |\n\n"
        "100 queries scored; in brackets, 95 % intervals\n\n"
        "- **PASSED** hit_rate@1 must be at least 0.5: hit_rate@1 = 0.600 [0.502, 0.691] (n=100)\n\n"
    )


def test_markdown_escapes_what_is_in_the_data(hitrate, folder):
    segments = "\n".join(["query_id,segment", *(f"q{n},a|b<i>" for n in range(100))])
    (folder / "segments.csv").write_text(segments)
    _, out, _ = hitrate("eval gold.jsonl good.jsonl --segment segments.csv -f markdown")
    assert r"| a\|b&lt;i> | 100 |" in out


def test_junit(hitrate):
    code, out, err = hitrate(
        "eval gold.jsonl good.jsonl -k 1 -m hit_rate -f junit "
        "--fail-under hit_rate@1=0.5 --fail-under hit_rate@3=0.95 --fail-under mrr@10=0.5"
    )
    assert code == 1
    suite = ET.fromstring(out.encode()).find("testsuite")  # noqa: S314 - our own
    assert suite.attrib == {"name": "hitrate eval good.jsonl", "tests": "3", "failures": "1", "errors": "0"}
    assert suite.find("properties/property").get("name") == "hit_rate@1"
    failure = suite.find("testcase/failure")
    assert failure.get("message") == "hit_rate@3 = 0.900 [0.826, 0.945] (n=100)"
    assert failure.text.splitlines() == [f"q{n}" for n in range(90, 100)]
    assert [line.split()[0] for line in err.splitlines()] == ["PASSED", "FAILED", "PASSED"]  # for the log


@pytest.mark.parametrize("given_as", ["field", "file", "file and field"])
def test_segments(hitrate, folder, given_as):
    rows = [
        {"query_id": query, "relevant": ["gold"], "topic": "odd" if int(query[1:]) % 2 else "even"} for query in GOLD
    ]
    if given_as == "field":
        (folder / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)))
        option = "topic"
    elif given_as == "file":
        (folder / "s.csv").write_text("\n".join(["query_id,segment", *(f"{r['query_id']},{r['topic']}" for r in rows)]))
        option = "s.csv"
    else:
        (folder / "s.jsonl").write_text("\n".join(map(json.dumps, rows)))
        option = "s.jsonl:topic"
    code, out, _ = hitrate(f"eval gold.jsonl good.jsonl -k 1 --segment {option}")
    assert code == 0
    assert out.splitlines()[:4] == [
        "segment    n            hit_rate@1",
        "even      50  0.600 [0.462, 0.724]",
        "odd       50  0.600 [0.462, 0.724]",
        "all      100  0.600 [0.502, 0.691]",
    ]
    _, out, _ = hitrate(f"eval gold.jsonl good.jsonl -k 1 -m mrr --segment {option} -f json")
    assert json.loads(out)["segments"]["odd"][0]["n"] == 50
    _, out, _ = hitrate(f"eval gold.jsonl good.jsonl -k 1 --segment {option} -f csv")
    assert [line.split(",")[:3] for line in out.splitlines()[1:]] == [
        [name, "hit_rate@1", "0.6"] for name in ("even", "odd", "all")
    ]


def test_a_matcher_of_texts(hitrate, folder):
    hr.write_qrels({"q": ["Refunds take five days."]}, folder / "texts.jsonl")
    hr.write_run({"q": ["Note: refunds take five days. They go to your card."]}, folder / "chunks.jsonl")
    for rule, value in (("contains", 1.0), ("overlap=0.5", 1.0), ("similar=0.9", 0.0), ("same_text", 0.0)):
        code, out, err = hitrate(f"eval texts.jsonl chunks.jsonl -k 1 -m hit_rate --match {rule} -f json")
        assert (code, json.loads(out)["scores"][0]["value"]) == (0, value)
        assert ("warning: no relevant text was ever retrieved" in err) == (not value)
        assert json.loads(out)["rules"]["match"] == re.sub("=(.*)", r"(\1)", rule)


def test_a_matcher_of_spans(hitrate, folder):
    hr.write_qrels({"q": [hr.Span("refunds.md", 0, 100)]}, folder / "gold.jsonl")
    hr.write_run({"q": [hr.Span("refunds.md", 60, 200)]}, folder / "run.jsonl")
    rules = {
        "span_overlap": 1.0,
        "span_overlap=0.4": 1.0,
        "span_overlap=0.5": 0.0,
        "span_overlap(0.2, of='union')": 1.0,
    }
    for rule, value in rules.items():
        code, out, _ = hitrate(f'eval gold.jsonl run.jsonl -k 1 -m hit_rate --match "{rule}" -f json')
        assert (code, json.loads(out)["scores"][0]["value"]) == (0, value)


def test_unique_and_relevance_level(hitrate, folder):
    hr.write_qrels({"q": {"a": 1, "b": 2}}, folder / "graded.jsonl")
    hr.write_run({"q": ["x", "x", "a", "b"]}, folder / "run.jsonl")
    values = []
    for options in ("", "--unique", "--unique --relevance-level 2"):
        _, out, _ = hitrate(f"eval graded.jsonl run.jsonl -k 2 -m hit_rate -f json {options}")
        values.append(json.loads(out)["scores"][0]["value"])
    assert values == [0.0, 1.0, 0.0]


def test_a_saved_evaluation_is_as_good_as_the_files(hitrate):
    _, first, err = hitrate("eval gold.jsonl good.jsonl --save saved.jsonl")
    assert err == "note: saved to saved.jsonl\n"
    assert hitrate("eval saved.jsonl") == (0, first, "")
    hitrate("eval gold.jsonl better.jsonl --save better-saved.jsonl")
    _, compared, _ = hitrate("compare gold.jsonl good.jsonl better.jsonl -f csv")
    assert hitrate("compare saved.jsonl better-saved.jsonl -f csv") == (0, compared, "")


def test_a_folder_of_beir_and_a_run_of_trec(hitrate, folder):
    (folder / "beir" / "qrels").mkdir(parents=True)
    hr.write_qrels(GOLD, folder / "beir" / "qrels" / "test.tsv", "beir")
    hr.write_run(RUNS["good"], folder / "good.run")
    code, out, err = hitrate("eval beir good.run -k 1 -m hit_rate -f csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[1].startswith("hit_rate@1,0.6,")


# Runs are judged while they are read


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("uvwx"), unique=True), min_size=1),
    st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("uvwxyz"))),
    st.sampled_from([Reading(), Reading(unique=True), Reading(match="same_text"), Reading(relevance_level=1)]),
)
def test_what_is_judged_while_it_is_read_is_what_evaluate_gives(tmp_path_factory, qrels, run, reading):
    folder = tmp_path_factory.mktemp("stream")
    hr.write_qrels(qrels, folder / "gold.jsonl")
    hr.write_run(run, folder / "run.jsonl")

    def outcome(keep):
        try:
            (found,) = evaluated(folder / "gold.jsonl", [folder / "run.jsonl"], reading, keep=keep)
        except ValueError as error:
            return str(error)
        return dict(found.records), list(found), found.unscored, found.missing, found.warnings, found.judge.rules

    with warnings.catch_warnings(action="ignore"):  # of runs that found nothing
        assert outcome(keep=False) == outcome(keep=True)


# Gates


@pytest.mark.parametrize(
    ("gate", "code", "outcome"),
    [
        ("hit_rate@3=0.9", 0, "PASSED"),
        ("hit_rate@3=0.91", 1, "FAILED"),
        ("'hit_rate@3>=0.5=0.95'", 1, "FAILED"),
        ("mrr@10=0.7", 0, "PASSED"),  # 0.6 + 0.3 / 3 = 0.7
        ("hit_rate@3=0.82 --on lower", 0, "PASSED"),
        ("hit_rate@3=0.85 --on lower", 3, "INCONCLUSIVE"),
        ("hit_rate@3=0.92 --on lower", 3, "INCONCLUSIVE"),
        ("hit_rate@3=0.95 --on lower", 1, "FAILED"),
        ("hit_rate@3=0.85 --fail-under mrr@10=0.9 --on lower", 1, "FAILED"),  # which goes before inconclusive
    ],
)
def test_fail_under(hitrate, gate, code, outcome):
    found, out, err = hitrate(f"eval gold.jsonl good.jsonl -k 1 --fail-under {gate}")
    assert (found, err) == (code, "")
    assert outcome in [line.split()[0] for line in out.splitlines()[-2:]]


@pytest.mark.parametrize("asked", ["-k all -m hit_rate", "-k 1,all", "-k 1 -k all -m mrr,hit_rate"])
def test_a_gate_on_all_that_was_retrieved(hitrate, asked):
    assert hitrate(f"eval gold.jsonl good.jsonl {asked} --fail-under hit_rate=0.9")[0] == 0


def test_a_failed_gate_names_what_was_missed(hitrate):
    _, out, _ = hitrate("eval gold.jsonl good.jsonl --fail-under hit_rate@3=0.95")
    assert out.splitlines()[-1] == (
        "FAILED hit_rate@3 must be at least 0.95: hit_rate@3 = 0.900 [0.826, 0.945] (n=100); "
        "missed: q90, q91, q92, q93, q94, ..."
    )


@pytest.mark.parametrize(
    ("run", "drop", "code", "outcome"),
    [
        ("good", "hit_rate@3=0", 0, "PASSED"),  # unchanged: no query got worse
        ("better", "hit_rate@3=0", 0, "PASSED"),
        ("broken", "hit_rate@3=0.05", 1, "FAILED"),
        ("broken", "hit_rate@3=0.9", 0, "PASSED"),  # worse, but by less than is allowed
        ("broken", "hit_rate@3=0.65", 1, "FAILED"),
        ("broken", "hit_rate@3=0.75", 3, "INCONCLUSIVE"),  # -0.700 [-0.780, -0.592]: it fell further, or not
        ("alike", "hit_rate@3=0.04", 3, "INCONCLUSIVE"),  # +0.000 [-0.047, 0.047]
        ("alike", "hit_rate@3=0.05", 0, "PASSED"),
    ],
)
def test_max_drop(hitrate, run, drop, code, outcome):
    hitrate("eval gold.jsonl good.jsonl --save baseline.jsonl")
    found, out, err = hitrate(f"eval gold.jsonl {run}.jsonl --baseline baseline.jsonl --max-drop {drop}")
    assert out.splitlines()[-1].split()[0] == outcome, out
    assert (found, err) == (code, "")
    assert hitrate(f"compare gold.jsonl good.jsonl {run}.jsonl --max-drop {drop}")[0] == code


def test_a_golden_set_without_some_of_the_old_queries_cannot_pass(hitrate, folder):
    hitrate("eval gold.jsonl good.jsonl --save baseline.jsonl")
    kept = (folder / "gold.jsonl").read_text("utf-8").splitlines()[:-2]
    (folder / "fewer.jsonl").write_text("\n".join(kept), encoding="utf-8")
    gate = "eval fewer.jsonl good.jsonl --baseline baseline.jsonl --max-drop hit_rate@3=0.1"
    code, out, _ = hitrate(gate)
    assert (code, out.splitlines()[-1][:12]) == (3, "INCONCLUSIVE")
    assert "; 2 of the baseline's queries are not in the golden set any more (--anyway allows that)" in out
    assert hitrate(f"{gate} --anyway")[0] == 0


@pytest.mark.parametrize(("run", "drop", "code"), [("broken", "0.05", 1), ("alike", "0.04", 3)])
def test_what_does_not_pass_is_not_saved(hitrate, folder, run, drop, code):
    hitrate("eval gold.jsonl good.jsonl --save baseline.jsonl")
    before = (folder / "baseline.jsonl").read_bytes()
    gate = f"--baseline baseline.jsonl --max-drop hit_rate@3={drop} --save baseline.jsonl"
    for _ in range(2):
        found, _, err = hitrate(f"eval gold.jsonl {run}.jsonl {gate}")
        assert (found, err) == (code, "note: not saved to baseline.jsonl, as not every gate passed\n")
        assert (folder / "baseline.jsonl").read_bytes() == before
    found, _, err = hitrate(f"eval gold.jsonl better.jsonl {gate}")
    assert (found, err) == (0, "note: saved to baseline.jsonl\n")
    assert (folder / "baseline.jsonl").read_bytes() != before


# compare, leaderboard, diagnose, convert, power


def test_compare(hitrate):
    code, out, err = hitrate("compare gold.jsonl broken.jsonl good.jsonl -m hit_rate@3,mrr@10")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["old", "new", "difference", "p", "by", "Holm", "won", "lost", "verdict"]
    assert rows[1] == ["hit_rate@3", "0.200", "0.900", "+0.700", "<", "0.001", "70", "0", "better"]
    assert rows[3][:4] == ["mrr@10", "0.200", "0.700", "+0.500"]
    assert out.splitlines()[-4:-2] == ["old broken.jsonl, new good.jsonl", "100 queries compared"]
    assert out.splitlines()[-1] == "won by hit_rate@3: q20, q21, q22, q23, q24, ..."


def test_compare_in_json_names_the_queries(hitrate):
    _, out, _ = hitrate("compare gold.jsonl good.jsonl better.jsonl -f json")
    (found,) = json.loads(out)["comparisons"]
    assert (found["metric"], found["won"], found["verdict"]) == (
        "hit_rate@5",
        [f"q{n}" for n in range(90, 98)],
        "better",
    )


def test_different_gold_is_refused_unless_told(hitrate, folder):
    hitrate("eval gold.jsonl good.jsonl --save old.jsonl")
    hr.write_qrels({**GOLD, "q0": ["silver"]}, folder / "gold.jsonl")
    hitrate("eval gold.jsonl good.jsonl --save new.jsonl")
    code, out, err = hitrate("compare old.jsonl new.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("error: the relevant items of 1 of 100 queries differ")
    assert err.endswith("or pass anyway=True\nanyway= is the option --anyway\n")
    assert hitrate("compare old.jsonl new.jsonl --anyway")[0] == 0


def test_leaderboard(hitrate, folder):
    code, out, err = hitrate("leaderboard gold.jsonl good.jsonl broken.jsonl better.jsonl -k 3")
    assert (code, err) == (0, "")
    assert [(line.split()[0], line.split()[-1]) for line in out.splitlines()[1:7:2]] == [
        ("better", "best"),
        ("good", "worse"),
        ("broken", "worse"),
    ]
    hr.write_run(RUNS["good"], folder / "good.csv")
    _, out, _ = hitrate("leaderboard gold.jsonl good.jsonl good.csv -f csv")
    assert [line.split(",")[1] for line in out.splitlines()[1:]] == ["good.jsonl", "good.csv"]


def test_diagnose(hitrate, folder):
    corpus = {item: f"The text of {item}." for run in RUNS.values() for items in run.values() for item in items}
    (folder / "corpus.jsonl").write_text("\n".join(json.dumps({"_id": i, "text": t}) for i, t in corpus.items()))
    code, out, err = hitrate("diagnose gold.jsonl good.jsonl -k 1 --corpus corpus.jsonl")
    assert (code, err) == (0, "")
    assert [line.split()[:3] for line in out.splitlines() if line.startswith(("below", "not retr"))] == [
        ["below", "cutoff", "30"],
        ["not", "retrieved", "10"],
    ]
    assert "40 of 100 queries miss: hit_rate@1 = 0.600 [0.502, 0.691] (n=100)" in out.splitlines()
    _, out, _ = hitrate("diagnose gold.jsonl good.jsonl -k 1 -f json")
    assert len(json.loads(out)["misses"]) == 40
    assert "unknown" in hitrate("diagnose gold.jsonl good.jsonl -k 1")[1]


def test_convert(hitrate, folder):
    code, out, err = hitrate("convert run good.jsonl good.trec")
    assert (code, out, err) == (0, "", "note: 100 queries written to good.trec\n")
    assert hr.read_run(folder / "good.trec") == RUNS["good"]
    assert hitrate("convert qrels gold.jsonl gold.txt --to csv")[0] == 0
    assert hr.read_qrels(folder / "gold.txt", "csv") == GOLD
    code, _, err = hitrate("convert qrels gold.txt gold.json")
    assert code == 2
    assert "pass format=, one of jsonl" in err
    assert err.endswith("\nformat= is the option --from\n")


def test_what_a_conversion_leaves_behind_is_said(hitrate, folder):
    (folder / "run.jsonl").write_text(
        '{"query_id": "q1", "retrieved": {"a": 0.5}, "ms": 7}\n{"query_id": "q2", "error": "TimeoutError: late"}\n'
        '{"query_id": "q3", "retrieved": []}\n{"query_id": "q4", "retrieved": ["a"]}\n'
    )
    code, out, err = hitrate("convert run run.jsonl run.csv")
    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "note: 2 queries written to run.csv",
        "note: 2 queries without items left out, for which csv has no place: q2, q3",
        "note: 1 error left out, for which csv has no place: q2",
        "note: not carried over: ms, scores",
    ]
    assert hitrate("convert run run.jsonl same.json")[2].splitlines()[:2] == [
        "note: 4 queries written to same.json",
        "note: 1 error left out, for which json has no place: q2",
    ]
    hr.write_run({"q": {"a": 0.5}}, folder / "scored.csv")
    assert hitrate("convert run scored.csv ranked.jsonl")[2].endswith("note: not carried over: score\n")
    (folder / "topics.csv").write_text("query_id,item,grade,topic\nq1,a,2,x\n")
    told = "note: 1 query written to topics.trec\nnote: not carried over: topic\n"
    assert hitrate("convert qrels topics.csv topics.trec")[2] == told
    (folder / "ragas.jsonl").write_text('{"user_input": "?", "reference_context_ids": ["a"]}\n')
    assert hitrate("convert qrels ragas.jsonl new.jsonl --from ragas")[2].endswith("not carried over: user_input\n")


def test_segments_of_a_table_with_a_row_an_item(hitrate, folder):
    rows = [f"q{n},{item},{'odd' if n % 2 else 'even'}" for n in range(100) for item in ("gold", "more")]
    (folder / "gold.csv").write_text("\n".join(["query_id,item,topic", *rows]))
    code, out, _ = hitrate("eval gold.csv good.jsonl -k 1 --segment topic")
    assert (code, out.split()[3:5]) == (0, ["even", "50"])
    (folder / "gold.csv").write_text("\n".join(["query_id,item,topic", *rows, "q1,most,even"]))
    code, _, err = hitrate("eval gold.csv good.jsonl -k 1 --segment topic")
    assert (code, err) == (2, "error: gold.csv, line 202: the id 'q1' has another 'topic' on an earlier row\n")


def test_diagnose_shortens_questions(hitrate, folder):
    question = "How long do refunds take when I have paid by card?"
    hr.write_qrels({question: ["a"]}, folder / "asked.jsonl")
    hr.write_run({question: []}, folder / "run.jsonl")
    _, out, _ = hitrate("diagnose asked.jsonl run.jsonl")
    assert "  How long do r...by card?\n" in out
    assert json.loads(hitrate("diagnose asked.jsonl run.jsonl -f json")[1])["misses"][0]["query_id"] == question


def test_power(hitrate):
    _, out, _ = hitrate("power --p 0.8 --delta 0.05 --discordant 0.1")
    assert out.splitlines()[1].split() == ["+0.05", "352"]
    assert [line.split()[0] for line in hitrate("power --p 0.98")[1].splitlines()[1:-2]] == ["+0.02", "+0.01"]
    _, out, _ = hitrate("power --p 0.8 --delta 0.02,0.05 -f csv")
    assert [line.split(",")[-1] for line in out.splitlines()] == ["queries", "6142", "949"]


# What goes wrong


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("eval gold.jsonl none.jsonl", "none.jsonl: No such file or directory"),
        ("eval gold.jsonl bad.jsonl", "bad.jsonl, line 2: this is no JSON"),
        ("eval gold.jsonl run.txt", "format= is the option --run-format"),
        ("eval gold.txt good.jsonl", "format= is the option --qrels-format"),
        ("eval gold.jsonl good.jsonl --run-format spam", "format must be one of"),
        ("eval gold.jsonl good.jsonl --run-format langsmith", "items= is the option --run-items"),
        ("eval gold.jsonl", "files are saved evaluations"),
        ("eval saved.jsonl --unique --match contains", "leave out --match, --unique"),
        ("eval gold.jsonl good.jsonl -k five", "-k five: expected a whole number"),
        ("eval gold.jsonl good.jsonl -k 0", "-k 0: expected a whole number of at least 1, or all"),
        ("eval gold.jsonl good.jsonl -m spam", "unknown metric 'spam'"),
        ("eval gold.jsonl good.jsonl --match spam", "--match spam: expected same_text"),
        ("eval gold.jsonl good.jsonl --match overlap", "--match overlap: expected same_text"),
        ("eval gold.jsonl good.jsonl --match overlap=x", "--match overlap=x: expected same_text"),
        ("eval gold.jsonl good.jsonl --match overlap=5", "--match overlap=5: share must be above 0 and at most 1"),
        ("eval gold.jsonl good.jsonl --match contains=0.5", "--match contains=0.5: expected same_text"),
        ("eval gold.jsonl items=none.jsonl", "error: items=none.jsonl: No such file or directory"),
        ("eval gold.jsonl items=bad.jsonl", "error: items=bad.jsonl, line 2: this is no JSON"),
        ("eval gold.jsonl good.jsonl --segment topic", "expected 'topic'"),
        ("eval gold.jsonl good.jsonl --fail-under hit_rate@5", "expected METRIC=NUMBER"),
        ("eval gold.jsonl good.jsonl --fail-under 'hit_rate@5>=0.5'", "expected METRIC=NUMBER"),
        ("eval gold.jsonl good.jsonl --fail-under hit_rate@5=85", "expected a number from 0 to 1, found 85"),
        ("eval gold.jsonl good.jsonl --fail-under mrr@5=nan", "expected a number from 0 to 1, found nan"),
        ("eval gold.jsonl good.jsonl --fail-under mrr@5=1 --fail-under mrr@5=0", "has mrr@5 twice"),
        ("eval gold.jsonl good.jsonl --max-drop mrr@5=1", "need each other"),
        (
            "eval gold.jsonl good.jsonl -k 3 -m hit_rate --fail-under hit_rate=0.9",
            "retrieved: write hit_rate@3=0.9, or",
        ),
        ("eval gold.jsonl good.jsonl -k all -m mrr --fail-under hit_rate=0.9", "retrieved: write hit_rate@5=0.9, or"),
        ("eval gold.jsonl good.jsonl --fail-under 'hit_rate>=0.5=0.9'", "retrieved: write hit_rate@1>=0.5=0.9, or"),
        ("eval gold.jsonl good.jsonl --baseline saved.jsonl --max-drop mrr=0", "retrieved: write mrr@1=0, or"),
        ("compare gold.jsonl good.jsonl alike.jsonl --max-drop mrr=0", "retrieved: write mrr@5=0, or"),
        ("eval gold.jsonl good.jsonl --baseline gold.jsonl --max-drop mrr@5=1", "no evaluation that was saved"),
        ("eval gold.jsonl elsewhere.jsonl", "qrels and run share no query id"),
        ("eval gold.jsonl good.jsonl --on lower", "--on lower says what --fail-under METRIC=BOUND looks at: it needs"),
        ("eval gold.jsonl good.jsonl --save x.csv", "--save x.csv: evaluations are saved as JSON lines: end the name"),
        ("eval gold.jsonl good.jsonl --save gold.jsonl", "--save gold.jsonl: this file is read too, and would be lost"),
        ("eval gold.jsonl good.jsonl --save ./good.jsonl", "--save good.jsonl: this file is read too"),
        ("eval saved.jsonl --save saved.jsonl", "--save saved.jsonl: this file is read too"),
        (
            "eval gold.jsonl good.jsonl --segment topics.jsonl:topic --save topics.jsonl",
            "--save topics.jsonl: this file is read too",
        ),
        ("convert qrels gold.jsonl ./gold.jsonl", "TO gold.jsonl: this file is read too"),
        ("eval empty.jsonl good.jsonl", "error: empty.jsonl: there is no query in it"),
        ("eval topics.jsonl good.jsonl", "items= is the option --qrels-items"),
        ("eval . good.jsonl", "qrels/test.tsv: no such file, and the folder . is read as BEIR's"),
        ("eval gold.jsonl saved.jsonl", "(this is a saved evaluation, with a golden set and a run of its own)"),
        ("eval ragas.jsonl good.jsonl", "format= is the option --qrels-format"),
        ("compare gold.jsonl good.jsonl", "files are saved evaluations"),
        ("leaderboard gold.jsonl", "at least one RUN"),
        ("leaderboard gold.jsonl good.jsonl ./good.jsonl", "good.jsonl is there twice"),
        ("leaderboard gold.jsonl good.jsonl -m mrr,map", "goes by one metric"),
        ("diagnose gold.jsonl good.jsonl -k 1,5", "one cutoff"),
        ("convert run good.jsonl good.spam", "format= is the option --to"),
        ("power --p 0.8 --delta x", "expected numbers"),
        ("power --p 2", "must be within 0 and 1"),
        ("power --p 0.98 --delta 0.05", "must be within 0 and 1"),
        ("power", "Missing option"),
        ("spam", "No such command"),
    ],
)
def test_bad_input_is_a_message_and_exit_code_2(hitrate, folder, line, message):
    (folder / "bad.jsonl").write_text('{"query_id": "q1", "retrieved": ["a"]}\n{oops\n')
    (folder / "items=bad.jsonl").write_text((folder / "bad.jsonl").read_text())
    (folder / "run.txt").write_text("")
    (folder / "gold.txt").write_text("")
    (folder / "empty.jsonl").write_text("")
    (folder / "topics.jsonl").write_text('{"query_id": "q1", "topic": "a"}\n')
    (folder / "ragas.jsonl").write_text('{"user_input": "q1", "reference_contexts": ["a"]}\n')
    hr.write_run({"elsewhere": ["gold"]}, folder / "elsewhere.jsonl")
    if "saved" in line:
        hitrate("eval gold.jsonl good.jsonl --save saved.jsonl")
    code, out, err = hitrate(line)
    assert (code, out) == (2, "")
    assert message in re.sub(r"[\s│]+", " ", err)
    assert ("is the option" in err) == ("is the option" in message)
    assert "Traceback" not in err


def test_rows_that_cannot_be_read_are_left_out_when_told(hitrate, folder):
    with (folder / "good.jsonl").open("a") as file:
        file.write('{oops\n{"query_id": "q1", "retrieved": []}\n')
    code, out, err = hitrate("eval gold.jsonl good.jsonl -k 1 -m hit_rate --on-error skip")
    assert code == 0
    assert "0.600 [0.502, 0.691]" in out
    assert err.startswith("note: 2 rows left out; the first: good.jsonl, line 101: this is no JSON")


def test_programs_are_told_how_many_rows_were_left_out(hitrate, folder):
    shutil.copy("good.jsonl", "new.jsonl")
    for name, bad in (("gold", "{oops\n"), ("new", "{oops\n" * 2)):
        with (folder / f"{name}.jsonl").open("a") as file:
            file.write(bad)
    for command, skipped in (
        ("eval gold.jsonl good.jsonl", {"gold.jsonl": 1}),
        ("eval gold.jsonl new.jsonl --save saved.jsonl", {"gold.jsonl": 1, "new.jsonl": 2}),
        ("eval saved.jsonl", None),
        ("compare gold.jsonl good.jsonl new.jsonl", {"gold.jsonl": 1, "new.jsonl": 2}),
        ("leaderboard gold.jsonl good.jsonl new.jsonl", {"gold.jsonl": 1, "new.jsonl": 2}),
        ("diagnose gold.jsonl new.jsonl", {"gold.jsonl": 1, "new.jsonl": 2}),
    ):
        code, out, _ = hitrate(f"{command} -f json {'--on-error skip' if skipped else ''}")
        assert (code, json.loads(out)["skipped"]) == (0, skipped or {})
    _, out, _ = hitrate("eval gold.jsonl new.jsonl --on-error skip -k 1 -m hit_rate -f junit")
    suite = ET.fromstring(out.encode()).find("testsuite")  # noqa: S314 - our own
    told = [(each.get("name"), each.get("value")) for each in suite.find("properties")]
    assert told[1:] == [("skipped in gold.jsonl", "1"), ("skipped in new.jsonl", "2")]


def test_a_run_that_found_nothing_is_scored_with_a_warning(hitrate, folder):
    hr.write_run({query: ["7"] for query in GOLD}, folder / "other.jsonl")
    code, out, err = hitrate("eval gold.jsonl other.jsonl -k 1 -m hit_rate")
    assert code == 0
    assert "0.000 [0.000, 0.037]" in out
    assert err.startswith("warning: no relevant id was ever retrieved: are both in the same id space?")


def test_a_warning_that_speaks_of_an_argument_names_the_option(hitrate, folder):
    hr.write_qrels({"q": ["Refunds take five days."]}, folder / "texts.jsonl")
    hr.write_run({"q": ["Refunds take five working days."]}, folder / "chunks.jsonl")
    code, _, err = hitrate("eval texts.jsonl chunks.jsonl")
    assert (code, err.splitlines()[-1]) == (0, "match= is the option --match RULE, such as --match contains")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="has no such file")
@pytest.mark.parametrize("run", ["good", "nothing"])
def test_a_run_may_come_from_a_pipe(folder, run):
    hr.write_run({query: ["7"] for query in GOLD}, folder / "nothing.jsonl")
    options = ["-k", "1", "-m", "hit_rate", "-f", "csv"]
    run = f"{run}.jsonl"
    piped = ran(
        "eval", "gold.jsonl", "/dev/stdin", "--run-format", "jsonl", *options, input=(folder / run).read_bytes()
    )
    read = ran("eval", "gold.jsonl", run, *options)
    assert (piped.returncode, piped.stdout, piped.stderr) == (0, read.stdout, read.stderr)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="has no such file")
def test_a_golden_set_from_a_pipe_has_no_segments(folder):
    arguments = ["eval", "/dev/stdin", "good.jsonl", "--qrels-format", "jsonl", "--segment", "topic"]
    done = ran(*arguments, input=(folder / "gold.jsonl").read_bytes())
    assert done.returncode == 2
    assert done.stderr == (
        b"error: --segment topic: a field of QRELS takes a file, as it is read twice; this is a pipe\n"
    )


def test_what_one_of_two_runs_cannot_score_is_named(hitrate, folder):
    hitrate("eval gold.jsonl good.jsonl --save all.jsonl")
    hr.write_qrels({query: GOLD[query] for query in list(GOLD)[1:]}, folder / "gold.jsonl")
    hitrate("eval gold.jsonl better.jsonl --save most.jsonl")
    for command in ("compare", "leaderboard", "leaderboard --saved"):
        _, out, _ = hitrate(f"{command} all.jsonl most.jsonl")
        assert "99 queries compared\n1 left out, which not all can score: q0\n" in out


@pytest.mark.parametrize("raised", [ZeroDivisionError, RecursionError, AttributeError, MemoryError, RuntimeError])
def test_a_fault_of_the_program_is_no_gate_that_failed(hitrate, monkeypatch, raised):
    def fail(*_):
        raise raised("oops")

    monkeypatch.setattr("hitrate_adapters.cli.results.of_evaluation", fail)
    code, out, err = hitrate("eval gold.jsonl good.jsonl")
    assert (code, out) == (2, "")
    told = rf"error: this is a fault of hitrate itself, .*: {raised.__name__}: oops \(test_cli.py, line \d+\)\n"
    assert re.fullmatch(told, err)


@pytest.mark.parametrize("gold", ['["gold"]', '{"gold": 1, "other": 2}'])
def test_where_nothing_can_be_scored(hitrate, folder, gold):
    (folder / "one.jsonl").write_text(f'{{"query_id": "q0", "relevant": {gold}}}\n')
    code, out, err = hitrate("eval one.jsonl good.jsonl --relevance-level 5")
    assert (code, out, err) == (2, "", "error: none of 1 queries can be scored: none has a relevant item\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("eval huge.jsonl good.jsonl", "huge.jsonl, line 1: the grade of 'gold' must be finite, found 1000"),
        ("eval deep.jsonl good.jsonl", "deep.jsonl, line 1: [[[[["),
        ("eval deeper.jsonl good.jsonl", "deeper.jsonl, line 1: this is JSON too deep to be read"),
        (f"eval gold.jsonl good.jsonl --match 'overlap={'-' * 50_000}1'", ": expected same_text"),
        ("power --p 0.8 --delta 1e-200", "no number of queries shows a difference as small as delta=1e-200"),
        ("power --p 0 --delta 1e-310", "no number of queries shows a difference as small as delta=1e-310"),
    ],
)
def test_what_is_too_large_is_bad_input(hitrate, folder, line, told):
    (folder / "huge.jsonl").write_text(f'{{"query_id": "q1", "relevant": {{"gold": 1{"0" * 400}}}}}\n')
    for name, depth in (("deep", 900), ("deeper", 100_000)):
        spans = "[" * depth + '"a"' + ", 1, 2]" * depth
        (folder / f"{name}.jsonl").write_text(f'{{"query_id": "q1", "relevant": {spans}}}\n')
    code, out, err = hitrate(line)
    assert (code, out) == (2, "")
    assert told in err
    assert "fault of hitrate" not in err


# The command as a program


def test_version_and_help(folder):  # noqa: ARG001
    assert ran("--version").stdout.decode().strip() == f"hitrate {hr.__version__}"
    for encoding in ("utf-8", "cp1252", "ascii"):
        for arguments in ([], ["eval", "-h"]):
            done = ran(*arguments, env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding})
            assert b"Usage: hitrate" in done.stdout + done.stderr
            assert b"Traceback" not in done.stderr


def test_the_script_is_the_module(folder):  # noqa: ARG001
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="hitrate")
    assert script.value == "hitrate_adapters.cli:main"


def test_without_typer_there_is_advice(folder):  # noqa: ARG001
    code = "import sys; sys.modules['typer'] = None; from hitrate_adapters.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "hitrate: typer is not installed: pip install 'hitrate-adapters[cli]'\n"


def test_completion(folder):  # noqa: ARG001
    environment = {**os.environ, "_HITRATE_COMPLETE": "complete_bash", "COMP_WORDS": "hitrate l", "COMP_CWORD": "1"}
    assert ran(env=environment).stdout.decode().split() == ["leaderboard"]


@pytest.mark.skipif(sys.platform == "win32", reason="has no shell of this kind")
def test_a_reader_that_had_enough_changes_no_exit_code(folder):  # noqa: ARG001
    line = f"{shlex.join(COMMAND)} eval gold.jsonl good.jsonl --fail-under hit_rate@3=0.95 -f json"
    done = subprocess.run(
        ["/bin/bash", "-c", f"{line} | true; echo ${{PIPESTATUS[0]}}"], capture_output=True, check=True
    )
    assert done.stdout == b"1\n"
    assert done.stderr.startswith(b"FAILED hit_rate@3")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "junit"])
def test_any_encoding_holds_any_id(folder, encoding, form):
    queries = ["问题", "\U0001f600"]
    hr.write_qrels({query: ["文"] for query in queries}, folder / "g.jsonl")
    hr.write_run({query: ["x"] for query in queries}, folder / "r.jsonl")
    arguments = ["eval", "g.jsonl", "r.jsonl", "-f", form, "--fail-under", "hit_rate@1=0.5", "--segment", "s.csv"]
    (folder / "s.csv").write_text("query_id,segment\n问题,类\n\U0001f600,类\n", encoding="utf-8")
    done = ran(*arguments, env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    out = done.stdout.decode(encoding)
    if form == "json":
        assert json.loads(out)["gates"][0]["queries"] == queries
    if encoding == "utf-8" and form != "junit":
        assert "类" in out
    if form == "junit":
        ET.fromstring(done.stdout)  # noqa: S314 - our own


def in_a_terminal(arguments, columns, **environment):
    """Run the command in a terminal of so many columns; return what it shows."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CI")}
    child = subprocess.Popen(
        [*COMMAND, *arguments], stdout=theirs, stderr=theirs, env={**inherited, "TERM": "xterm-256color", **environment}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    child.wait()
    return shown.decode()


def test_a_terminal_has_colours_unless_told_otherwise(folder):  # noqa: ARG001
    arguments = ["eval", "gold.jsonl", "good.jsonl", "-k", "3", "--fail-under", "hit_rate@3=0.95"]
    assert "\x1b[1;31mFAILED" in in_a_terminal(arguments, 80)
    shown = in_a_terminal(arguments, 80, NO_COLOR="1")
    assert "FAILED" in shown
    assert "\x1b[1;31m" not in shown


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_narrow_terminal_folds_lines(folder, columns):  # noqa: ARG001
    for arguments in (["eval", "gold.jsonl", "good.jsonl"], ["compare", "gold.jsonl", "good.jsonl", "alike.jsonl"]):
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", in_a_terminal(arguments, columns, NO_COLOR="1"))
        result = shown.replace("\r\n", "\n").rpartition("\r")[2]  # after the progress bar
        assert max(map(len, result.splitlines())) <= columns
        assert "hit_rate" in result.replace("\n", "") or columns < 40


def test_a_terminal_folds_messages_between_words(folder):  # noqa: ARG001
    shown = in_a_terminal(["eval", "gold.jsonl", "good.jsonl", "-k", "five"], 30)
    assert shown.split("\r\n") == ["error: -k five: expected a ", "whole number of at least 1, or", "all", ""]


def test_flags_take_no_value(folder):  # noqa: ARG001
    lines = ran("eval", "-h").stdout.decode().splitlines()
    assert [line for line in lines if "--anyway" in line or "--unique" in line]
    assert not [line for line in lines if "<bool>" in line and "--help" not in line]


def test_a_terminal_shows_progress_and_a_pipe_does_not(folder):  # noqa: ARG001
    assert "good.jsonl" in in_a_terminal(["eval", "gold.jsonl", "good.jsonl"], 80)
    assert ran("eval", "gold.jsonl", "good.jsonl").stderr == b""


# What the docs show


def sessions():
    text = DOCS.read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
def test_what_the_docs_show_is_what_is_printed(tmp_path):
    for each in Path(os.environ["HITRATE_TEST_DATA"]).iterdir():
        (tmp_path / each.name).symlink_to(each)
    for name, content in re.findall(r"^(\w+\.csv)\n((?:\S+,\S+\n)+)", DOCS.read_text(encoding="utf-8"), re.MULTILINE):
        (tmp_path / name).write_text(content)
    code, commands = 0, []
    for line, printed in sessions():
        if line == "echo $?":
            assert printed.strip() == str(code), commands[-1]
            continue
        commands.append(line)
        program, *arguments = shlex.split(line)
        assert program == "hitrate"
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.stdout.strip() == printed.strip(), line
        code = done.returncode
    assert {command.split()[1] for command in commands} == {
        "eval",
        "compare",
        "leaderboard",
        "diagnose",
        "convert",
        "power",
    }
