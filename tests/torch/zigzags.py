"""A block with rotary positions under context parallelism: each rank has positions from the front and from the back.

Keys and values are gathered; a rank sees those up to each of its own positions. Gradients of weights are added up.
"""

import math

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

from verdict.torch import Program, partial

BATCH, SEQ, DIM, HEADS, VOCAB = 2, 16, 16, 2, 12


class Gathered(torch.autograd.Function):
    """All ranks' positions side by side, and the sum of all ranks' gradients of a rank's own."""

    @staticmethod
    def forward(ctx, x):
        pieces = [torch.empty(x.shape) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, x.contiguous())
        return torch.cat(pieces, 2)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(dist.get_world_size(), 2)[dist.get_rank()]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(VOCAB, DIM), nn.RMSNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids, positions, attend):
        x = self.embedding(ids)
        angles = positions[:, None].float() * 0.5 ** torch.arange(DIM // HEADS // 2)
        q, k, v = self.qkv(self.norm(x)).view(*ids.shape, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        made = attend(turned(q, angles), turned(k, angles), v).transpose(1, 2).reshape(*ids.shape, DIM)
        return self.head(x + self.out(made))


def turned(x, angles):
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def program(ctx, indexed=False, wrong=""):
    ids, labels = torch.randint(0, VOCAB, (BATCH, SEQ)), torch.randint(0, VOCAB, (BATCH, SEQ))
    net, count, rank = Net(), ctx.world, ctx.rank
    blocks = torch.arange(SEQ).chunk(2 * count)
    held = [torch.cat([blocks[k], blocks[2 * count - 1 - k]]) for k in range(count)]
    seen = torch.arange(SEQ) if wrong == "mask" else torch.cat(held)
    positions = held[rank] - held[rank][0] + rank if wrong == "positions" else held[rank]

    def own(x):
        if indexed:
            return x[:, held[rank]]
        pieces = x.chunk(2 * count, 1)
        return torch.cat([pieces[rank], pieces[2 * count - 1 - rank]], 1) if count > 1 else x

    def attend(q, k, v):
        if count > 1:
            k, v = Gathered.apply(k), Gathered.apply(v)
        scores = q @ k.transpose(-1, -2) / math.sqrt(DIM // HEADS)
        return scores.masked_fill(seen > held[rank][:, None], float("-inf")).softmax(-1) @ v

    def step():
        logits = net(own(ids), positions, attend)
        loss = F.cross_entropy(logits.flatten(0, 1), own(labels).flatten(), reduction="sum") / (BATCH * SEQ)
        loss.backward()
        for weight in net.parameters() if count > 1 and wrong != "sum" else ():
            dist.all_reduce(weight.grad)
        return loss

    loss = {"loss": partial(rank, count)} if count > 1 else {}
    return Program({"ids": ids, "labels": labels}, dict(net.named_parameters()), step, **loss)


def build(ctx):
    return program(ctx)


def build_indexed(ctx):
    return program(ctx, indexed=True)


def build_mask(ctx):
    return program(ctx, wrong="mask")


def build_positions(ctx):
    return program(ctx, wrong="positions")


def build_sum(ctx):
    return program(ctx, wrong="sum")
