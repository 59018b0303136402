"""A block with a residual, and one step of its training: each data parallel rank has its rows of a batch."""

import torch
from torch import nn

from verdict.torch import Program, mean, shard

SIZE, HIDDEN, BATCH = 4, 6, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(SIZE)
        self.up = nn.Linear(SIZE, HIDDEN)
        self.down = nn.Linear(HIDDEN, SIZE)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def sgd(params):
    return torch.optim.SGD(params, lr=0.1)


def rows(of):
    return {name: torch.randn(BATCH // of, SIZE) for name in ("x", "target")}


def numbered(batches):
    """All tensors of these batches, by name and number."""
    return {f"{name}.{k}": tensor for k, batch in enumerate(batches) for name, tensor in batch.items()}


def loss_of(model, batch):
    return nn.functional.mse_loss(model(batch["x"]), batch["target"])


def trained(ctx, model, wrapped, stepper, steps=1, scale=1.0, after=lambda: None):
    """Some steps, a batch for each. scale: what losses are multiplied by before their gradients are taken. after: what
    follows each step, behind which no gradient is kept.
    """
    batches = [rows(ctx.world) for _ in range(steps)]

    def step():
        losses = []
        for batch in batches:
            losses.append(loss_of(wrapped, batch))
            (losses[-1] * scale).backward()
            stepper.step()
            after()
            stepper.zero_grad()
        return sum(losses)

    inputs = numbered(batches)
    specs = {name: shard(0, ctx.rank, ctx.world) for name in inputs}
    more = {"optimizer": getattr(stepper, "optim", stepper), "specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=inputs, params=model, step=step, **more)
