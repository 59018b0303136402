"""Pipelines of four blocks, two of them on each of two ranks, under torch.distributed.pipelining's newer schedules."""

import torch
from blocks import SIZE, Block, adam
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleLoopedBFS, ScheduleZBVZeroBubble
from torch.distributed.pipelining.schedules import ScheduleDualPipeV

from verdict.torch import Program

BLOCKS, ROWS, PARTS = 4, 8, 4
LOOPED, V = ((0, 2), (1, 3)), ((0, 3), (1, 2))
"""The blocks of each rank."""


def blocks():
    torch.manual_seed(3)
    return nn.Sequential(*(Block() for _ in range(BLOCKS)))


def batch():
    return {name: torch.randn(ROWS, SIZE) for name in ("x", "target")}


def build_single(ctx):
    model, rows = blocks(), batch()
    stepper = adam(model.parameters())

    def step():
        loss = nn.functional.mse_loss(model(rows["x"]), rows["target"])
        loss.backward()
        stepper.step()
        return loss

    return Program(inputs=rows, params=model, optimizer=stepper, step=step)


def stage(block, number):
    entering, leaving = (torch.zeros(ROWS // PARTS, SIZE, requires_grad=grad) for grad in (number > 0, True))
    return PipelineStage(block, number, BLOCKS, torch.device("cpu"), input_args=entering, output_args=leaving)


def piped(schedule, places, **how):
    """The builder of the program under a schedule. places: the blocks of each rank."""

    def build(ctx):
        model, rows, own = blocks(), batch(), places[ctx.rank]
        run = schedule([stage(model[k], k) for k in own], PARTS, loss_fn=nn.functional.mse_loss, **how)
        params = {f"{k}.{name}": param for k in own for name, param in model[k].named_parameters()}
        stepper, first, last = adam(params.values()), 0 in own, BLOCKS - 1 in own

        def step():
            losses = []
            run.step(*([rows["x"]] if first else []), target=rows["target"] if last else None, losses=losses)
            stepper.step()
            return torch.stack(losses).mean() if last else None

        held = {name: rows[name] for name, is_held in (("x", first), ("target", last)) if is_held}
        return Program(inputs=held, params=params, optimizer=stepper, step=step)

    return build


looped, looped_added = piped(ScheduleLoopedBFS, LOOPED), piped(ScheduleLoopedBFS, LOOPED, scale_grads=False)
bubble, bubble_added = piped(ScheduleZBVZeroBubble, V), piped(ScheduleZBVZeroBubble, V, scale_grads=False)
dual, dual_added = piped(ScheduleDualPipeV, V), piped(ScheduleDualPipeV, V, scale_grads=False)
