"""The pytest plugin: the fixture `hitrate`, a table of what it evaluated in the summary, and baselines.

It is loaded in every session of an environment in which the package is installed, so it imports pytest and what
`import hitrate_adapters` loads; all else is imported when a test uses the fixture. See docs/pytest.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hitrate_adapters.core.metrics import DEFAULT_K

from .fixture import HitRate
from .session import Session

__all__ = ["HitRate", "hitrate"]

SESSION = pytest.StashKey[Session]()
"""Where the configuration keeps what the session evaluated."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings."""
    group = parser.getgroup("hitrate", "hit rate of retrievers")
    group.addoption(
        "--hitrate-baseline",
        metavar="PATH",
        help="folder with a saved evaluation for each that is made, or a file with one for all, to compare with",
    )
    group.addoption(
        "--hitrate-update", action="store_true", help="write what is evaluated as baselines, into that folder"
    )
    parser.addini("hitrate_baseline", "--hitrate-baseline where it is not given, from the root directory", "string", "")
    parser.addini("hitrate_k", "cutoffs of the table in the summary", "string", " ".join(map(str, DEFAULT_K)))
    parser.addini("hitrate_metrics", "metrics of that table, such as hit_rate mrr@10", "string", "hit_rate")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a session."""
    config.stash[SESSION] = Session(config)
    config.pluginmanager.register(config.stash[SESSION], "hitrate-session")


@pytest.fixture
def hitrate(request: pytest.FixtureRequest) -> Iterator[HitRate]:
    """Return a function that evaluates a run and shows it in the summary: `hitrate(qrels, run).hit_rate(5)`."""
    session = request.config.stash[SESSION]
    yield HitRate(request.node, session)
    session.explain = None
