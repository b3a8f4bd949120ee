"""Rules in place of a language model, so that the examples and tests judge answers without a network or a key.

They read the frameworks' real prompts. What they say is not what a model would say: for real work, pass a real one.
"""

import json
import re
from typing import TypeVar

from pydantic import BaseModel
from ragas.llms.base import InstructorBaseRagasLLM

Answer = TypeVar("Answer", bound=BaseModel)


def sentences(text: str) -> list[str]:
    """Split a text where a sentence or a line ends."""
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if sentence]


def supports(context: str, statement: str) -> bool:
    """Tell whether a single sentence of the context has every word of the statement."""
    wanted = set(re.findall(r"\w+", statement.lower()))
    return any(wanted <= set(re.findall(r"\w+", sentence.lower())) for sentence in sentences(context))


class OfflineRagasJudge(InstructorBaseRagasLLM):
    """Answers the prompts of RAGAS' context_recall and faithfulness, for `evaluate(llm=)` and for the collections."""

    is_async = True  # RAGAS awaits `agenerate` then

    def generate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """Return the answer in the form that RAGAS asks for."""
        start = prompt.rindex("\ninput: ") + len("\ninput: ")  # after the instruction and the worked examples
        asked, _ = json.JSONDecoder().raw_decode(prompt, start)
        if "classifications" in response_model.model_fields:  # context_recall: which statements have support?
            field, statements, verdict = "classifications", sentences(asked["answer"]), "attributed"
        elif "statements" in asked:  # faithfulness, second step: which statements have support?
            field, statements, verdict = "statements", asked["statements"], "verdict"
        else:  # faithfulness, first step: split the answer into statements
            return response_model.model_validate({"statements": sentences(asked["answer"])})
        verdicts = [
            {"statement": each, "reason": "its words in one sentence", verdict: int(supports(asked["context"], each))}
            for each in statements
        ]
        return response_model.model_validate({field: verdicts})

    async def agenerate(self, prompt: str, response_model: type[Answer]) -> Answer:
        """Return what `generate` returns."""
        return self.generate(prompt, response_model)
