"""Future AGI's evaluate("hit_rate", ...), computed here, single and in a batch. Offline, without its package."""

import json

from hitrate_adapters import contains
from hitrate_adapters.futureagi import evaluate

GOLD = {
    "How long do refunds take?": ["Refunds take five days. They go to the card that paid."],
    "Is my dog free?": ["Dogs travel free on a lead. They stay off the seats."],
    "Where do bicycles go?": ["Bicycles go in the last carriage."],
    "Is there a bar?": [],  # nobody has looked yet
}
RETRIEVED = {
    "How long do refunds take?": ["Dogs travel free on a lead.", "Refunds take five days."],
    "Is my dog free?": ["Dogs travel free on a lead. They stay off the seats."],
    "Where do bicycles go?": ["Dogs travel free on a lead.", "Refunds take five days."],
    "Is there a bar?": ["Bicycles go in the last carriage."],
}

if __name__ == "__main__":
    question = "How long do refunds take?"
    hypothesis, reference = json.dumps(RETRIEVED[question]), json.dumps(GOLD[question])
    for match in (None, contains):  # equal to the letter, or one text holds the other
        print(evaluate("hit_rate", hypothesis=hypothesis, reference=reference, k=2, match=match))

    hypotheses = [json.dumps(RETRIEVED[question]) for question in GOLD]
    references = [json.dumps(GOLD[question]) for question in GOLD]
    results = evaluate("hit_rate", hypothesis=hypotheses, reference=references, k=2, match=contains)
    for question, result in zip(GOLD, results, strict=True):
        print(f"{question:28} {result.score!s:5} {result.reason}")
    for name in ("hit_rate", "recall_at_k", "precision_at_k", "ndcg_at_k", "mrr"):
        results = evaluate(name, hypothesis=hypotheses, reference=references, k=2, match=contains)
        print(f"{name:28} {results.mean!r}")
