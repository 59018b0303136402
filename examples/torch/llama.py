"""The model of the llama examples: a small Llama, and its training step on one device."""

import torch
from torch import nn
from torch.nn import functional

from verdict.torch import REPLICATE, Program

VOCAB, DIM, HEADS, FFN, LAYERS = 6, 8, 2, 12, 1
BATCH, SEQ = 2, 4


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
    def __init__(self, dim=DIM, heads=HEADS):
        super().__init__()
        self.width = dim // heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wk = nn.Linear(dim, dim, bias=False)
        self.wv = nn.Linear(dim, dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        batch, seq, _ = x.shape
        q, k, v = (w(x).view(batch, seq, -1, self.width).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        cos, sin = rotations(seq, self.width)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        scores = q @ k.transpose(-2, -1) / self.width**0.5
        scores = scores.masked_fill(torch.ones(seq, seq, dtype=torch.bool).triu(1), float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.wo(mixed.transpose(1, 2).reshape(batch, seq, -1))


class FeedForward(nn.Module):
    def __init__(self, dim=DIM, ffn=FFN):
        super().__init__()
        self.w1 = nn.Linear(dim, ffn, bias=False)
        self.w3 = nn.Linear(dim, ffn, bias=False)
        self.w2 = nn.Linear(ffn, dim, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = Norm(DIM), Attention()
        self.ffn_norm, self.feed_forward = Norm(DIM), FeedForward()

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self, layers=LAYERS):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.norm = Norm(DIM)
        self.output = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        h = self.embedding(tokens)
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def data(batch=BATCH):
    """Tokens and the tokens that follow them."""
    return torch.randint(VOCAB, (batch, SEQ)), torch.randint(VOCAB, (batch, SEQ))


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def token_loss(logits, targets):
    """The sum over all tokens that are not ignored, by the number of all tokens: shares of it have one scale."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="sum") / targets.numel()


def train(model, batch=BATCH, optimizer=None, clip=None, specs=None, loss=REPLICATE, loss_of=cross_entropy):
    """The program of one step: forward, backward, clipping, optimizer."""
    tokens, targets = data(batch)

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
