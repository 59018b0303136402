"""A perceptron with Megatron's column and row parallel linears, and what goes wrong when a reduction is forgotten.

verdict torch examples/torch/mlp_megatron.py --world 4
verdict torch examples/torch/mlp_megatron.py:build_missing_f --world 4
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, shard

BATCH, HIDDEN, FFN = 4, 4, 8


class CopyToRanks(torch.autograd.Function):
    """Megatron's f: the identity forward, an all-reduce of the gradient backward."""

    @staticmethod
    def forward(ctx, x, asynchronous):
        ctx.asynchronous = asynchronous
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        if ctx.asynchronous:
            dist.all_reduce(grad, async_op=True).wait()
        else:
            dist.all_reduce(grad)
        return grad, None


class ReduceFromRanks(torch.autograd.Function):
    """Megatron's g: an all-reduce forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Perceptron(nn.Module):
    """x -> wi -> gelu -> layer norm of the sum -> wo, on one device."""

    def __init__(self, ffn=FFN):
        super().__init__()
        self.first = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.up = nn.Linear(HIDDEN, ffn, bias=False)
        self.down = nn.Linear(ffn, HIDDEN, bias=False)

    def forward(self, x):
        h = self.first(x)
        return x + self.down(functional.relu(self.up(h)))


class Parallel(Perceptron):
    """The same with `up` split by columns and `down` by rows over all ranks."""

    def __init__(self, world, copy=True, reductions=1, asynchronous=False):
        super().__init__(FFN // world)
        self.copy, self.reductions, self.asynchronous = copy, reductions, asynchronous

    def forward(self, x):
        h = self.first(x)
        entered = CopyToRanks.apply(h, self.asynchronous) if self.copy else h
        y = self.down(functional.relu(self.up(entered)))
        for _ in range(self.reductions):
            y = ReduceFromRanks.apply(y)
        return x + y


def program(model, specs=None):
    x, target = torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        return loss

    return Program(inputs={"x": x, "target": target}, params=model, step=step, specs=specs or {})


def build_single(ctx):
    return program(Perceptron())


def parallel(ctx, **options):
    specs = {"up.weight": shard(0, ctx.rank, ctx.world), "down.weight": shard(1, ctx.rank, ctx.world)}
    return program(Parallel(ctx.world, **options), specs)


def build(ctx):
    return parallel(ctx)


def build_async(ctx):
    """The gradient's all-reduce is begun and waited for."""
    return parallel(ctx, asynchronous=True)


def build_missing_f(ctx):
    """Wrong: the gradient that leaves the block is only this rank's part."""
    return parallel(ctx, copy=False)


def build_missing_g(ctx):
    """Wrong: the output of the block is only this rank's part."""
    return parallel(ctx, reductions=0)


def build_double_reduction(ctx):
    """Wrong: the output of the block is reduced twice."""
    return parallel(ctx, reductions=2)
