"""The examples on spans print the figures that docs/choosing_k.md and docs/segments.md publish."""

import os
from pathlib import Path

import pytest

from tests.test_examples import need, run

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(
    "HITRATE_TEST_DATA" not in os.environ, reason="HITRATE_TEST_DATA names no folder of data sets"
)


@pytest.mark.parametrize(("script", "page"), [("equal_budget.py", "choosing_k.md"), ("segments.py", "segments.md")])
def test_the_page_has_what_the_example_prints(script, page, tmp_path):
    need(script)
    done = run(script, Path(os.environ["HITRATE_TEST_DATA"], "spans"), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 9
    assert done.stdout in (ROOT / "docs" / page).read_text(encoding="utf-8")
