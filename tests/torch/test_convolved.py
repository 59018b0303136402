"""Convolution, pooling and batch norm in recorded programs: the right ones are proved, each wrong one is refuted."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).resolve().parents[2] / "examples" / "torch" / "convnet.py"
PAIRS = (
    ("build", "build_single"),
    ("build_frozen_norm", "build_frozen_norm_single"),
    ("build_loss_scale", "build_single"),
    ("build_batch_norm", "build_batch_norm_single"),
)


def told(name):
    return answers(FILE, PAIRS, tensors="real")[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["build", "build_frozen_norm"])
def test_data_parallel_convolutions_are_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.slow
def test_a_loss_that_is_divided_twice_is_refuted():
    assert told("build_loss_scale").verdict == "REFUTED", told("build_loss_scale").why


@pytest.mark.slow
def test_batch_norm_of_each_ranks_own_images_is_refuted_where_it_takes_the_mean():
    found = told("build_batch_norm")
    assert found.verdict == "REFUTED", found.why
    assert "var_mean" in found.why
