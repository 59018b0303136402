"""ZeRO-2 by hand, clipped: gradients are averaged and scattered, clipped by their global norm, updated and gathered.

The gradients that stay in the parameters are each rank's own, of which the single-device ones are the mean.

verdict torch examples/torch/zero2_clip.py --world 2
"""

import torch
import torch.distributed as dist
from mlp_megatron import BATCH, HIDDEN, Perceptron
from torch.nn import functional
from zero1 import STATES, adam

from verdict.torch import Program, mean, shard

MOST = 0.1


def program(ctx, update):
    rows = BATCH // ctx.world
    model = Perceptron()
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)
    states = {}

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        with torch.no_grad():
            states.update(update(dict(model.named_parameters())))
        return loss

    part, share = shard(0, ctx.rank, ctx.world), mean(ctx.rank, ctx.world)
    kept = [f"{name}.{state}" for name, _ in model.named_parameters() for state in STATES]
    grads = [f"{name}.grad" for name, _ in model.named_parameters()]
    return Program(
        inputs={"x": x, "target": target},
        params=model,
        step=step,
        outputs=lambda: states,
        specs={**dict.fromkeys(("x", "target", *kept), part), **dict.fromkeys(grads, share)},
        loss=share,
    )


def clipped(grads, squares):
    """The gradients, no longer together than MOST."""
    factor = (MOST / (squares.sqrt() + 1e-6)).clamp(max=1.0)
    return {name: grad * factor for name, grad in grads.items()}


def updated(weights, grads):
    """Adam's first step on each weight, in place; its states."""
    states = {}
    for name, weight in weights.items():
        first, second = torch.zeros_like(weight), torch.zeros_like(weight)
        adam(weight, grads[name], first, second)
        states |= {f"{name}.first": first, f"{name}.second": second}
    return states


def total(grads):
    return torch.stack([grad.square().sum() for grad in grads.values()]).sum()


def whole(weights):
    grads = {name: weight.grad for name, weight in weights.items()}
    return updated(weights, clipped(grads, total(grads)))


def sharded(ctx, reduce=dist.all_reduce):
    """This rank's rows of every gradient; their squares are added up over the ranks."""

    def update(weights):
        grads, own = {}, {}
        for name, weight in weights.items():
            rows = weight.shape[0] // ctx.world
            grads[name] = torch.empty(rows, weight.shape[1])
            dist.reduce_scatter_tensor(grads[name], weight.grad, op=dist.ReduceOp.AVG)
            own[name] = weight[ctx.rank * rows : (ctx.rank + 1) * rows].clone()
        squares = total(grads)
        reduce(squares)
        states = updated(own, clipped(grads, squares))
        for name, weight in weights.items():
            dist.all_gather_into_tensor(weight, own[name])
        return states

    return update


def build_single(ctx):
    return program(ctx, whole)


def build(ctx):
    return program(ctx, sharded(ctx))


def build_local_norm(ctx):
    """Wrong: each rank clips by the norm of its own rows."""
    return program(ctx, sharded(ctx, lambda squares: None))
