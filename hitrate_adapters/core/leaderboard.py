"""Several evaluations ranked by a metric, and which of them the best cannot be told from."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from .comparison import MARGIN, Comparison, by_holm, compared, notes, over_the_same, p_value, with_interval
from .display import columns
from .evaluation import Evaluation
from .matching import check_number
from .metrics import Metric
from .scores import Score


@dataclass(frozen=True, slots=True, repr=False)
class Leaderboard:
    """Evaluations ranked by a metric, and which of them the best cannot be told from; printed, a table."""

    scores: dict[str, Score]
    """Name -> mean over the queries that all can score, best first."""
    behind: dict[str, Comparison]
    """The name of each but the best -> its comparison with the best, p-values adjusted by Holm's method."""
    left_out: tuple[Hashable, ...]
    """Queries that not all can score, which are in none of the figures."""

    @property
    def best(self) -> str:
        """The name of the highest score; of equal ones, the first given."""
        return next(iter(self.scores))

    @property
    def together(self) -> tuple[str, ...]:
        """The names of the best and of those that it cannot be told from, best first."""
        return (self.best, *(name for name, each in self.behind.items() if each.verdict != "worse"))

    def rows(self) -> list[dict[str, object]]:
        """Return one mapping per evaluation, for `pandas.DataFrame(...)`."""
        rows: list[dict[str, object]] = []
        for rank, (name, score) in enumerate(self.scores.items(), 1):
            each = self.behind.get(name)
            rows.append(
                {
                    "rank": rank,
                    "name": name,
                    str(score.metric): float(score),
                    "difference": 0.0 if each is None else each.difference,
                    "p_adjusted": None if each is None else each.adjusted,
                    "verdict": "best" if each is None else each.verdict,
                }
            )
        return rows

    def __repr__(self) -> str:
        """Show the best and how many there are."""
        return f"<Leaderboard: {self.best!r} is the best of {len(self.scores)}, {len(self.together) - 1} may equal it>"

    def __str__(self) -> str:
        """Return the table."""
        grid = [["", str(self.scores[self.best].metric), "behind the best", "p by Holm", "won", "lost", "verdict"]]
        for name, score in self.scores.items():
            each = self.behind.get(name)
            rest = ["", "", "", "", "best"]
            if each is not None:
                counts = (str(len(each.won)), str(len(each.lost)))
                rest = [with_interval(each), p_value(each.adjusted, ""), *counts, each.verdict]
            within = "" if score.interval is None else " [{:.3f}, {:.3f}]".format(*score.interval)
            grid.append([name, f"{score:.3f}{within}", *rest])
        return "\n".join([*columns(grid), *notes(self.scores[self.best].n, self.left_out)])


def leaderboard(
    evaluations: Mapping[str, Evaluation],
    metric: str | Metric,
    *,
    margin: float = MARGIN,
    anyway: bool = False,
) -> Leaderboard:
    """Rank evaluations by a metric and return a `Leaderboard`, with those that the best cannot be told from.

    Only queries that all can score count. Each evaluation is compared with the best as `Evaluation.compare` does, and
    the p-values are adjusted by Holm's method (1979). That the best was chosen by the same queries favours it a little.

    Args:
        evaluations: name -> evaluation.
        metric: a name such as "hit_rate@5".
        margin: the smallest difference that matters, for the verdict.
        anyway: compare also what was judged by different gold or rules.

    Raises:
        TypeError, ValueError: an argument is of the wrong kind, there is no evaluation, they have no query in common,
            or they were judged by different gold or rules.

    >>> import hitrate_adapters as hr
    >>> qrels = {q: {"d1"} for q in range(40)}
    >>> runs = {"first": {q: ["d1"] for q in qrels}, "second": {q: ["d1"] if q % 4 else ["d2"] for q in qrels}}
    >>> print(hr.leaderboard({name: hr.evaluate(qrels, run) for name, run in runs.items()}, "hit_rate@5"))
                      hit_rate@5          behind the best  p by Holm  won  lost  verdict
    first   1.000 [0.912, 1.000]                                                    best
    second  0.750 [0.598, 0.858]  -0.250 [-0.383, -0.093]      0.002    0    10    worse
    40 queries compared
    """
    check_number("margin", margin, above=0, up_to=1)
    if not isinstance(evaluations, Mapping):
        raise TypeError(f"evaluations must be a mapping of name -> evaluation, got {type(evaluations).__name__}")
    if not evaluations:
        raise ValueError("at least one evaluation is needed")
    for name, each in evaluations.items():
        if not isinstance(each, Evaluation):
            raise TypeError(f"{name} must be an Evaluation, as `evaluate` makes it; got {each!r:.60}")
    metric = Metric.parse(metric)
    same, left_out = over_the_same(evaluations, anyway=anyway)
    by_name = dict(zip(evaluations, same, strict=True))
    scores = {name: evaluation.score(metric) for name, evaluation in by_name.items()}
    best, *others = sorted(scores, key=lambda name: -scores[name])
    behind = {name: compared(metric, by_name[name], by_name[best], left_out, margin) for name in others}
    return Leaderboard({name: scores[name] for name in (best, *others)}, by_holm(behind), left_out)
