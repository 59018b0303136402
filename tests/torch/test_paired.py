"""Complex numbers whose parts are real numbers of the recording are known by these."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("paired.py")
PROVED = {
    "build": "build_single",
    "build_heads": "build_heads_single",
    "build_many": "build_many_single",
    "build_many_turned": "build_many_single",
    "build_replaced": "build_replaced_single",
}
REFUTED = {
    "build_conjugated": "build_single",
    "build_unscaled": "build_single",
    "build_unreduced": "build_single",
    "build_heads_shifted": "build_heads_single",
    "build_many_conjugated": "build_many_single",
}
OPEN = {"build_written": "build_many_single", "build_sized": "build_many_single"}


def told(name):
    return answers(FILE, tuple((PROVED | REFUTED | OPEN).items()))[name]


@pytest.mark.parametrize("name", PROVED)
def test_what_turns_pairs_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", REFUTED)
def test_what_turns_them_otherwise_is_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_known_of_them_is_open(name):
    assert told(name).verdict == "UNKNOWN", told(name).why
