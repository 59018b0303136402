"""A gradient that is placed otherwise than its parameter is compared where that is; a sparse one is refused."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

SPARSE = """
import torch
from verdict.torch import Program


def build(ctx):
    table, ids = torch.nn.Embedding(5, 3, sparse=True), torch.tensor([1, 2])

    def step():
        loss = table(ids).square().sum()
        loss.backward()
        return loss

    return Program(inputs={"ids": ids}, params=table, step=step, ranges={"ids": (0, 4)})
"""
FILE = Path(__file__).with_name("placed.py")
WRONG, RIGHT = "build_placed", "build_placed_right"


def test_a_gradient_that_all_ranks_have_of_a_parameter_that_they_share_is_cut_as_it_is():
    found = answers(FILE, tuple((name, "build_placed_single") for name in (WRONG, RIGHT)))
    assert found[RIGHT].verdict == "PROVED", found[RIGHT].why
    assert found[WRONG].verdict == "REFUTED", found[WRONG].why


def test_a_sparse_gradient_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "sparse.py").write_text(SPARSE)
    found = answers(tmp_path / "sparse.py", (("build", "build"),))["build"]
    assert found.verdict == "not put"
    assert "makes a sparse tensor" in found.why and "sparse=False" in found.why
