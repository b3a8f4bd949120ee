"""The retrieval that the examples share: a data folder, BM25, static dense vectors, and the fusion of the two.

A retriever is a function from queries and a depth k to the ids of k passages per query, best first::

    data = load("examples/handbook")
    hybrid = fuse(bm25(data.corpus), dense(data.corpus))
    run = dict(zip(data.queries, hybrid(list(data.queries.values()), 10)))
"""

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer
from tqdm import tqdm

logging.basicConfig(level=logging.WARNING)  # first, because importing wordllama sets the root logger to INFO
logging.getLogger("bm25s").setLevel(logging.WARNING)

import wordllama  # noqa: E402

Retriever = Callable[[Sequence[str], int], list[list[str]]]
Floats = npt.NDArray[np.float32]
BATCH = 64


@dataclass(frozen=True, slots=True)
class Data:
    """What a retrieval test needs, by id; `references` holds the gold answers of the queries that have one."""

    corpus: dict[str, str]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    references: dict[str, str]


def load(folder: str | Path) -> Data:
    """Read a folder of JSON lines; ids become strings.

    Its files are `corpus.jsonl`, of rows such as {"_id": "p1", "text": "..."}, `queries.jsonl`, the same and with a
    "reference" answer if there is one, and `qrels.jsonl`, {"query_id": "q1", "relevant": ["p1"]} or {"p1": grade}.

    Raises OSError for a file that cannot be read, ValueError for a row that is not what it must be; both name the file.
    """
    corpus = _rows(Path(folder, "corpus.jsonl"), "_id", "text", str)
    queries = _rows(Path(folder, "queries.jsonl"), "_id", "text", str)
    qrels = _rows(Path(folder, "qrels.jsonl"), "query_id", "relevant", dict | list)
    relevant = [passage for row in qrels.values() for passage in row["relevant"]]
    if corpus.keys().isdisjoint(relevant):
        raise ValueError(
            f"no relevant id of {folder}/qrels.jsonl, such as {relevant[:1]}, is the _id of a passage, "
            f"such as {next(iter(corpus))!r}"
        )
    return Data(
        corpus={key: row["text"] for key, row in corpus.items()},
        queries={key: row["text"] for key, row in queries.items()},
        qrels={
            key: row["relevant"] if isinstance(row["relevant"], dict) else dict.fromkeys(row["relevant"], 1)
            for key, row in qrels.items()
        },
        references={key: row["reference"] for key, row in queries.items() if row.get("reference")},
    )


def _rows(path: Path, key: str, field: str, kind: type | UnionType) -> dict[str, dict[str, Any]]:
    """Return the rows of a JSON lines file by id, each with a field of that kind."""
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(row, dict) or row.get(key) is None or not isinstance(row.get(field), kind):
            wanted = getattr(kind, "__name__", kind)
            raise ValueError(f"{path}, line {number} must have {key!r} and {field!r} ({wanted}): {row!r:.80}")
        if str(row[key]) in rows:
            raise ValueError(f"{path}, line {number}: the {key} {row[key]!r} stands twice in the file")
        rows[str(row[key])] = row
    if not rows:
        raise ValueError(f"{path} is empty")
    return rows


def bm25(corpus: Mapping[str, str]) -> Retriever:
    """Return a retriever by words: BM25 over English stems, without stop words."""
    ids, stemmer, index = list(corpus), Stemmer.Stemmer("english"), bm25s.BM25()

    def words(texts: Sequence[str]) -> list[list[str]]:
        return list(bm25s.tokenize(list(texts), "en", stemmer=stemmer, return_ids=False, show_progress=False))

    passages = words(list(corpus.values()))
    if not any(passages):
        raise ValueError("no passage has a word that could be searched for")
    index.index(passages, show_progress=False)
    return lambda queries, k: [_best(ids, index.get_scores(query), k) if query else [] for query in words(queries)]


def dense(corpus: Mapping[str, str]) -> Retriever:
    """Return a retriever by meaning: cosine of WordLlama vectors, whose weights come with the package."""
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    ids, vectors = list(corpus), _cached(list(corpus.values()), lambda texts: _embed(model, texts))
    return lambda queries, k: [_best(ids, scores, k) for scores in _embed(model, queries) @ vectors.T]


def fuse(*retrievers: Retriever, constant: int = 60, depth: int = 100) -> Retriever:
    """Return the reciprocal rank fusion of retrievers: a passage earns 1 / (constant + rank) from each."""

    def merge(lists: Sequence[Sequence[str]], k: int) -> list[str]:
        points: Counter[str] = Counter()
        for ranked in lists:
            points.update({passage: 1 / (constant + rank) for rank, passage in enumerate(ranked, 1)})
        return [passage for passage, _ in points.most_common(k)]

    def retrieve(queries: Sequence[str], k: int) -> list[list[str]]:
        return [merge(lists, k) for lists in zip(*(each(queries, max(k, depth)) for each in retrievers), strict=True)]

    return retrieve


def _best(ids: Sequence[str], scores: Floats, k: int) -> list[str]:
    """Return the ids of the k highest scores but never of a zero; equal scores keep the order of the corpus."""
    return [ids[i] for i in np.argsort(-scores, kind="stable") if scores[i]][:k]


def _embed(model: wordllama.WordLlamaInference, texts: Sequence[str]) -> Floats:
    """Return one unit vector per text, zeros where it has no words; a long job shows a progress bar on a terminal."""
    starts = tqdm(range(0, max(len(texts), 1), BATCH), "embedding", leave=False, disable=len(texts) <= BATCH or None)
    vectors: Floats = np.concatenate([model.embed(list(texts[i : i + BATCH])) for i in starts])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors


def _cached(texts: list[str], embed: Callable[[list[str]], Floats]) -> Floats:
    """Return the vectors of the texts, kept in $XDG_CACHE_HOME or ~/.cache for the next run."""
    key = hashlib.sha256(json.dumps(["wordllama", wordllama.__version__, *texts]).encode()).hexdigest()
    path = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "hitrate-adapters", f"{key}.npy").expanduser()
    with suppress(OSError, ValueError, EOFError):  # absent or damaged: made anew
        return np.asarray(np.load(path), np.float32)
    vectors = embed(texts)
    with suppress(OSError):  # nowhere to write: made anew each time
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, vectors)
    return vectors
