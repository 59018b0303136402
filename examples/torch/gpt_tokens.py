"""A GPT block written by hand, its loss a mean over the tokens that count, parallelized in three ways.

Attention, GELU's tanh form and the normalisation are written out, as teaching code does. Targets of -100 do not count.

verdict torch examples/torch/gpt_tokens.py --world 2
verdict torch examples/torch/gpt_tokens.py:build_pipeline --world 2
verdict torch examples/torch/gpt_tokens.py:build_vocabulary --world 2
"""

import math

import torch
import torch.distributed as dist
from gpt2_megatron import CrossEntropy, Embedding
from mlp_megatron import CopyToRanks, ReduceFromRanks
from torch import nn
from torch.nn import functional

from verdict.torch import Program, shard

VOCAB, DIM, HEADS, BATCH, SEQ, MICROBATCHES = 10, 8, 2, 8, 4, 2
WIDTH = DIM // HEADS
IGNORED = -100


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class Block(nn.Module):
    """Attention and feed-forward of the rank's share of heads and features; `world` 1 has all of them."""

    def __init__(self, world=1):
        super().__init__()
        self.heads, self.world = HEADS // world, world
        self.first_norm, self.second_norm = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.query, self.key, self.value = (nn.Linear(DIM, DIM // world, bias=False) for _ in range(3))
        self.out = nn.Linear(DIM // world, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM // world), nn.Linear(4 * DIM // world, DIM, bias=False)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, WIDTH).transpose(1, 2)

    def attend(self, x):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-1, -2) / math.sqrt(WIDTH)
        later = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return (weights @ value).transpose(1, 2).reshape(*x.shape[:2], -1)

    def enter(self, x):
        return CopyToRanks.apply(x, False) if self.world > 1 else x

    def leave(self, x):
        return ReduceFromRanks.apply(x) if self.world > 1 else x

    def forward(self, x):
        x = x + self.leave(self.out(self.attend(self.enter(self.first_norm(x)))))
        return x + self.leave(self.down(gelu(self.up(self.enter(self.second_norm(x))))))


class Gpt(nn.Module):
    """Embeddings, one block, and an output that is tied to the tokens' embedding if `tied`."""

    def __init__(self, tied=False):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, DIM), nn.Embedding(SEQ, DIM)
        self.block, self.norm = Block(), nn.LayerNorm(DIM)
        self.head = self.tokens if tied else nn.Linear(DIM, VOCAB, bias=False)

    def embed(self, ids):
        return self.tokens(ids) + self.positions(torch.arange(SEQ))

    def forward(self, ids):
        return functional.linear(self.norm(self.block(self.embed(ids))), self.head.weight)


def summed(logits, targets):
    """The loss, summed over the tokens that count."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")


def data(batch):
    ids, targets = torch.randint(VOCAB, (batch, SEQ)), torch.randint(VOCAB, (batch, SEQ))
    return {"ids": ids, "targets": targets}


def single(tied):
    model, inputs = Gpt(tied), data(BATCH)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        targets = inputs["targets"]
        loss = summed(model(inputs["ids"]), targets) / (targets != IGNORED).sum()
        loss.backward()
        adam.step()
        return loss

    return Program(inputs=inputs, params=model, step=step, optimizer=adam)


def build_single(ctx):
    return single(tied=False)


def build_tied_single(ctx):
    return single(tied=True)


def accumulated(ctx, own_tokens=False):
    model, inputs = Gpt(), data(BATCH // ctx.world)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        tokens = (inputs["targets"] != IGNORED).sum()
        if not own_tokens:
            dist.all_reduce(tokens)
        total = 0
        for ids, targets in zip(inputs["ids"].chunk(MICROBATCHES), inputs["targets"].chunk(MICROBATCHES), strict=True):
            loss = summed(model(ids), targets) / tokens
            loss.backward()
            total = total + loss.detach()
        for weight in model.parameters():
            dist.all_reduce(weight.grad)
        dist.all_reduce(total)
        adam.step()
        return total

    rows = shard(0, ctx.rank, ctx.world)
    return Program(inputs=inputs, params=model, step=step, optimizer=adam, specs={"ids": rows, "targets": rows})


def build(ctx):
    """Data parallel, two accumulated microbatches, normalised by the tokens of all ranks."""
    return accumulated(ctx)


def build_own_tokens(ctx):
    """Wrong: each rank divides by its own tokens."""
    return accumulated(ctx, own_tokens=True)


class First(nn.Module):
    """The first stage: the embeddings and the block."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.block = nn.Embedding(VOCAB, DIM), nn.Embedding(SEQ, DIM), Block()

    def forward(self, ids):
        return self.block(self.tokens(ids) + self.positions(torch.arange(SEQ)))


class Last(nn.Module):
    """The last stage: the norm, and an output that is a copy of the first stage's embedding."""

    def __init__(self):
        super().__init__()
        self.norm, self.tokens = nn.LayerNorm(DIM), nn.Embedding(VOCAB, DIM)

    def forward(self, x):
        return functional.linear(self.norm(x), self.tokens.weight)


def pipelined(ctx, tie=True):
    stage, inputs = (First() if ctx.rank == 0 else Last()), data(BATCH)
    adam = torch.optim.AdamW(stage.parameters(), lr=0.01)
    rows = BATCH // MICROBATCHES

    def first(ids):
        left = []
        for piece in ids.chunk(MICROBATCHES):
            left.append(stage(piece))
            dist.send(left[-1].detach(), 1)
        for sent in left:
            grad = torch.empty(rows, SEQ, DIM)
            dist.recv(grad, 1)
            sent.backward(grad)

    def last(targets):
        tokens, total = (targets != IGNORED).sum(), 0
        entered = []
        for _ in range(MICROBATCHES):
            entered.append(torch.empty(rows, SEQ, DIM))
            dist.recv(entered[-1], 0)
        for x, piece in zip(entered, targets.chunk(MICROBATCHES), strict=True):
            loss = summed(stage(x.requires_grad_()), piece) / tokens
            loss.backward()
            dist.send(x.grad, 0)
            total = total + loss.detach()
        return total

    def step():
        loss = first(inputs["ids"]) if ctx.rank == 0 else last(inputs["targets"])
        if tie:
            dist.all_reduce(stage.tokens.weight.grad)
        adam.step()
        return loss

    return Program(inputs=inputs, params=stage, step=step, optimizer=adam)


def build_pipeline(ctx):
    """Two stages, the embedding tied between them, two microbatches."""
    return pipelined(ctx)


def build_pipeline_untied(ctx):
    """Wrong: the stages' gradients of the tied embedding are not added."""
    return pipelined(ctx, tie=False)


class Vocabulary(nn.Module):
    """The rank's rows of both embeddings and its share of the block."""

    def __init__(self, world, added=True):
        super().__init__()
        self.added = added
        self.tokens, self.positions = Embedding(VOCAB // world, DIM), nn.Embedding(SEQ, DIM)
        self.block, self.norm = Block(world), nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB // world, bias=False)

    def forward(self, ids):
        x = self.norm(self.block(self.tokens(ids) + self.positions(torch.arange(SEQ))))
        return self.head(CopyToRanks.apply(x, False) if self.added else x)


def vocabulary(ctx, **options):
    model, inputs = Vocabulary(ctx.world, **options), data(BATCH)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        targets = inputs["targets"]
        counts = targets != IGNORED
        losses = CrossEntropy.apply(model(inputs["ids"]), targets.masked_fill(~counts, 0))
        loss = (losses * counts).sum() / counts.sum()
        loss.backward()
        adam.step()
        return loss

    cut = {"tokens.weight": 0, "head.weight": 0, "block.out.weight": 1, "block.down.weight": 1}
    cut |= {f"block.{name}.weight": 0 for name in ("query", "key", "value", "up")} | {"block.up.bias": 0}
    specs = {name: shard(dim, ctx.rank, ctx.world) for name, dim in cut.items()}
    return Program(inputs=inputs, params=model, step=step, optimizer=adam, specs=specs)


def build_vocabulary(ctx):
    """Tensor parallel by hand, embedding, output and loss cut along the vocabulary."""
    return vocabulary(ctx)


def build_vocabulary_own_gradient(ctx):
    """Wrong: what the ranks' words make of the hidden state's gradient is not added up."""
    return vocabulary(ctx, added=False)
