"""A bucket of gradients that is reduced over replicas two ranks apart, in some order of the parameters. For tests."""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS, WIDTH = 8, 3


def program(ctx, order=sorted):
    """Ranks 0 and 1 have the same rows, and ranks 2 and 3: replicas are 0 and 2, 1 and 3."""
    replica, many = ctx.rank // 2, ctx.world > 1
    rows = ROWS // 2 if many else ROWS
    params = {name: torch.nn.Parameter(torch.randn(WIDTH, WIDTH)) for name in ("up", "down")}
    x, target = torch.randn(rows, WIDTH), torch.randn(rows, WIDTH)
    groups = [dist.new_group([first, first + 2]) for first in (0, 1)] if many else []

    def step():
        loss = torch.nn.functional.mse_loss(torch.tanh(x @ params["up"]) @ params["down"], target)
        loss.backward()
        if many:
            grads = [params[name].grad for name in order(params)]
            bucket = torch.cat([grad.flatten() for grad in grads])
            dist.all_reduce(bucket, op=dist.ReduceOp.AVG, group=groups[ctx.rank % 2])
            for grad, found in zip(grads, bucket.split(WIDTH * WIDTH), strict=True):
                grad.copy_(found.view_as(grad))
        return loss

    if not many:
        return Program(inputs={"x": x, "target": target}, params=params, step=step)
    rows = shard(0, replica, 2)
    specs = {"x": rows, "target": rows}
    return Program(inputs={"x": x, "target": target}, params=params, step=step, specs=specs, loss=mean(replica, 2))


def build_single(ctx):
    return program(ctx)


def build_sorted_right(ctx):
    return program(ctx)


def build_set(ctx):
    return program(ctx, set)


def build_hashes(ctx):
    return program(ctx, lambda names: sorted(names, key=hash))
