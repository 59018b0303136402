"""DeepSpeed: its layer of experts, of which each rank has one, under its engine. Tokens travel by all-to-all.

verdict torch FILE.py:build --world 2 --live
"""

import deepspeed
import torch
from deepspeed.moe.layer import MoE
from deepspeed.moe.utils import split_params_into_different_moe_groups_for_optimizer
from torch import nn
from zero import SIZE, rows

from verdict.torch import Program, mean, shard

EXPERTS, ROOM = 2, 8.0


class Network(nn.Module):
    """A linear layer and experts."""

    def __init__(self, ranks):
        super().__init__()
        self.inner = nn.Linear(SIZE, SIZE)
        how = {"capacity_factor": ROOM, "min_capacity": 2, "use_rts": False}
        self.experts = MoE(SIZE, nn.Linear(SIZE, SIZE), num_experts=EXPERTS, ep_size=ranks, **how)

    def forward(self, x, target):
        made, *_ = self.experts(self.inner(x))
        return nn.functional.mse_loss(made, target)


def by_engine(model, batch, count):
    """A step of DeepSpeed's engine; experts are in groups of parameters of their own."""
    groups = split_params_into_different_moe_groups_for_optimizer([{"params": list(model.parameters()), "name": "all"}])
    settings = {"train_micro_batch_size_per_gpu": count, "gradient_clipping": 0.0}
    adam = torch.optim.AdamW(groups, lr=0.01)
    engine, *_ = deepspeed.initialize(model=model, optimizer=adam, config=settings, dist_init_required=False)
    loss = engine(**batch)
    engine.backward(loss)
    engine.step()
    return loss


def on_one(model, batch, count):
    loss = model(**batch)
    loss.backward()
    torch.optim.AdamW(model.parameters(), lr=0.01).step()
    return loss


def program(ctx, marked=True):
    """The first expert of a rank is one of all. marked: whether experts keep the mark that no other rank has them."""
    batch, after = rows(ctx), {}
    own = {"deepspeed_experts.0": f"deepspeed_experts.{ctx.rank}"} if ctx.world > 1 else {}

    def called(name):
        for here, there in own.items():
            name = name.replace(here, there)
        return name

    made = Network(ctx.world)
    weights = {called(name): param.detach().clone() for name, param in made.named_parameters()}

    def step():
        model = Network(ctx.world)
        with torch.no_grad():
            for name, param in model.named_parameters():
                param.copy_(weights[called(name)])
                param.allreduce = getattr(param, "allreduce", True) or not marked
        loss = (by_engine if ctx.world > 1 else on_one)(model, batch, len(batch["x"]))
        after.update({f"new {called(name)}": param.detach().clone() for name, param in model.named_parameters()})
        return loss

    specs = dict.fromkeys(batch, shard(0, ctx.rank, ctx.world))
    more = {"specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=weights, step=step, outputs=lambda: after, **more)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_averaged(ctx):
    """The marks of experts are lost, so that gradients of different experts are averaged."""
    return program(ctx, marked=False)
