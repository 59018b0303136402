"""Decimals that torch rounds to 32 bits, and whole numbers that wrap around while they are communicated."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.arguments import decimal  # noqa: E402

FILE = Path(__file__).with_name("written.py")
NAMES = ("build_right", "build_eps", "build_scale", "build_wrapped_right", "build_wrapped")
FOUND = tuple((name, "build_single") for name in NAMES)


@pytest.mark.parametrize("name", ["build_right", "build_wrapped_right"])
def test_what_torch_rounds_is_what_was_written(name):
    found = answers(FILE, FOUND, tensors="real")[name]
    assert found.verdict == "PROVED", found.why


@pytest.mark.parametrize("name", ["build_eps", "build_scale", "build_wrapped"])
def test_another_number_is_not(name):
    found = answers(FILE, FOUND, tensors="real")[name]
    assert found.verdict in ("REFUTED", "UNKNOWN"), found.why


@pytest.mark.parametrize("value", [1e-6, 0.1, 0.044715, -2.5e-5, 1.00001e-6])
def test_the_nearest_number_of_32_bits_is_the_decimal(value):
    assert decimal(float(torch.tensor(value, dtype=torch.float32))) == value


@pytest.mark.parametrize("value", [0.1, 2.0**-24, 2.0**-13, 1 / 3, 2.0**30, float("inf"), -1e300, True, 3])
def test_other_numbers_are_as_they_are(value):
    assert decimal(value) is value
