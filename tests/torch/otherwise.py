"""Data parallel steps whose ranks draw what one device draws, or otherwise what comes to the same in law. For tests."""

import functools

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 3


def mask(rows):
    return 2 * torch.empty(rows, SIZE).bernoulli_(0.5)


def compared_mask(rows):
    return 2 * (torch.rand(rows, SIZE) < 0.5)


def contrary_mask(rows):
    return 2 - mask(rows)


def noise(rows):
    return 1 + 0.5 * torch.randn(rows, SIZE)


def less_noise(rows):
    return 1 - 0.5 * torch.randn(rows, SIZE)


def more_noise(rows):
    return 1 + torch.randn(rows, SIZE)


def gumbel(rows):
    return 1 - torch.empty(rows, SIZE).exponential_().log()


def gumbel_of_uniform(rows):
    return 1 - (-torch.rand(rows, SIZE).log()).log()


def program(ctx, drawn, reduced=True):
    weight, x = torch.nn.Parameter(torch.ones(SIZE, SIZE)), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        torch.manual_seed(5 + ctx.rank)
        loss = (drawn(len(x)) * x @ weight).square().mean()
        loss.backward()
        if ctx.world > 1 and reduced:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"w": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


LAWS = (mask, noise, gumbel)
ALIKE = {compared_mask: mask, contrary_mask: mask, less_noise: noise, gumbel_of_uniform: gumbel}
UNLIKE = {more_noise: noise}
for law in (*LAWS, *ALIKE, *UNLIKE):
    globals()[f"build_{law.__name__}"] = functools.partial(program, drawn=law)
    globals()[f"build_{law.__name__}_alone"] = functools.partial(program, drawn=law, reduced=False)
