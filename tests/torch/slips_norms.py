"""A norm of gradients over ranks that have two weights cut and two whole; with a slip, the line ends in `# place`."""

import torch
import torch.distributed as dist
from slips_split import Copy, Reduce
from torch import nn

from verdict.torch import Program, shard

DIM, WIDTH, BATCH, MOST = 4, 8, 4, 0.3


def program(ctx, norm):
    width = WIDTH // ctx.world
    weights = {
        "up": nn.Parameter(torch.randn(DIM, width)),
        "down": nn.Parameter(torch.randn(width, DIM)),
        "bias": nn.Parameter(torch.randn(DIM)),
        "gain": nn.Parameter(torch.randn(DIM)),
    }
    x, target = torch.randn(BATCH, DIM), torch.randn(BATCH, DIM)

    def step():
        h = x * weights["gain"]
        h = Copy.apply(h) if ctx.world > 1 else h
        h = torch.relu(h @ weights["up"]) @ weights["down"]
        h = (Reduce.apply(h) if ctx.world > 1 else h) + weights["bias"]
        loss = (h - target).square().mean()
        loss.backward()
        if norm is None:
            nn.utils.clip_grad_norm_(weights.values(), MOST)
        else:
            scale = torch.clamp(MOST / (norm(weights).sqrt() + 1e-6), max=1.0)
            for weight in weights.values():
                weight.grad.mul_(scale)
        return loss.detach()

    own = {"up": shard(1, ctx.rank, ctx.world), "down": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x, "target": target}, weights, step, specs=own)


def squares(weights):
    return [weight.grad.square().sum() for weight in weights]


def of_all(total):
    dist.all_reduce(total)
    return total


def right(weights):
    parts, whole = squares([weights["up"], weights["down"]]), squares([weights["bias"], weights["gain"]])
    return of_all(sum(parts)) + sum(whole)


def added(weights):
    return of_all(sum(squares(weights.values())))  # place


def reduced_each(weights):
    total = 0.0
    for square in squares(weights.values()):
        dist.all_reduce(square)  # place
        total = total + square
    return total


def stacked(weights):
    norms = torch.stack([weight.grad.norm() for weight in weights.values()])  # place
    return of_all(norms.norm().square())


def flat(weights):
    gradients = torch.cat([weight.grad.flatten() for weight in weights.values()])  # place
    return of_all(gradients.square().sum())


def build_norm_single(ctx):
    return program(ctx, None)


def build_norm(ctx):
    return program(ctx, right)


def build_norm_added(ctx):
    return program(ctx, added)


def build_norm_reduced_each(ctx):
    return program(ctx, reduced_each)


def build_norm_stacked(ctx):
    return program(ctx, stacked)


def build_norm_flat(ctx):
    return program(ctx, flat)
