"""What the core found, laid out for people and for programs."""

from typing import Any

from hitrate_adapters import __version__
from hitrate_adapters.core.causes import ADVICE, NEEDS
from hitrate_adapters.core.comparison import Comparisons, notes, p_value
from hitrate_adapters.core.diagnosis import Diagnosis
from hitrate_adapters.core.evaluation import Evaluation
from hitrate_adapters.core.leaderboard import Leaderboard
from hitrate_adapters.core.matching import name_of
from hitrate_adapters.core.metrics import Metric
from hitrate_adapters.core.scores import Score
from hitrate_adapters.core.segments import Segments
from hitrate_adapters.core.significance import ALPHA, POWER, sample_size

from .output import Check, Result, cell, counted, listed

_BESIDE = 3  # cutoffs: where there are more, intervals stand below the values, so that a row fits 80 columns
_DELTAS = (0.1, 0.05, 0.03, 0.02, 0.01)


def of_evaluation(
    evaluation: Evaluation, metrics: tuple[Metric, ...], segments: Segments | None, name: str, checks: list[Check]
) -> Result:
    """Return the scores of an evaluation, and those of its segments."""
    scores = {metric: evaluation.score(metric) for metric in metrics}
    grids, rows, rules = [_by_cutoff(scores)], [_row(score) for score in scores.values()], evaluation.judge.rules
    data: dict[str, Any] = {
        "hitrate_adapters": __version__,
        "run": name,
        "rules": {**rules, "match": rules["match"] and name_of(rules["match"])},
        "queries": len(evaluation),
        "unscored": list(evaluation.unscored),
        "missing": list(evaluation.missing),
        "errors": {str(query_id): str(error) for query_id, error in evaluation.errors.items()},
        "scores": rows,
    }
    if segments is not None:
        parts = {str(segment): part for segment, part in segments.items()}
        by_segment = {segment: [part.score(metric) for metric in metrics] for segment, part in parts.items()}
        grids = [_by_segment(by_segment | {"all": list(scores.values())}, metrics)]
        data["segments"] = {segment: list(map(_row, found)) for segment, found in by_segment.items()}
        rows = [{"segment": segment, **_row(score)} for segment, found in by_segment.items() for score in found] + [
            {"segment": "all", **row} for row in rows
        ]
    lines = [f"{counted(len(evaluation), 'query', 'queries')} scored; in brackets, 95 % intervals"]
    return Result(f"hitrate eval {name}", grids, rows, data, lines, checks)


def of_comparisons(comparisons: Comparisons, names: tuple[str, str], checks: list[Check]) -> Result:
    """Return what the comparison of two runs says by each metric."""
    many = len(comparisons) > 1
    grid = [["", "old", "new", "difference", "p by Holm" if many else "p", "won", "lost", "verdict"]]
    lines = [f"old {names[0]}, new {names[1]}"]
    for metric, each in comparisons.items():
        difference = "{:+.3f}\n[{:.3f}, {:.3f}]".format(each.difference, *each.interval)
        counts = (f"{len(each.won):,}", f"{len(each.lost):,}")
        scores = (f"{each.old:.3f}", f"{each.new:.3f}")
        grid.append([metric, *scores, difference, p_value(each.adjusted, ""), *counts, each.verdict])
    first = next(iter(comparisons.values()))
    lines += notes(first.n, first.left_out)
    shown = [
        f"{each.detectable:.3f} or more in {name}" for name, each in comparisons.items() if each.detectable is not None
    ]
    if shown:
        lines.append(f"{first.n:,} queries can show a difference of {', '.join(shown)} ({POWER:.0%} power)")
    for what, queries in (("won", first.won), ("lost", first.lost)):
        if queries:
            lines.append(f"{what} by {first.metric}: {listed(queries)}")
    data = {
        "hitrate_adapters": __version__,
        "old": names[0],
        "new": names[1],
        "comparisons": [
            {**each.row(), "won": list(each.won), "lost": list(each.lost), "left_out": list(each.left_out)}
            for each in comparisons.values()
        ],
    }
    return Result(f"hitrate compare {names[0]} {names[1]}", [grid], comparisons.rows(), data, lines, checks)


def of_leaderboard(board: Leaderboard) -> Result:
    """Return the ranking of several runs."""
    metric = next(iter(board.scores.values())).metric
    grid = [["", str(metric), "behind the best", "p by Holm", "won", "lost", "verdict"]]
    for name, score in board.scores.items():
        rest = ["", "", "", "", "best"]
        if name in board.behind:
            each = board.behind[name]
            difference = "{:+.3f}\n[{:.3f}, {:.3f}]".format(each.difference, *each.interval)
            rest = [difference, p_value(each.adjusted, ""), f"{len(each.won):,}", f"{len(each.lost):,}", each.verdict]
        grid.append([name, cell(score, "\n"), *rest])
    n = board.scores[board.best].n
    data = {
        "hitrate_adapters": __version__,
        "metric": str(metric),
        "queries": n,
        "left_out": list(board.left_out),
        "runs": board.rows(),
        "together": list(board.together),
    }
    return Result(f"hitrate leaderboard {metric}", [grid], board.rows(), data, notes(n, board.left_out))


def of_diagnosis(diagnosis: Diagnosis, score: Score) -> Result:
    """Return the causes of the misses that a hit rate has."""
    data = {
        "hitrate_adapters": __version__,
        "metric": str(diagnosis.metric),
        "value": float(score),
        "queries": diagnosis.n_queries,
        "totals": diagnosis.totals,
        "unknown": diagnosis.unknown,
        "warnings": list(diagnosis.warnings),
        "misses": diagnosis.rows(),
    }
    grid, unknown = [["cause", "misses", "what to do", "such as"]], diagnosis.unknown
    for cause, n in diagnosis.totals.items():
        number = f"{n:,}" if cause not in unknown else f"{n:,} or more" if n else "unknown"
        grid.append([cause.replace("_", " "), number, ADVICE[cause], listed(diagnosis.of(cause))])
    lines = [f"{len(diagnosis.misses):,} of {diagnosis.n_queries:,} queries miss: {score!r}"]
    lines += [
        f"not looked for in {counted(n, 'miss', 'misses')}: {cause.replace('_', ' ')}, which takes {NEEDS[cause]}"
        for cause, n in unknown.items()
    ]
    lines += [f"warning: {warning}" for warning in diagnosis.warnings]
    return Result(f"hitrate diagnose {diagnosis.metric}", [grid], diagnosis.rows(), data, lines)


def of_power(p: float, deltas: tuple[float, ...], power: float, discordant: float | None) -> Result:
    """Return how many queries show each difference; without differences, those of a list that p allows."""
    needed = {delta: sample_size(p=p, delta=delta, power=power, discordant=discordant) for delta in deltas}
    for delta in () if deltas else _DELTAS:
        try:
            needed[delta] = sample_size(p=p, delta=delta, power=power, discordant=discordant)
        except ValueError:  # such as 0.05 more than 0.99
            if delta == _DELTAS[-1] and not needed:
                raise
    given = {"p": p, "power": power, "discordant": discordant}
    rows = [{**given, "delta": delta, "queries": queries} for delta, queries in needed.items()]
    grid = [["difference", "queries"], *([f"{delta:+g}", f"{queries:,}"] for delta, queries in needed.items())]
    differ = (
        "as if the runs hit independently" if discordant is None else f"where {discordant:.1%} of the queries differ"
    )
    lines = [f"from a hit rate of {p:g}, in {power:.0%} of trials at p < {ALPHA:g}, {differ}"]
    return Result("hitrate power", [grid], rows, {"hitrate_adapters": __version__, "rows": rows}, lines)


def _row(score: Score) -> dict[str, Any]:
    low, high = score.interval or (None, None)
    return {"metric": str(score.metric), "value": float(score), "low": low, "high": high, "n": score.n}


def _by_cutoff(scores: dict[Metric, Score]) -> list[list[str]]:
    """Return a table with a row per metric and a column per cutoff."""
    cutoffs = list(dict.fromkeys(metric.k for metric in scores))
    cutoffs.sort(key=lambda k: (k is None, k))
    between = " " if len(cutoffs) <= _BESIDE else "\n"
    cells: dict[str, dict[int | None, str]] = {}
    for metric, score in scores.items():
        name = str(Metric(metric.name, None, metric.theta))
        cells.setdefault(name, {})[metric.k] = cell(score, between)
    head = ["", *("all" if k is None else f"@{k}" for k in cutoffs)]
    return [head, *([name, *(row.get(k, "") for k in cutoffs)] for name, row in cells.items())]


def _by_segment(scores: dict[str, list[Score]], metrics: tuple[Metric, ...]) -> list[list[str]]:
    """Return a table with a row per segment and a column per metric."""
    between = " " if len(metrics) < _BESIDE else "\n"
    head = ["segment", "n", *map(str, metrics)]
    return [
        head,
        *([segment, f"{found[0].n:,}", *(cell(each, between) for each in found)] for segment, found in scores.items()),
    ]
