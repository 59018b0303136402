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


VARIANCES = """
import torch
from torch.nn.parallel import DistributedDataParallel
from verdict.torch import Program, mean, shard


def program(ctx, scale=1, least=None, ranges={}):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    model.eval()
    if least is not None:
        model[1].running_var[2] = least
    x = torch.randn(4 // ctx.world, 3)
    called = model if ctx.world == 1 else DistributedDataParallel(model)

    def step():
        loss = called(x).square().mean()
        (loss * scale).backward()
        return loss

    part = ctx.rank, ctx.world
    specs = {"x": shard(0, *part)}
    return Program(inputs={"x": x}, params=model, step=step, loss=mean(*part), specs=specs, ranges=ranges)


def build(ctx):
    return program(ctx)


def build_scaled(ctx):
    return program(ctx, scale=0.5)


def build_negative(ctx):
    return program(ctx, least=-0.5)


def build_stated(ctx):
    return program(ctx, ranges={"1.running_mean": (0, None)})


def build_stated_wrongly(ctx):
    return program(ctx, least=-0.5, ranges={"1.running_var": (0, None)})


def build_bounded(ctx):
    return program(ctx, ranges={"1.running_var": (0, 4)})
"""


def test_variances_are_not_negative_where_the_programs_own_are_not(tmp_path: Path):
    (tmp_path / "variances.py").write_text(VARIANCES)
    right = ("build", "build_negative", "build_stated", "build_stated_wrongly", "build_bounded")
    found = answers(
        tmp_path / "variances.py", (*((name, name) for name in right), ("build_scaled", "build")), tensors="real"
    )
    said = {
        name: [each.text for each in found[name].report.assumptions if each.name == "input-ranges"]
        for name in ("build", "build_negative", "build_stated", "build_scaled")
    }
    assert found["build"].verdict == "PROVED", found["build"].why
    assert said["build"] == said["build_scaled"] == ["1.running_var is never below 0"]
    assert said["build_negative"] == []
    assert said["build_stated"] == ["1.running_mean is never below 0, 1.running_var is never below 0"]
    assert found["build_scaled"].verdict == "REFUTED", found["build_scaled"].why
    assert "0 or more, and it holds -0.5" in found["build_stated_wrongly"].why
    assert "say (0, None)" in found["build_bounded"].why
