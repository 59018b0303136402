"""Ring attention through whose running maximum gradients go: what a softmax is shifted by changes nothing."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "rings.py"
WHOLE = tuple((builder, "build_whole_single") for builder in ("build_whole", "build_own", "build_total", "build_sign"))
CAUSAL = tuple((builder, "build_causal_single") for builder in ("build_causal", "build_detached", "build_order"))


def of_whole(builder):
    return answers(FILE, WHOLE)[builder]


def of_causal(builder):
    return answers(FILE, CAUSAL, world=4)[builder]


@pytest.mark.parametrize("builder", ["build_whole", "build_own"])
def test_a_maximum_that_is_trained_through_is_proved(builder):
    assert of_whole(builder).verdict == "PROVED", of_whole(builder).why


@pytest.mark.parametrize("builder", ["build_causal", "build_detached"])
def test_a_causal_ring_of_four_ranks_is_proved(builder):
    """Blocks that are masked as a whole make zeros on several ranks, which are wrongly guessed to be something else."""
    assert of_causal(builder).verdict == "PROVED", of_causal(builder).why


@pytest.mark.parametrize("builder", ["build_total", "build_sign"])
def test_what_is_not_rescaled_or_the_wrong_way_is_refuted(builder):
    assert of_whole(builder).verdict == "REFUTED", of_whole(builder).why


def test_blocks_that_are_masked_in_another_order_are_refuted():
    assert of_causal("build_order").verdict == "REFUTED", of_causal("build_order").why
