"""Files that frameworks write are read; where the framework is installed, it is the one that writes them."""

import json
from uuid import UUID

import pytest

import hitrate_adapters as hr
from hitrate_adapters.formats import read_qrels, read_run, read_texts

pytestmark = pytest.mark.filterwarnings("ignore:.*parameter is in beta")  # of LangSmith's upload_results=False

# BEIR


@pytest.fixture
def beir(file):
    file(
        "set/corpus.jsonl", '{"_id": "d1", "title": "Refunds", "text": "Five days."}\n{"_id": "d2", "text": "Free."}\n'
    )
    file("set/queries.jsonl", '{"_id": "q1", "text": "How long?", "metadata": {}}\n')
    file("set/qrels/dev.tsv", "query-id\tcorpus-id\tscore\nq1\td2\t1\n")
    return file("set/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n").parents[1]


def test_beir_folder(beir):
    assert read_qrels(beir) == {"q1": {"d1": 2, "d2": 0}}
    assert read_qrels(beir, "beir", split="dev") == {"q1": {"d2": 1}}
    assert read_qrels(beir / "qrels" / "dev.tsv", "beir") == {"q1": {"d2": 1}}


def test_beir_texts(beir):
    assert read_texts(beir) == {"d1": "Refunds Five days.", "d2": "Free."}
    assert read_texts(beir, texts="queries") == {"q1": "How long?"}


def test_beir_split_that_is_not_there(beir):
    with pytest.raises(FileNotFoundError, match=r"train\.tsv"):
        read_qrels(beir, split="train")


# LlamaIndex

DATASET = {
    "queries": {"q1": "How long?", "q2": "How much?"},
    "corpus": {"n1": "Five days.", "n2": "Free."},
    "relevant_docs": {"q1": ["n1"]},
    "mode": "text",
}


def test_llama_index(file):
    path = file("dataset.json", json.dumps(DATASET))
    assert read_qrels(path, "llama_index") == {"q1": ["n1"], "q2": []}
    assert read_texts(path, "llama_index") == {"n1": "Five days.", "n2": "Free."}
    assert read_texts(path, "llama_index", texts="queries") == {"q1": "How long?", "q2": "How much?"}


def test_llama_index_as_it_saves_it(tmp_path):
    legacy = pytest.importorskip("llama_index.core.llama_dataset.legacy.embedding")
    legacy.EmbeddingQAFinetuneDataset(**DATASET).save_json(str(tmp_path / "dataset.json"))
    assert read_qrels(tmp_path / "dataset.json", "llama_index") == {"q1": ["n1"], "q2": []}


def test_what_is_no_llama_index_dataset(file):
    with pytest.raises(ValueError, match=r"x.json: expected an object with queries, corpus and relevant_docs"):
        read_qrels(file("x.json", '{"q1": ["n1"]}'), "llama_index")


# RAGAS

ROWS = [
    {"user_input": "Q1", "reference_contexts": ["A, 'a'", 'B "b"'], "retrieved_contexts": ["C", "A, 'a'"]},
    {"user_input": "Q2", "reference_contexts": ["D"], "retrieved_contexts": []},
]
IDS = [{**row, "reference_context_ids": [1, "2"], "retrieved_context_ids": ["x", 2]} for row in ROWS]


@pytest.fixture
def ragas(tmp_path):
    """Return a function that saves rows as RAGAS does."""
    schema = pytest.importorskip("ragas.dataset_schema")

    def save(rows, name):
        dataset = schema.EvaluationDataset.from_list(rows)
        path = tmp_path / name
        {"jsonl": dataset.to_jsonl, "csv": dataset.to_csv}[path.suffix[1:]](path)
        return path

    return save


@pytest.mark.parametrize("name", ["dataset.jsonl", "dataset.csv"])
def test_ragas_as_it_saves_texts(ragas, name):
    path = ragas(ROWS, name)
    assert read_qrels(path, "ragas") == {"0": ["A, 'a'", 'B "b"'], "1": ["D"]}
    assert read_run(path, "ragas") == {"0": ["C", "A, 'a'"], "1": []}


@pytest.mark.parametrize("name", ["dataset.jsonl", "dataset.csv"])
def test_ragas_as_it_saves_ids(ragas, name):
    path = ragas(IDS, name)
    assert read_qrels(path, "ragas", query_id="user_input") == {"Q1": ["1", "2"], "Q2": ["1", "2"]}
    assert read_run(path, "ragas", query_id="user_input") == {"Q1": ["x", "2"], "Q2": ["x", "2"]}
    assert read_run(path, "ragas", items="retrieved_contexts") == {"0": ["C", "A, 'a'"], "1": []}


def test_ragas_never_compares_ids_with_texts(file):
    rows = [{"reference_context_ids": ["1"], "reference_contexts": ["A"], "retrieved_contexts": ["A"]}]
    path = file("dataset.jsonl", json.dumps(rows[0]))
    assert hr.evaluate(read_qrels(path, "ragas"), read_run(path, "ragas")).hit_rate(1) == 1
    gold = file("gold.jsonl", '{"reference_context_ids": ["1"], "reference_contexts": ["A"]}')
    assert read_qrels(gold, "ragas") == {"0": ["1"]}


def test_rows_keep_their_numbers_where_others_are_skipped(file):
    path = file("dataset.csv", "user_input,reference_contexts\nQ1,\nQ2,\"['A']\"\n")
    qrels = read_qrels(path, "ragas", on_error="skip")
    assert (qrels, len(qrels.skipped)) == ({"1": ["A"]}, 1)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("['a' 'b']", "expected a list with commas, found \"['a' 'b']\": turn the array into a list before saving"),
        ("['a'\n 'b']", "expected a list with commas"),
        ("a", "expected a list, as JSON or Python write it, found 'a'"),
        ("__import__('os').getcwd()", "expected a list, as JSON or Python write it"),
        ("['a', ...]", "Ellipsis is no id"),
        ("'a'", "expected a list of relevant items, or item -> grade; found 'a'"),
        ("[" * 1000, "expected a list, as JSON or Python write it"),
        ("", "expected a list, as JSON or Python write it, found ''"),
    ],
)
def test_a_cell_that_is_no_list(tmp_path, cell, told):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "dataset.csv"
    pandas.DataFrame({"reference_contexts": [cell], "x": [1]}).to_csv(path)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - matched below, without escapes
        read_qrels(path, "ragas")
    assert told in str(caught.value)


def test_ragas_in_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(ROWS).to_parquet(tmp_path / "dataset.parquet")
    assert read_run(tmp_path / "dataset.parquet", "ragas") == {"0": ["C", "A, 'a'"], "1": []}


# LangSmith

EXAMPLES = [UUID(int=1), UUID(int=2), UUID(int=3)]


@pytest.fixture
def experiment():
    """Return the results of an experiment that LangSmith ran, of which the third row failed."""
    langsmith = pytest.importorskip("langsmith")
    schemas = pytest.importorskip("langsmith.schemas")
    pytest.importorskip("pandas")
    client = langsmith.Client(api_key="x", api_url="http://127.0.0.1:9", info={"version": "0"}, tracing_sampling_rate=0)
    gold = [["d1"], ["d2", "d3"], ["d4"]]
    examples = [
        schemas.Example(id=each, inputs={"question": f"Q{n}"}, outputs={"ids": gold[n]})
        for n, each in enumerate(EXAMPLES)
    ]

    def target(inputs):
        if inputs["question"] == "Q2":
            raise TimeoutError("late")
        return {"documents": [{"id": "d1", "metadata": {"source": "a"}}, {"id": "d9", "metadata": {"source": "b"}}]}

    return langsmith.evaluate(target, data=examples, client=client, upload_results=False, max_concurrency=0).to_pandas()


def is_right(path):
    qrels = read_qrels(path, "langsmith", items="reference.ids")
    run = read_run(path, "langsmith", items="outputs.documents")
    first, second, third = map(str, EXAMPLES)
    assert qrels == {first: ["d1"], second: ["d2", "d3"], third: ["d4"]}
    assert run == {first: ["d1", "d9"], second: ["d1", "d9"], third: []}
    assert list(run.errors) == [third]
    assert "TimeoutError" in str(run.errors[third])
    assert read_run(path, "langsmith", items="outputs.documents", id_key="source")[first] == ["a", "b"]


def test_langsmith_experiment_in_csv(experiment, tmp_path):
    experiment.to_csv(tmp_path / "experiment.csv")
    is_right(tmp_path / "experiment.csv")


def test_langsmith_experiment_in_json_lines(experiment, tmp_path):
    experiment.astype({"example_id": str, "id": str}).to_json(tmp_path / "e.jsonl", orient="records", lines=True)
    is_right(tmp_path / "e.jsonl")


def test_langsmith_examples(tmp_path):
    schemas = pytest.importorskip("langsmith.schemas")
    examples = [schemas.Example(id=each, inputs={"question": "Q"}, outputs={"ids": ["d1"]}) for each in EXAMPLES[:2]]
    path = tmp_path / "examples.jsonl"
    path.write_text("\n".join(example.model_dump_json() for example in examples), encoding="utf-8")
    assert read_qrels(path, "langsmith", items="outputs.ids") == {str(each): ["d1"] for each in EXAMPLES[:2]}


def test_langsmith_examples_without_ids(file):
    path = file("examples.json", '[{"inputs": {"question": "Q"}, "outputs": {"ids": ["d1"]}}]')
    assert read_qrels(path, "langsmith", query_id="inputs.question", items="outputs.ids") == {"Q": ["d1"]}
    with pytest.raises(ValueError, match=r"entry 1: expected 'id', the row has 'inputs', 'outputs'"):
        read_qrels(path, "langsmith", items="outputs.ids")


def test_langsmith_needs_to_know_where_the_items_are(file):
    path = file("examples.jsonl", "{}")
    with pytest.raises(ValueError, match=r'need items=, the field that holds the items, such as items="reference.ids"'):
        read_qrels(path, "langsmith")
    with pytest.raises(ValueError, match=r'such as items="outputs.ids"'):
        read_run(path, "langsmith")


# What a format does not hold


@pytest.mark.parametrize(("kind", "told"), [("beir", "BEIR has no format of runs"), ("llama_index", "it holds no run")])
def test_formats_without_runs(file, kind, told):
    with pytest.raises(ValueError, match=told):
        read_run(file("x.json", "{}"), kind)


@pytest.mark.parametrize("kind", ["trec", "ragas", "langsmith"])
def test_formats_without_texts(file, kind):
    with pytest.raises(ValueError, match=f"{kind} files hold no texts by id"):
        read_texts(file("x.jsonl", "{}"), kind)


@pytest.mark.parametrize("kind", ["trec", "beir", "llama_index"])
def test_formats_whose_fields_have_fixed_names(file, kind):
    with pytest.raises(ValueError, match=r"the fields of this format have fixed names: leave out query_id= and items="):
        read_qrels(file("x.tsv", "{}"), kind, items="gold")


@pytest.mark.parametrize("kind", ["ragas", "langsmith"])
def test_rows_of_a_framework_are_in_a_table(file, kind):
    with pytest.raises(ValueError, match=r"x.txt: \w+ files end in .jsonl, .json, .csv, .tsv or .parquet"):
        read_qrels(file("x.txt", "{}"), kind, items="gold")
