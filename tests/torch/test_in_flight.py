"""What a functional collective reads must not be written over before what it makes is used."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("in_flight.py")
WRONG = ("gathered", "exchanged")
RIGHT = ("gathered_right", "exchanged_right", "copied_right")
WHY = "a tensor is written to before communication that reads or writes it was waited for"


def told(name, tensors):
    pairs = tuple((f"build_{each}", "build_single") for each in (*WRONG, *RIGHT))
    return answers(FILE, pairs, confirm=0, tensors=tensors)[f"build_{name}"]


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize("name", WRONG)
def test_an_input_that_is_written_over_in_flight_is_no_proof(name, tensors):
    assert told(name, tensors).verdict == "UNKNOWN"
    assert WHY in told(name, tensors).why


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize("name", RIGHT)
def test_an_input_that_is_written_over_behind_it_is_proved(name, tensors):
    assert told(name, tensors).verdict == "PROVED", told(name, tensors).why
