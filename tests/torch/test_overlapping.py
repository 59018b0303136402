"""Operators that write where they read something else are not followed, also where no run would show it."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("overlapping.py")
OPEN = {
    "lists": "what aten._foreach_add_.List writes stands in its lists again",
    "column": "where aten.mul_.Tensor writes it reads something else",
    "turned": "where aten.add_.Tensor writes it reads something else",
    "product": "where aten.mm.out writes it reads something else",
}


def told(name):
    pairs = tuple((f"build_{each}", f"build_{each}_single") for each in (*OPEN, "same"))
    return answers(FILE, pairs, confirm=0)[f"build_{name}"]


@pytest.mark.parametrize("name", OPEN)
def test_what_depends_on_the_order_of_elements_is_no_proof(name):
    assert told(name).verdict == "UNKNOWN"
    assert OPEN[name] in told(name).why


def test_what_reads_the_very_elements_that_it_writes_is_proved():
    assert told("same").verdict == "PROVED", told("same").why
