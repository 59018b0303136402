"""A mixture of experts with token choice under expert parallelism: a learned router, top-2, fixed capacity; AdamW.

Each group of tokens is routed by itself, as in GShard (Lepikhin et al., 2020): first choices before second ones, and
what is beyond the capacity of an expert is dropped. Which token goes where is data, so dispatch and combination are
products with one-hot masks of fixed shape. A rank has one group and some of the experts; slots travel by all_to_all.

verdict torch examples/torch/moe.py --world 2
"""

import torch
import torch.distributed as dist
from ep_all_to_all import Exchange
from torch.nn import functional

from verdict.torch import Program, mean, shard

EXPERTS, TOP, CAPACITY, TOKENS, HIDDEN, GROUPS = 4, 2, 2, 4, 4, 2


def route(x, router):
    """For tokens [group, token, hidden]: which slot [group, token, expert, place] each takes, and with what weight."""
    groups, tokens, _ = x.shape
    scores = (x @ router).softmax(-1)
    hit = (scores.topk(TOP, dim=-1).indices.unsqueeze(-1) == torch.arange(EXPERTS)).to(x.dtype)
    weights = (scores.unsqueeze(2) * hit).sum(-1)
    weights = weights / weights.sum(-1, keepdim=True)
    order = hit.transpose(1, 2).reshape(groups, TOP * tokens, EXPERTS)
    before = (order.cumsum(1) - order).reshape(groups, TOP, tokens, EXPERTS).transpose(1, 2)
    slots = (before.unsqueeze(-1) == torch.arange(CAPACITY)).to(x.dtype) * hit.unsqueeze(-1)
    return slots.sum(2), (slots * weights[..., None, None]).sum(2)


def experts(slots, up, down):
    """Slots [expert, slot, hidden] through the experts' perceptrons."""
    return torch.bmm(functional.silu(torch.bmm(slots, up)), down)


def layer(x, router, up, down, move=lambda slots: slots, back=lambda slots: slots):
    """The mixture; `move` brings slots [expert, group and place, hidden] to their experts, `back` home."""
    taken, weights = route(x, router)
    slots = torch.einsum("gtep,gth->egph", taken, x).reshape(EXPERTS, -1, HIDDEN)
    mixed = back(experts(move(slots), up, down)).view(EXPERTS, len(x), CAPACITY, HIDDEN)
    return torch.einsum("gtep,egph->gth", weights, mixed)


def program(ctx, reduce=lambda params: None, **travel):
    own, groups = EXPERTS // ctx.world, GROUPS // ctx.world
    x, target = torch.randn(groups, TOKENS, HIDDEN), torch.randn(groups, TOKENS, HIDDEN)
    params = {
        "router": torch.randn(HIDDEN, EXPERTS, requires_grad=True),
        "up": torch.randn(own, HIDDEN, 2 * HIDDEN, requires_grad=True),
        "down": torch.randn(own, 2 * HIDDEN, HIDDEN, requires_grad=True),
    }
    adam = torch.optim.AdamW(params.values(), lr=0.01)

    def step():
        loss = functional.mse_loss(x + layer(x, *params.values(), **travel), target)
        (loss / ctx.world).backward()
        reduce(params)
        adam.step()
        return loss

    part = shard(0, ctx.rank, ctx.world)
    specs = dict.fromkeys(("x", "target", "up", "down"), part) if ctx.world > 1 else {}
    inputs, loss = {"x": x, "target": target}, mean(ctx.rank, ctx.world)
    return Program(inputs=inputs, params=params, step=step, optimizer=adam, specs=specs, loss=loss)


def to_experts(slots):
    """[expert, place, hidden] of this rank's group -> [own expert, all groups' places, hidden]."""
    world = dist.get_world_size()
    arrived = Exchange.apply(slots).view(world, EXPERTS // world, CAPACITY, HIDDEN)
    return arrived.transpose(0, 1).reshape(EXPERTS // world, -1, HIDDEN)


def from_experts(slots):
    world = dist.get_world_size()
    return Exchange.apply(slots.view(EXPERTS // world, world, CAPACITY, HIDDEN).transpose(0, 1).contiguous())


def reduce_router(params):
    dist.all_reduce(params["router"].grad)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, reduce_router, move=to_experts, back=from_experts)


def build_router_not_reduced(ctx):
    """Wrong: each rank's router learns from its own tokens, as experts rightly do from what reaches them."""
    return program(ctx, move=to_experts, back=from_experts)


def build_wrong_order(ctx):
    """Wrong: what the experts made goes home by expert, although it lies by rank."""

    def back(slots):
        return Exchange.apply(slots.view(dist.get_world_size(), -1, CAPACITY, HIDDEN))

    return program(ctx, reduce_router, move=to_experts, back=back)
