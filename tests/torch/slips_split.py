"""Tensor parallel programs by hand with a slip of their author's: the line that is to blame ends in `# place`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, shard

DIM, HIDDEN, BATCH, VOCAB = 4, 8, 2, 8


class Copy(torch.autograd.Function):
    """Hands on; its gradient is summed."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class Reduce(torch.autograd.Function):
    """Sums; its gradient is handed on."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class Gated(nn.Module):
    """A gated MLP. copied: whether the gate's input is. inside: whether what goes past it is added before the sum."""

    def __init__(self, ctx, copied=True, inside=False):
        super().__init__()
        self.world, self.copied, self.inside = ctx.world, copied, inside
        self.into = nn.Linear(DIM, DIM, bias=False)
        self.up = nn.Linear(DIM, HIDDEN // ctx.world, bias=False)
        self.gate = nn.Linear(DIM, HIDDEN // ctx.world, bias=False)
        self.down = nn.Linear(HIDDEN // ctx.world, DIM, bias=False)

    def forward(self, x):
        x = self.into(x)
        read = Copy.apply(x) if self.world > 1 else x
        gated = functional.silu(self.gate(read if self.copied else x))  # place
        y = self.down(gated * self.up(read))
        y = y + x if self.inside else y  # place
        y = Reduce.apply(y) if self.world > 1 else y
        return y if self.inside else y + x

    @staticmethod
    def specs(ctx):
        own = {"up.weight": 0, "gate.weight": 0, "down.weight": 1}
        return {name: shard(dim, ctx.rank, ctx.world) for name, dim in own.items()}


class Attention(nn.Module):
    """Heads are cut. whole: whether scores are scaled by the width of all heads."""

    def __init__(self, ctx, whole=False):
        super().__init__()
        self.world, self.whole, self.heads = ctx.world, whole, 2 // ctx.world
        self.qkv = nn.Parameter(torch.randn(3, 8 // ctx.world, DIM))
        self.out = nn.Linear(8 // ctx.world, DIM, bias=False)

    def forward(self, x):
        read = Copy.apply(x) if self.world > 1 else x
        q, k, v = (read @ self.qkv.reshape(-1, DIM).T).chunk(3, -1)
        q, k, v = (each.reshape(1, BATCH, self.heads, -1).transpose(1, 2) for each in (q, k, v))
        width = q.shape[-1] * (self.world if self.whole else 1)
        y = ((q @ k.transpose(-1, -2)) / width**0.5).softmax(-1) @ v  # place
        y = self.out(y.transpose(1, 2).reshape(BATCH, -1))
        return (Reduce.apply(y) if self.world > 1 else y) + x

    @staticmethod
    def specs(ctx):
        return {"qkv": shard(1, ctx.rank, ctx.world), "out.weight": shard(1, ctx.rank, ctx.world)}


def program(model, specs):
    x, target = torch.randn(BATCH, DIM), torch.randn(BATCH, DIM)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        sgd.step()
        return loss

    return Program({"x": x, "target": target}, model, step, specs=specs)


def build_single(ctx):
    return program(Gated(ctx), {})


def build_gated(ctx):
    return program(Gated(ctx), Gated.specs(ctx))


def build_gate_not_copied(ctx):
    return program(Gated(ctx, copied=False), Gated.specs(ctx))


def build_added_twice(ctx):
    return program(Gated(ctx, inside=True), Gated.specs(ctx))


def build_attention_single(ctx):
    return program(Attention(ctx), {})


def build_attention(ctx):
    return program(Attention(ctx), Attention.specs(ctx))


def build_scaled_by_all(ctx):
    return program(Attention(ctx, whole=True), Attention.specs(ctx))


def vocabulary(ctx, summed=True, picked=True):
    """A loss over a split vocabulary. summed, picked: whether exponentials, and the labels' logits, are."""
    size, begin = VOCAB // ctx.world, ctx.rank * (VOCAB // ctx.world)
    into, head = nn.Parameter(torch.randn(DIM, DIM)), nn.Parameter(torch.randn(DIM, size))
    x, labels = torch.randn(BATCH, DIM), torch.randint(VOCAB, (BATCH,))

    def loss_of(logits):
        if ctx.world == 1:
            return functional.cross_entropy(logits, labels)
        top = logits.detach().amax(-1)
        dist.all_reduce(top, op=dist.ReduceOp.MAX)
        logits = logits - top[:, None]
        total = logits.exp().sum(-1)  # place
        total = Reduce.apply(total) if summed else total
        local = labels - begin
        mine = (local >= 0) & (local < size)
        logit = logits.gather(-1, local.clamp(0, size - 1)[:, None])[:, 0] * mine  # place
        logit = Reduce.apply(logit) if picked else logit
        return (total.log() - logit).mean()

    def step():
        hidden = x @ into
        loss = loss_of((Copy.apply(hidden) if ctx.world > 1 else hidden) @ head)
        loss.backward()
        return loss.detach()

    specs = {"head": shard(1, ctx.rank, ctx.world)}
    named, ranges = {"into": into, "head": head}, {"labels": (0, VOCAB - 1)}
    return Program({"x": x, "labels": labels}, named, step, specs=specs, ranges=ranges)


def build_vocabulary_single(ctx):
    return vocabulary(ctx)


def build_vocabulary(ctx):
    return vocabulary(ctx)


def build_exponentials_not_summed(ctx):
    return vocabulary(ctx, summed=False)


def build_logits_not_summed(ctx):
    return vocabulary(ctx, picked=False)
