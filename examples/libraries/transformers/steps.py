"""Training steps of a model: one batch of the single-device program, of which each data parallel rank has its rows."""

from dataclasses import replace

import torch
from models import SEQ, VOCAB

from verdict.torch import Program, mean, shard

BATCH = 4


def texts(rows):
    return {"input_ids": torch.randint(VOCAB, (rows, SEQ)), "labels": torch.randint(VOCAB, (rows, SEQ))}


def shifted(rows):
    """Every token has a label: what follows it, which the data loader has put in its place."""
    return {"input_ids": torch.randint(VOCAB, (rows, SEQ)), "shift_labels": torch.randint(VOCAB, (rows, SEQ))}


def images(rows, side=4):
    return {"pixel_values": torch.randn(rows, 3, side, side), "labels": torch.randint(3, (rows,))}


def trained(model, wrapped, part=0, of=1, inputs=texts, scale=1, clip=None, optimizer=torch.optim.AdamW):
    """One step on the model's own loss of `wrapped`, which is the model or what was made of it.

    part, of: which part of the batch this rank has. scale: what the loss is multiplied by before its gradients are
    taken. clip: a norm.
    """
    batch, stepper = inputs(BATCH // of), optimizer(model.parameters(), lr=0.01)

    def step():
        loss = wrapped(**batch, **({"labels": batch["shift_labels"]} if "shift_labels" in batch else {})).loss
        (loss * scale if scale != 1 else loss).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        stepper.step()
        return loss

    specs = {name: shard(0, part, of) for name in batch}
    ranges = {name: (0, VOCAB - 1) for name in batch if name.endswith("labels")}
    more = {"optimizer": stepper, "specs": specs, "ranges": ranges, "loss": mean(part, of)}
    return Program(inputs=batch, params=model, step=step, **more)


def as_made(*args, **more):
    """The same of a model whose buffers are what it makes itself (positions, types): constants of both programs."""
    made = trained(*args, **more)
    return replace(made, params=dict(made.params.named_parameters()))


def accumulated(model, wrapped, part=0, of=1, inputs=texts, parts=2, counted=None):
    """One step of two microbatches whose losses are divided by the number of labels of both, as Trainer does.

    counted: the number of labels that the losses are divided by; default: all of the microbatches.
    """
    batches = [inputs(BATCH // of // parts) for _ in range(parts)]
    stepper = torch.optim.AdamW(model.parameters(), lr=0.01)
    labels = counted or BATCH * (SEQ - 1) // of

    def step():
        losses = []
        for batch in batches:
            losses.append(wrapped(**batch, num_items_in_batch=labels).loss)
            losses[-1].backward()
        stepper.step()
        return sum(losses)

    named = {f"{name}.{k}": tensor for k, batch in enumerate(batches) for name, tensor in batch.items()}
    specs = {name: shard(0, part, of) for name in named}
    ranges = {name: (0, VOCAB - 1) for name in named if name.startswith("labels")}
    more = {"optimizer": stepper, "specs": specs, "ranges": ranges, "loss": mean(part, of)}
    return Program(inputs=named, params=model, step=step, **more)
