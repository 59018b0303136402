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


BUFFERS = """
import torch
from torch.nn.parallel import DistributedDataParallel
from verdict.torch import Program, mean, shard


class Typed(torch.nn.Module):
    # Types of tokens that are buffers, looked up at positions that are buffers, too: no table bounds them directly.
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(2, 3)
        self.register_buffer("kinds", torch.tensor([[0, 1, 1]]))
        self.register_buffer("places", torch.tensor([[2, 0, 1]]))

    def forward(self, x):
        kinds = torch.gather(self.kinds, 1, self.places)
        return (self.table(kinds) * x).square().mean()


def program(ctx, scale=1, greatest=1):
    model = Typed()
    x = torch.randn(4 // ctx.world, 3, 3)
    called = model if ctx.world == 1 else DistributedDataParallel(model)

    def step():
        loss = called(x)
        (loss * scale).backward()
        return loss

    part = ctx.rank, ctx.world
    specs, ranges = {"x": shard(0, *part)}, {"kinds": (0, greatest)}
    return Program(inputs={"x": x}, params=model, step=step, loss=mean(*part), specs=specs, ranges=ranges)


def build(ctx):
    return program(ctx)


def build_scaled(ctx):
    return program(ctx, scale=0.5)


def build_none(ctx):
    return program(ctx, greatest=0)
"""


def test_buffers_lie_in_the_range_that_is_stated_of_them(tmp_path: Path):
    (tmp_path / "kinds.py").write_text(BUFFERS)
    wanted = (("build", "build"), ("build_scaled", "build"), ("build_none", "build_none"))
    found = answers(tmp_path / "kinds.py", wanted, tensors="real")
    assert found["build"].verdict == "PROVED", found["build"].why
    assert found["build_scaled"].verdict == "REFUTED", found["build_scaled"].why
    assert found["build_none"].verdict == "not put"
    assert "from 0 to 0, and it holds 1" in found["build_none"].why
