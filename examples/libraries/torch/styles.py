"""Tensor and sequence parallelism by the styles of torch.distributed.tensor.parallel, chosen by hand."""

from contextlib import nullcontext

import torch
from blocks import adam
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

from verdict.torch import Program

VOCAB, DIM, SEQ, ROWS = 8, 8, 4, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (made(x).unflatten(-1, (-1, DIM // 2)).transpose(1, 2) for made in (self.q, self.k, self.v))
        return self.o(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.attention = nn.Embedding(VOCAB, DIM), Attention()
        self.before, self.between, self.last = (nn.LayerNorm(DIM) for _ in range(3))
        self.up, self.down, self.head = nn.Linear(DIM, 16), nn.Linear(16, DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x = self.tokens(ids)
        x = x + self.attention(self.before(x))
        x = x + self.down(nn.functional.gelu(self.up(self.between(x))))
        return self.head(self.last(x))


HEADS = {f"attention.{name}": ColwiseParallel() for name in "qkv"}
TENSOR = {
    "tokens": RowwiseParallel(input_layouts=Replicate()), **HEADS, "attention.o": RowwiseParallel(),
    "up": ColwiseParallel(), "down": RowwiseParallel(), "head": ColwiseParallel(output_layouts=Replicate()),
}  # fmt: skip
SEQUENCE = {
    **TENSOR, "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "before": SequenceParallel(), "between": SequenceParallel(), "last": SequenceParallel(),
    "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    "attention.o": RowwiseParallel(output_layouts=Shard(1)), "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(output_layouts=Shard(1)),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
}  # fmt: skip
LOSS = {**SEQUENCE, "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}


def program(ctx, plan=None, sharded=False, scale=1.0):
    """One step. plan: the styles; None on one device. sharded: whether the loss is of logits that are sharded."""
    torch.manual_seed(1)
    model = Model()
    batch = {name: torch.randint(VOCAB, (ROWS, SEQ)) for name in ("ids", "labels")}
    if plan is not None:
        parallelize_module(model, init_device_mesh("cpu", (ctx.world,)), plan)
    stepper = adam(model.parameters())

    def step():
        with loss_parallel() if sharded else nullcontext():
            loss = nn.functional.cross_entropy(model(batch["ids"]).flatten(0, 1), batch["labels"].flatten())
            (loss * scale).backward()
        stepper.step()
        return loss.full_tensor() if isinstance(loss, DTensor) else loss

    more = {"optimizer": stepper, "ranges": dict.fromkeys(batch, (0, VOCAB - 1))}
    return Program(inputs=batch, params=model, step=step, **more)


def build_single(ctx):
    return program(ctx)


def build_tensor(ctx):
    return program(ctx, TENSOR)


def build_tensor_scaled(ctx):
    return program(ctx, TENSOR, scale=0.5)


def build_sequence(ctx):
    return program(ctx, SEQUENCE)


def build_sequence_norm(ctx):
    """One norm is not in the plan: its gradients are of the rank's part of the sequence."""
    return program(ctx, {name: style for name, style in SEQUENCE.items() if name != "between"})


def build_loss(ctx):
    return program(ctx, LOSS, sharded=True)


def build_loss_scaled(ctx):
    return program(ctx, LOSS, sharded=True, scale=0.5)
