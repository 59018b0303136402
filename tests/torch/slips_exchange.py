"""Context, expert, sequence and pipeline parallel programs by hand with a slip: the line to blame ends in `# place`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, partial, shard

DIM, BATCH, SEQ = 4, 4, 4


class Gather(torch.autograd.Function):
    """Joins the pieces of ranks along the sequence; their gradients are summed."""

    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, g):
        g = g.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(g)
        return g.chunk(dist.get_world_size(), 1)[dist.get_rank()]


class GatherAlone(Gather):
    """Each rank takes its piece of its own gradient."""

    @staticmethod
    def backward(ctx, g):
        return g.chunk(dist.get_world_size(), 1)[dist.get_rank()]


class ScatterSum(torch.autograd.Function):
    """Sums what ranks hold, of which each takes its piece of the sequence."""

    @staticmethod
    def forward(ctx, y):
        parts = [part.contiguous() for part in y.chunk(dist.get_world_size(), 1)]
        out = torch.empty_like(parts[0])
        dist.reduce_scatter(out, parts)
        return out

    @staticmethod
    def backward(ctx, g):
        parts = [torch.empty_like(g) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, g.contiguous())
        return torch.cat(parts, 1)


class Exchange(torch.autograd.Function):
    """An all_to_all of rows, and of their gradients."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        return Exchange.apply(g)


class ExchangeForth(Exchange):
    """An all_to_all, of which the gradient stays."""

    @staticmethod
    def backward(ctx, g):
        return g


def updated(weights):
    with torch.no_grad():
        for weight in weights.values():
            weight.sub_(0.1 * weight.grad)


def averaged(weights, ctx):
    for weight in weights if ctx.world > 1 else ():
        dist.all_reduce(weight.grad)  # place
        weight.grad.div_(ctx.world)


def context(ctx, gather=Gather, first=False):
    """Keys and values of all positions, queries of one's own. first: whether all ranks take the first positions."""
    size = SEQ // ctx.world
    begin = 0 if first else ctx.rank * size
    weights = {name: nn.Parameter(torch.randn(DIM, DIM)) for name in ("q", "k", "v")}
    weights["positions"] = nn.Parameter(torch.randn(SEQ, DIM))
    x, target = torch.randn(2, size, DIM), torch.randn(2, size, DIM)

    def step():
        h = x + weights["positions"][begin : begin + size]  # place
        q, k, v = (h @ weights[name] for name in ("q", "k", "v"))
        if ctx.world > 1:
            k, v = gather.apply(k), gather.apply(v)
        scores = (q @ k.transpose(-1, -2)).softmax(-1)  # place
        loss = functional.mse_loss(scores @ v, target)  # place
        loss.backward()
        averaged(weights.values(), ctx)
        updated(weights)
        return loss.detach()

    own = shard(1, ctx.rank, ctx.world)
    specs = {"x": own, "target": own}
    return Program({"x": x, "target": target}, weights, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_context_single(ctx):
    return context(ctx)


def build_context(ctx):
    return context(ctx)


def build_gathered_alone(ctx):
    return context(ctx, GatherAlone)


def build_first_positions(ctx):
    return context(ctx, first=True)


def sequence(ctx, gather=Gather, reduced=True):
    """A norm on pieces of the sequence, linears over all of it. reduced: whether the norm's gradient is."""
    world = ctx.world
    norm, up = nn.Parameter(torch.randn(DIM)), nn.Parameter(torch.randn(DIM // world, DIM))
    weights = {"norm": norm, "up": up, "down": nn.Parameter(torch.randn(DIM, DIM // world))}
    x, target = (torch.randn(2, SEQ // world, DIM) for _ in range(2))

    def step():
        h = functional.rms_norm(x, (DIM,), norm)  # place
        h = gather.apply(h) if world > 1 else h
        y = torch.tanh(h @ up.t())  # place
        y = y @ weights["down"].t()
        y = ScatterSum.apply(y) if world > 1 else y
        loss = functional.mse_loss(y + x, target, reduction="sum")
        loss.backward()
        if world > 1 and reduced:
            dist.all_reduce(norm.grad)
        updated(weights)
        return loss.detach()

    own = shard(1, ctx.rank, world)
    specs = {"x": own, "target": own, "up": shard(0, ctx.rank, world), "down": own}
    return Program({"x": x, "target": target}, weights, step, specs=specs, loss=partial(ctx.rank, world))


def build_sequence_single(ctx):
    return sequence(ctx)


def build_sequence(ctx):
    return sequence(ctx)


def build_norm_not_reduced(ctx):
    return sequence(ctx, reduced=False)


def build_sequence_alone(ctx):
    return sequence(ctx, GatherAlone)


def experts(ctx, back=Exchange, summed=False, routed=True):
    """Each token goes to both experts, of which each rank has one. summed: whether experts' gradients are; routed:
    whether the router's is.
    """
    world, rows = ctx.world, BATCH // ctx.world
    weights = {"router": nn.Parameter(torch.randn(DIM, 2)), "experts": nn.Parameter(torch.randn(2 // world, DIM, DIM))}
    x, target = torch.randn(rows, DIM), torch.randn(rows, DIM)

    def step():
        gates = (x @ weights["router"]).softmax(-1)  # place
        sent = x.expand(2, rows, DIM)
        if world > 1:
            got = Exchange.apply(sent.reshape(2, -1)).reshape(1, BATCH, DIM)
            made = torch.tanh(got @ weights["experts"])
            made = back.apply(made.reshape(world, -1)).reshape(2, rows, DIM)
        else:
            made = torch.tanh(sent @ weights["experts"])
        out = (made * gates.t()[:, :, None]).sum(0)  # place
        loss = functional.mse_loss(out, target)
        loss.backward()
        if world > 1:
            averaged([weights["router"]] if routed else [], ctx)
            weights["experts"].grad.div_(world)
            if summed:
                dist.all_reduce(weights["experts"].grad)  # place
        updated(weights)
        return loss.detach()

    own = shard(0, ctx.rank, world)
    specs = {"x": own, "target": own, "experts": own}
    return Program({"x": x, "target": target}, weights, step, specs=specs, loss=mean(ctx.rank, world))


def build_experts_single(ctx):
    return experts(ctx)


def build_experts(ctx):
    return experts(ctx)


def build_gradients_not_sent_back(ctx):
    return experts(ctx, ExchangeForth)


def build_experts_summed(ctx):
    return experts(ctx, summed=True)


def build_router_not_reduced(ctx):
    return experts(ctx, routed=False)


def pipeline(ctx, divided=True):
    """Two stages, two microbatches. divided: whether the loss of each is."""
    stages = nn.ModuleDict({name: nn.Linear(DIM, DIM, bias=False) for name in ("first", "second")})
    x, target = torch.randn(BATCH, DIM), torch.randn(BATCH, DIM)

    def first():
        made = [torch.tanh(stages["first"](rows)) for rows in x.chunk(2)]
        for y in made:
            dist.send(y.detach(), 1)
        for y in made:
            got = torch.empty(BATCH // 2, DIM)
            dist.recv(got, 1)
            y.backward(got)

    def second():
        read, total = [torch.empty(BATCH // 2, DIM) for _ in range(2)], 0.0
        for y in read:
            dist.recv(y, 0)
        for y, rows in zip(read, target.chunk(2), strict=True):
            loss = functional.mse_loss(stages["second"](y.requires_grad_()), rows)  # place
            loss = loss / 2 if divided else loss
            loss.backward()
            total = total + loss.detach() / (1 if divided else 2)
        for y in read:
            dist.send(y.grad, 0)
        return total

    def whole():
        loss = functional.mse_loss(stages["second"](torch.tanh(stages["first"](x))), target)
        loss.backward()
        return loss.detach()

    name = ("first", "second")[ctx.rank]
    if ctx.world == 1:
        return Program({"x": x, "target": target}, stages, whole)
    weights = {f"{name}.weight": stages[name].weight}
    inputs = {"x": x} if name == "first" else {"target": target}
    return Program(inputs, weights, first if name == "first" else second)


def build_pipeline_single(ctx):
    return pipeline(ctx)


def build_pipeline(ctx):
    return pipeline(ctx)


def build_pipeline_not_divided(ctx):
    return pipeline(ctx, divided=False)
