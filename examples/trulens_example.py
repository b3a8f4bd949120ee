"""Hit rate on TruLens' leaderboard: two versions of an instrumented app, on SQLite, without any provider or key."""

import tempfile
from typing import Any

from trulens.apps.app import TruApp
from trulens.core import TruSession
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes

from hitrate_adapters.trulens import hit_rate_metrics

CORPUS = {
    "refund-time": "Refunds take five days. They go to the card that paid.",
    "refund-window": "A ticket can be returned for a refund until one hour before departure.",
    "dogs": "Dogs travel free on a lead. They stay off the seats.",
    "bikes": "Bicycles go in the last carriage. They travel free.",
}
GOLDEN = {
    "How many days do refunds take?": ["refund-time"],
    "How long before departure can I return a ticket?": ["refund-window"],
    "Do dogs travel free?": ["dogs"],
    "Where do bicycles go?": ["bikes"],
}


class Rag:
    """Retrieves by shared words that are long enough, and quotes the best passage."""

    shortest = 1

    @instrument(span_type=SpanAttributes.SpanType.RETRIEVAL, attributes={"document_ids": "return"})
    def retrieve(self, question: str) -> list[str]:
        """Return the ids of all passages, best first."""
        words = {word for word in question.strip("?").split() if len(word) >= self.shortest}
        return sorted(CORPUS, key=lambda passage: -len(words.intersection(CORPUS[passage].split())))

    @instrument()
    def answer(self, question: str) -> str:
        """Return the best passage."""
        return CORPUS[self.retrieve(question)[0]]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        session = TruSession(database_url=f"sqlite:///{folder}/trulens.sqlite")
        metrics = hit_rate_metrics(GOLDEN, k=(1, 2), metrics=("hit_rate", "mrr@10"), retrieved="document_ids")
        for version, shortest in (("all words", 1), ("long words", 7)):
            rag = Rag()
            rag.shortest = shortest
            app = TruApp(rag, app_name="rag", app_version=version, main_method=rag.answer, feedbacks=metrics)
            with app:
                for question in GOLDEN:
                    rag.answer(question)
            session.force_flush()
            app.compute_feedbacks()
        session.force_flush()
        leaderboard: Any = session.get_leaderboard()
        print(leaderboard[[metric.name for metric in metrics]].round(3))
