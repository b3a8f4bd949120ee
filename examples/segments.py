"""Split the hit rate by corpus, and weight it as production asks, on questions whose answers are spans of text.

python examples/segments.py DIR    a folder with questions.jsonl and corpora/*.md; see equal_budget.py
"""

import sys

from equal_budget import evaluate

ASKED = {"chatlogs": 60, "state_of_the_union": 20, "wikitexts": 10, "finance": 5, "pubmed": 5}  # made up, in percent


def main(folder: str) -> None:
    """Print the hit rate at 5 of each corpus, of all questions, and of the mix that production asks."""
    evaluation, _ = evaluate(folder, 400)
    segments = evaluation.by(lambda query_id: query_id[0])
    print(segments.table(("hit_rate", "mrr"), 5))
    print(f"all questions alike   {evaluation.hit_rate(5)!r}")
    print(f"as production asks    {segments.score('hit_rate@5', weights=ASKED)!r}")


if __name__ == "__main__":
    main(sys.argv[1])
