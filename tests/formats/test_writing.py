"""What is written is read back as it was, and what a format cannot hold is refused."""

import gzip
import importlib.util
import os
import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hitrate_adapters as hr
from hitrate_adapters.formats import read_qrels, read_run, write_qrels, write_run

HAS_PARQUET = importlib.util.find_spec("pyarrow") is not None
TABLES = ["csv", "tsv", *(["parquet"] if HAS_PARQUET else [])]
KINDS = ["jsonl", "json", *TABLES, "trec"]

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(
    [
        "a b",
        "a\tb",
        "a\nb",
        'a"b',
        "a'b",
        "a,b",
        " a",
        "\r",
        "\x00",
        "\ufeffa",
        "\u2028",
        "é",
        "e\u0301",
        "🚢",
        "NaN",
        "1_0",
    ]
)
solid = names.filter(lambda name: name.encode().split() == [name.encode()] and not name.startswith("\ufeff"))
numbers = st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
golds = st.dictionaries(names, st.lists(names, min_size=1, unique=True), max_size=4)
graded = st.dictionaries(names, st.dictionaries(names, numbers, min_size=1), max_size=4)
runs = st.dictionaries(names, st.lists(names, min_size=1), max_size=4)
scored = st.dictionaries(names, st.dictionaries(names, numbers, min_size=1), max_size=4)
roomy = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=30)


def back(write, read, items, path):
    """Return what comes back."""
    write(items, path)
    return read(path)


@pytest.mark.parametrize("kind", ["jsonl", "json", *TABLES])
class TestRoundTrips:
    @roomy
    @given(qrels=golds)
    def test_golden_set(self, tmp_path, kind, qrels):
        assert back(write_qrels, read_qrels, qrels, tmp_path / f"gold.{kind}") == qrels

    @roomy
    @given(qrels=graded)
    def test_grades(self, tmp_path, kind, qrels):
        assert back(write_qrels, read_qrels, qrels, tmp_path / f"gold.{kind}") == qrels

    @roomy
    @given(run=runs)
    def test_run(self, tmp_path, kind, run):
        assert back(write_run, read_run, run, tmp_path / f"run.{kind}") == run

    @roomy
    @given(run=scored)
    def test_scores(self, tmp_path, kind, run):
        by_score = {query: in_order(items) for query, items in run.items()}
        assert back(write_run, read_run, run, tmp_path / f"run.{kind}") == by_score


class TestTrecRoundTrips:
    @roomy
    @given(st.dictionaries(solid, st.dictionaries(solid, st.integers(-5, 5), min_size=1), max_size=4))
    def test_grades(self, tmp_path, qrels):
        assert back(write_qrels, read_qrels, qrels, tmp_path / "gold.trec") == qrels

    @roomy
    @given(st.dictionaries(solid, st.lists(solid, min_size=1, unique=True), max_size=4))
    def test_run(self, tmp_path, run):
        assert back(write_run, read_run, run, tmp_path / "run.trec") == run

    @roomy
    @given(st.dictionaries(solid, st.dictionaries(solid, numbers, min_size=1), max_size=4))
    def test_scores(self, tmp_path, run):
        by_score = {query: in_order(items) for query, items in run.items()}
        assert back(write_run, read_run, run, tmp_path / "run.trec") == by_score


def in_order(scores):
    return [item for item, _ in sorted(scores.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)]


def test_json_lines_keep_what_tables_cannot(tmp_path):
    run = hr.Run({"q1": ["a", None, "a"], "q2": [], "q3": []}, {"q3": TimeoutError("late")})
    write_run(run, tmp_path / "run.jsonl")
    found = read_run(tmp_path / "run.jsonl")
    assert (found, repr(found.errors)) == (run, "{'q3': RuntimeError('TimeoutError: late')}")
    write_run(found, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()


def test_spans(tmp_path):
    gold = {"q": [hr.Span("a.md", 0, 20), hr.Span("b.md", 5, 9)]}
    write_qrels(gold, tmp_path / "gold.jsonl")
    assert read_qrels(tmp_path / "gold.jsonl") == gold
    assert (tmp_path / "gold.jsonl").read_text() == '{"query_id": "q", "relevant": [["a.md", 0, 20], ["b.md", 5, 9]]}\n'


def test_a_set_is_the_same_file_every_time(tmp_path):
    write_qrels({"q": {"b", "c", "a"}}, tmp_path / "gold.json")
    assert (tmp_path / "gold.json").read_text() == '{\n"q": ["a", "b", "c"]\n}\n'


def test_whole_numbers_become_strings(tmp_path):
    write_run({1: [2, "x"]}, tmp_path / "run.trec")
    assert (tmp_path / "run.trec").read_text() == "1 Q0 2 1 2 hitrate_adapters\n1 Q0 x 2 1 hitrate_adapters\n"


def test_scores_are_kept(tmp_path):
    write_run({"q": {"a": 0.5, "b": 2}}, tmp_path / "run.csv")
    write_run({"q": {"a": 0.5, "b": 2}}, tmp_path / "run.trec")
    assert (tmp_path / "run.csv").read_text() == "query_id,item,score\nq,a,0.5\nq,b,2\n"
    assert (tmp_path / "run.trec").read_text() == "q Q0 b 1 2 hitrate_adapters\nq Q0 a 2 0.5 hitrate_adapters\n"


def test_scores_and_ranks_together_become_ranks(tmp_path):
    write_run({"q": {"a": 0.5, "b": 2}, "p": ["a"]}, tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "query_id,item,rank\nq,b,1\nq,a,2\np,a,1\n"


def test_numpy_numbers(tmp_path):
    numpy = pytest.importorskip("numpy")
    write_run({numpy.int64(1): {numpy.int64(2): numpy.float64(0.5), "x": numpy.float32(2)}}, tmp_path / "run.trec")
    assert (tmp_path / "run.trec").read_text() == "1 Q0 x 1 2.0 hitrate_adapters\n1 Q0 2 2 0.5 hitrate_adapters\n"


def test_beir(tmp_path):
    write_qrels({"q": {"a": 2}, "p": ["b c"]}, tmp_path / "test.tsv", "beir")
    assert (tmp_path / "test.tsv").read_text() == "query-id\tcorpus-id\tscore\nq\ta\t2\np\tb c\t1\n"
    assert read_qrels(tmp_path / "test.tsv", "beir") == {"q": {"a": 2}, "p": {"b c": 1}}
    write_qrels({"q": ["a"]}, tmp_path / "test.tsv", "beir")
    assert read_qrels(tmp_path / "test.tsv", "beir") == {"q": {"a": 1}}


def test_gz_is_packed(tmp_path):
    write_qrels({"q": ["a"]}, tmp_path / "gold.csv.gz")
    assert gzip.decompress((tmp_path / "gold.csv.gz").read_bytes()) == b"query_id,item\r\nq,a\r\n"
    assert read_qrels(tmp_path / "gold.csv.gz") == {"q": ["a"]}


def test_an_empty_golden_set(tmp_path):
    for kind in KINDS:
        write_qrels({}, tmp_path / f"gold.{kind}")
        assert read_qrels(tmp_path / f"gold.{kind}") == {}
        write_run({}, tmp_path / f"run.{kind}")
        assert read_run(tmp_path / f"run.{kind}") == {}


GOLD = [
    ("jsonl", {"q": "abc"}, "query 'q': relevant items are the string 'abc': pass a list"),
    ("jsonl", {"q": [None]}, "query 'q': None (NoneType) has no place in a file"),
    ("jsonl", {"q": [1.5]}, "query 'q': 1.5 (float) has no place in a file: ids are strings or whole numbers"),
    ("jsonl", {"q": [uuid.UUID(int=1)]}, "(UUID) has no place in a file"),
    ("jsonl", {("q", 1): ["a"]}, "query ('q', 1): ('q', 1) (tuple) has no place in a file"),
    ("jsonl", {"": ["a"]}, "query '': its id is empty"),
    ("jsonl", {1: ["a"], "1": ["b"]}, "query 1: in a file it would have the id of another one"),
    ("jsonl", {"q": {1: 1, "1": 2}}, "query 'q': in a file two of its items would have the same id"),
    ("jsonl", {"q": {"a": float("nan")}}, "query 'q': the grade of 'a' must be a number, got NaN"),
    ("jsonl", {"q": {"a": True}}, "query 'q': the grade of 'a' must be a number, got True"),
    ("jsonl", {"q": {hr.Span("a", 0, 1): 2}}, "query 'q': Span(document='a', start=0, end=1) (Span) has no place in"),
    (
        "csv",
        {"q": [hr.Span("a", 0, 1)]},
        "query 'q': the item ('a', 0, 1) has no place in a table of items: write JSON",
    ),
    ("csv", {"q": [""]}, "query 'q': the item '' has no place in a table of items: write JSON lines"),
    ("trec", {"q": ["a b"]}, "query 'q': an id in a TREC file has no white space, as 'a b' has"),
    ("trec", {"q r": ["a"]}, "an id in a TREC file has no white space, as 'q r' has"),
    ("trec", {"q": {"a": 0.5}}, "query 'q': the grades of this format are whole numbers, found 0.5"),
    ("beir", {"q": {"a": 0.5}}, "query 'q': the grades of this format are whole numbers, found 0.5"),
    ("ragas", {"q": ["a"]}, "ragas is read, not written: write jsonl, json, csv, tsv, parquet or trec"),
    ("jsonl", [("q", ["a"])], "qrels must be a mapping of query id -> items, got list"),
    ("csv", {"q": ["\ud800"]}, "UTF-8 cannot hold 'q,\\ud800'"),
    ("jsonl", {"q": ["\ud800"]}, "UTF-8 cannot hold"),
]

RUNS = [
    ("trec", {"q": ["a", "a"]}, "query 'q': a TREC run holds each item once, and here one is retrieved twice"),
    ("csv", {"q": ["a", None]}, "query 'q': the item None has no place in a table of items: write JSON lines"),
    ("jsonl", {"q": {"a", "b"}}, "query 'q': retrieved items are a set, which has no order"),
    ("jsonl", {"q": {"a": float("nan")}}, "query 'q': the score of 'a' must be a number, got NaN"),
    ("beir", {"q": ["a"]}, "beir is read, not written"),
    ("jsonl", "run", "run must be a mapping of query id -> items, got str"),
]


@pytest.mark.parametrize(("kind", "qrels", "told"), GOLD)
def test_a_golden_set_that_cannot_be_written_leaves_the_older_file(tmp_path, kind, qrels, told):
    (tmp_path / "x").write_text("older")
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        write_qrels(qrels, tmp_path / "x", kind)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "older"


@pytest.mark.parametrize(("kind", "run", "told"), RUNS)
def test_a_run_that_cannot_be_written(tmp_path, kind, run, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        write_run(run, tmp_path / "x", kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.json", "gold.csv.gz", "gold.trec", "gold.parquet"])
@pytest.mark.parametrize("folder", ["nowhere", "file"])
def test_a_file_that_cannot_be_made_is_named_as_it_was_asked_for(tmp_path, name, folder):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / "file").write_text("")
    with pytest.raises((FileNotFoundError, NotADirectoryError)) as raised:
        write_qrels({"q": ["a"]}, tmp_path / folder / name)
    assert raised.value.filename == str(tmp_path / folder / name)
    assert raised.value.filename2 is None


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "gold.jsonl").mkdir()
    with pytest.raises(OSError, match=r"gold\.jsonl'$") as raised:
        write_qrels({"q": ["a"]}, tmp_path / "gold.jsonl")
    assert raised.value.filename == str(tmp_path / "gold.jsonl")
    assert list(tmp_path.iterdir()) == [tmp_path / "gold.jsonl"]


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "target", tmp_path / "gold.jsonl.gz"
    link.symlink_to(target)
    for qrels in ({"q": ["a"]}, {"q": ["b"]}):  # there is no such file; there is one
        write_qrels(qrels, link)
        assert link.is_symlink()
        assert not target.is_symlink()
        assert read_qrels(link) == qrels
        assert gzip.decompress(target.read_bytes()).count(b"\n") == 1
    assert sorted(tmp_path.iterdir()) == [tmp_path / "data", link]
    assert list((tmp_path / "data").iterdir()) == [target]


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.csv.gz", *(["gold.parquet"] if HAS_PARQUET else [])])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_keeps_its_mode(tmp_path, name, mode):
    path = tmp_path / name
    path.touch()
    path.chmod(mode)
    write_qrels({"q": ["a"]}, path)
    assert path.stat().st_mode & 0o777 == mode
    assert read_qrels(path) == {"q": ["a"]}


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.csv", "gold.jsonl.gz"])
@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_stays(tmp_path, name, linked):
    pipe, path = tmp_path / ("pipe" if linked else name), tmp_path / name
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe)
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(pipe.read_bytes)
        write_qrels({"q": ["a"]}, path)
        (tmp_path / f"read-{name}").write_bytes(reading.result(timeout=10))
    assert read_qrels(tmp_path / f"read-{name}") == {"q": ["a"]}
    assert pipe.is_fifo()
    assert path.is_symlink() == linked


def test_the_end_of_the_name_says_the_format(tmp_path):
    with pytest.raises(ValueError, match=r"gold.txt: the end of its name stands for no format"):
        write_qrels({"q": ["a"]}, tmp_path / "gold.txt")


def test_an_example_of_the_handbook_set_is_read_in_every_format(tmp_path):
    qrels = {"q1": {"d2": 2, "d7": 1}, "q2": {"d1": 1}}
    run = {"q1": ["d1", "d2"], "q2": ["d6", "d7"]}
    for kind in KINDS:
        write_qrels(qrels, tmp_path / f"gold.{kind}")
        write_run(run, tmp_path / f"run.{kind}")
        evaluation = hr.evaluate(read_qrels(tmp_path / f"gold.{kind}"), read_run(tmp_path / f"run.{kind}"))
        assert (float(evaluation.hit_rate(5)), evaluation.misses(5)) == (0.5, ("q2",))
