"""A mixture of experts whose tokens travel: a learned top-2 router, split sizes from data, all_to_all of uneven pieces.

A pair of ranks shares the experts; with four ranks there are two such pairs, and each expert has a replica. Which token
goes where is data, so all ranks are recorded together on real numbers:

verdict torch examples/torch/moe_dispatch.py --world 2 --live
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, piece, shard

EXPERTS, TOP, TOKENS, HIDDEN, SHARERS = 4, 2, 8, 4, 2


class Exchange(torch.autograd.Function):
    """all_to_all_single of pieces of rows; backward they go home."""

    @staticmethod
    def forward(ctx, x, sent, received, group):
        ctx.sizes, ctx.group = (sent, received), group
        out = x.new_empty(sum(received), *x.shape[1:])
        dist.all_to_all_single(out, x.contiguous(), received, sent, group=group)
        return out

    @staticmethod
    def backward(ctx, grad):
        sent, received = ctx.sizes
        out = grad.new_empty(sum(sent), *grad.shape[1:])
        dist.all_to_all_single(out, grad.contiguous(), sent, received, group=ctx.group)
        return out, None, None, None


def expert(x, up, down):
    return functional.silu(x @ up) @ down


def route(x, router):
    """Scores of all experts, weights and numbers of the chosen ones, and how many choices each expert got."""
    scores = (x @ router).softmax(-1)
    weights, chosen = scores.topk(TOP, dim=-1)
    return scores, weights / weights.sum(-1, keepdim=True), chosen, torch.bincount(chosen.flatten(), minlength=EXPERTS)


def here(x, weights, chosen, counts, up, down):
    """All experts on one device, each with the tokens that chose it."""
    out = torch.zeros_like(x)
    for number in range(EXPERTS):
        token, place = (chosen == number).nonzero(as_tuple=True)
        made = expert(x[token], up[number], down[number])
        out = out.index_add(0, token, made * weights[token, place, None])
    return out


class Travel:
    """The same where each of `group`'s ranks has some of the experts. order: of the pieces, by who gets them."""

    def __init__(self, group, unpermuted=True, turned=False):
        self.group, self.unpermuted, self.turned = group, unpermuted, turned

    def __call__(self, x, weights, chosen, counts, up, down):
        own = EXPERTS // SHARERS
        order = chosen.flatten().argsort(stable=True)
        arriving = torch.empty_like(counts)
        dist.all_to_all_single(arriving, counts, group=self.group)
        sent = counts.view(SHARERS, own).sum(1).tolist()
        received = arriving.view(SHARERS, own).sum(1).tolist()
        rows = Exchange.apply(x[order // TOP], sent, received, self.group)
        kinds = torch.arange(own).repeat(SHARERS)
        if self.turned:
            kinds = kinds.flip(0)
        kinds = kinds.repeat_interleave(arriving)
        mixed = torch.zeros_like(rows)
        for number in range(own):
            at = (kinds == number).nonzero().flatten()
            mixed = mixed.index_add(0, at, expert(rows[at], up[number], down[number]))
        home = Exchange.apply(mixed, received, sent, self.group)
        places = order if self.unpermuted else torch.arange(len(order))
        back = torch.zeros_like(home).index_add(0, places, home).view(len(x), TOP, HIDDEN)
        return (back * weights.unsqueeze(-1)).sum(1)


def program(ctx, travel=here, fraction=lambda counts: counts / counts.sum(), reduce=lambda params: None):
    parts, world = min(ctx.world, SHARERS), ctx.world
    x, target = torch.randn(TOKENS // world, HIDDEN), torch.randn(TOKENS // world, HIDDEN)
    own = EXPERTS // parts
    params = {
        "router": torch.randn(HIDDEN, EXPERTS, requires_grad=True),
        "up": torch.randn(own, HIDDEN, HIDDEN, requires_grad=True),
        "down": torch.randn(own, HIDDEN, HIDDEN, requires_grad=True),
    }

    def step():
        router, up, down = params.values()
        scores, weights, chosen, counts = route(x, router)
        balance = EXPERTS * (fraction(counts) * scores.mean(0)).sum()
        loss = functional.mse_loss(x + travel(x, weights, chosen, counts, up, down), target) + 0.1 * balance
        (loss / world).backward()
        reduce(params)
        return loss

    first = ctx.rank % parts * own
    rows, some = shard(0, ctx.rank, world), piece(0, first, first + own, EXPERTS)
    specs = {"x": rows, "target": rows, "up": some, "down": some} if world > 1 else {}
    return Program({"x": x, "target": target}, params, step, specs=specs, loss=mean(ctx.rank, world))


def groups(ctx):
    """The ranks that share the experts of this rank's tokens, and those that have this rank's experts."""
    pairs = [list(range(first, first + SHARERS)) for first in range(0, ctx.world, SHARERS)]
    copies = [list(range(first, ctx.world, SHARERS)) for first in range(SHARERS)]
    made = [{tuple(ranks): dist.new_group(ranks) for ranks in each} for each in (pairs, copies)]
    return [next(group for ranks, group in each.items() if ctx.rank in ranks) for each in made]


def of_all(counts):
    """Which part of all ranks' choices each expert got."""
    total = counts.clone()
    dist.all_reduce(total)
    return total / total.sum()


def reducing(copies):
    """All ranks' gradients of the router; of experts those of the replicas."""

    def reduce(params):
        dist.all_reduce(params["router"].grad)
        for name in ("up", "down"):
            dist.all_reduce(params[name].grad, group=copies)

    return reduce


def build_single(ctx):
    return program(ctx)


def build(ctx):
    pair, copies = groups(ctx)
    return program(ctx, Travel(pair), of_all, reducing(copies))


def build_wrong_order(ctx):
    """Wrong: what arrives is taken for sorted by expert the other way round."""
    pair, copies = groups(ctx)
    return program(ctx, Travel(pair, turned=True), of_all, reducing(copies))


def build_not_unpermuted(ctx):
    """Wrong: what comes home is taken for the order of the tokens, and is sorted by expert."""
    pair, copies = groups(ctx)
    return program(ctx, Travel(pair, unpermuted=False), of_all, reducing(copies))


def build_local_balance(ctx):
    """Wrong: each rank balances by which part of its own choices each expert got."""
    pair, copies = groups(ctx)
    return program(ctx, Travel(pair), reduce=reducing(copies))


def build_experts_not_reduced(ctx):
    """Wrong with replicas of experts: each learns from the tokens of its own pair."""
    pair, _ = groups(ctx)
    return program(ctx, Travel(pair), of_all, lambda params: dist.all_reduce(params["router"].grad))
