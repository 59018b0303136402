"""Complex numbers, numbers of Python's where an operator takes tensors, and losses of several elements."""

from dataclasses import replace

import torch
import torch.distributed as dist
from torch.func import grad, vmap

from verdict.torch import Program, partial, shard

ROWS = 4


def program(ctx, loss_of, x=None, weight=None):
    """Data parallel: losses and gradients are summed. loss_of: of x and the weight."""
    rows = ROWS // ctx.world
    x = torch.randn(rows, 3) if x is None else x(rows, 3)
    weight = torch.randn(3, requires_grad=True) if weight is None else weight

    def step():
        loss = loss_of(x, weight)
        if weight.grad is None:
            loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"weight": weight}, step, specs=specs, loss=partial(ctx.rank, ctx.world))


def complex_rows(rows, columns):
    return torch.randn(rows, columns, dtype=torch.complex64)


def build_sizes_single(ctx):
    return program(ctx, lambda x, w: (w * x.abs().square().sum(1, keepdim=True)).sum(), complex_rows)


def build_sizes(ctx):
    return build_sizes_single(ctx)


def build_squares(ctx):
    """Wrong: |z * z + ...| where |z|^2 + ... is due, which is the same of real numbers."""
    return program(ctx, lambda x, w: (w * (x * x).sum(1, keepdim=True).abs()).sum(), complex_rows)


def build_turned_single(ctx):
    return program(ctx, lambda x, w: (x @ w * 1j + 1).abs().sum())


def build_turned(ctx):
    return build_turned_single(ctx)


def squared(weight, row):
    return torch.tanh(row @ weight).square() / 8


def build_summed_single(ctx):
    return program(ctx, lambda x, w: (torch.tanh(x @ w).square() / 8).sum())


def _each(ctx, weigh):
    def loss_of(x, weight):
        weight.grad = weigh(vmap(grad(squared), (None, 0))(weight.detach(), x))
        return (torch.tanh(x @ weight).square() / 8).sum()

    return program(ctx, loss_of)


def build_each(ctx):
    return _each(ctx, lambda grads: grads.sum(0))


def build_each_averaged(ctx):
    """Wrong: the mean of the rows' gradients."""
    return _each(ctx, lambda grads: grads.mean(0))


def build_unreduced(ctx):
    """Wrong: three elements where one loss is due, and no gradients."""
    return replace(build_summed_single(ctx), step=lambda: torch.ones(3))


def build_beside_single(ctx):
    """A truth value beside a number is a number: 1.5 or 0.5."""
    return program(ctx, lambda x, w: (w * torch.add(x > 0, 0.5)).sum())


def build_beside(ctx):
    return build_beside_single(ctx)


def build_beside_another(ctx):
    """Wrong: another number, which is as true."""
    return program(ctx, lambda x, w: (w * torch.add(x > 0, 0.25)).sum())


def first(ctx, alpha):
    """Numbers that stand first."""
    return program(ctx, lambda x, w: (w * torch.add(0.5, x > 0, alpha=alpha) * torch.sub(1.0, torch.mul(2.0, x))).sum())


def build_first_single(ctx):
    return first(ctx, 2.0)


def build_first(ctx):
    return first(ctx, 2.0)


def build_first_otherwise(ctx):
    """Wrong: another factor of what is added."""
    return first(ctx, 3.0)


def read_under_a_mode(x, weight):
    """An integer of the data is read where another mode for functions is entered, as `cuda_as_cpu` is one."""
    with torch.device("cpu"):
        count = int((x.argmax(-1).sum()).item())
    return (x @ weight).sum() * (count + 1)


def build_read_single(ctx):
    return program(ctx, read_under_a_mode)


def build_read(ctx):
    return program(ctx, read_under_a_mode)
