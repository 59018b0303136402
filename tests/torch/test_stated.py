"""What a program states of its integers holds of those that it is recorded with: else nothing is proved of them."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

STATED = """
import torch
from verdict.torch import Program


def program(least, greatest):
    table, ids = torch.nn.Embedding(5, 3), torch.tensor([[1, 4], [2, 2]])

    def step():
        loss = table(ids).square().sum()
        loss.backward()
        return loss

    return Program(inputs={"ids": ids}, params=table, step=step, ranges={"ids": (least, greatest)})


def build(ctx):
    return program(1, 4)


def build_low(ctx):
    return program(2, 4)


def build_high(ctx):
    return program(0, 3)
"""


def test_inputs_lie_in_the_range_that_is_stated_of_them(tmp_path: Path):
    (tmp_path / "stated.py").write_text(STATED)
    found = answers(tmp_path / "stated.py", tuple((name, name) for name in ("build", "build_low", "build_high")))
    assert found["build"].verdict == "PROVED", found["build"].why
    beyond = {"build_low": "from 2 to 4, and it holds 1", "build_high": "from 0 to 3, and it holds 4"}
    for name, told in beyond.items():
        assert found[name].verdict == "not put"
        assert told in found[name].why
