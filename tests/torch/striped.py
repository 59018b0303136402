"""Steps of ranks that have a part of every sequence, and flatten it: their rows are strided shares. For tests."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, partial, shard

BATCH, SEQUENCE, HIDDEN, CLASSES = 4, 160, 64, 40


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(HIDDEN, 2 * HIDDEN), nn.Linear(2 * HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        return self.head(x + self.down(functional.gelu(self.up(x))))


def program(ctx, cut, slip="", averages=False):
    """cut: into how many parts sequences, and places in them, are cut."""
    if ctx.world == 1:
        cut = (1, 1)
    model = Model()
    own = ctx.rank // cut[1], ctx.rank % cut[1]
    sizes = BATCH // cut[0], SEQUENCE // cut[1]
    x, y = torch.randn(*sizes, HIDDEN), torch.randint(0, CLASSES, sizes)
    if averages:
        y = torch.randn(*sizes, CLASSES)
    weights = dict(model.named_parameters())

    def step():
        made = model(x)
        if averages:
            loss = functional.mse_loss(made, y)
        else:
            loss = functional.cross_entropy(made.view(-1, CLASSES), y.view(-1), reduction="sum") / (BATCH * SEQUENCE)
        loss.backward()
        for name, weight in weights.items() if ctx.world > 1 else ():
            if slip == "missing" and name == "down.bias":
                continue
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG if averages else dist.ReduceOp.SUM)
        return loss.detach()

    share = mean if averages else partial
    return Program(
        inputs={"x": x, "y": y},
        params=weights,
        step=step,
        specs={name: spec(cut, place(own, cut, slip, name)) for name in ("x", "y")} if ctx.world > 1 else {},
        loss=share(ctx.rank, ctx.world),
        ranges={} if averages else {"y": (0, CLASSES - 1)},
    )


def place(own, cut, slip, name):
    """Which part a rank says it has: with the slip, of the targets the other part of each sequence."""
    return (own[0], cut[1] - 1 - own[1]) if slip == "specs" and name == "y" else own


def spec(cut, own):
    return shard(0, own[0], cut[0]) & shard(1, own[1], cut[1])


def build_sequence(ctx):
    return program(ctx, (1, 2))


def build_missing(ctx):
    return program(ctx, (1, 2), "missing")


def build_specs(ctx):
    return program(ctx, (1, 2), "specs")


def build_average(ctx):
    return program(ctx, (1, 2), averages=True)


def build_average_missing(ctx):
    return program(ctx, (1, 2), "missing", averages=True)


def build_both(ctx):
    return program(ctx, (2, 2))


def build_both_missing(ctx):
    return program(ctx, (2, 2), "missing")


def build_both_specs(ctx):
    return program(ctx, (2, 2), "specs")
