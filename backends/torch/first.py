"""Whether what parallelizes a Step's model keeps its values: what a rank first holds must be its share of the model.

That shares start equal is what every proof assumes. Of a Step both the model and what cuts it are known; so the model
is given numbers that tell its elements apart, and what a rank holds of them is compared with what its shares say.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import torch

from verdict.backends.torch.door import require_program
from verdict.backends.torch.ends import called, named
from verdict.backends.torch.program import Context
from verdict.backends.torch.shares import local, share_of
from verdict.backends.torch.step import Step


def moved(step: Step, ctx: Context) -> Iterator[str]:
    """Parameters and buffers of a rank that hold something else than their share of the model's, as clauses.

    Raises what the step's functions raise.
    """
    whole: dict[str, Any] = {}

    def made(model: Any) -> None:
        for name, param in model.named_parameters():
            if param.is_floating_point():
                with torch.no_grad():
                    param.copy_(_numbers(name, param))
        every = (*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False))
        whole.update({name: tensor.detach().clone() for name, tensor in every})

    program = require_program(step(ctx, made))
    for name, tensor in named(program).items():
        title = called(program, name)
        shape, region, part, _ = share_of(name, tensor, program.specs.get(name))
        if title not in whole or tuple(whole[title].shape) != shape or part != (0, 1):
            continue
        held = local(tensor).detach()
        due = whole[title][tuple(slice(start, stop) for start, stop in region)].to(held.dtype)
        if not bool(((held == due) | (held.isnan() & due.isnan())).all()):
            words = ", ".join(f"{start}:{stop}" for start, stop in region)
            yield f"{title}: rank {ctx.rank} begins with other numbers than those at [{words}] of the model's"


def _numbers(name: str, like: Any) -> Any:
    """Numbers of a tensor that are the same on all ranks, and stay what they are in types of 16 bits."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    drawn = torch.randn(like.shape, generator=generator, dtype=torch.float32, device="cpu")
    return drawn.bfloat16().to(like.dtype)
