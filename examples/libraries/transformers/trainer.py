"""The library's Trainer, unchanged: one step of two microbatches, its loaders, its loss, its DistributedDataParallel.

verdict torch FILE.py:build --world 2 --tensors real
"""

import tempfile
from types import MappingProxyType

import models
import torch
from models import SEQ, VOCAB
from torch.nn import functional
from transformers import Trainer, TrainingArguments

from verdict.torch import Program

TEXTS, PARTS, IGNORED = 8, 2, -100
LENGTHS = (4, 3, 2, 4, 3, 3, 4, 2)
"""Tokens of texts that are not equally long; what fills up has no label."""


def own_mean(output, labels, num_items_in_batch=None):
    """The mean over the tokens of a microbatch, which Trainer takes to be divided by those of all."""
    logits, following = output.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return functional.cross_entropy(logits, following, ignore_index=IGNORED)


def program(ctx, parts=PARTS, lengths=(SEQ,) * TEXTS, told=MappingProxyType({}), **more):
    """The whole data set is there on every rank; which rows it has Trainer says. told: settings beside those here."""
    model, folder = models.llama(), tempfile.mkdtemp()
    batch = {name: torch.randint(VOCAB, (TEXTS, SEQ)) for name in ("input_ids", "labels")}
    filled = torch.arange(SEQ) >= torch.tensor(lengths)[:, None]
    settings = TrainingArguments(
        folder,
        use_cpu=True,
        per_device_train_batch_size=TEXTS // ctx.world // parts,
        gradient_accumulation_steps=parts,
        max_steps=1,
        **{"max_grad_norm": 0.0, **told},
        optim="sgd",
        learning_rate=0.01,
        train_sampling_strategy="sequential",
        logging_nan_inf_filter=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )

    def step():
        given = {**batch, "labels": batch["labels"].masked_fill(filled, IGNORED)}
        rows = [{name: tensor[k] for name, tensor in given.items()} for k in range(TEXTS)]
        Trainer(model=model, args=settings, train_dataset=rows, data_collator=joined, **more).train()

    return Program(inputs=batch, params=model, step=step, ranges={"labels": (0, VOCAB - 1)})


def joined(rows):
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_own_mean(ctx):
    """A loss of one's own ignores `num_items_in_batch`: means of microbatches are added, and those of ranks, too."""
    return program(ctx, compute_loss_func=own_mean)


def build_unlike_single(ctx):
    return program(ctx, lengths=LENGTHS)


def build_unlike(ctx):
    return program(ctx, lengths=LENGTHS)


def build_unlike_apart(ctx):
    """`average_tokens_across_devices=False`: each rank divides by its own tokens, and ranks have unlike numbers."""
    return program(ctx, lengths=LENGTHS, told={"average_tokens_across_devices": False})


def build_smoothed_single(ctx):
    return program(ctx, lengths=LENGTHS, told={"label_smoothing_factor": 0.1})


def build_smoothed(ctx):
    return program(ctx, lengths=LENGTHS, told={"label_smoothing_factor": 0.1})


def build_clipped_single(ctx):
    return program(ctx, lengths=LENGTHS, told={"max_grad_norm": 0.3})


def build_clipped(ctx):
    return program(ctx, lengths=LENGTHS, told={"max_grad_norm": 0.3})


def build_clipped_apart(ctx):
    return program(ctx, lengths=LENGTHS, told={"max_grad_norm": 0.3, "average_tokens_across_devices": False})
