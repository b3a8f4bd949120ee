"""Hit rate in an Inspect AI log, with its standard error. Offline: the model is Inspect's mock, nothing is sent."""

from tempfile import TemporaryDirectory

import inspect_ai
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver

from hitrate_adapters.inspect_ai import hit_rate

FOUND = {
    "How long do refunds take?": ["refund-window", "refund-time"],
    "Where does my refund go?": ["bikes", "dogs"],
    "Is my dog free?": ["dogs", "bikes"],
    "Is there a bank?": ["bikes", "dogs"],
}

SAMPLES = [
    Sample(id="refund-time", input="How long do refunds take?", target=["refund-time"]),
    Sample(id="refund-way", input="Where does my refund go?", target=["refund-time"]),
    Sample(id="dogs", input="Is my dog free?", target=["dogs"]),
    Sample(id="bank", input="Is there a bank?", target=[]),
]


@solver
def retrieve() -> Solver:
    """Return a solver that stores the ids of the passages found for the question, best first: for a retriever."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - nothing is generated
        state.store.set("retrieved", FOUND[state.input_text])
        return state

    return solve


@task
def golden() -> Task:
    """Return the task, which `inspect eval examples/inspect_ai_example.py --model mockllm/model` runs as well."""
    return Task(dataset=SAMPLES, solver=retrieve(), scorer=hit_rate(k=(1, 2), metrics=("hit_rate", "mrr@10")))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        (log,) = inspect_ai.eval(golden(), model="mockllm/model", display="none", log_dir=folder)
        for score in log.results.scores if log.results else []:
            mean, stderr = score.metrics["mean"].value, score.metrics["stderr"].value
            print(f"{score.name:10} {mean:.3f} ± {stderr:.3f}, {score.unscored_samples} not scored")
        for sample in log.samples or []:  # which Inspect reads from the file of the log
            for value in (sample.scores or {}).values():
                print(sample.id, value.value)
