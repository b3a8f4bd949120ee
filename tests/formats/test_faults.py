"""A row that is wrong is told with file and line, what was found and what was expected; or it is left out and named."""

import gzip
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitrate_adapters.formats import read_qrels, read_run, read_texts
from hitrate_adapters.formats.reading import ReadQrels, ReadRun, ReadTexts

GOLD = [
    (
        "gold.jsonl",
        '{"query_id": "q", "relevant": ["a"',
        "line 1: this is no JSON: Expecting ',' delimiter at column 35",
    ),
    ("gold.jsonl", '\n["q"]', "line 2: expected an object, found ['q']"),
    ("gold.jsonl", '{"query": "q", "relevant": []}', "line 1: expected 'query_id', the row has 'query', 'relevant'"),
    (
        "gold.jsonl",
        '{"id": "q"}',
        "line 1: expected 'query_id', the row has 'id' (query_id= and items= name other fields)",
    ),
    (
        "gold.jsonl",
        '{"user_input": "q", "reference_contexts": []}',
        "the row has 'user_input', 'reference_contexts' (these look like RAGAS' rows: pass format='ragas')",
    ),
    ("gold.jsonl", '{"query_id": "q", "gold": []}', "line 1: expected 'relevant', the row has 'query_id', 'gold'"),
    (
        "gold.jsonl",
        '{"query_id": "q", "relevant": "a"}',
        "line 1: expected a list of relevant items, or item -> grade; ",
    ),
    ("gold.jsonl", '{"query_id": "q", "relevant": null}', "found None"),
    ("gold.jsonl", '{"query_id": "q", "relevant": [null]}', "line 1: None is no id: ids are strings or whole numbers"),
    ("gold.jsonl", '{"query_id": "q", "relevant": [1.5]}', "line 1: 1.5 is no id: ids are strings or whole numbers"),
    ("gold.jsonl", '{"query_id": "q", "relevant": [true]}', "line 1: True is no id: ids are strings or whole numbers"),
    ("gold.jsonl", '{"query_id": "q", "relevant": [["a", 1]]}', "line 1: ['a', 1] is no id"),
    ("gold.jsonl", '{"query_id": 1.0, "relevant": []}', "line 1: 1.0 is no id"),
    ("gold.jsonl", '{"query_id": null, "relevant": []}', "line 1: there is no query id, found None"),
    ("gold.jsonl", '{"query_id": "", "relevant": []}', "line 1: there is no query id, found ''"),
    ("gold.jsonl", '{"query_id": "q", "relevant": {"a": "x"}}', "line 1: the grade of 'a' must be a number, found 'x'"),
    ("gold.jsonl", '{"query_id": "q", "relevant": {"a": true}}', "line 1: the grade of 'a' must be a number, got True"),
    ("gold.jsonl", '{"query_id": "q", "relevant": {"a": NaN}}', "line 1: the grade of 'a' must be a number, got NaN"),
    ("gold.jsonl", '{"query_id": "q", "relevant": {"a": 1e999}}', "line 1: the grade of 'a' must be finite, found inf"),
    ("gold.jsonl", '{"query_id": "q", "relevant": {"a": 1, "a": 2}}', "line 1: 'a' is there twice"),
    (
        "gold.jsonl",
        '{"query_id": "q", "relevant": []}\n{"query_id": "q", "relevant": []}',
        "line 2: query 'q' is on an earlier row too",
    ),
    ("gold.jsonl", b'{"query_id": "q\xe9", "relevant": []}', r"line 1: this is no UTF-8: b'\xe9"),
    ("gold.json", '{"q": ["a"], "p": "a"}', "entry 'p': expected a list of relevant items"),
    ("gold.json", '[{"query_id": "q", "relevant": []}, 7]', "entry 2: expected an object, found 7"),
    ("gold.csv", "query_id,item\nq,a\nq\n", "line 3: expected 2 cells, as the header has, found 1: 'q'"),
    ("gold.csv", "query_id,item\nq,\n", "line 2: there is no item, found ''"),
    ("gold.csv", "query_id,item\n,a\n", "line 2: there is no query id, found ''"),
    ("gold.csv", "query_id,item,grade\nq,a,x\n", "line 2: the grade must be a number, found 'x'"),
    ("gold.csv", "query_id,item,grade\nq,a,\n", "line 2: the grade must be a number, found ''"),
    ("gold.csv", "query_id,item,grade\nq,a,1_0\n", "line 2: the grade must be a number, found '1_0'"),
    ("gold.csv", "query_id,item,grade\nq,a,inf\n", "line 2: the grade must be finite, found inf"),
    (
        "gold.csv",
        "query_id,item,grade\nq,a,1\nq,a,1\nq,a,2\n",
        "line 4: item 'a' of query 'q' has another grade on an earlier row",
    ),
    ("gold.csv", b"query_id,item\nq,\xe9\n", r"line 2: this is no UTF-8: b'\xe9'"),
    ("gold.trec", "q 0 a", "line 1: expected 4 columns (query_id iteration item grade), found 3: 'q 0 a'"),
    ("gold.trec", "q 0 a 1 x", "line 1: expected 4 columns (query_id iteration item grade), found 5: 'q 0 a 1 x'"),
    ("gold.trec", b"q 0 \xff 1", r"line 1: this is no UTF-8: b'\xff'"),
]

RUNS = [
    ("run.jsonl", '{"query_id": "q", "retrieved": null}', "found None ([] where nothing was retrieved)"),
    ("run.jsonl", '{"query_id": "q", "retrieved": {"a": NaN}}', "line 1: the score of 'a' must be a number, got NaN"),
    ("run.csv", "query_id,item,rank\nq,a,1\nq,b,1\n", "line 3: rank 1 of query 'q' is on an earlier row too"),
    ("run.csv", "query_id,item,score\nq,a,1\nq,a,2\n", "line 3: item 'a' of query 'q' is on an earlier row too"),
    ("run.csv", "query_id,item,score\nq,a,nan\n", "line 2: the score must be a number, got NaN"),
    ("run.trec", "q Q0 a 1 2 x\nq Q0 a 2 1 x\n", "line 2: item 'a' of query 'q' is on an earlier row too"),
    (
        "run.trec",
        "q Q0 a 1 2",
        "line 1: expected 6 columns (query_id Q0 item rank score run_id), found 5: 'q Q0 a 1 2'",
    ),
]

WHOLE = [
    ("gold.json", "{", "gold.json: this is no JSON: Expecting property name enclosed in double quotes at column 2"),
    ("gold.json", '{"q": [],\n "p" []}', "gold.json: this is no JSON: Expecting ':' delimiter at line 2, column 6"),
    ("gold.json", '{"q": [], "q": []}', "gold.json: 'q' is there twice"),
    ("gold.json", "7", "gold.json: expected an object of query id -> items, or a list of objects; found 7"),
    ("gold.json", "[" * 100_000, "gold.json: this is JSON too deep to be read"),
    ("gold.csv", "", "gold.csv: this is empty: expected a header"),
    (
        "gold.csv",
        "q1,d2\nq1,d3\n",
        "gold.csv: expected the columns query_id and item; it has 'q1', 'd2' (query_id= and",
    ),
    ("gold.csv", "query_id;item\nq;a\n", "it has 'query_id;item': is ';' between the columns? .csv has commas, .tsv t"),
    ("gold.tsv", "query_id,item\nq,a\n", "it has 'query_id,item': is ',' between the columns? .csv has commas, .tsv t"),
    ("gold.csv", "user_input,reference_contexts\n", "(these look like RAGAS' rows: pass format='ragas')"),
    ("gold.csv", "query_id,doc_id\n", "gold.csv: expected the column item; it has 'query_id', 'doc_id'"),
    ("gold.csv", "query_id,item,item\n", "gold.csv: the header has a column twice"),
    ("gold.csv", 'query_id,item\nq,"a\nq,b\n', "line 3: unexpected end of data (is a quote never closed?)"),
    ("gold.jsonl", "{}".encode("utf-16"), "gold.jsonl: this is UTF-16: save it as UTF-8"),
    ("gold.csv", "{}".encode("utf-16"), "gold.csv: this is UTF-16: save it as UTF-8"),
]


@pytest.mark.parametrize(("name", "content", "told"), GOLD)
def test_a_row_of_a_golden_set(file, name, content, told):
    path = file(name, content)
    with pytest.raises(ValueError, match=re.escape(told)) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(f"{path}, ")
    skipped = read_qrels(path, on_error="skip").skipped
    assert len(skipped) == 1
    assert told in skipped[0]


@pytest.mark.parametrize(("name", "content", "told"), RUNS)
def test_a_row_of_a_run(file, name, content, told):
    path = file(name, content)
    with pytest.raises(ValueError, match=re.escape(told)):
        read_run(path)
    assert [told in each for each in read_run(path, on_error="skip").skipped] == [True]


@pytest.mark.parametrize(("name", "content", "told"), WHOLE)
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_whole_file_that_is_wrong_is_never_skipped(file, name, content, told, on_error):
    with pytest.raises(ValueError, match=re.escape(told)):
        read_qrels(file(name, content), on_error=on_error)


def test_a_run_in_csv_needs_an_order(file):
    path = file("run.csv", "query_id,item\nq,a\n")
    with pytest.raises(
        ValueError, match=r"run.csv: expected a column rank or score beside the items; it has query_id, it"
    ):
        read_run(path, on_error="skip")


def test_what_is_skipped_is_counted_and_named_and_the_rest_is_read(file):
    path = file("run.jsonl", '{"query_id": "q", "retrieved": ["a"]}\nno\n{"query_id": "p", "retrieved": 1}\n')
    run = read_run(path, on_error="skip")
    assert run == {"q": ["a"]}
    assert [each.partition(": ")[0] for each in run.skipped] == [f"{path}, line 2", f"{path}, line 3"]


def test_a_new_one_has_nothing_skipped():
    assert ReadQrels().skipped == ReadRun().skipped == ReadTexts().skipped == ()


def test_nothing_is_skipped_where_all_is_well(file):
    assert read_qrels(file("gold.trec", "q 0 a 1")).skipped == []


@pytest.mark.parametrize("read", [read_qrels, read_run, read_texts])
def test_on_error_is_raise_or_skip(file, read):
    with pytest.raises(ValueError, match='on_error must be "raise" or "skip", got \'ignore\''):
        read(file("x.jsonl", ""), on_error="ignore")


@pytest.mark.parametrize("end", [-1, -9, 15])
def test_half_of_a_packed_file(file, end):
    packed = gzip.compress(b'{"query_id": "q", "relevant": ["a"]}')
    path = file("gold.jsonl.gz", packed[:end])
    with pytest.raises(ValueError, match=r"gold.jsonl.gz: this cannot be unpacked: Compressed file ended"):
        read_qrels(path, on_error="skip")


PIECES = st.sampled_from(
    [
        *"{}[]:,\"\t\n\r '\ufeff\x00qa1",
        *("null", "-1e999", "NaN", '"query_id"', '"relevant"', '"retrieved"', '"error"', '"id"'),
        *("query_id,item,rank\n", "query_id\titem\tscore\n", "q 0 a 1\n", "q Q0 a 1 1 x\n"),
        '{"query_id": "q", "relevant": [], "retrieved": []}\n',
    ]
)
BYTES = st.lists(PIECES, max_size=12).map(lambda pieces: "".join(pieces).encode()) | st.binary(max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(content=BYTES, on_error=st.sampled_from(["raise", "skip"]))
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "trec", "parquet"])
def test_whatever_a_file_holds_it_is_read_or_a_value_error_that_names_it(file, ending, content, on_error):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = file(f"x.{ending}", content)
    for read in (read_qrels, read_run, *([] if ending == "trec" else [read_texts])):
        try:
            found = read(path, on_error=on_error)
        except ValueError as error:
            assert str(error).startswith(str(path))  # noqa: PT017 - it may be raised, and need not
        else:
            assert isinstance(found, dict)
