"""accelerate: microbatches with unlike numbers of labels, divided as its guide to gradient accumulation says.

Labels of all microbatches are counted, on all ranks; each microbatch's sum is divided by that, and multiplied by what
`backward` divides by, the microbatches, and by what is averaged over, the ranks.
"""

import contextlib

import torch
from accelerate import Accelerator
from data_parallel import SEQ, SIZES, VOCAB
from sharded import sharding
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard

TEXTS, PARTS, IGNORED = 8, 2, -100
LENGTHS = (4, 3, 2, 4, 3, 3, 4, 2)
"""Tokens of each text; what fills up has no label."""


def counted(labels):
    return labels[:, 1:].ne(IGNORED).sum()


def summed(model, batch):
    logits, following = model(input_ids=batch["input_ids"]).logits[:, :-1], batch["labels"][:, 1:]
    return functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=IGNORED, reduction="sum")


def program(ctx, parts=PARTS, accelerator=None, clip=None, gathered=True, ranks=None, own=False):
    """gathered: whether labels of all ranks are counted. ranks: what sums are multiplied by, beside the microbatches.
    own: whether each microbatch is divided by its own labels alone.
    """
    accelerator = accelerator or Accelerator(cpu=True)
    accelerator.gradient_accumulation_steps = parts
    plain = LlamaForCausalLM(LlamaConfig(**SIZES))
    model, adam = accelerator.prepare(plain, torch.optim.AdamW(plain.parameters(), lr=0.01))
    rows = TEXTS // ctx.world
    texts = {name: torch.randint(VOCAB, (rows, SEQ)) for name in ("input_ids", "labels")}
    filled = torch.arange(SEQ) >= torch.tensor(LENGTHS[ctx.rank * rows : (ctx.rank + 1) * rows])[:, None]
    factor = parts * (ctx.world if ranks is None else ranks)

    def step():
        given = {**texts, "labels": texts["labels"].masked_fill(filled, IGNORED)}
        batches = [{name: tensor.chunk(parts)[k] for name, tensor in given.items()} for k in range(parts)]
        labels = sum(counted(batch["labels"]) for batch in batches)
        labels, losses = accelerator.gather(labels).sum() if gathered else labels, []
        for batch in batches:
            with contextlib.nullcontext() if batch is batches[-1] else accelerator.no_sync(model):
                loss = summed(model, batch)
                loss = loss / counted(batch["labels"]) if own else loss * factor / labels
                accelerator.backward(loss)
                losses.append(loss.detach())
        if clip is not None:
            accelerator.clip_grad_norm_(model.parameters(), clip)
        adam.step()
        return sum(losses) / parts

    specs = dict.fromkeys(texts, shard(0, ctx.rank, ctx.world))
    more = {"optimizer": adam.optimizer, "specs": specs, "ranges": {"labels": (0, VOCAB - 1)}}
    return Program(inputs=texts, params=plain, step=step, loss=mean(ctx.rank, ctx.world), **more)


def build_single(ctx):
    return program(ctx, parts=1)


def build(ctx):
    return program(ctx)


def build_own(ctx):
    """Means of microbatches are averaged, whose labels are not equally many."""
    return program(ctx, own=True)


def build_one_rank(ctx):
    """Nobody multiplies by the ranks, over which gradients are averaged."""
    return program(ctx, ranks=1)


def build_uncounted(ctx):
    """Each rank counts its own labels."""
    return program(ctx, gathered=False, ranks=1)


def build_clipped_single(ctx):
    return program(ctx, parts=1, clip=0.3)


def build_clipped(ctx):
    return program(ctx, clip=0.3)


def build_clipped_one_rank(ctx):
    """Nobody multiplies by the ranks, so that less is clipped."""
    return program(ctx, clip=0.3, ranks=1)


def build_sharded(ctx):
    return program(ctx, accelerator=sharding(), clip=0.3)


def build_sharded_own(ctx):
    return program(ctx, accelerator=sharding(), clip=0.3, own=True)
