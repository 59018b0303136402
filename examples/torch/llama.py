"""The model of the llama examples: a small Llama, and its training step on one device."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from verdict.torch import REPLICATE, Program


class Sizes(NamedTuple):
    """groups: heads of keys and values, each of which serves heads / groups heads of queries."""

    vocab: int = 6
    dim: int = 8
    heads: int = 2
    groups: int = 2
    ffn: int = 12
    layers: int = 1
    batch: int = 2
    seq: int = 4


SMALL = Sizes()
BATCH = SMALL.batch


def rotations(seq, width):
    """cos and sin of the rotary embedding."""
    frequency = 1.0 / 10000.0 ** (torch.arange(0, width, 2) / width)
    angle = torch.outer(torch.arange(seq), frequency)
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    def __init__(self, dim, heads, groups):
        super().__init__()
        self.width, self.served = dim // heads, heads // groups
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, groups * self.width, bias=False)
        self.wv = nn.Linear(dim, groups * self.width, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        batch, seq, _ = x.shape
        q, k, v = (w(x).view(batch, seq, -1, self.width).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        cos, sin = rotations(seq, self.width)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if self.served > 1:
            k, v = k.repeat_interleave(self.served, dim=1), v.repeat_interleave(self.served, dim=1)
        scores = q @ k.transpose(-2, -1) / self.width**0.5
        scores = scores.masked_fill(torch.ones(seq, seq, dtype=torch.bool).triu(1), float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.wo(mixed.transpose(1, 2).reshape(batch, seq, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, ffn):
        super().__init__()
        self.w1 = nn.Linear(dim, ffn, bias=False)
        self.w3 = nn.Linear(dim, ffn, bias=False)
        self.w2 = nn.Linear(ffn, dim, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.attention_norm, self.ffn_norm = Norm(sizes.dim), Norm(sizes.dim)
        self.attention = Attention(sizes.dim, sizes.heads, sizes.groups)
        self.feed_forward = FeedForward(sizes.dim, sizes.ffn)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self, sizes=SMALL):
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.vocab, sizes.dim)
        self.layers = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm = Norm(sizes.dim)
        self.output = nn.Linear(sizes.dim, sizes.vocab, bias=False)

    def forward(self, tokens):
        h = self.embedding(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def data(batch, sizes=SMALL):
    """Tokens and the tokens that follow them."""
    shape = (batch, sizes.seq)
    return torch.randint(sizes.vocab, shape), torch.randint(sizes.vocab, shape)


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def token_loss(logits, targets):
    """The sum over all tokens that are not ignored, by the number of all tokens: shares of it have one scale."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="sum") / targets.numel()


def train(model, batch=None, optimizer=None, clip=None, specs=None, loss=REPLICATE, loss_of=cross_entropy):
    """The program of one step: forward, backward, clipping, optimizer."""
    tokens, targets = data(batch or model.sizes.batch, model.sizes)

    def step():
        found = loss_of(model(tokens), targets)
        found.backward()
        if clip is not None:
            clip(model.parameters())
        if optimizer is not None:
            optimizer.step()
        return found

    inputs = {"tokens": tokens, "targets": targets}
    return Program(inputs=inputs, params=model, step=step, optimizer=optimizer, specs=specs or {}, loss=loss)


def build_single(ctx):
    return train(Llama())
