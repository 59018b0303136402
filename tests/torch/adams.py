"""Optimizers written by hand, on gradients of all ranks or on pieces of one flat buffer. For tests."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, RATE, DECAY, BETAS, EPS = 8, 0.01, 0.1, (0.9, 0.999), 1e-8


def program(ctx, update=None):
    """update: a step of all weights, of their gradients; torch's on one device."""
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    rows, weights = ROWS // ctx.world, list(model.parameters())
    batch = {"x": torch.randn(rows, 3), "target": torch.randn(rows, 2)}

    def step():
        loss = functional.mse_loss(model(batch["x"]), batch["target"])
        loss.backward()
        if update is None:
            torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, betas=BETAS, eps=EPS).step()
        else:
            with torch.no_grad():
                update(ctx, weights)
        for weight in weights:
            weight.grad = None
        return loss

    specs = dict.fromkeys(batch, shard(0, ctx.rank, ctx.world))
    return Program(inputs=batch, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def moments(grad):
    first, second = torch.zeros_like(grad), torch.zeros_like(grad)
    first.mul_(BETAS[0]).add_(grad, alpha=1 - BETAS[0])
    second.mul_(BETAS[1]).addcmul_(grad, grad, value=1 - BETAS[1])
    return first, second


def as_published(weight, grad, decay=DECAY):
    """Both moments are corrected, each by itself."""
    first, second = moments(grad)
    weight.mul_(1 - RATE * decay)
    weight.sub_(RATE * (first / (1 - BETAS[0])) / ((second / (1 - BETAS[1])).sqrt() + EPS))


def first_step(weight, grad):
    """What is left of that in a first step."""
    weight.copy_(weight * (1 - RATE * DECAY) - RATE * grad / (grad.square().sqrt() + EPS))


def uncorrected(weight, grad):
    """Wrong: the second moment is not corrected."""
    first, second = moments(grad)
    weight.mul_(1 - RATE * DECAY)
    weight.sub_(RATE * (first / (1 - BETAS[0])) / (second.sqrt() + EPS))


def less_decay(weight, grad):
    """Wrong: other weights decay."""
    as_published(weight, grad, 0.9 * DECAY)


def nesterov(weight, grad, decays=True):
    """A first step. decays: whether the weight decays in both parts of it."""
    whole = grad + 0.01 * weight
    weight.sub_(0.1 * ((whole if decays else grad) + 0.9 * whole))


def half_decayed(weight, grad):
    """Wrong: of the two parts one decays."""
    nesterov(weight, grad, decays=False)


def alone(update):
    def made(ctx, weights):
        for weight in weights:
            update(weight, weight.grad)

    return made


def each(update):
    def made(ctx, weights):
        for weight in weights:
            dist.all_reduce(weight.grad, dist.ReduceOp.AVG)
            update(weight, weight.grad)

    return made


def flat(update, padding=4, averaged=True):
    """ZeRO-1: each rank updates its piece of one padded buffer of all weights."""

    def made(ctx, weights):
        count = sum(weight.numel() for weight in weights)
        size = -(-count // ctx.world) + padding
        grads, held = torch.zeros(2, size * ctx.world)
        grads[:count] = torch.cat([weight.grad.flatten() for weight in weights])
        held[:count] = torch.cat([weight.flatten() for weight in weights])
        grad, own = torch.empty(size), held[ctx.rank * size : (ctx.rank + 1) * size].clone()
        dist.reduce_scatter_tensor(grad, grads)
        update(own, grad / ctx.world if averaged else grad)
        dist.all_gather_into_tensor(held, own)
        for weight, new in zip(weights, held[:count].split([weight.numel() for weight in weights]), strict=True):
            weight.copy_(new.view_as(weight))

    return made


def build_single(ctx):
    return program(ctx)


def build_published(ctx):
    return program(ctx, each(as_published))


def build_first(ctx):
    return program(ctx, each(first_step))


def build_flat(ctx):
    return program(ctx, flat(as_published))


def build_flat_without_padding(ctx):
    return program(ctx, flat(as_published, padding=0))


def build_flat_added(ctx):
    """Wrong: gradients of ranks are added."""
    return program(ctx, flat(as_published, averaged=False))


def build_uncorrected(ctx):
    return program(ctx, each(uncorrected))


def build_less_decay(ctx):
    return program(ctx, each(less_decay))


def build_nesterov_single(ctx):
    return program(ctx, alone(nesterov))


def build_nesterov(ctx):
    return program(ctx, flat(nesterov))


def build_nesterov_half(ctx):
    return program(ctx, flat(half_decayed))
