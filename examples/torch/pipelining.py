"""Pipeline parallelism by torch.distributed.pipelining: the stages of pipeline.py under its schedules.

A PipelineStage is given the shape of a microbatch, and what has a gradient, so that no shapes travel between the ranks.

verdict torch examples/torch/pipelining.py --world 2
verdict torch examples/torch/pipelining.py:build_interleaved --world 2
"""

import pipeline
import torch
from pipeline import BATCH, HIDDEN, LAYERS, MICROBATCHES, layers, through
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
)
from torch.nn import functional

from verdict.torch import Program

build_single = pipeline.build_single


class Part(nn.Module):
    """Some of the layers, under their numbers."""

    def __init__(self, numbers):
        super().__init__()
        self.layers = layers(numbers)

    def forward(self, x):
        return through(self.layers, x)


def stage_of(index, count):
    share = LAYERS // count
    part = Part(range(index * share, (index + 1) * share))
    entering, leaving = (torch.empty(BATCH // MICROBATCHES, HIDDEN, requires_grad=grad) for grad in (index > 0, True))
    return PipelineStage(part, index, count, torch.device("cpu"), input_args=entering, output_args=leaving)


def program(ctx, schedule, stages, total=torch.mean):
    """All stages of this rank. Its parameters are called as in the single-device program."""
    x = torch.randn(BATCH, HIDDEN) if any(stage.is_first for stage in stages) else None
    target = torch.randn(BATCH, HIDDEN) if any(stage.is_last for stage in stages) else None
    inputs = {"x": x, "target": target}

    def step():
        losses = []
        schedule.step(*([] if x is None else [x]), target=target, losses=losses)
        return total(torch.stack(losses)) if losses else None

    params = {name: param for stage in stages for name, param in stage.submod.layers.named_parameters()}
    return Program(inputs={name: t for name, t in inputs.items() if t is not None}, params=params, step=step)


def single_stage(ctx, schedule, total=torch.mean, **options):
    stage = stage_of(ctx.rank, ctx.world)
    return program(ctx, schedule(stage, MICROBATCHES, loss_fn=functional.mse_loss, **options), [stage], total)


def two_stages(ctx, schedule):
    """Each rank has two stages: rank r those numbered r and r + world."""
    stages = [stage_of(ctx.rank + turn * ctx.world, 2 * ctx.world) for turn in range(2)]
    return program(ctx, schedule(stages, MICROBATCHES, loss_fn=functional.mse_loss), stages)


def build(ctx):
    return single_stage(ctx, ScheduleGPipe)


def build_1f1b(ctx):
    return single_stage(ctx, Schedule1F1B)


def build_interleaved(ctx):
    return two_stages(ctx, ScheduleInterleaved1F1B)


def build_zero_bubble(ctx):
    """Gradients of inputs and gradients of weights are computed apart."""
    return two_stages(ctx, ScheduleInterleavedZeroBubble)


def build_loss_scale(ctx):
    """Wrong: each microbatch's loss is a mean of its own, and nobody divides the gradients by their number."""
    return single_stage(ctx, Schedule1F1B, scale_grads=False)


def build_last_loss(ctx):
    """Wrong: the loss of the last microbatch is reported as that of the batch."""
    return single_stage(ctx, Schedule1F1B, lambda losses: losses[-1])
