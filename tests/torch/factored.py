"""A gated layer under data parallelism; each wrong one multiplies somewhere by a number that does not belong there."""

import torch
import torch.distributed as dist
from torch.nn import Parameter

from verdict.torch import Program, partial, shard

D, N = 4, 4


def plain(x, a, b, c, ranks):
    gates = (torch.tanh(x @ a) @ b).softmax(-1) + c
    return torch.sigmoid(gates / 2)


def before(x, a, b, c, ranks):
    gates = (torch.tanh((x @ a) * ranks) @ b).softmax(-1) + c
    return torch.sigmoid(gates / 2)


def gated(x, a, b, c, ranks):
    gates = (torch.tanh(x @ a) * 0.25 @ b).softmax(-1) + c
    return torch.sigmoid(gates / 2)


def behind(x, a, b, c, ranks):
    gates = (torch.tanh(x @ a) @ b).softmax(-1) * ranks + c
    return torch.sigmoid(gates / 2)


def counted(x, a, b, c, ranks):
    chosen = torch.nn.functional.one_hot((x @ a).argmax(1), D).float().sum(0)
    if ranks > 1:
        dist.all_reduce(chosen)
    return plain(x, a, b, c, ranks) + chosen / N * (x @ a).softmax(1)


def counted_twice(x, a, b, c, ranks):
    chosen = torch.nn.functional.one_hot((x @ a).argmax(1), D).float().sum(0)
    dist.all_reduce(chosen)
    share = chosen / N * ranks
    return plain(x, a, b, c, ranks) + share * (x @ a).softmax(1)


def program(layer, ctx=None):
    ranks, rank = (ctx.world, ctx.rank) if ctx else (1, 0)
    torch.manual_seed(0)
    a, b, c = Parameter(torch.randn(D, D)), Parameter(torch.randn(D, D)), Parameter(torch.randn(D))
    x, t = torch.randn(N // ranks, D), torch.randn(N // ranks, D)

    def step():
        loss = ((layer(x, a, b, c, ranks) - t) ** 2).sum() / N
        loss.backward()
        if ranks > 1:
            for weight in (a, b, c):
                dist.all_reduce(weight.grad)
        return loss

    given, weights = {"x": x, "t": t}, {"a": a, "b": b, "c": c}
    if ctx is None:
        return Program(given, weights, step)
    specs = dict.fromkeys(given, shard(0, rank, ranks))
    return Program(given, weights, step, specs=specs, loss=partial(rank, ranks))


def build_single_plain(ctx):
    return program(plain)


def build_single_counted(ctx):
    return program(counted)


def build_plain(ctx):
    return program(plain, ctx)


def build_before(ctx):
    return program(before, ctx)


def build_gated(ctx):
    return program(gated, ctx)


def build_behind(ctx):
    return program(behind, ctx)


def build_counted(ctx):
    return program(counted, ctx)


def build_counted_twice(ctx):
    return program(counted_twice, ctx)
