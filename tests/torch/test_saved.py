"""What a program writes to files and reads again: right programs PROVED, wrong ones REFUTED."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import ALL, live_answers  # noqa: E402

FILE = Path(__file__).with_name("saving.py")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch" / "checkpoints.py"
RIGHT = (
    "build_files", "build_mapped", "build_whole_objects", "build_views", "build_bytes", "build_before_scaled",
    "build_among_messages",
)  # fmt: skip
WRONG = ("build_own_alone", "build_views_other", "build_after_scaled")
OPEN = {
    "build_pickled": "torch's old form",
    "build_crossing": "in another order than they were written and sent",
    "build_from_before": "a file is read that was written before the step",
}
OTHERWISE = r"addmm \(checkpoints\.py:\d+\) makes what the single-device plan has nowhere, and later 0\.weight"
CHECKPOINTS = {
    "build": "",
    "build_by_hand": "",
    "build_forgotten_optimizer": r"reads 0 as input 0, where lerp \(checkpoints\.py:\d+\)\[0:4, 0:4\] is due",
    "build_forgotten_count": r"^div \(checkpoints\.py:\d+\) has other=[^;]*; the single-device node has other=[^;]*$",
    "build_wrong_order": OTHERWISE,
    "build_own_files": OTHERWISE,
}


def answered(name):
    return live_answers(FILE, "build_single", (*RIGHT, *WRONG, *OPEN))[name]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_read_is_what_was_written(name):
    assert answered(name).verdict == "PROVED", answered(name).why


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_what_was_due_is_refuted(name):
    assert answered(name).verdict == "REFUTED", answered(name).why


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_known_to_be_what_was_written_is_no_proof(name):
    assert answered(name).verdict == "UNKNOWN", answered(name).why
    assert re.search(OPEN[name], answered(name).why), answered(name).why


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_training_that_goes_on_from_a_checkpoint(name):
    found = live_answers(EXAMPLE, "build_single", tuple(CHECKPOINTS), causes=ALL)[name]
    assert found.verdict == ("REFUTED" if CHECKPOINTS[name] else "PROVED"), found.why
    assert re.search(CHECKPOINTS[name], found.why), found.why
