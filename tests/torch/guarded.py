"""Values that are guarded against a division by zero, and what is greatest over shards. `build_<what>_right` is the
right twin of `build_<what>`, both of `build_<what>_single`. For tests.
"""

import functools

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, partial, shard

ROWS, WIDTH = 4, 3


def total(x, ctx, op=dist.ReduceOp.SUM):
    """What all ranks hold together, of which no gradient is taken."""
    x = x.detach().clone()
    if ctx.world > 1:
        dist.all_reduce(x, op=op)
    return x


def by_rows(ctx, loss_of, how, integers=(), outputs=None):
    """A step of a linear layer on rows of which each rank has its own. integers: ranges of those that are given."""
    torch.manual_seed(1)
    rows, model = ROWS // ctx.world, nn.Linear(WIDTH, 4)
    inputs = {"x": torch.randn(rows, WIDTH), "c": torch.randn(rows)}
    inputs |= {name: torch.randint(low, high + 1, (rows,)) for name, low, high in integers}
    made = {}

    def step():
        loss = loss_of(ctx, how, model(inputs["x"]), made, **inputs)
        loss.backward()
        if ctx.world > 1:
            for param in model.parameters():
                dist.all_reduce(param.grad)
        return loss

    specs = dict.fromkeys(inputs, shard(0, ctx.rank, ctx.world)) if ctx.world > 1 else {}
    more = {"outputs": lambda: made} if outputs else {}
    ranges = {name: (low, high) for name, low, high in integers}
    return Program(inputs, model, step, specs=specs, loss=partial(ctx.rank, ctx.world), ranges=ranges, **more)


def logarithms(ctx, how, y, made, x, c, m):
    kept, last = m > 0, x[:, 0] + 1
    if how == "":
        factor = torch.where(kept, last.log(), 0.0)
    else:
        factor = torch.where(kept, last, 1.0 if how == "right" else 2.0).log()
    return (y.square().mean(-1) * factor).sum()


def quotients(ctx, how, y, made, x, c):
    each = y.square().mean(-1)
    if how == "":
        return torch.where(c > 0, each / c, 0.0).sum()
    if how == "right":
        return (each / torch.where(c > 0, c, 1.0) * (c > 0)).sum()
    return (each / torch.where(c > 0, c, 1.0)).sum()


def sizes(ctx, how, y, made, x, c):
    each, divisor = y.square().mean(-1), c if how == "" else c.abs()
    return (torch.where(c > 0, each / divisor, 0.0) if how != "wrong" else each / divisor).sum()


def classes(ctx, how, y, made, x, c, t):
    count = functional.one_hot(t, 4).sum(0)
    count = 2 * count if how == "wrong" else total(count, ctx)
    weight = 1 / count.clamp(min=1).to(y.dtype) if how == "" else 1 / count.to(y.dtype)
    return (functional.cross_entropy(y, t, reduction="none") * weight[t]).sum()


def buckets(ctx, how, y, made, x, c, k):
    whole = total(k.sum(), ctx) if how != "wrong" else k.sum() * ctx.world
    place = (k * 10) // whole.clamp(min=1) if how == "right" else (k * 10 / whole).floor()
    return (y.square().mean(-1) * torch.where(whole > 0, place, 0.0)).sum()


def scores(ctx, how, y, made, x, c, a, b):
    counts = torch.stack([(a * b).sum(), a.sum(), b.sum()])
    both, one, other = (total(counts, ctx) if how != "wrong" else 2 * counts).to(y.dtype)
    if how == "right":
        precision, recall = both / one.clamp(min=1), both / other.clamp(min=1)
        made["f1"] = (2 * precision * recall / (precision + recall).clamp(min=1e-12)).reshape(1)
    else:
        made["f1"] = (2 * both / (one + other)).reshape(1)
    return y.square().sum()


TRUTH, FEW = ("m", 0, 1), ("k", 0, 2)
ROWWISE = {
    "logarithms": (logarithms, (TRUTH,)),
    "quotients": (quotients, ()),
    "sizes": (sizes, ()),
    "classes": (classes, (("t", 0, 3),)),
    "buckets": (buckets, (FEW,)),
    "scores": (scores, (("a", 0, 1), ("b", 0, 1))),
}
WAYS = {"_single": "", "_right": "right", "": "wrong"}


def token(ctx, how):
    """The place of each row's greatest score, whose classes are split among the ranks."""
    torch.manual_seed(0)
    classes = ROWS // ctx.world
    weight, x, made = torch.randn(classes, WIDTH, requires_grad=True), torch.randn(2, WIDTH), {}

    def step():
        scores = x @ weight.t()
        loss = scores.square().sum()
        loss.backward()
        value, place = scores.detach().max(-1)
        place = place + ctx.rank * classes
        if ctx.world > 1:
            made["token"] = joined(ctx, how, value, place)
        else:
            made["token"] = place
        return loss

    specs = {"w": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"w": weight}, step, specs=specs, loss=partial(ctx.rank, ctx.world), outputs=lambda: made)


def joined(ctx, how, value, place):
    if "reduced" in how:
        best = total(value, ctx, dist.ReduceOp.MAX)
        place = torch.where(value == best, place, ROWS if "wrong" not in how else 0)
        return total(place, ctx, dist.ReduceOp.MIN)
    values, places = ([torch.empty_like(each) for _ in range(ctx.world)] for each in (value, place))
    dist.all_gather(values, value)
    dist.all_gather(places, place)
    best, found = values[0], places[0]
    for new, at in zip(values[1:], places[1:], strict=True):
        better = new > best if how == "right" else new < best
        best, found = torch.where(better, new, best), torch.where(better, at, found)
    return found


class Summed(torch.autograd.Function):
    """The sum over all ranks, and the sum of their gradients."""

    @staticmethod
    def forward(ctx, x, back=True):
        ctx.back, x = back, x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        if ctx.back:
            dist.all_reduce(grad)
        return grad, None


def normed(ctx, how):
    """A weight of which every row is divided by its norm, split along its rows."""
    torch.manual_seed(0)
    wide = 4 // ctx.world
    weight, x = torch.randn(2, wide, requires_grad=True), torch.randn(3, 4)

    def step():
        if ctx.world == 1:
            y = x @ (weight / weight.norm(dim=1, keepdim=True)).t()
        else:
            norm = Summed.apply(weight.square().sum(1, keepdim=True), how == "right").sqrt()
            part = x[:, ctx.rank * wide : (ctx.rank + 1) * wide] @ (weight / norm).t()
            y = Summed.apply(part, False)
        loss = y.pow(3).mean()
        loss.backward()
        return loss

    return Program({"x": x}, {"w": weight}, step, specs={"w": shard(1, ctx.rank, ctx.world)} if ctx.world > 1 else {})


for name, (loss_of, integers) in ROWWISE.items():
    for suffix, how in WAYS.items():
        globals()[f"build_{name}{suffix}"] = functools.partial(
            by_rows, loss_of=loss_of, how=how, integers=integers, outputs=name == "scores"
        )
for suffix, how in WAYS.items():
    globals()[f"build_token{suffix}"] = functools.partial(token, how=how)
    globals()[f"build_token_reduced{suffix}"] = functools.partial(token, how=f"reduced {how}")
    globals()[f"build_normed{suffix}"] = functools.partial(normed, how=how)
