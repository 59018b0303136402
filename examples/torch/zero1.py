"""ZeRO-1 by hand: gradients are averaged everywhere, each rank updates its share of the weights, and all gather them.

verdict torch examples/torch/zero1.py --world 2
"""

import torch
import torch.distributed as dist
from mlp_megatron import BATCH, HIDDEN, Perceptron
from torch.nn import functional

from verdict.torch import Program, mean, shard

STATES = ("first", "second")
BETAS, RATE, EPS = (0.9, 0.999), 0.1, 1e-8


def adam(weight, grad, first, second):
    """The first step of Adam, in place."""
    first.lerp_(grad, 1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(grad, grad, value=1 - BETAS[1])
    denominator = (second / (1 - BETAS[1])).sqrt() + EPS
    weight.addcdiv_(first, denominator, value=-RATE / (1 - BETAS[0]))


def program(ctx, update, **options):
    rows = BATCH // ctx.world
    model = Perceptron()
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)
    states = {}

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                states[name] = update(ctx, weight, **options)
        return loss

    part = shard(0, ctx.rank, ctx.world)
    kept = [f"{name}.{state}" for name, _ in model.named_parameters() for state in STATES]
    return Program(
        inputs={"x": x, "target": target},
        params=model,
        step=step,
        outputs=lambda: {f"{name}.{state}": states[name][state] for name in states for state in STATES},
        specs=dict.fromkeys(("x", "target", *kept), part),
        loss=mean(ctx.rank, ctx.world),
    )


def whole(ctx, weight):
    first, second = torch.zeros_like(weight), torch.zeros_like(weight)
    adam(weight, weight.grad, first, second)
    return {"first": first, "second": second}


def sharded(ctx, weight, at=0, gather=True):
    """The gradient is averaged over all ranks; this rank updates its rows, and gets the others' rows."""
    dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
    rows = weight.shape[0] // ctx.world
    place = (ctx.rank + at) % ctx.world
    own = weight[place * rows : (place + 1) * rows].clone()
    grad = weight.grad[ctx.rank * rows : (ctx.rank + 1) * rows]
    first, second = torch.zeros_like(own), torch.zeros_like(own)
    adam(own, grad, first, second)
    if gather:
        dist.all_gather_into_tensor(weight, own)
    else:
        weight[ctx.rank * rows : (ctx.rank + 1) * rows] = own
    return {"first": first, "second": second}


def build_single(ctx):
    return program(ctx, whole)


def build(ctx):
    return program(ctx, sharded)


def build_wrong_chunk(ctx):
    """Wrong: each rank updates its neighbour's rows with its own gradients."""
    return program(ctx, sharded, at=1)


def build_missing_gather(ctx):
    """Wrong: the ranks keep the others' rows as they were."""
    return program(ctx, sharded, gather=False)
