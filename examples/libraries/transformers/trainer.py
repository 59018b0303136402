"""The library's Trainer, unchanged: one step of two microbatches, its loaders, its loss, its DistributedDataParallel.

verdict torch FILE.py:build --world 2 --tensors real
"""

import tempfile

import models
import torch
from models import SEQ, VOCAB
from torch.nn import functional
from transformers import Trainer, TrainingArguments

from verdict.torch import Program

TEXTS, PARTS = 8, 2


def own_mean(output, labels, num_items_in_batch=None):
    """The mean over the tokens of a microbatch, which Trainer takes to be divided by those of all."""
    logits, following = output.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return functional.cross_entropy(logits, following)


def program(ctx, parts=PARTS, **more):
    """The whole data set is there on every rank; which rows it has Trainer says."""
    model, folder = models.llama(), tempfile.mkdtemp()
    batch = {name: torch.randint(VOCAB, (TEXTS, SEQ)) for name in ("input_ids", "labels")}
    settings = TrainingArguments(
        folder,
        use_cpu=True,
        per_device_train_batch_size=TEXTS // ctx.world // parts,
        gradient_accumulation_steps=parts,
        max_steps=1,
        max_grad_norm=0.0,
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
        rows = [{name: tensor[k] for name, tensor in batch.items()} for k in range(TEXTS)]
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
