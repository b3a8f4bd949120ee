"""Each kind of file is read, by the end of its name or by the format that is named."""

import gzip
import json
import sys

import pytest

import hitrate_adapters as hr
from hitrate_adapters.formats import read_qrels, read_run, read_texts
from hitrate_adapters.formats.files import Place
from hitrate_adapters.formats.reading import rankings

# JSON lines


def test_json_lines_of_lists(file):
    path = file("gold.jsonl", '{"query_id": "q1", "relevant": ["d2", "d7"]}\n{"query_id": "q2", "relevant": []}\n')
    assert read_qrels(path) == {"q1": ["d2", "d7"], "q2": []}


def test_json_lines_of_grades(file):
    path = file("gold.jsonl", '{"query_id": "q1", "relevant": {"d2": 2, "d7": 0.5, "d9": -1}}')
    assert read_qrels(path) == {"q1": {"d2": 2, "d7": 0.5, "d9": -1}}


def test_json_lines_of_a_run(file):
    path = file("run.jsonl", '{"query_id": "q1", "retrieved": ["d2", "d2", null]}\n')
    assert read_run(path) == {"q1": ["d2", "d2", None]}


def test_scores_are_sorted_with_ties_by_item_descending(file):
    path = file("run.jsonl", '{"query_id": "q", "retrieved": {"a": 1, "c": 2, "b": 2.0, "d": 1.9999999999999998}}\n')
    assert read_run(path) == {"q": ["c", "b", "d", "a"]}


def test_scores_are_compared_in_double_precision(file):
    path = file("run.trec", "q Q0 a 1 1.000000000001 x\nq Q0 b 2 1.0 x\n")
    assert read_run(path) == {"q": ["a", "b"]}


def test_ids_become_strings_on_both_sides(file):
    gold = file("gold.jsonl", '{"query_id": 7, "relevant": [1, "2"]}\n')
    run = file("run.jsonl", '{"query_id": "7", "retrieved": ["1"]}\n')
    assert read_qrels(gold) == {"7": ["1", "2"]}
    assert hr.evaluate(read_qrels(gold), read_run(run)).hit_rate(1) == 1


def test_other_fields_may_have_other_names(file):
    path = file("both.jsonl", '{"qid": "q", "gold": {"ids": ["a"]}, "out.ids": ["b"]}\n')
    assert read_qrels(path, query_id="qid", items="gold.ids") == {"q": ["a"]}
    assert read_run(path, query_id="qid", items="out.ids") == {"q": ["b"]}


def test_items_may_be_documents(file):
    rows = [
        {"id": "a", "page_content": "A", "metadata": {"id": "x", "source": "a.md"}, "type": "Document"},
        {"id": None, "page_content": "B", "metadata": {"id": "b", "source": "b.md"}},
        {"id": 3, "source": "c.md"},
    ]
    path = file("run.jsonl", json.dumps({"query_id": "q", "retrieved": rows}))
    assert read_run(path) == {"q": ["a", "b", "3"]}
    assert read_run(path, id_key="source") == {"q": ["a.md", "b.md", "c.md"]}


def test_a_document_without_the_id_is_an_error_that_says_what_it_has(file):
    path = file("run.jsonl", '{"query_id": "q", "retrieved": [{"text": "A", "metadata": {"source": "a.md"}}]}')
    with pytest.raises(
        ValueError, match=r"line 1: a document has no 'id': id_key= .* it has text, metadata, metadata.so"
    ):
        read_run(path)


def test_items_may_be_spans(file):
    gold = read_qrels(file("gold.jsonl", '{"query_id": "q", "relevant": [["a.md", 0, 20]]}'))
    run = read_run(file("run.jsonl", '{"query_id": "q", "retrieved": [["a.md", 10, 40]]}'))
    assert gold == {"q": [hr.Span("a.md", 0, 20)]}
    assert hr.evaluate(gold, run, match=hr.span_overlap(0.5)).hit_rate(1) == 1


def test_a_failed_retrieval_is_named(file):
    text = '{"query_id": "q", "retrieved": ["a"], "error": "TimeoutError: late"}\n{"query_id": "p", "error": "no"}\n'
    run = read_run(file("run.jsonl", text + '{"query_id": "r", "retrieved": ["a"], "error": null}\n'))
    assert run == {"q": [], "p": [], "r": ["a"]}
    assert {query: repr(error) for query, error in run.errors.items()} == {
        "q": "RuntimeError('TimeoutError: late')",
        "p": "RuntimeError('no')",
    }


def test_equal_ids_are_one_object(file):
    text = '{"query_id": "q1", "retrieved": ["some id"]}\n{"query_id": "q2", "retrieved": ["some id"]}\n'
    run = read_run(file("run.jsonl", text))
    assert run["q1"][0] is run["q2"][0]


# JSON


def test_json_of_query_to_items(file):
    assert read_qrels(file("gold.json", '{"q1": ["a"], "q2": {"b": 2}}')) == {"q1": ["a"], "q2": {"b": 2}}
    assert read_run(file("run.json", '{"q1": ["a"], "q2": {"b": 2, "c": 3}}')) == {"q1": ["a"], "q2": ["c", "b"]}


def test_json_of_a_list_of_objects(file):
    assert read_run(file("run.json", '[{"query_id": "q1", "retrieved": ["a"]}]')) == {"q1": ["a"]}


# CSV and TSV


def test_csv_without_grades(file):
    path = file("gold.csv", 'query_id,item\nq1,d2\nq2,"d,1"\nq1,d7\nq1,d2\n')
    assert read_qrels(path) == {"q1": ["d2", "d7"], "q2": ["d,1"]}


def test_csv_with_grades_in_any_order_of_columns(file):
    path = file("gold.csv", "grade, note,item,query_id\n2,x,d2,q1\n0,,d7,q1\n0.5,,d7,q2\n")
    assert read_qrels(path) == {"q1": {"d2": 2, "d7": 0}, "q2": {"d7": 0.5}}


def test_csv_by_rank_which_comes_before_score(file):
    path = file("run.csv", "query_id,item,rank,score\nq,b,2,9\nq,a,10,8\nq,c,1,7\nq,b,3,9\n")
    assert read_run(path) == {"q": ["c", "b", "b", "a"]}


def test_csv_by_score(file):
    assert read_run(file("run.csv", "query_id,item,score\nq,a,1\nq,b,1e2\nq,c,1\n")) == {"q": ["b", "c", "a"]}


def test_tsv(file):
    path = file("gold.tsv", 'qid\tdoc\nq1\t"a\tb"\nq1\tc d\n')
    assert read_qrels(path, query_id="qid", items="doc") == {"q1": ["a\tb", "c d"]}


def test_a_cell_may_be_longer_than_the_csv_module_reads(file):
    path = file("gold.csv", f"query_id,item\nq,{'x' * 200_000}\n")
    assert len(read_qrels(path)["q"][0]) == 200_000


# Parquet


@pytest.fixture
def frame(tmp_path):
    """Return a function that saves columns as pandas does."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")

    def save(**columns):
        path = tmp_path / "table.parquet"
        pandas.DataFrame(columns).to_parquet(path)
        return path

    return save


def test_parquet_of_single_items(frame):
    path = frame(query_id=[1, 1, 2], item=["a", "b", "a"], grade=[1, 0, 2], rank=[2, 1, 1])
    assert read_qrels(path) == {"1": {"a": 1, "b": 0}, "2": {"a": 2}}
    assert read_run(path) == {"1": ["b", "a"], "2": ["a"]}


def test_parquet_of_lists(frame):
    path = frame(query_id=["q1", "q2"], relevant=[["a"], ["b"]], retrieved=[["b", "a"], []], gold=[["x"], []])
    assert read_qrels(path) == {"q1": ["a"], "q2": ["b"]}
    assert read_run(path) == {"q1": ["b", "a"], "q2": []}
    assert read_qrels(path, items="gold") == {"q1": ["x"], "q2": []}


def test_parquet_rows_are_named(frame):
    with pytest.raises(ValueError, match=r"table.parquet, row 2: there is no item, found None"):
        read_qrels(frame(query_id=["q1", "q2"], item=["a", None]))


def test_what_is_no_parquet(file):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"gold.parquet: this is no Parquet"):
        read_qrels(file("gold.parquet", b"PAR1"))


def test_parquet_without_pyarrow(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "hitrate_adapters.formats.parquet", raising=False)
    with pytest.raises(ImportError, match=r"pyarrow is not installed: pip install 'hitrate-adapters\[parquet\]'"):
        read_qrels(file("gold.parquet", b"PAR1"))


# TREC


def test_trec(file):
    assert read_qrels(file("gold.trec", "q1 0 d2 1\r\n\r\nq1\t0\td7\t-1\n")) == {"q1": {"d2": 1, "d7": -1}}
    lines = "q1 Q0 d1 1 2.5 my run\nq2 Q0 d1 1 7 x\nq1 Q0 d2 2 3.5 my run\n"
    assert read_run(file("bm25.run", lines)) == {"q1": ["d2", "d1"], "q2": ["d1"]}


def test_only_ascii_white_space_parts_the_columns(file):
    assert read_qrels(file("gold.qrels", "q\u00a01 0 d\u2028 1\n")) == {"q\u00a01": {"d\u2028": 1}}


# Texts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("corpus.csv", 'id,text\n1,"A, b"\n'),
        ("corpus.tsv", "id\ttext\n1\tA, b\n"),
        ("corpus.jsonl", '{"_id": 1, "text": "A, b", "title": "no"}\n'),
        ("corpus.jsonl", '{"id": "1", "text": "A, b", "query_id": 5}\n'),
        ("corpus.json", '{"1": "A, b"}'),
        ("corpus.json", '[{"id": 1, "text": "A, b"}]'),
    ],
)
def test_texts(file, name, content):
    assert read_texts(file(name, content)) == {"1": "A, b"}


def test_texts_of_queries_beside_their_golden_set(file):
    path = file("gold.jsonl", '{"query_id": "q1", "query": "How long?", "relevant": ["d1"]}')
    assert read_texts(path, texts="query") == {"q1": "How long?"}
    assert read_texts(path, ids="query", texts="query_id") == {"How long?": "q1"}


def test_a_text_that_is_there_twice_is_one(file):
    path = file("gold.csv", "query_id,item,topic\nq1,d1,a\nq1,d2,a\nq2,d1,b\n")
    assert read_texts(path, texts="topic") == {"q1": "a", "q2": "b"}


def test_a_folder_without_the_file_says_how_it_is_read(file):
    folder = file("beir/README", "").parent
    for read, told in ((read_qrels, "qrels/test.tsv"), (read_texts, "corpus.jsonl")):
        with pytest.raises(FileNotFoundError, match=r"the folder .* is read as BEIR's") as caught:
            read(folder)
        assert caught.value.filename == str(folder / told)


def test_what_is_no_text_and_what_is_there_twice(file):
    text = '{"id": "a", "text": null}\n{"id": "b", "text": "B"}\n{"id": "b", "text": "C"}\n{"id": "c"}\n'
    texts = read_texts(file("corpus.jsonl", text), on_error="skip")
    assert texts == {"b": "B"}
    assert [told.partition(", ")[2] for told in texts.skipped] == [
        "line 1: expected a text, found None",
        "line 3: the id 'b' has another 'text' on an earlier row",
        "line 4: expected 'text', the row has 'id'",
    ]


# What the bytes may be


def test_gz_is_unpacked(file):
    path = file("run.trec.gz", gzip.compress(b"q Q0 a 1 1 x\n"))
    assert read_run(path) == {"q": ["a"]}


@pytest.mark.parametrize("name", ["gold.jsonl", "gold.json", "gold.csv", "gold.trec"])
def test_a_mark_of_the_byte_order_is_left_out(file, name):
    content = {
        "gold.jsonl": '{"query_id": "q", "relevant": {"é": 1}}',
        "gold.json": '{"q": {"é": 1}}',
        "gold.csv": "query_id,item,grade\r\nq,é,1\r\n",
        "gold.trec": "q 0 é 1\r\n",
    }[name]
    assert read_qrels(file(name, "\ufeff" + content)) == {"q": {"é": 1}}


def test_windows_line_ends_and_blank_lines(file):
    text = '\r\n{"query_id": "q", "relevant": ["a"]}\r\n   \r\n{"query_id": "p", "relevant": ["a"]}\r\n\r\n'
    assert read_qrels(file("gold.jsonl", text)) == {"q": ["a"], "p": ["a"]}
    assert read_qrels(file("gold.csv", "query_id,item\r\n\r\nq,a\r\n\r\n")) == {"q": ["a"]}


def test_a_cell_may_hold_line_ends(file):
    assert read_qrels(file("gold.csv", 'query_id,item\r\nq,"a\r\n\r\nb"\r\n')) == {"q": ["a\r\n\r\nb"]}


def test_an_empty_file_is_an_empty_golden_set(file):
    assert read_qrels(file("gold.jsonl", "")) == {}
    assert read_qrels(file("gold.trec", "\n")) == {}


# Names


@pytest.mark.parametrize("name", ["gold.txt", "gold", "gold.gz", "gold.JSONL2"])
def test_a_name_that_says_no_format(file, name):
    with pytest.raises(
        ValueError, match=rf"{name}: the end of its name stands for no format \(.*\): pass format=, one"
    ):
        read_qrels(file(name, "q 0 a 1"))


def test_a_format_that_is_named_goes_before_the_end_of_the_name(file):
    assert read_qrels(file("qrels.json", "q 0 a 1"), "trec") == {"q": {"a": 1}}


def test_an_unknown_format():
    with pytest.raises(ValueError, match=r"format must be one of jsonl, json, .*, langsmith; got 'xlsx'"):
        read_qrels("gold.xlsx", format="xlsx")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gold.jsonl"):
        read_qrels(tmp_path / "gold.jsonl")


# One at a time


def test_rankings_are_read_one_at_a_time(file):
    place = Place(file("run.jsonl", '{"query_id": "q", "retrieved": ["a"]}\nno\n{"query_id": "q", "retrieved": []}\n'))
    found = rankings(place, None, ["q0"])
    assert next(found) == ("q", ["a"], None)
    with pytest.raises(ValueError, match="line 2: this is no JSON"):
        next(found)


def test_rankings_of_a_query_that_was_there(file):
    place = Place(file("run.jsonl", '{"query_id": "q", "retrieved": ["a"]}\n'), on_error="skip")
    assert list(rankings(place, None, ["q"])) == []
    assert place.skipped == [f"{place.path}, line 1: query 'q' is on an earlier row too"]


def test_rankings_of_a_table(file):
    place = Place(file("run.txt", "q Q0 a 1 1 x\n"))
    assert list(rankings(place, "trec", ())) == [("q", ["a"], None)]
