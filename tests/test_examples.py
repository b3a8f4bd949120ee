"""Every example runs offline and prints what it says; the main job's frameworks agree, and its judges can tell."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hitrate_adapters as hr

EXAMPLES = Path(__file__).parents[1] / "examples"
HANDBOOK = EXAMPLES / "handbook"
ONE_FRAMEWORK = sorted(EXAMPLES.glob("*_example.py"))
WATCH = """
import os, sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg"):
        with open(os.environ["NETWORK_USE"], "a") as file:
            print(event, arguments, file=file)

sys.addaudithook(watch)
"""

pytestmark = [
    pytest.mark.filterwarnings("ignore:Importing .* from 'ragas.metrics' is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:a?evaluate\(\) is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed file .*uuid.json:ResourceWarning"),  # of RAGAS
]


def need(*scripts):
    """Skip the test where a package is absent that a module of examples/, or one that it imports, has at its top."""
    for script in scripts:
        text = (EXAMPLES / script).read_text(encoding="utf-8")
        for package in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE):
            if (EXAMPLES / f"{package}.py").exists():
                need(f"{package}.py")
            elif importlib.util.find_spec(package) is None:
                pytest.skip(f"{script} needs {package}")


def run(script, *arguments, folder):
    """Run an example without a key, in a process that notes every use of the network, and return what it printed."""
    (folder / "sitecustomize.py").write_text(WATCH, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "HITRATE_"))}
    environment = {
        **inherited,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NETWORK_USE": str(folder / "network"),
    }
    command = [sys.executable, str(EXAMPLES / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert not (folder / "network").exists(), (folder / "network").read_text(encoding="utf-8")
    return done


@pytest.fixture(scope="module")
def example():
    """Return a function that imports a module of examples/."""
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module
    sys.path.remove(str(EXAMPLES))


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Return what the main job prints."""
    need("rag_pipeline.py", "rag_frameworks.py")
    done = run("rag_pipeline.py", folder=tmp_path_factory.mktemp("main"))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def data(example):
    need("retrieval.py")
    return example("retrieval").load(HANDBOOK)


@pytest.mark.parametrize("script", ONE_FRAMEWORK, ids=lambda script: script.name)
def test_one_framework(script, tmp_path):
    assert len(script.read_text(encoding="utf-8").splitlines()) < 60
    need(script.name)
    done = run(script.name, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not re.search("warn|error|traceback", done.stderr, re.IGNORECASE), done.stderr  # progress bars, no noise
    assert "hit_rate@" in done.stdout


def test_every_framework_has_an_example():
    assert {"llama_index", "langchain", "langsmith", "ragas"} <= {
        name for script in ONE_FRAMEWORK for name in re.findall(r"hitrate_adapters\.(\w+)", script.read_text("utf-8"))
    }


def test_every_framework_gives_the_same_numbers(tmp_path):
    done = run("every_framework.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines, verdict = done.stdout.splitlines()
    assert header.split() == ["adapter", "version", "hit_rate@1", "hit_rate@3", "mrr", "scored", "not", "scored"]
    ran = [line.split() for line in lines if "not installed" not in line]
    assert {tuple(numbers) for _, _, *numbers in ran} == {("0.2000", "0.6000", "0.4167", "5", "1")}
    assert {"core", "scorer", "futureagi"} <= {name for name, *_ in ran}
    assert verdict == f"{len(ran)} adapters ran; all agree on every query"


def test_frameworks_that_differ_are_an_error(example, capsys, monkeypatch):
    script = example("every_framework")
    good = script.core()
    for query, value in (("Is my dog free?", 1.0), ("Is there a bank?", 0.0), ("Is my dog free?", None)):
        bad = good | {query: [value, *good[query][1:]]}
        (line,) = script.disagreements({"core": good, "other": bad})
        assert line == f"other differs from core in hit_rate@1 of {query!r}: {value} and {good[query][0]}"
        monkeypatch.setattr(script, "run", lambda name, *_, bad=bad: ("0", bad if name == "scorer" else good))
        monkeypatch.setattr(sys, "argv", ["every_framework.py", "core", "scorer"])
        assert script.main() == 1
        captured = capsys.readouterr()
        assert captured.err.startswith("scorer differs from core")
        assert captured.out.endswith("2 adapters ran; differences and failures: 1\n")


def test_an_adapter_that_fails_is_an_error(tmp_path):
    (tmp_path / "python").symlink_to("/bin/false")
    done = run("every_framework.py", "core", "scorer", "--env", f"scorer={tmp_path / 'python'}", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "scorer failed:\nexit code 1\n")
    assert "1 adapters ran; differences and failures: 1\n" in done.stdout


def test_no_such_adapter_or_python(tmp_path):
    for arguments, message in (
        (["dspy"], "'dspy' is no adapter: it is one of core, "),
        (["--env", "core=nowhere"], "--env core=nowhere: there is no such Python"),
    ):
        done = run("every_framework.py", *arguments, folder=tmp_path)
        assert done.returncode == 2
        assert message in done.stderr


HIT_RATES = {
    "bm25": ["0.642 [0.522, 0.746]", "0.806 [0.696, 0.883]"],
    "dense": ["0.687 [0.568, 0.785]", "0.910 [0.818, 0.958]"],
    "hybrid": ["0.716 [0.599, 0.810]", "0.955 [0.876, 0.985]"],
}


@pytest.mark.parametrize(
    ("framework", "others"),
    {
        "RAGAS": {"bm25": ["0.806", "0.791"], "dense": ["0.878", "0.739"], "hybrid": ["0.930", "0.784"]},
        "LlamaIndex": {"bm25": ["0.582"], "dense": ["0.478"], "hybrid": ["0.567"]},
        "LangSmith": {"bm25": [], "dense": [], "hybrid": []},
    }.items(),
)
def test_frameworks_agree(output, framework, others):
    table = output.partition(f"{framework}  ")[2].partition("\n\n")[0]
    rows = [re.split(r" {2,}", line.strip()) for line in table.splitlines()]
    assert rows[0] == ["hit_rate@1", "hit_rate@5", *["context_recall", "faithfulness"][2 - len(others["bm25"]) :]]
    assert rows[1:] == [[name, *HIT_RATES[name], *others[name]] for name in HIT_RATES]


def test_says_who_judged_and_what_to_conclude(output):
    for line in (
        "The handbook of a ferry company: 81 passages, 67 questions",
        "Judge: OfflineRagasJudge and OfflineLlamaIndexJudge, rules in place of a model.",
        "RAGAS, LlamaIndex, LangSmith: the same hit rates in each.",
        "hybrid  0.955 [0.876, 0.985]                                                                            best",
        "dense   0.910 [0.818, 0.958]   -0.045 [-0.137, 0.050]       0.51    3     6  cannot be resolved at this size",
        "bm25    0.806 [0.696, 0.883]  -0.149 [-0.237, -0.053]     0.0039    0    10                            worse",
    ):
        assert line in output.splitlines()


def test_disagreement_is_an_error(example, frameworks, data, monkeypatch):  # noqa: ARG001 - for what it needs
    monkeypatch.setenv("TQDM_DISABLE", "1")  # which the script sets, and which is to be unset again
    script = example("rag_pipeline")
    evaluations = script.judge(data, {"bm25": example("retrieval").bm25(data.corpus)}, 5)
    script.check_agreement({"RAGAS": {"bm25": {"hit_rate@1": 43 / 67, "faithfulness": 0.5}}}, evaluations)
    with pytest.raises(SystemExit, match=r"RAGAS reports hit_rate@1 = 0.65 of bm25: hit_rate@1 = 0.642"):
        script.check_agreement({"RAGAS": {"bm25": {"hit_rate@1": 0.65}}}, evaluations)


def test_own_data(tmp_path):
    need("retrieval.py")
    done = run("rag_pipeline.py", "--data", HANDBOOK, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "81 passages, 67 queries\n67 scored (" in done.stdout
    assert "  bm25       0.642 [0.522, 0.746]   0.806 [0.696, 0.883]   0.940 [0.856, 0.977]" in done.stdout
    assert "  hybrid     0.716 [0.599, 0.810]   0.955 [0.876, 0.985]   1.000 [0.946, 1.000]" in done.stdout
    assert len(list((tmp_path / "cache").rglob("*.npy"))) == 1  # the vectors, for the next run


def test_bad_data_is_a_message(tmp_path):
    need("retrieval.py")
    done = run("rag_pipeline.py", "--data", tmp_path / "nowhere", folder=tmp_path)
    assert done.returncode == 2
    assert "error: --data: " in done.stderr
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", "", "corpus.jsonl is empty"),
        ("corpus.jsonl", '{"_id": 1, "text": "a"}\n\n{"_id": "1", "text": "b"}\n', "line 3: the _id '1' stands twice"),
        ("corpus.jsonl", "\n{oops\n", "corpus.jsonl, line 2 is not JSON"),
        ("queries.jsonl", '{"_id": "q", "question": "?"}', "queries.jsonl, line 1 must have '_id' and 'text' (str)"),
        ("queries.jsonl", "[1]", "queries.jsonl, line 1 must have"),
        (
            "qrels.jsonl",
            '{"query_id": "q", "relevant": {"x": 1}}',
            "qrels.jsonl, such as ['x'], is the _id of a passage, such as 'p'",
        ),
        ("qrels.jsonl", '{"query_id": "q", "relevant": "p"}', "qrels.jsonl, line 1 must have .* (dict | list)"),
    ],
)
def test_bad_rows(example, tmp_path, file, text, message):
    need("retrieval.py")
    for name, good in {
        "corpus.jsonl": '{"_id": "p", "text": "a"}',
        "queries.jsonl": '{"_id": "q", "text": "?"}',
        "qrels.jsonl": '{"query_id": "q", "relevant": {"p": 1}}',
    }.items():
        (tmp_path / name).write_text(text if name == file else good, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        example("retrieval").load(tmp_path)


def test_handbook_is_sound(data):
    assert len(data.corpus) >= 60
    assert len(data.queries) >= 40
    assert data.qrels.keys() == data.queries.keys() == data.references.keys()
    for query_id, relevant in data.qrels.items():
        assert relevant.keys() <= data.corpus.keys(), query_id


def test_handbook_is_hard(data, example):
    run = dict(zip(data.queries, example("retrieval").bm25(data.corpus)(list(data.queries.values()), 1), strict=True))
    score = hr.evaluate(data.qrels, run).hit_rate(1)
    assert 0.3 < score < 0.9
    assert round(score * score.n) == 43


@pytest.fixture(scope="module")
def frameworks(example):
    need("rag_pipeline.py", "rag_frameworks.py")
    return example("rag_frameworks")


@pytest.fixture(scope="module")
def answers(frameworks, example, data):
    ask = frameworks.pipeline(data, example("retrieval").bm25(data.corpus))
    return {question: ask(question) for question in data.queries.values()}


def test_answers_vary(frameworks, answers):
    texts = [answer.text for answer in answers.values()]
    assert len(set(texts)) > 50
    assert sum(frameworks.INVENTED in text for text in texts) == 28
    assert all(frameworks.INVENTED not in context for answer in answers.values() for context in answer.contexts)


def faithfulness_in_ragas(frameworks, rows):
    result = frameworks.ragas.evaluate(
        frameworks.ragas.EvaluationDataset.from_list(rows),
        metrics=[frameworks.faithfulness],
        llm=frameworks.ragas_judge(),
        show_progress=False,
    )
    return result["faithfulness"]


def faithfulness_in_llama_index(frameworks, rows):
    evaluator = frameworks.FaithfulnessEvaluator(llm=frameworks.llama_index_judge())
    return [
        evaluator.evaluate(query=row["user_input"], response=row["response"], contexts=row["retrieved_contexts"]).score
        for row in rows
    ]


@pytest.mark.parametrize("judged", [faithfulness_in_ragas, faithfulness_in_llama_index])
def test_deleting_the_support_lowers_faithfulness(frameworks, answers, judged):
    with_support, without_support = [], []
    for question, answer in answers.items():
        sentence = answer.text.removesuffix(frameworks.INVENTED).strip()
        contexts = [context.replace(sentence, "").strip() for context in answer.contexts]
        row = {"user_input": question, "response": sentence}
        with_support.append({**row, "retrieved_contexts": answer.contexts})
        without_support.append({**row, "retrieved_contexts": contexts})
    assert set(judged(frameworks, with_support)) == {1.0}
    assert set(judged(frameworks, without_support)) == {0.0}


def test_judge_refuses_another_prompt(frameworks):
    with pytest.raises(ValueError, match="knows the prompt of FaithfulnessEvaluator only"):
        frameworks.llama_index_judge().complete("What is the capital of France?")


def test_real_judge_in_ragas(frameworks, monkeypatch):
    monkeypatch.setenv("HITRATE_JUDGE_MODEL", "gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    judge = frameworks.ragas_judge()
    assert (type(judge).__name__, judge.model) == ("InstructorLLM", "gpt-4o-mini")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(SystemExit, match="HITRATE_JUDGE_MODEL=gpt-4o-mini needs a key"):
        frameworks.ragas_judge()


def test_real_judge_in_llama_index(frameworks, monkeypatch):
    monkeypatch.setenv("HITRATE_JUDGE_MODEL", "gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    try:
        openai = importlib.import_module("llama_index.llms.openai")
    except ModuleNotFoundError:
        with pytest.raises(SystemExit, match="pip install llama-index-llms-openai"):
            frameworks.llama_index_judge()
    else:
        judge = frameworks.llama_index_judge()
        assert isinstance(judge, openai.OpenAI)
        assert judge.model == "gpt-4o-mini"


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
@pytest.mark.parametrize(
    ("name", "n", "hits"), [("cranfield", 225, [72, 176, 194]), ("code_chunks", 248, [103, 170, 201])]
)
def test_real_data(example, name, n, hits):
    need("retrieval.py")
    data = example("retrieval").load(Path(os.environ["HITRATE_TEST_DATA"], name))
    run = dict(zip(data.queries, example("retrieval").bm25(data.corpus)(list(data.queries.values()), 10), strict=True))
    scores = [hr.evaluate(data.qrels, run).hit_rate(k) for k in (1, 5, 10)]
    assert [round(score * score.n) for score in scores] == hits
    assert scores[0].n == n


@pytest.mark.skipif("HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets")
def test_every_way_of_matching_on_real_spans(tmp_path):
    need("matchers.py")
    done = run("matchers.py", Path(os.environ["HITRATE_TEST_DATA"], "spans"), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    published = (EXAMPLES.parent / "docs" / "matching.md").read_text(encoding="utf-8")
    assert f"```text\n{done.stdout}```" in published
