"""DeepSpeed: its engine with ZeRO 1, 2 and 3. The engine copies and cuts weights, so it is made in the step."""

import deepspeed
import torch
from torch import nn

from verdict.torch import Program, mean, shard

SIZE, HIDDEN, BATCH = 4, 6, 4


class Network(nn.Module):
    """A block with a residual, and its loss."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(SIZE)
        self.up = nn.Linear(SIZE, HIDDEN)
        self.down = nn.Linear(HIDDEN, SIZE)

    def forward(self, x, target):
        return nn.functional.mse_loss(x + self.down(torch.relu(self.up(self.norm(x)))), target)


def rows(ctx):
    return {name: torch.randn(BATCH // ctx.world, SIZE) for name in ("x", "target")}


def loaded(weights):
    """A model with these weights, and its optimizer."""
    model = Network()
    with torch.no_grad():
        for name, param in model.named_parameters():
            param.copy_(weights[name])
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def program(ctx, step_of):
    """step_of: makes a step on a model and its optimizer; returns the loss and the weights after it."""
    batch, after = rows(ctx), {}
    weights = {name: param.detach().clone() for name, param in Network().named_parameters()}

    def step():
        model, adam = loaded(weights)
        loss, found = step_of(model, adam, batch)
        after.update({f"new {name}": weight for name, weight in found.items()})
        return loss

    specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
    more = {"specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=weights, step=step, outputs=lambda: after, **more)


def build_single(ctx):
    def on_one(model, adam, batch):
        loss = model(**batch)
        loss.backward()
        adam.step()
        return loss, {name: param.detach() for name, param in model.named_parameters()}

    return program(ctx, on_one)


def zero(ctx, stage, clip=0.0, parts=1):
    """clip: the norm to which gradients are clipped; 0 for none. parts: microbatches of a step."""
    settings = {
        "train_micro_batch_size_per_gpu": BATCH // ctx.world,
        "zero_optimization": {"stage": stage, "reduce_bucket_size": 1000, "allgather_bucket_size": 1000},
        "zero_allow_untested_optimizer": True,
        "gradient_clipping": clip,
        "gradient_accumulation_steps": parts,
    }

    def by_engine(model, adam, batch):
        engine, *_ = deepspeed.initialize(model=model, optimizer=adam, config=settings, dist_init_required=False)
        loss = engine(**batch)
        engine.backward(loss)
        engine.step()
        with deepspeed.zero.GatheredParameters(list(model.parameters()), enabled=stage == 3):
            return loss, {name: param.detach().clone() for name, param in model.named_parameters()}

    return program(ctx, by_engine)


def build_1(ctx):
    return zero(ctx, 1)


def build_2(ctx):
    return zero(ctx, 2)


def build_3(ctx):
    return zero(ctx, 3)


def build_1_accumulating(ctx):
    """The settings say that a step has two microbatches, and there is one."""
    return zero(ctx, 1, parts=2)


def build_2_clipped(ctx):
    """Nobody says `gradient_clipping`, which is 1 by default."""
    return zero(ctx, 2, clip=1.0)


def build_3_accumulating(ctx):
    """The settings say that a step has two microbatches, and there is one."""
    return zero(ctx, 3, parts=2)
