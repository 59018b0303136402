"""Programs that a recording alone would take for others: the wrong one is never PROVED, and its right twin is."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("fooling.py")
TWO = "build_two_single"
WRONG = {
    "build_thread": "not what the program does",
    "build_swallowed": "decides what the program does|not what the program does",
    "build_numpy_view": "not what the program does",
    "build_numpy_written": "not what the program does",
    "build_numpy_random": "other is 2.0|nobody seeds it",
    "build_python_random": "other is|nobody seeds it",
    "build_variables": "other=2.0 on rank 1",
    "build_seeds": "",
    "build_set_order": "",
    "build_hash_order": "",
    "build_id_order": "",
}
"""builder -> a pattern that stands in the answer."""
RIGHT = (
    "build_thread_right", "build_swallowed_right", "build_numpy_view_right", "build_numpy_written_right",
    "build_numpy_random_right", "build_python_random_right", "build_variables_right", "build_seeds_right",
    "build_set_order_right",
)  # fmt: skip


def single(name):
    return TWO if "_order" in name else "build_single"


def told():
    return answers(FILE, tuple((name, single(name)) for name in (*WRONG, *RIGHT)))


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_fools_a_recording_is_not_proved(name):
    found = told()[name]
    assert found.verdict != "PROVED"
    assert re.search(WRONG[name], found.why), found.why


@pytest.mark.parametrize("name", RIGHT)
def test_its_right_twin_is_proved(name):
    found = told()[name]
    assert found.verdict == "PROVED", found.why
    assert "recording-not-confirmed" not in {assumption.name for assumption in found.report.assumptions}
