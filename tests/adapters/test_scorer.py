"""The plain scorer's way through the conformance table: called as frameworks call it, by position or by name."""

from hitrate_adapters import scorer


def drive(case):
    hits = scorer(k=None, metrics=list(case.expect), match=case.match, unique=case.unique)
    found = {spec: {} for spec in case.expect}
    for query in case.relevant:
        output, expected = list(case.retrieved[query]), list(case.relevant[query])
        rows = hits(query, output, expected) if len(case.name) % 2 else hits(expected=expected, output=output, id=query)
        for spec, row in zip(case.expect, rows, strict=True):
            found[spec][query] = row["score"]
    return found


def build(**configuration):
    return scorer(**configuration)
