"""Forms that libraries use: each is recorded as what it is, and its wrong twin is never proved."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("forms.py")
FORMS = ("unread", "group")


def told(name):
    pairs = ((f"build_{form}{end}", f"build_{form}_single") for form in FORMS for end in ("", "_right"))
    return answers(FILE, tuple(pairs), tensors="real")[name]


@pytest.mark.parametrize("form", FORMS)
def test_the_right_form_is_proved(form):
    assert told(f"build_{form}_right").verdict == "PROVED", told(f"build_{form}_right").why


def test_a_product_on_memory_that_holds_anything_is_not_proved():
    assert told("build_unread").verdict in ("REFUTED", "UNKNOWN")


def test_a_group_of_each_rank_alone_is_refuted():
    assert told("build_group").verdict == "REFUTED", told("build_group").why
