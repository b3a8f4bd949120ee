"""The matchers that have a name, for files and for the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from hitrate_adapters.core.matching import contains, overlap, same_text, similar
from hitrate_adapters.core.records import Matcher
from hitrate_adapters.core.spans import span_overlap

_MATCHERS: Mapping[str, Matcher] = {"same_text": same_text, "contains": contains}
_MAKERS: Mapping[str, Callable[..., Matcher]] = {"overlap": overlap, "similar": similar, "span_overlap": span_overlap}

RULES = (*_MATCHERS, *(f"{name}=SHARE" for name in _MAKERS))
"""What stands for a matcher; the share of spans may be left out."""


def matcher_of(rule: str) -> Matcher | None:
    """Return the matcher that a name or a call stands for, of which nothing is evaluated but its plain arguments.

    "overlap=0.5" is short for the call, and a name for a call without arguments. None for what stands for no matcher.
    Raises TypeError or ValueError, as the call does, for arguments that are wrong.

    >>> matcher_of("contains") is contains, matcher_of("overlap(0.5)"), matcher_of("span_overlap"), matcher_of("mine")
    (True, overlap(0.5), span_overlap(), None)
    """
    if rule in _MATCHERS:
        return _MATCHERS[rule]
    try:
        found = ast.parse(re.sub(r"^(\w+)=?([^()]*)$", r"\1(\2)", rule), mode="eval").body
        if not isinstance(found, ast.Call) or not isinstance(found.func, ast.Name) or found.func.id not in _MAKERS:
            return None
        arguments = list(map(ast.literal_eval, found.args))
        keywords = {str(word.arg): ast.literal_eval(word.value) for word in found.keywords}
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # "tests.<lambda>", no plain values, too deep ones
        return None
    return _MAKERS[found.func.id](*arguments, **keywords)
