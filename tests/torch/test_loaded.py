"""A loader of torch's in the step: what it draws in memory, and nobody uses, is no write that nobody recorded."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers
from verdict.report.headline import headline

FILE = Path(__file__).with_name("loaded.py")
PAIRS = (("build", "build_single"), ("build_same_rows", "build_single"), ("build_noisy", "build_noisy"))


def told(name):
    return answers(FILE, PAIRS, tensors="real")[name]


def test_rows_of_a_sampler_are_followed():
    assert told("build").verdict == "PROVED", told("build").why


def test_a_step_without_a_loss_is_not_said_to_have_one():
    assert "computes all 2 gradients" in headline(told("build").report)


def test_a_forgotten_sampler_is_refuted():
    assert told("build_same_rows").verdict == "REFUTED", told("build_same_rows").why


def test_what_is_used_of_a_draw_without_a_model_stays_open():
    found = told("build_noisy")
    assert found.verdict == "UNKNOWN"
    assert "is written to where nothing is recorded" not in found.why
