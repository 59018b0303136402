"""GPT-2 under Megatron's tensor parallelism: fused projections cut by heads, vocabulary parallel embedding and loss.

Each rank has some heads, some rows of the vocabulary and some hidden features. The tied embedding is cut once and used
twice. The loss is computed on shards of the logits, as in Megatron-LM's vocab_parallel_cross_entropy.

verdict torch examples/torch/gpt2_megatron.py --world 2
"""

import gpt2
import torch
import torch.distributed as dist
from gpt2 import DIM, VOCAB, Block, Gpt2, attend
from mlp_megatron import CopyToRanks, ReduceFromRanks
from torch import nn
from torch.nn import functional

from verdict.torch import shard

build_single = gpt2.build_single


def within(ids, start, size):
    """Ids counted from `start` on, 0 for those that are not among the `size` from there on; and which those are."""
    outside = (ids < start) | (ids >= start + size)
    return (ids - start).masked_fill(outside, 0), outside


class Embedding(nn.Module):
    """The rank's rows of an embedding: ids of other rows give zeros, and the ranks' outputs are added."""

    def __init__(self, rows, width, masked=True):
        super().__init__()
        self.weight, self.masked = nn.Parameter(torch.randn(rows, width)), masked

    def forward(self, ids):
        rows = len(self.weight)
        own, outside = within(ids, dist.get_rank() * rows, rows)
        found = functional.embedding(own, self.weight)
        if self.masked:
            found = found.masked_fill(outside.unsqueeze(-1), 0.0)
        return ReduceFromRanks.apply(found)


class CrossEntropy(torch.autograd.Function):
    """Of logits cut along the vocabulary, for each token."""

    @staticmethod
    def forward(ctx, logits, targets):
        greatest = logits.max(-1, keepdim=True).values
        dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
        logits = logits - greatest
        own, outside = within(targets, dist.get_rank() * logits.shape[-1], logits.shape[-1])
        due = logits.gather(-1, own.unsqueeze(-1)).squeeze(-1).masked_fill(outside, 0.0)
        dist.all_reduce(due)
        weights = logits.exp()
        total = weights.sum(-1, keepdim=True)
        dist.all_reduce(total)
        ctx.save_for_backward(weights / total, own, outside)
        return total.squeeze(-1).log() - due

    @staticmethod
    def backward(ctx, grad):
        share, own, outside = ctx.saved_tensors
        hit = torch.zeros_like(share).scatter(-1, own.unsqueeze(-1), (~outside).unsqueeze(-1).to(share.dtype))
        return (share - hit) * grad.unsqueeze(-1), None


class RowParallel(nn.Module):
    """A linear whose inputs are cut: the ranks' outputs are added, and then the bias is, once."""

    def __init__(self, width, world, bias_first=False):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(DIM, width // world)), nn.Parameter(torch.randn(DIM))
        self.bias_first = bias_first

    def forward(self, x):
        if self.bias_first:
            return ReduceFromRanks.apply(functional.linear(x, self.weight, self.bias))
        return ReduceFromRanks.apply(functional.linear(x, self.weight)) + self.bias


class Attention(nn.Module):
    def __init__(self, world, mix=attend, **options):
        super().__init__()
        self.qkv, self.out, self.mix = nn.Linear(DIM, 3 * DIM // world), RowParallel(DIM, world, **options), mix

    def forward(self, x):
        return self.out(self.mix(self.qkv(CopyToRanks.apply(x, False))))


class FeedForward(nn.Module):
    def __init__(self, world, **options):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, 4 * DIM // world), RowParallel(4 * DIM, world, **options)

    def forward(self, x):
        return self.down(functional.gelu(self.up(CopyToRanks.apply(x, False)), approximate="tanh"))


class Parallel(Gpt2):
    def __init__(self, world, mix=attend, masked=True, **options):
        super().__init__(
            lambda: Block(lambda: Attention(world, mix, **options), lambda: FeedForward(world, **options)),
            lambda rows, width: Embedding(rows, width, masked),
            VOCAB // world,
        )

    def forward(self, ids):
        return functional.linear(CopyToRanks.apply(self.hidden(ids), False), self.tokens.weight)


def specs_of(ctx, model):
    cut = {"tokens.weight": 0}
    for name, _ in model.named_parameters():
        if ".qkv." in name or ".up." in name:
            cut[name] = 0
        elif name.endswith(("out.weight", "down.weight")):
            cut[name] = 1
    return {name: shard(dim, ctx.rank, ctx.world) for name, dim in cut.items()}


def parallel(ctx, **options):
    model = Parallel(ctx.world, **options)

    def loss_of(logits, targets):
        return CrossEntropy.apply(logits, targets).mean()

    return gpt2.program(model, loss_of=loss_of, specs=specs_of(ctx, model))


def build(ctx):
    return parallel(ctx)


def build_bias_twice(ctx):
    """Wrong: every rank adds the bias before the outputs are added up."""
    return parallel(ctx, bias_first=True)


def build_unmasked(ctx):
    """Wrong: tokens of other ranks' rows get the rank's first row."""
    return parallel(ctx, masked=False)


def build_wrong_layout(ctx):
    """Wrong: the rank's part of the fused projection is taken for queries, then keys, then values of its heads."""

    def mix(qkv):
        batch, seq, width = qkv.shape
        heads = qkv.view(batch, seq, 3, -1, gpt2.WIDTH).transpose(2, 3)
        return attend(heads.reshape(batch, seq, width))

    return parallel(ctx, mix=mix)
