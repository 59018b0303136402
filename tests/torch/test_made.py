"""What libraries make before a step and beside torch: the right program of each kind PROVED, wrong ones not."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers, live_answers  # noqa: E402

FILE = Path(__file__).with_name("made.py")
WRONG = {
    "copied": "build_copied_changed", "doubled": "build_doubled_reversed", "meshed": "build_meshed_unreduced",
    "routed": "build_routed_least",
}  # fmt: skip
WORLDS = {"meshed": 4}


def found(kind, live):
    single, builders, world = f"build_{kind}_single", (f"build_{kind}", WRONG[kind]), WORLDS.get(kind, 2)
    if live:
        return live_answers(FILE, single, builders, world)
    return answers(FILE, tuple((name, single) for name in builders), world, tensors="real")


@pytest.mark.parametrize(
    ("kind", "live"),
    [("copied", False), ("copied", True), ("doubled", False), ("doubled", True), ("meshed", False), ("meshed", True)],
)
def test_what_libraries_make_is_followed(kind, live):
    right, wrong = found(kind, live).values()
    assert right.verdict == "PROVED", right.why
    assert wrong.verdict == "REFUTED", wrong.why


def test_a_mask_that_is_made_in_the_likeness_of_scores_is_no_choice():
    right, wrong = found("routed", live=True).values()
    assert right.verdict == "PROVED", right.why
    assert wrong.verdict in ("REFUTED", "UNKNOWN"), wrong.why
