"""Programs that reduce to one rank, and that multiply what ranks have. For tests."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, WIDTH = 8, 4


def program(ctx, root=None, told=True, op=dist.ReduceOp.SUM):
    """Data parallel by hand. root: of gradients, where not all have the sum. told: whether the root tells it."""
    model, rows = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 2)), ROWS // ctx.world
    batch = {"x": torch.randn(rows, WIDTH), "target": torch.randn(rows, 2)}
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = functional.mse_loss(model(batch["x"]), batch["target"])
        loss.backward()
        for weight in model.parameters() if ctx.world > 1 else ():
            if root is None:
                dist.all_reduce(weight.grad, op)
            else:
                dist.reduce(weight.grad, root, op)
                if told:
                    dist.broadcast(weight.grad, root)
            weight.grad.div_(ctx.world)
        sgd.step()
        if ctx.world > 1:
            shown = loss.detach().clone()
            dist.reduce(shown, 0)  # for a log of rank 0, which nobody else looks at
        return loss

    specs = dict.fromkeys(batch, shard(0, ctx.rank, ctx.world))
    more = {"optimizer": sgd, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=model, step=step, specs=specs, **more)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_told(ctx):
    """The root tells the others."""
    return program(ctx, root=1)


def build_untold(ctx):
    """Wrong: all ranks but one go on with what the reduce leaves in their gradients."""
    return program(ctx, root=1, told=False)


def build_multiplied(ctx):
    """Wrong: gradients are multiplied."""
    return program(ctx, op=dist.ReduceOp.PRODUCT)


def chances(ctx, reduced):
    """A loss that is scaled by the chance that all rows are chosen, of which each rank knows some. reduced: it, of what
    a rank knows.
    """
    weight, x = nn.Parameter(torch.randn(WIDTH)), torch.randn(ROWS // ctx.world, WIDTH)

    def step():
        with torch.no_grad():
            chance = torch.sigmoid(x @ weight).prod()
            chance = reduced(chance) if ctx.world > 1 else chance
        loss = (x @ weight).square().sum() * chance
        loss.backward()
        whole = loss.detach().clone()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
            dist.all_reduce(whole)
        return whole

    return Program(inputs={"x": x}, params={"weight": weight}, step=step, specs={"x": shard(0, ctx.rank, ctx.world)})


def all_of(op):
    def reduced(chance):
        dist.all_reduce(chance, op)
        return chance

    return reduced


def at_root(chance):
    dist.reduce(chance, 0, dist.ReduceOp.PRODUCT)
    dist.broadcast(chance, 0)
    return chance


def in_parts(chance):
    """Each rank has one of the products of as many equal ones."""
    made = torch.empty(1)
    dist.reduce_scatter_tensor(made, chance.repeat(dist.get_world_size()), dist.ReduceOp.PRODUCT)
    return made[0]


def build_chance_single(ctx):
    return chances(ctx, None)


def build_chance(ctx):
    return chances(ctx, all_of(dist.ReduceOp.PRODUCT))


def build_chance_rooted(ctx):
    return chances(ctx, at_root)


def build_chance_parted(ctx):
    return chances(ctx, in_parts)


def build_chance_added(ctx):
    """Wrong: chances are added."""
    return chances(ctx, all_of(dist.ReduceOp.SUM))
