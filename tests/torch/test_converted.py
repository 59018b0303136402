"""A model without data is converted as one with data: its parameters stay the same ones."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("converted.py")
RIGHT = ("build_device", "build_wider", "build_channels_last", "build_within", "build_copied")
WRONG = {"build_doubled": ("REFUTED",), "build_empty": ("REFUTED", "UNKNOWN")}
"""What was never written may happen to be the same on all ranks."""


def told(name):
    names = (*RIGHT, *WRONG, "build_elsewhere")
    pairs = tuple((each, "build_copied_single" if each == "build_copied" else "build_single") for each in names)
    return answers(FILE, pairs)[name]


@pytest.mark.parametrize("name", RIGHT)
def test_a_model_that_is_converted_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", WRONG)
def test_one_that_is_changed_or_forgotten_by_its_optimizer_is_not(name):
    assert told(name).verdict in WRONG[name], told(name).why


def test_another_device_is_refused_in_a_sentence():
    """By torch where it knows no such device."""
    found = told("build_elsewhere")
    assert found.verdict == "not put"
    assert "is moved from cpu to cuda" in found.why or "not linked with support for cuda" in found.why
