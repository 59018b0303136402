"""Programs about which Verdict has advice: specs that are not stated, targets that are ignored, DDP, dropout."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

DIM, BATCH = 4, 4


def program(ctx, stated=True, wrap=None, dropped=0.0, classes=False, ranges=None, decides=False):
    """A step on this rank's rows. stated: whether its specs are. decides: whether a number of the batch does."""
    rows = BATCH // ctx.world
    model = nn.Sequential(nn.Linear(DIM, DIM), nn.Dropout(dropped))
    run = wrap(model) if wrap is not None and ctx.world > 1 else model
    x = torch.randn(rows, DIM)
    target = torch.randint(DIM, (rows,)) if classes else torch.randn(rows, DIM)

    def step():
        y = run(x)
        loss = functional.cross_entropy(y, target) if classes else functional.mse_loss(y, target)
        loss = loss * 2 if decides and loss.item() > 3 else loss
        loss.backward()
        for weight in model.parameters() if ctx.world > 1 and wrap is None else ():
            dist.all_reduce(weight.grad)
            weight.grad.div_(ctx.world)
        return loss.detach()

    own = shard(0, ctx.rank, ctx.world)
    specs = {"x": own, "target": own} if stated else {}
    inputs, loss = {"x": x, "target": target}, mean(ctx.rank, ctx.world)
    return Program(inputs, model, step, specs=specs, loss=loss, ranges=ranges or {})


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_unstated(ctx):
    return program(ctx, stated=False)


def build_wrapped(ctx):
    return program(ctx, wrap=DistributedDataParallel)


def build_classes_single(ctx):
    return program(ctx, classes=True)


def build_classes(ctx):
    return program(ctx, classes=True)


def build_ranged_single(ctx):
    return program(ctx, classes=True, ranges={"target": (0, DIM - 1)})


def build_ranged(ctx):
    return program(ctx, classes=True, ranges={"target": (0, DIM - 1)})


def build_dropped_single(ctx):
    return program(ctx, dropped=0.1)


def build_dropped(ctx):
    return program(ctx, dropped=0.1)


def build_decided_single(ctx):
    return program(ctx, decides=True)


def build_decided(ctx):
    return program(ctx, decides=True)
