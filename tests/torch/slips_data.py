"""Data parallel programs by hand with a slip of their author's: the line that is to blame ends in `# place`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

DIM, BATCH = 4, 4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(DIM, DIM)
        self.b = nn.Linear(DIM, DIM)

    def forward(self, x):
        x = torch.tanh(self.a(x))  # place
        return self.b(x)  # place


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(DIM, DIM)
        self.norm = nn.BatchNorm1d(DIM)

    def forward(self, x):
        return self.norm(self.a(x))  # place


def averaged(module, ctx, divided=True):
    for parameter in module.parameters():
        if ctx.world > 1:
            dist.all_reduce(parameter.grad)  # place
        if ctx.world > 1 and divided:
            parameter.grad.div_(ctx.world)


def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)


def program(ctx, update, model=None, optimizer=torch.optim.SGD, **options):
    """A step on the mean of this rank's rows; update: what comes behind the gradients."""
    model, rows = model or Net(), BATCH // ctx.world
    x, target = torch.randn(rows, DIM), torch.randn(rows, DIM)
    optimizer = optimizer(model.parameters(), lr=0.1, **options)

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        update(model, optimizer)
        return loss.detach()

    own = shard(0, ctx.rank, ctx.world)
    more = {"optimizer": optimizer, "specs": {"x": own, "target": own}, "loss": mean(ctx.rank, ctx.world)}
    return Program({"x": x, "target": target}, model, step, **more)


def plain(ctx, divided=True):
    def update(model, optimizer):
        averaged(model, ctx, divided)
        optimizer.step()  # place

    return update


def build_single(ctx):
    return program(ctx, plain(ctx))


def build(ctx):
    return program(ctx, plain(ctx))


def build_one_layer_only(ctx):
    """The gradients of the first layer are not reduced."""

    def update(model, optimizer):
        averaged(model.b, ctx)
        optimizer.step()

    return program(ctx, update)


def build_step_before(ctx):
    """The optimizer's step comes before gradients are reduced."""

    def update(model, optimizer):
        optimizer.step()  # place
        averaged(model, ctx)

    return program(ctx, update)


def build_not_divided(ctx):
    return program(ctx, plain(ctx, divided=False))


def build_clipped_single(ctx):
    return build_clipped(ctx)


def build_clipped(ctx):
    def update(model, optimizer):
        averaged(model, ctx)
        clip(model)
        optimizer.step()

    return program(ctx, update)


def build_clipped_before(ctx):
    """Each rank clips its own gradients."""

    def update(model, optimizer):
        clip(model)
        averaged(model, ctx)
        optimizer.step()

    return program(ctx, update)


def build_normed_single(ctx):
    """Batch norm with its running statistics."""
    return program(ctx, plain(ctx), Normed().eval())


def build_normed(ctx):
    return program(ctx, plain(ctx), Normed().eval())


def build_normed_training(ctx):
    """The model is left in training mode."""
    return program(ctx, plain(ctx), Normed())


def build_batch_norm_single(ctx):
    return program(ctx, plain(ctx), Normed())


def build_adam_single(ctx):
    return program(ctx, plain(ctx), optimizer=torch.optim.AdamW, weight_decay=0.1)


def build_adam(ctx):
    return program(ctx, plain(ctx), optimizer=torch.optim.AdamW, weight_decay=0.1)


def build_adam_betas(ctx):
    return program(ctx, plain(ctx), optimizer=torch.optim.AdamW, weight_decay=0.1, betas=(0.9, 0.95))


def build_adam_penalty(ctx):
    """Adam's penalty for AdamW's decay."""
    return program(ctx, plain(ctx), optimizer=torch.optim.Adam, weight_decay=0.1)


def zero(ctx, piece=None, reduced=True):
    """Each rank updates its piece of each weight. piece: which one it takes. reduced: whether gradients are."""
    world = ctx.world

    def update(model, optimizer):
        for weight in model.parameters():
            own = weight.grad.flatten()
            if world > 1 and reduced:
                own = torch.empty(weight.numel() // world)
                dist.reduce_scatter_tensor(own, weight.grad.flatten())
                own = own / world
            elif world > 1:
                own = own.chunk(world)[ctx.rank]
            new = weight.flatten().chunk(world)[ctx.rank if piece is None else piece] - 0.1 * own  # place
            parts = [torch.empty_like(new) for _ in range(world)]
            if world > 1:
                dist.all_gather(parts, new)
            weight.copy_(torch.cat(parts if world > 1 else [new]).view_as(weight))
            weight.grad = None

    return program(ctx, torch.no_grad()(update))


def build_zero_single(ctx):
    return zero(ctx)


def build_zero(ctx):
    return zero(ctx)


def build_zero_first_piece(ctx):
    return zero(ctx, piece=0)


def build_zero_not_reduced(ctx):
    return zero(ctx, reduced=False)


def build_normed_alone(ctx):
    """Batch norm over the rows of each rank."""
    return program(ctx, plain(ctx), Normed())
