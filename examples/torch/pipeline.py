"""Pipeline parallelism by hand: stages of a stack of layers, microbatches, sends and receives; GPipe and 1F1B.

verdict torch examples/torch/pipeline.py --world 2
verdict torch examples/torch/pipeline.py:build_1f1b --world 2
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program

LAYERS, HIDDEN, BATCH, MICROBATCHES = 4, 8, 8, 4


def layers(numbers):
    return nn.ModuleDict({str(number): nn.Linear(HIDDEN, HIDDEN) for number in numbers})


def through(stage, x):
    for layer in stage.values():
        x = torch.tanh(layer(x))
    return x


def build_single(ctx):
    stage = layers(range(LAYERS))
    x, target = torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)

    def step():
        loss = functional.mse_loss(through(stage, x), target)
        loss.backward()
        return loss

    return Program(inputs={"x": x, "target": target}, params=stage, step=step)


class Stage:
    """One rank's stage. Activations go to the next rank, their gradients come back."""

    def __init__(self, ctx, scale=1.0 / MICROBATCHES):
        self.rank, self.last, self.scale = ctx.rank, ctx.world - 1, scale
        share = LAYERS // ctx.world
        self.layers = layers(range(ctx.rank * share, (ctx.rank + 1) * share))
        self.x = torch.randn(BATCH, HIDDEN) if ctx.rank == 0 else None
        self.target = torch.randn(BATCH, HIDDEN) if ctx.rank == self.last else None
        self.rows = BATCH // MICROBATCHES
        self.losses, self.live, self.sent = [], {}, []

    def piece(self, tensor, microbatch):
        return tensor[microbatch * self.rows : (microbatch + 1) * self.rows]

    def forward(self, microbatch):
        if self.rank == 0:
            entered = self.piece(self.x, microbatch)
        else:
            entered = torch.empty(self.rows, HIDDEN)
            dist.recv(entered, self.rank - 1)
            entered.requires_grad_()
        left = through(self.layers, entered)
        if self.rank < self.last:
            self.send(left.detach(), self.rank + 1)
        else:
            left = functional.mse_loss(left, self.piece(self.target, microbatch)) * self.scale
            self.losses.append(left.detach())
        self.live[microbatch] = (entered, left)

    def backward(self, microbatch):
        entered, left = self.live.pop(microbatch)
        grad = None
        if self.rank < self.last:
            grad = torch.empty(self.rows, HIDDEN)
            dist.recv(grad, self.rank + 1)
        left.backward(grad)
        if self.rank > 0:
            self.send(entered.grad, self.rank - 1)

    def send(self, tensor, rank):
        """Go on, and wait at the end of the step: both ranks of a pair may send at once."""
        self.sent.append((tensor, dist.isend(tensor, rank)))

    def program(self, schedule):
        def step():
            for kind, microbatch in schedule:
                getattr(self, kind)(microbatch)
            for _, sending in self.sent:
                sending.wait()
            return torch.stack(self.losses).sum() if self.losses else None

        inputs = {"x": self.x, "target": self.target}
        held = {name: tensor for name, tensor in inputs.items() if tensor is not None}
        return Program(inputs=held, params=self.layers, step=step)


def gpipe(microbatches=range(MICROBATCHES)):
    """All forwards, then all backwards."""
    return [("forward", k) for k in microbatches] + [("backward", k) for k in microbatches]


def one_forward_one_backward(ctx):
    """After a warm-up of as many forwards as there are stages behind, a forward and a backward in turn."""
    ahead = ctx.world - 1 - ctx.rank
    order = [("forward", k) for k in range(ahead)]
    for k in range(MICROBATCHES - ahead):
        order += [("forward", ahead + k), ("backward", k)]
    return order + [("backward", k) for k in range(MICROBATCHES - ahead, MICROBATCHES)]


def build(ctx):
    return Stage(ctx).program(gpipe())


def build_1f1b(ctx):
    return Stage(ctx).program(one_forward_one_backward(ctx))


def build_loss_scale(ctx):
    """Wrong: the microbatches' losses are added, not averaged."""
    return Stage(ctx, scale=1.0).program(gpipe())


def build_missing_microbatch(ctx):
    """Wrong: the last microbatch is forgotten."""
    return Stage(ctx).program(gpipe(range(MICROBATCHES - 1)))


def build_wrong_order(ctx):
    """Wrong: the last rank does its backwards in reverse, and the gradients meet the wrong microbatches."""
    order = gpipe()
    if ctx.rank == ctx.world - 1:
        order = order[:MICROBATCHES] + order[: -MICROBATCHES - 1 : -1]
    return Stage(ctx).program(order)


def build_deadlock(ctx):
    """Wrong: the first rank waits for gradients before it has sent what they come from."""
    order = gpipe()
    return Stage(ctx).program(
        order if ctx.rank else [order[0], order[MICROBATCHES], *order[1:MICROBATCHES], *order[MICROBATCHES + 1 :]]
    )
