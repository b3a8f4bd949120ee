"""The examples of the labels' health, on small files and on real ones, with the figures that the docs give."""

import importlib
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
REAL = pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data")


@pytest.fixture
def script(monkeypatch):
    """Return a function that imports a module of examples/."""
    for package in ("bm25s", "Stemmer", "wordllama"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def published(command):
    """Return the lines that docs/labels.md says the command prints."""
    text = (ROOT / "docs" / "labels.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```console\n\$ {re.escape(command)}\n(.*?)\n```", text, re.DOTALL | re.MULTILINE)
    return block.splitlines()


def test_rechunked_index(script, tmp_path, capsys):
    text = " ".join(f"word{n:05}" for n in range(800))
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "words.md").write_text(text, encoding="utf-8")
    places = [(0, 9), (4010, 4069), (7880, 7950)]
    rows = [
        {
            "query_id": str(start),
            "question": text[start:end],
            "corpus": "words",
            "references": [{"start": start, "end": end}],
        }
        for start, end in places
    ]
    write(tmp_path / "questions.jsonl", rows)
    script("rechunked_index").main(str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 questions, 3 relevant chunks, 3 references; hit_rate@5 of BM25"
    assert lines[2].split() == [
        "400,",
        "new",
        "ids",
        "0.000",
        "1.000",
        "1.000",
        "1.00",
        "1.00",
        "1.000",
        "1.00",
        "1.00",
    ]
    assert lines[9] == "3 gold texts in a corpus of 27 chunks"


def test_missing_labels(script, tmp_path, capsys):
    texts = {"p1": "Refunds take five days.", "p2": "Note: refunds take five days.", "p3": "Shipping is free."}
    write(tmp_path / "corpus.jsonl", [{"_id": item, "text": text} for item, text in texts.items()])
    write(tmp_path / "queries.jsonl", [{"_id": "q", "text": "When is my money back?"}])
    write(tmp_path / "qrels.jsonl", [{"query_id": "q", "relevant": ["p1"]}])
    write(tmp_path / "runs" / "a.jsonl", [{"query_id": "q", "retrieved": ["p2", "p3"]}])
    write(tmp_path / "runs" / "b.jsonl", [{"query_id": "q", "retrieved": ["p1", "p2"]}])
    with pytest.warns(UserWarning, match="no relevant id was ever retrieved"):
        script("missing_labels").main(str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "1 of 1 queries have fewer than 3 relevant passages",
        "2 passages to judge in the top 5 of 2 runs, 1 of them in every run",
    ]
    assert [line.split() for line in lines[4:6]] == [
        ["a", "0.000", "1.000", "1", "1"],
        ["b", "1.000", "1.000", "1", "1"],
    ]
    assert lines[-1] == "  q, rank 1: p2 holds the text of p1 (100%)"


@REAL
@pytest.mark.parametrize(
    ("name", "folder", "last"),
    [
        ("rechunked_index", "spans", "366 of the misses are hits by spans; 354 of these are named as another"),
        (
            "missing_labels",
            "code_chunks",
            "  67, rank 3: 087c7915a5df0e768bca07ed...19ead305e6a#3 overlaps the text of",
        ),
    ],
)
def test_real_data(script, capsys, name, folder, last):
    script(name).main(str(Path(os.environ["HITRATE_TEST_DATA"], folder)))
    lines = capsys.readouterr().out.splitlines()
    figures = published(f"python examples/{name}.py {folder}")
    assert len(figures) > 5
    assert lines[: len(figures)] == figures
    assert lines[-1].startswith(last)


@REAL
def test_the_diagnosis_of_a_rechunked_index(script, capsys):
    script("rechunked_index").main(str(Path(os.environ["HITRATE_TEST_DATA"], "spans")))
    printed = capsys.readouterr().out.rstrip()
    (block,) = re.findall(
        r"```text\n(453 of 472 .*?)\n```", (ROOT / "docs" / "labels.md").read_text("utf-8"), re.DOTALL
    )
    assert printed.endswith(block)
