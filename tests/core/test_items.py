"""What a caller gives for one query: its order, and the texts of the items."""

import subprocess
import sys

import pytest

from hitrate_adapters.core.items import in_order, text_of

DOCUMENTS = {"d": "Refunds take five days.", "n": 7}

SETS = """
import warnings
import hitrate_adapters as hr

warnings.simplefilter("ignore")
gold = {"q": {f"passage {n} of the golden set" for n in range(9)}}
evaluation = hr.evaluate(gold, {"q": ["passage of the golden set"]}, match=hr.overlap(0.9))
found = hr.evaluate(gold, {"q": ["of the golden set"]}, match=hr.overlap(0.8))
print(found.matches("q"), evaluation.warnings, hr.diagnose(evaluation))
print(hr.diagnose(evaluation).misses, hr.missing_labels(evaluation).rows())
print(hr.missing_labels(hr.evaluate(gold, {"q": ["x"]}), texts={"x": "y"}).unknown)
other = hr.evaluate({"q": {"another", "gold", "set"}}, {"q": ["x"]}, match=hr.overlap(0.9))
try:
    evaluation.compare(other, "hit_rate@5")
except ValueError as error:
    print(error)
"""


def test_a_set_is_in_the_same_order_in_every_run_of_python():
    command = [sys.executable, "-c", SETS]
    runs = {
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True).stdout
        for seed in "0123"
    }
    assert len(runs) == 1


def test_a_set_is_ordered_by_type_and_then_by_repr():
    assert in_order({"b", 10, "a", 9, ("a", 1)}) == [10, 9, "a", "b", ("a", 1)]


def test_what_has_an_order_keeps_it():
    assert in_order(["b", "a", "b"]) == in_order({"b": 1, "a": 2}) == ["b", "a"]


@pytest.mark.parametrize(
    ("span", "texts", "text"),
    [
        (("d", 0, 7), DOCUMENTS, "Refunds"),
        (("d", 0, 7), {**DOCUMENTS, ("d", 0, 7): "its own"}, "its own"),
        (("e", 0, 7), DOCUMENTS, None),
        (("n", 0, 7), DOCUMENTS, None),
        (("d", 90, 97), DOCUMENTS, None),
        ("d", DOCUMENTS, "Refunds take five days."),
        (("d", 0), DOCUMENTS, None),
    ],
)
def test_the_text_of_a_span_is_its_own_or_a_part_of_its_document(span, texts, text):
    assert text_of(span, texts, are_spans=True) == text


def test_what_is_no_span_is_no_part_of_a_document():
    assert text_of(("d", 0, 7), DOCUMENTS) is None
