"""The judge of answers in each framework: the offline stand-in, or the model that HITRATE_JUDGE_MODEL names.

    HITRATE_JUDGE_MODEL=gpt-4o-mini OPENAI_API_KEY=... python examples/rag_pipeline.py

The model is reached through OpenAI's client, so OPENAI_BASE_URL may name another server that speaks its protocol.
"""

import os
from typing import Any

from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from offline_judge import OfflineRagasJudge, sentences, supports


def judge_model() -> str | None:
    """Return the name of the real model that the environment asks for, None where the stand-ins are to judge."""
    return os.environ.get("HITRATE_JUDGE_MODEL") or None


class OfflineLlamaIndexJudge(CustomLLM):
    """Answers the prompt of LlamaIndex's FaithfulnessEvaluator: YES where every sentence of the answer has support."""

    @property
    def metadata(self) -> LLMMetadata:
        """Promise room for all passages, so that LlamaIndex asks once and not once a passage."""
        return LLMMetadata(context_window=100_000, model_name=type(self).__name__)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002
        """Return YES or NO."""
        asked = prompt.rpartition("\nInformation: ")[2].removesuffix("\nAnswer: ")  # after the worked examples
        answer, separator, context = asked.partition("\nContext: ")
        if not separator:
            raise ValueError(
                f"{type(self).__name__} knows the prompt of FaithfulnessEvaluator only, not {prompt!r:.80}"
            )
        verdict = all(supports(context, sentence) for sentence in sentences(answer))
        return CompletionResponse(text="YES" if verdict else "NO")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Give the whole answer at once."""
        yield self.complete(prompt, formatted, **kwargs)


def ragas_judge() -> Any:
    """Return the judge for RAGAS; the stand-in where the environment names no model."""
    if not (model := judge_model()):
        return OfflineRagasJudge()
    from openai import AsyncOpenAI, OpenAIError
    from ragas.llms import llm_factory

    try:
        return llm_factory(model, client=AsyncOpenAI())
    except OpenAIError as error:
        raise SystemExit(f"HITRATE_JUDGE_MODEL={model} needs a key: {error}") from None


def llama_index_judge() -> Any:
    """Return the judge for LlamaIndex; the stand-in where the environment names no model."""
    if not (model := judge_model()):
        return OfflineLlamaIndexJudge()
    try:
        from llama_index.llms.openai import OpenAI  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError:
        raise SystemExit(
            f"HITRATE_JUDGE_MODEL={model} needs LlamaIndex's OpenAI class: pip install llama-index-llms-openai"
        ) from None
    return OpenAI(
        model=model, temperature=0, api_base=os.environ.get("OPENAI_BASE_URL")
    )  # of another name in LlamaIndex
