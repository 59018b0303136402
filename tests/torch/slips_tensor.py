"""Tensor parallel programs with a slip of their author's: the line that is to blame ends in `# place`."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
from torch.nn import functional

from verdict.torch import Program

VOCAB, DIM, SEQ, BATCH = 8, 4, 2, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.RMSNorm(DIM)
        self.up = nn.Linear(DIM, 8, bias=False)
        self.down = nn.Linear(8, DIM, bias=False)

    def forward(self, x):
        return x + self.down(functional.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, DIM)
        self.block = Block()
        self.norm = nn.RMSNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.block(self.embedding(tokens))))


def program(model, scale=1.0, reduction="mean"):
    tokens, labels = (torch.randint(VOCAB, (BATCH, SEQ)) for _ in range(2))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        made = model(tokens)
        made = made.full_tensor() if hasattr(made, "full_tensor") else made
        loss = functional.cross_entropy(made.flatten(0, 1), labels.flatten(), reduction=reduction)  # place
        (loss if scale == 1 else loss * scale).backward()  # place
        sgd.step()
        return loss

    inputs, ranges = {"tokens": tokens, "labels": labels}, {"labels": (0, VOCAB - 1)}
    return Program(inputs=inputs, params=model, step=step, ranges=ranges, optimizer=sgd)


def build_single(ctx):
    return program(Model())


def tensor_parallel(ctx):
    whole = {"input_layouts": Replicate(), "output_layouts": Replicate()}
    ends = {"embedding": RowwiseParallel(**whole), "head": ColwiseParallel(**whole)}
    plan = {"block.up": ColwiseParallel(), "block.down": RowwiseParallel(), **ends}
    return parallelize_module(Model(), init_device_mesh("cpu", (ctx.world,)), plan)


def sequence_parallel(ctx):
    plan = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "block.norm": SequenceParallel(),
        "block.up": ColwiseParallel(input_layouts=Shard(1)),
        "block.down": RowwiseParallel(output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    return parallelize_module(Model(), init_device_mesh("cpu", (ctx.world,)), plan)


def build_tensor(ctx):
    return program(tensor_parallel(ctx))


def build_sequence(ctx):
    return program(sequence_parallel(ctx))


def build_tensor_divided(ctx):
    """Each rank divides its loss by the ranks, as if they were data parallel."""
    return program(tensor_parallel(ctx), scale=1 / ctx.world)


def build_tensor_doubled(ctx):
    return program(tensor_parallel(ctx), scale=2.0)


def build_sequence_divided(ctx):
    return program(sequence_parallel(ctx), scale=1 / ctx.world)


def build_tensor_summed(ctx):
    """The losses of tokens are added, where their mean is due."""
    return program(tensor_parallel(ctx), reduction="sum")


def build_sequence_summed(ctx):
    return program(sequence_parallel(ctx), reduction="sum")
