"""The pytest plugin, in sessions of its own: what a user's tests see, and what they leave."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import hitrate_adapters as hr

ROOT = Path(__file__).parents[1]
HANDBOOK = ROOT / "examples" / "handbook"
PAGE = ROOT / "docs" / "pytest.md"

RETRIEVER = """
    import json
    from collections import Counter
    from math import fsum, log
    from pathlib import Path

    import hitrate_adapters as hr

    HANDBOOK = Path({handbook!r})

    def texts(name):
        rows = map(json.loads, (HANDBOOK / name).read_text(encoding="utf-8").splitlines())
        return {{row["_id"]: set(row["text"].lower().split()) for row in rows}}

    CORPUS, QUERIES = texts("corpus.jsonl"), texts("queries.jsonl")
    QRELS = hr.read_qrels(HANDBOOK / "qrels.jsonl")
    RARE = {{word: log(len(CORPUS) / n) for word, n in Counter(w for words in CORPUS.values() for w in words).items()}}

    def search(words, k=10):
        return sorted(CORPUS, key=lambda item: (-fsum(map(RARE.get, CORPUS[item] & words)), item))[:k]

    def run():
        return {{query_id: search(words) for query_id, words in QUERIES.items()}}
"""

GATE = """
    from retriever import QRELS, run

    def test_gate(hitrate):
        evaluation = hitrate(QRELS, run())
        assert hitrate.compare(evaluation, "hit_rate@5").verdict != "worse"
"""

SMALL = """
    import pytest

    QRELS = {f"q{n}": {f"d{n}"} for n in range(4)}
    RUN = {"q0": ["d0"], "q1": ["d1"], "q2": ["x", "d2"], "q3": ["x"]}
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Give a function that runs pytest on the files there are, with warnings as errors."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("CI", raising=False)  # where it is set, pytest shows explanations whole
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # those of frameworks are slow, and warn
    plugins = ("-p", "hitrate_adapters.pytest_plugin", "-p", "no:cacheprovider")
    warnings = ("-W", "error", "-W", "ignore:Module already imported")  # of a plugin in the same process
    return lambda *args: pytester.runpytest(*plugins, *warnings, *args)


@pytest.fixture
def handbook(pytester):
    """Make a retriever by words in common over the handbook, and a test that gates it."""
    pytester.makepyfile(retriever=RETRIEVER.format(handbook=str(HANDBOOK)), test_handbook=GATE)
    pytester.syspathinsert()
    return pytester.path / "retriever.py"


def small(pytester, *tests):
    return pytester.makepyfile(test_small="\n".join([SMALL, *tests]))


def using(body, name="test_it"):
    return f"""
    def {name}(hitrate):
        {body}
    """


def rewrite(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# Evaluating, and the table


def test_a_session_without_the_fixture_shows_nothing(pytester, run):
    pytester.makepyfile("def test(): pass")
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*hit rate*")


def test_the_fixture_evaluates_as_evaluate_does(pytester, run):
    small(
        pytester,
        using("assert hitrate(QRELS, RUN).hit_rate(1) == 0.5"),
        using("assert hitrate({'q': {'a': 2, 'b': 1}}, {'q': ['b']}, relevance_level=2).hit_rate() == 0", "test_2"),
        using("assert hitrate({'q': ['b']}, {'q': ['a', 'a', 'b']}, unique=True).hit_rate(2) == 1", "test_3"),
        using("assert hitrate({'q': ['B']}, {'q': ['b']}, match=lambda a, b: a == b.lower()).mrr() == 1", "test_4"),
    )
    run().assert_outcomes(passed=4)


def test_each_evaluation_has_a_row(pytester, run):
    small(
        pytester,
        using("hitrate(QRELS, RUN); hitrate(QRELS, RUN)"),
        using("hitrate(QRELS, {**RUN, 'q3': ['d3']}, name='better')", "test_other"),
    )
    result = run("-o", "hitrate_k=1 5")
    result.stdout.fnmatch_lines(
        [
            "=* hit rate =*",
            "                   n            hit_rate@1            hit_rate@5",
            "test_it            4  0.500 [[]0.150, 0.850]  0.750 [[]0.301, 0.954]",
            "test_it 2          4  0.500 [[]0.150, 0.850]  0.750 [[]0.301, 0.954]",
            "test_other better  4  0.750 [[]0.301, 0.954]  1.000 [[]0.510, 1.000]",
            "=* 2 passed in *",
        ],
        consecutive=True,
    )


def test_a_table_that_is_too_wide_has_the_intervals_below(pytester, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    small(pytester, using("hitrate(QRELS, RUN)"))
    run().stdout.fnmatch_lines(
        [
            "         n      hit_rate@1      hit_rate@3      hit_rate@5     hit_rate@10",
            "test_it  4           0.500           0.750           0.750           0.750",
            "            [[]0.150, 0.850]  [[]0.301, 0.954]  [[]0.301, 0.954]  [[]0.301, 0.954]",
        ],
        consecutive=True,
    )


def test_a_table_that_is_still_too_wide_has_the_titles_above(pytester, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    small(pytester, using("hitrate(QRELS, RUN)", "test_of_refunds"))
    run("--hitrate-baseline=b", "--hitrate-update")
    rewrite(pytester.path / "test_small.py", '"q0": ["d0"]', '"q0": []')
    run("--hitrate-baseline=b").stdout.fnmatch_lines(
        [
            "  n       hit_rate@1       hit_rate@3       hit_rate@5      hit_rate@10",
            "test_of_refunds",
            "  4            0.250            0.500            0.500            0.500",
            "      [[]0.046, 0.699]   [[]0.150, 0.850]   [[]0.150, 0.850]   [[]0.150, 0.850]",
            "  against baseline",
            "              -0.250           -0.250           -0.250           -0.250",
            "     [[]-0.717, 0.383]  [[]-0.717, 0.383]  [[]-0.717, 0.383]  [[]-0.717, 0.383]",
            "=* 1 passed in *",
        ],
        consecutive=True,
    )


def test_a_table_of_many_metrics_is_in_blocks(pytester, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    small(pytester, using("hitrate(QRELS, RUN)"))
    run("-o", "hitrate_k=1 2 3").stdout.fnmatch_lines(
        [
            "  n      hit_rate@1      hit_rate@2",
            "test_it",
            "  4           0.500           0.750",
            "     [[]0.150, 0.850]  [[]0.301, 0.954]",
            "",
            "  n      hit_rate@3",
            "test_it",
            "  4           0.750",
            "     [[]0.301, 0.954]",
            "=* 1 passed in *",
        ],
        consecutive=True,
    )


@pytest.mark.parametrize("width", [60, 80, 81, 100, 120, 200])
def test_the_summary_fits_the_terminal(pytester, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    body = "hitrate(QRELS, RUN); hitrate.compare(hitrate(QRELS, RUN, name='b'), 'mrr@10')"
    small(pytester, using(body, "test_that_shipping_and_refunds_are_found"))
    run("--hitrate-baseline=b", "--hitrate-update")
    rewrite(pytester.path / "test_small.py", '"q0": ["d0"]', '"q0": ["x"] * 9')
    lines = run("--hitrate-baseline=b", "-o", "hitrate_metrics=hit_rate mrr").outlines
    (start,) = (at for at, line in enumerate(lines) if " hit rate =" in line)
    assert len(lines) > start + 10
    assert max(map(len, lines[start:])) <= width


def test_a_query_that_changed_is_not_called_unchanged(pytester, run):
    small(pytester, using("hitrate(QRELS, RUN)"))
    run("--hitrate-baseline=b", "--hitrate-update")
    assert "  unchanged" in run("--hitrate-baseline=b").outlines
    rewrite(
        pytester.path / "test_small.py", '"q0": ["d0"], "q1": ["d1"], "q2": ["x", "d2"]', '"q1": ["d1"], "q2": ["d2"]'
    )
    result = run("--hitrate-baseline=b", "-o", "hitrate_k=1")  # one lost, one won
    result.stdout.fnmatch_lines(["test_it *", "  against baseline *+0.000 *"])
    assert "  unchanged" not in result.outlines


def test_titles_that_are_not_unique_are_whole(pytester, run):
    small(pytester, using("hitrate(QRELS, RUN, name='a')"))
    pytester.makepyfile(test_tiny="\n".join([SMALL, using("hitrate(QRELS, RUN, name='a'); hitrate(QRELS, RUN)")]))
    run("-o", "hitrate_k=1").stdout.fnmatch_lines(
        ["test_small.py::test_it a *", "test_tiny.py::test_it a *", "test_it 2 *"], consecutive=True
    )


@pytest.mark.parametrize("setting", ["hitrate_k = 5", "hitrate_k = 5,2"])
def test_the_cutoffs_are_a_setting(pytester, run, setting):
    pytester.makeini(f"[pytest]\n{setting}\n")
    small(pytester, using("hitrate(QRELS, RUN)"))
    expected = "  ".join(f"          hit_rate@{k}" for k in setting.rpartition(" ")[2].split(","))
    run().stdout.fnmatch_lines([f"         n  {expected}"])


@pytest.mark.parametrize(
    "table",
    [
        pytest.param("tool.pytest", marks=pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest 9 is needed")),
        "tool.pytest.ini_options",
    ],
)
def test_the_cutoffs_can_be_in_toml(pytester, run, table):
    pytester.makepyprojecttoml(f'[{table}]\nhitrate_k = "5 2"\n')
    small(pytester, using("hitrate(QRELS, RUN)"))
    run().stdout.fnmatch_lines(["         n            hit_rate@5            hit_rate@2"])


def test_other_metrics_are_shown_if_asked_for(pytester, run):
    small(pytester, using("hitrate(QRELS, RUN)"))
    run("-o", "hitrate_k=5", "-o", "hitrate_metrics=hit_rate mrr@10").stdout.fnmatch_lines(
        ["         n            hit_rate@5                mrr@10", "test_it  4  0.750 * 0.625 *"]
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("hitrate_k=0", "hitrate_k = 0, *: k must be at least 1, *"),
        ("hitrate_k=five", "hitrate_k = five, *: invalid literal *'five'"),
        ("hitrate_k=", "hitrate_k = , *: at least one metric and one k are needed*"),
        ("hitrate_metrics=spam", "hitrate_k = *, hitrate_metrics = spam: unknown metric 'spam'*"),
    ],
)
def test_a_wrong_setting_is_told_at_once(pytester, run, setting, message):
    pytester.makepyfile("def test(): pass")
    result = run("-o", setting)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_what_a_table_must_not_hide_is_below_it(pytester, run):
    small(pytester, using("hitrate({**QRELS, 'q4': []}, {'q0': ['1'], 'q4': ['d4']})"))
    run("-W", "ignore:no relevant id").stdout.fnmatch_lines(
        [
            "test_it: 1 query without relevant items, left out of every mean: q4",
            "test_it: 3 queries not in the run, counted as misses: q1, q2, q3",
            "test_it:",
            "  warning: no relevant id was ever retrieved: *",
        ]
    )


def test_an_evaluation_that_was_made_elsewhere_can_be_added(pytester, run):
    small(
        pytester,
        using(
            "for name, part in hitrate(QRELS, RUN).by({'q0': 'a', 'q1': 'a', 'q2': 'b', 'q3': 'b'}).items():\n"
            "            hitrate.add(part, name=name)"
        ),
    )
    run("-o", "hitrate_k=1").stdout.fnmatch_lines(
        ["test_it    4  0.500 *", "test_it a  2  1.000 *", "test_it b  2  0.000 *"]
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("hitrate(QRELS, RUN, name='a'); hitrate(QRELS, RUN, name='a')", "ValueError: *::test_it has evaluated 'a' *"),
        ("hitrate(QRELS, RUN, name=' ')", "ValueError: name must be a str that is not blank, or None; got ' '"),
        ("hitrate(QRELS, RUN, name=5)", "ValueError: name must be a str that is not blank, or None; got 5"),
        ("hitrate.add(RUN)", "TypeError: an Evaluation is needed, as `evaluate` makes it; got {'q0': *"),
        ("hitrate(QRELS, {'other': []})", "ValueError: *share no query*"),
    ],
)
def test_wrong_arguments_are_told(pytester, run, body, message):
    small(pytester, using(body))
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *{message}"])


def test_a_refusal_is_shown_at_the_line_of_the_test(pytester, run):
    bodies = (
        "hitrate(QRELS, [])",
        "hitrate.add([])",
        "hitrate.compare(hitrate(QRELS, RUN), 'mrr@10', margin=-1)",
        "hitrate.baseline(None)",
        "hitrate(QRELS, RUN, match=lambda item, wanted: int(item))",
    )
    small(pytester, *(using(body, f"test_{n}") for n, body in enumerate(bodies)))
    run("--hitrate-baseline=b", "--hitrate-update")
    result = run("--hitrate-baseline=b")
    result.assert_outcomes(failed=5)
    result.stdout.no_fnmatch_line("*hitrate_adapters*")
    result.stdout.fnmatch_lines([f">   *{body}" for body in bodies] + ["*item = 'd0', wanted = 'd0'", "E   *'q0': *"])
    run("--full-trace", "-k", "test_0").stdout.fnmatch_lines(["*hitrate_adapters*evaluation.py:*: TypeError"])


def test_the_fixture_is_shown_alike_in_each_run(pytester, run):
    small(
        pytester, using("assert repr(hitrate) == '<hitrate of test_it>'")
    )  # LangSmith makes it part of an example's id
    run().assert_outcomes(passed=1)


def test_the_fixture_is_for_other_fixtures_too(pytester, run):
    small(
        pytester,
        """
    @pytest.fixture
    def evaluation(hitrate):
        return hitrate(QRELS, RUN)

    def test_it(evaluation):
        assert evaluation.hit_rate(1) >= 0.9

    class TestClass:
        def test_it(self, hitrate):
            hitrate(QRELS, RUN)
    """,
    )
    result = run("-o", "hitrate_k=1")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["E  *2 of 4 queries missed:", "test_small.py::TestClass::test_it *", "test_small.py::test_it  *"]
    )


# A score that is compared


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("assert hitrate(QRELS, RUN).hit_rate(1) >= 0.9", "hit_rate@1 = 0.500 [[]0.150, 0.850] (n=4) >= 0.9"),
        ("score = hitrate(QRELS, RUN).hit_rate(1); assert score > 0.9", "hit_rate@1 = 0.500 * > 0.9"),
        ("score = hitrate(QRELS, RUN).hit_rate(1); assert 0.9 < score", "0.9 < hit_rate@1 = 0.500 *"),
        ("assert hitrate(QRELS, RUN).hit_rate(1) == pytest.approx(0.9)", "hit_rate@1 = 0.500 * == 0.9 * 9.0e-07"),
        ("assert 0.6 <= hitrate(QRELS, RUN).hit_rate(1) <= 0.9", "0.6 <= hit_rate@1 = 0.500 *"),
    ],
)
def test_a_failure_shows_the_interval_and_the_missed_queries(pytester, run, body, shown):
    small(pytester, using(body))
    run().stdout.fnmatch_lines(
        [
            f"E *assert {shown}",
            "E  *2 of 4 queries missed:",
            "E  *  q2: no relevant item in the top 1; the first is at rank 2 of 2 retrieved",
            "E  *  q3: no relevant item among 1 retrieved",
        ]
    )


def test_a_failure_says_of_which_evaluation(pytester, run):
    small(
        pytester,
        using(
            "good, bad = hitrate(QRELS, {q: [f'd{q[1:]}'] for q in QRELS}, name='good'), "
            "hitrate(QRELS, RUN, name='bad'); assert bad.hit_rate(1) >= good.hit_rate(1)"
        ),
    )
    run().stdout.fnmatch_lines(
        [
            "E *assert hit_rate@1 = 0.500 * >= hit_rate@1 = 1.000 *",
            "E  *bad: 2 of 4 queries missed:",
            "E  *  q2: *",
            "E  *  q3: *",
            "E  *good: 0 of 4 queries missed",
        ]
    )


def test_what_is_missing_or_failed_is_told_as_the_reason(pytester, run):
    small(
        pytester,
        using(
            "from hitrate_adapters import Run; found = Run({'q0': ['d0'], 'q1': []}); "
            "found.errors['q1'] = TimeoutError('5 s'); assert hitrate(QRELS, found).mrr() > 0.9"
        ),
    )
    run().stdout.fnmatch_lines(
        [
            "E  *3 of 4 queries missed:",
            "E  *q1: its retrieval failed: TimeoutError('5 s')",
            "E  *q2: not in the run",
            "E  *q3: not in the run",
        ]
    )


@pytest.mark.parametrize(("options", "n"), [((), 20), (("-vv",), 30)])
def test_many_missed_queries_are_cut_unless_asked_for(pytester, run, monkeypatch, options, n):
    monkeypatch.setenv("CI", "true")  # pytest itself cuts nothing
    small(pytester, using("assert hitrate(dict.fromkeys(range(31), ['d']), {0: ['d']}).hit_rate(5) >= 0.5"))
    result = run(*options)
    assert len([line for line in result.outlines if line.startswith("E  ") and line.endswith("not in the run")]) == n
    assert any(line.endswith("and 10 more, which -vv shows") for line in result.outlines) is (n == 20)


def test_other_failures_are_explained_by_pytest(pytester, run):
    small(
        pytester,
        using("hitrate(QRELS, RUN); assert [1, 2] == [1, 3]"),
        "    import hitrate_adapters\n"
        "    def test_no_fixture():\n        assert hitrate_adapters.evaluate(QRELS, RUN).hit_rate(1) >= 0.9\n",
    )
    result = run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["E *At index 1 diff: 2 != 3", "E *assert hit_rate@1 = 0.500 [[]0.150, 0.850] (n=4) >= 0.9", "E  * where *"]
    )
    result.stdout.no_fnmatch_line("*queries missed*")


# Baselines


def test_a_gate_passes_an_unchanged_retriever_and_fails_a_broken_one(handbook, run):
    run("--hitrate-baseline=baselines", "--hitrate-update").assert_outcomes(passed=1)

    unchanged = run("--hitrate-baseline=baselines")
    unchanged.assert_outcomes(passed=1)
    unchanged.stdout.fnmatch_lines(
        [
            "test_gate    67 *0.642 [[]0.522, 0.746]*",
            "  unchanged",
            "test_gate: hit_rate@5: +0.000 *; 0 won, 0 lost, n = 67: no difference shown",
        ]
    )

    rewrite(handbook, "sorted(CORPUS,", "sorted(list(CORPUS)[:40],")  # half of the index is lost
    broken = run("--hitrate-baseline=baselines")
    broken.assert_outcomes(failed=1)
    broken.stdout.fnmatch_lines(
        [
            "E *assert 'worse' != 'worse': hit_rate@5: -0.284 [[]-0.414, -0.137], p < 0.001; * n = 67: worse",
            "*Captured hitrate call*",
            "hit_rate@5: -0.* won, * lost, n = 67: worse",
            "lost:",
            "  q39: no relevant item among 10 retrieved",
            "=* hit rate =*",
            "test_gate: hit_rate@5: -0.*: worse",
        ]
    )


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
def test_a_gate_on_real_runs(pytester, run):
    data = os.environ["HITRATE_TEST_DATA"]
    pytester.makepyfile(
        f"""
        import os
        from pathlib import Path

        import hitrate_adapters as hr

        def test_gate(hitrate):
            data = Path({data!r}, "code_chunks")
            evaluation = hitrate(hr.read_qrels(data / "qrels.jsonl"), hr.read_run(data / "runs" / os.environ["RUN"]))
            assert hitrate.compare(evaluation, "hit_rate@5").verdict != "worse"
        """
    )
    command = ("-o", "hitrate_k=5", "--hitrate-baseline=baselines")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RUN", "hybrid.jsonl")
        run(*command, "--hitrate-update").assert_outcomes(passed=1)
        run(*command).assert_outcomes(passed=1)
        environment.setenv("RUN", "bm25.jsonl")
        result = run(*command)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["test_gate *248 *0.685 *", "test_gate: hit_rate@5: -0.105 *, n = 248: worse"])


@pytest.mark.usefixtures("handbook")
def test_without_a_baseline_a_comparison_fails_and_says_what_to_do(pytester, run):
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *Failed: no baseline to compare with: say where *[[]tool.pytest.ini_options], *--hitrate-update"]
    )

    result = run("--hitrate-baseline=baselines")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *Failed: no baseline of test_handbook.py::test_gate at baselines*test_handbook.py-test_gate-*.jsonl: *",
            "no baseline in baselines, which --hitrate-update writes: test_gate",
        ]
    )
    assert not (pytester.path / "baselines").exists()


@pytest.mark.usefixtures("handbook")
def test_the_place_of_baselines_is_a_setting_from_the_root_directory(pytester, run, monkeypatch):
    pytester.makeini("[pytest]\nhitrate_baseline = saved\n")
    run("--hitrate-update").assert_outcomes(passed=1)
    monkeypatch.chdir(pytester.mkdir("elsewhere"))
    run("..").assert_outcomes(passed=1)
    assert len(list(pytester.path.glob("saved/*.jsonl"))) == 1


def test_each_evaluation_has_a_file_that_depends_on_nothing_else(pytester, run):
    small(
        pytester,
        """
    @pytest.mark.parametrize("k", ["1/2", "é" * 100])
    def test_k(hitrate, k):
        hitrate(QRELS, RUN)
        hitrate(QRELS, RUN, name="a b")
        hitrate(QRELS, RUN)
    """,
    )
    run("--hitrate-baseline=all", "--hitrate-update").stdout.fnmatch_lines(
        ["baseline written to all:", "  test_k[[]1/2[]], *", "  *, ..."]
    )
    names = sorted(path.name for path in pytester.path.glob("all/*"))
    assert len(names) == 6
    assert all(name.isascii() and len(name) <= 100 for name in names)
    assert sum(name.startswith("test_small.py-test_k-1-2-") for name in names) == 3

    run("--hitrate-baseline=some", "--hitrate-update", "-k", "1/2")
    some = {path.name: path.read_bytes() for path in pytester.path.glob("some/*")}
    assert list(some) != []
    assert some.items() <= {path.name: path.read_bytes() for path in pytester.path.glob("all/*")}.items()


def test_an_update_shows_the_difference_to_what_it_replaces(handbook, run):
    run("--hitrate-baseline=baselines", "--hitrate-update")
    rewrite(handbook, "sorted(CORPUS,", "sorted(list(CORPUS)[:40],")
    result = run("--hitrate-baseline=baselines", "--hitrate-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["test_gate *", "  against baseline  *  -0.*", "baseline written to baselines: test_gate"]
    )
    run("--hitrate-baseline=baselines").assert_outcomes(passed=1)


def test_one_file_is_the_baseline_of_all(pytester, run):
    qrels = {f"q{n}": {f"d{n}"} for n in range(4)}
    hr.save(hr.evaluate(qrels, {"q0": ["d0"], "q3": ["d3"]}), pytester.path / "production.jsonl")
    small(
        pytester,
        using("hitrate(QRELS, RUN)"),
        using(
            "assert hitrate.baseline(hitrate(QRELS, RUN)).misses() == ('q1', 'q2')",
            "test_other",
        ),
    )
    result = run("--hitrate-baseline=production.jsonl", "-o", "hitrate_k=1")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["test_it *", "  against baseline  *+0.000 *", "test_other *", "  against baseline *"])


def test_a_baseline_by_different_gold_is_not_compared(pytester, run):
    hr.save(hr.evaluate({"q0": {"other", "d0"}}, {"q0": ["d0"]}), pytester.path / "old.jsonl")
    small(
        pytester,
        using("hitrate(QRELS, RUN)"),
        using("hitrate.compare(hitrate(QRELS, RUN), 'mrr')", "test_strict"),
        using("assert hitrate.compare(hitrate(QRELS, RUN), 'mrr', anyway=True).n == 1", "test_anyway"),
    )
    result = run("--hitrate-baseline=old.jsonl")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *Failed: not comparable with the baseline of test_small.py::test_strict: * differ, *--hitrate-update",
            "test_it:",
            "  not compared with the baseline: the relevant items of 1 of 1 queries differ, *",
        ]
    )
    result.stdout.no_fnmatch_line("*comparison.py*")


def test_a_golden_set_without_some_of_the_old_queries_passes_no_comparison(pytester, run):
    hr.save(hr.evaluate({"q0": {"d0"}, "q9": {"d9"}}, {"q0": ["d0"]}), pytester.path / "old.jsonl")
    same = {"q0": {"d0"}}
    small(
        pytester,
        using(f"hitrate({same}, RUN)"),
        using(f"hitrate.compare(hitrate({same}, RUN), 'mrr')", "test_strict"),
        using(f"assert hitrate.compare(hitrate({same}, RUN), 'mrr', anyway=True).n == 1", "test_anyway"),
    )
    result = run("--hitrate-baseline=old.jsonl")
    result.assert_outcomes(passed=2, failed=1)
    gone = "1 of its 2 queries are not in the golden set any more, such as q9"
    result.stdout.fnmatch_lines([f"E *Failed: not comparable with the baseline of *::test_strict: {gone}. *"])
    result.stdout.fnmatch_lines([f"*of the baseline, {gone[:40]}*"])
    result.stdout.no_fnmatch_line("*unchanged*")


def test_a_baseline_by_a_matcher_of_ones_own_is_compared(pytester, run):
    body = "assert hitrate.compare(hitrate(QRELS, RUN, match=same), 'mrr@10').difference == 0"
    small(pytester, "    def same(a, b):\n        return a == b\n", using(body))
    run("--hitrate-baseline=b", "--hitrate-update").assert_outcomes(passed=1)
    run("--hitrate-baseline=b").assert_outcomes(passed=1)


def test_a_file_that_is_no_baseline_is_told(pytester, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    pytester.makefile(".jsonl", old='{"query_id": "q1"}')
    small(pytester, using("hitrate(QRELS, RUN)"), using("hitrate.baseline(hitrate(QRELS, RUN))", "test_b"))
    result = run("--hitrate-baseline=old.jsonl")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *ValueError: *old.jsonl: this is no evaluation *",
            "test_it: not compared with the baseline: *old.jsonl: *",
        ]
    )


def test_a_baseline_that_was_broken_by_hand_fails_no_test_that_compares_nothing(pytester, run):
    small(pytester, using("hitrate(QRELS, RUN)"))
    run("--hitrate-baseline=b", "--hitrate-update").assert_outcomes(passed=1)
    (path,) = pytester.path.joinpath("b").iterdir()
    path.write_text(re.sub(r'"hit_ranks": ?\[.*?\]', '"hit_ranks": "x"', path.read_text("utf-8")), encoding="utf-8")
    result = run("--hitrate-baseline=b")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*not compared with the baseline:*"])
    run("--hitrate-baseline=b", "--hitrate-update").assert_outcomes(passed=1)
    run("--hitrate-baseline=b").stdout.no_fnmatch_line("*not compared with the baseline:*")


def test_only_what_the_test_evaluated_has_a_baseline(pytester, run):
    small(
        pytester,
        using("import hitrate_adapters; hitrate.baseline(hitrate_adapters.evaluate(QRELS, RUN))"),
    )
    run("--hitrate-baseline=b").stdout.fnmatch_lines(["E *ValueError: <Evaluation: 4 scored, *> is none that this *"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--hitrate-update"], "--hitrate-update needs --hitrate-baseline FOLDER, *"),
        (["--hitrate-update", "--hitrate-baseline=b.jsonl"], "*give a folder, not the file b.jsonl, *"),
    ],
)
def test_an_update_needs_a_folder(pytester, run, options, message):
    pytester.makepyfile("def test(): pass")
    result = run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


# With other tools


@pytest.mark.usefixtures("handbook")
def test_workers_of_xdist_send_their_rows_and_share_baselines(pytester, run):
    pytest.importorskip("xdist")
    pytester.makepyfile(
        test_b="""
        import pytest
        from retriever import QRELS, run

        @pytest.mark.parametrize("k", [3, 10])
        def test_k(hitrate, k):
            hitrate(QRELS, {q: found[:k] for q, found in run().items()})
    """
    )
    run("--hitrate-baseline=alone", "--hitrate-update", "-o", "hitrate_k=5")
    alone = {path.name: path.read_bytes() for path in pytester.path.glob("alone/*")}
    result = run(
        "-p",
        "xdist.plugin",
        "-n2",
        "--dist=loadgroup",
        "--hitrate-baseline=two",
        "--hitrate-update",
        "-o",
        "hitrate_k=5",
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "test_k[[]10[]] *",
            "test_k[[]3[]] *",
            "test_gate *",
            "baseline written to two: test_k[[]10[]], test_k[[]3[]], test_gate",
        ]
    )
    assert {path.name: path.read_bytes() for path in pytester.path.glob("two/*")} == alone


def test_a_group_of_xdist_does_not_change_the_name_of_a_baseline(pytester, run):
    pytest.importorskip("xdist")
    small(pytester, "    @pytest.mark.xdist_group('gpu')", using("hitrate.compare(hitrate(QRELS, RUN), 'mrr')"))
    run("--hitrate-baseline=b", "--hitrate-update").assert_outcomes(passed=1)
    run("-p", "xdist.plugin", "-n1", "--dist=loadgroup", "--hitrate-baseline=b").assert_outcomes(passed=1)


def test_scores_are_in_junit_xml(pytester, run):
    small(pytester, using("hitrate(QRELS, RUN); hitrate(QRELS, RUN, name='b')"))
    run("--junitxml=out.xml", "-o", "hitrate_k=1 5").assert_outcomes(passed=1)
    properties = ET.parse(pytester.path / "out.xml").getroot().iterfind(".//testcase/properties/property")  # noqa: S314
    assert {each.get("name"): each.get("value") for each in properties} == {
        "hitrate.hit_rate@1": "0.5",
        "hitrate.hit_rate@5": "0.75",
        "hitrate.b.hit_rate@1": "0.5",
        "hitrate.b.hit_rate@5": "0.75",
    }


def test_a_test_that_is_run_again_has_one_row(pytester, run):
    if importlib.util.find_spec("pytest_rerunfailures") is None:
        pytest.skip("pytest-rerunfailures is needed")
    small(
        pytester,
        "    runs = iter([{'q0': ['d0']}, RUN])\n",
        using("assert hitrate(QRELS, next(runs)).hit_rate(1) == 0.5"),
    )
    result = run("-p", "pytest_rerunfailures", "--reruns=1", "--junitxml=out.xml", "-o", "hitrate_k=1")
    assert [line for line in result.outlines if line.startswith("test_it ")] == ["test_it  4  0.500 [0.150, 0.850]"]
    properties = ET.parse(pytester.path / "out.xml").getroot().iterfind(".//testcase/properties/property")  # noqa: S314
    values = [each.get("value") for each in properties]
    assert values in (["0.25", "0.5"], ["0.5"])  # of each attempt its own; pytest 8.0 writes the last alone


@pytest.mark.skipif(importlib.util.find_spec("langsmith") is None, reason="LangSmith is needed")
def test_it_works_beside_the_plugin_of_langsmith(pytester, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TEST_TRACKING", "false")
    monkeypatch.setenv("COLUMNS", "120")
    small(
        pytester,
        "    from langsmith import testing\n\n    @pytest.mark.langsmith\n"
        "    def test_it(hitrate):\n"
        "        testing.log_inputs({'queries': list(QRELS)})\n"
        "        score = hitrate(QRELS, RUN).hit_rate(1)\n"
        "        testing.log_feedback(key=str(score.metric), score=score)\n"
        "        assert score >= 0.9\n",
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *assert hit_rate@1 = 0.500 *", "E  *2 of 4 queries missed:", "=* hit rate =*", "test_it  4 *"]
    )


@pytest.mark.skipif(importlib.util.find_spec("deepeval") is None, reason="DeepEval is needed")
def test_it_works_beside_the_plugin_of_deepeval(pytester, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    small(
        pytester,
        "    from deepeval import assert_test\n"
        "    from deepeval.test_case import LLMTestCase\n"
        "    from hitrate_adapters.deepeval import HitRateAtK\n\n"
        "    def test_it(hitrate):\n"
        "        evaluation = hitrate(QRELS, RUN)\n"
        "        case = LLMTestCase(input='q0', actual_output='', metadata={'retrieved_ids': RUN['q0'], "
        "'relevant_ids': ['d0']})\n"
        "        assert_test(case, [HitRateAtK(k=1)], run_async=False)\n"
        "        assert evaluation.hit_rate(1) >= 0.9\n",
    )
    command = [Path(sys.executable).with_name("deepeval"), "test", "run", "test_small.py"]
    result = pytester.run(*command)
    result.stdout.fnmatch_lines(["*E  *assert hit_rate@1 = 0.500 *", "*2 of 4 queries missed:*", "*= hit rate =*"])
    result.stdout.fnmatch_lines(["test_it  4 *", "*hit_rate@1*1.0 (threshold=*"])


# What it costs


def test_it_loads_nothing_but_the_package_as_it_is_imported():
    code = (
        "import json, sys, pytest; before = set(sys.modules); import hitrate_adapters; package = set(sys.modules); "
        "import hitrate_adapters.pytest_plugin; "
        "print(json.dumps([sorted(package - before), sorted(set(sys.modules) - package)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package, plugin = json.loads(done.stdout)
    assert {name.partition(".")[0] for name in package} == {"hitrate_adapters"}  # pytest has loaded all else
    assert len(package) <= 15
    assert {name.rpartition(".")[0] for name in plugin} == {"hitrate_adapters", "hitrate_adapters.pytest_plugin"}
    assert len(plugin) <= 5


def test_a_session_that_does_not_use_it_loads_nothing_more(pytester):
    pytester.makepyfile(
        """
        import sys

        def test():
            ours = {name.removeprefix("hitrate_adapters.") for name in sys.modules if name.startswith("hitrate_")}
            assert {name.partition(".")[0] for name in ours} == {"hitrate_adapters", "core", "pytest_plugin"}
            assert "core.comparison" not in ours
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


# The page


def configuration_of(page):
    (table,) = re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert table.startswith("[tool.pytest.ini_options]\n")  # pytest 8 ignores [tool.pytest]
    return table


def test_with_the_configuration_of_the_page_tests_import_what_is_beside_them(pytester, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    pytester.makepyprojecttoml(configuration_of(PAGE.read_text(encoding="utf-8")))
    pytester.makepyfile(shop="def search(text, k): return ['d0']")
    test = pytester.mkdir("tests") / "test_retriever.py"
    test.write_text(
        "from shop import search\n\ndef test_floor(hitrate):\n"
        "    assert hitrate({'q0': ['d0']}, {'q0': search('', 5)}).hit_rate(5) == 1\n"
    )
    pytester.run(Path(sys.executable).with_name("pytest"), "--hitrate-update").assert_outcomes(passed=1)
    assert len(list(pytester.path.glob("tests/baselines/*.jsonl"))) == 1


def test_the_page_shows_what_its_tests_show(pytester, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page = PAGE.read_text(encoding="utf-8")
    (hidden,) = re.findall(r"^<!-- run\n(.*?)^-->", page, re.DOTALL | re.MULTILINE)
    conftest = pytester.makeconftest(hidden.replace('__file__ = "test_retriever.py"', ""))
    pytester.makepyfile(test_retriever="\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)))
    pytester.makepyprojecttoml(configuration_of(page))
    run("--hitrate-update").assert_outcomes(passed=5)
    run().assert_outcomes(passed=5)
    floor = run("-k", "floor", "-o", "hitrate_baseline=")
    lost = [f"d{n}" for n in range(49, 60) if n % 5]
    rewrite(conftest, "lost = ()", f"lost = {lost}")
    broken = [run("-k", "floor"), run("-k", "no_worse")]
    printed = ["\n".join(result.outlines) for result in (floor, *broken)]
    shown = re.findall(r"^```text\n([=E] .*?|=.*?)\n```", page, re.DOTALL | re.MULTILINE)
    assert len(shown) == 3
    for block in shown:
        assert any(f"\n{block}\n" in each for each in printed), "\n".join([block, "is not in", *printed])
