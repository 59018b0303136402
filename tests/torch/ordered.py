"""One router written in two ways: it takes the two greatest, or sorts and takes the first two."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss

from verdict.torch import Program, mean, shard

TOKENS, SIZE, EXPERTS, TAKEN = 8, 4, 4, 2


def greatest(scores):
    return scores.topk(TAKEN, -1)


def first_of_sorted(scores):
    weights, places = torch.sort(scores, dim=-1, descending=True)
    return weights[:, :TAKEN], places[:, :TAKEN]


def last_of_sorted(scores):
    weights, places = torch.sort(scores, dim=-1)
    return weights[:, :TAKEN], places[:, :TAKEN]


class Experts(nn.Module):
    """Tokens go to all experts; each is weighed by what the router says, where it is among those taken."""

    def __init__(self, taken, spread):
        super().__init__()
        self.taken, self.spread = taken, spread
        self.router, self.experts = nn.Linear(SIZE, EXPERTS, bias=False), nn.Parameter(torch.randn(EXPERTS, SIZE, SIZE))

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        weights, places = self.taken(scores)
        weights = weights / weights.sum(-1, keepdim=True)
        made = torch.einsum("td,edf->tef", x, self.experts)
        if self.spread:
            return (torch.zeros_like(scores).scatter(1, places, weights)[..., None] * made).sum(1)
        return (made.gather(1, places[..., None].expand(-1, -1, SIZE)) * weights[..., None]).sum(1)


def program(ctx, taken, reduce=None, spread=False):
    model, rows = Experts(taken, spread), TOKENS // ctx.world
    x, target = torch.randn(rows, SIZE), torch.randn(rows, SIZE)

    def step():
        loss = mse_loss(model(x), target)
        loss.backward()
        for weight in model.parameters() if reduce else ():
            dist.all_reduce(weight.grad, op=reduce)
        return loss

    inputs = {"x": x, "target": target}
    specs = dict.fromkeys(inputs, shard(0, ctx.rank, ctx.world))
    return Program(inputs=inputs, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx, greatest)


def build_single_spread(ctx):
    return program(ctx, greatest, spread=True)


def build(ctx):
    return program(ctx, first_of_sorted, dist.ReduceOp.AVG)


def build_spread(ctx):
    return program(ctx, first_of_sorted, dist.ReduceOp.AVG, spread=True)


def build_summed(ctx):
    return program(ctx, first_of_sorted, dist.ReduceOp.SUM)


def build_last(ctx):
    """The least of each row are taken."""
    return program(ctx, last_of_sorted, dist.ReduceOp.AVG)
