"""Generated pairs of plans: a model on one device, and the same model under data, tensor and pipeline parallelism.

The parallel plan is made from the recipe of its parallelization alone. It shares no code with the verifier, so
that a plan which is right here is evidence from outside.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from backends.generator import llama3, mlp
from backends.generator.sizes import Sizes, check
from backends.generator.stages import assemble
from backends.generator.tape import Tape, Value
from verdict.errors import UsageError
from verdict.graph import Plan

__all__ = ["MODELS", "Model", "Sizes", "generate"]


class Model(NamedTuple):
    """A model: its input, what its stages hand on, and how the layers of one stage are recorded."""

    input: str
    boundary: Callable[[Tape, Sizes, int], tuple[Value, ...]]
    record: Callable[[Tape, Sizes, range, tuple[Value, ...]], tuple[Value, ...]]


MODELS = {
    "llama3": Model(llama3.INPUT, llama3.boundary, llama3.record),
    "mlp": Model(mlp.INPUT, mlp.boundary, mlp.record),
}


def generate(model: str, sizes: Sizes) -> tuple[Plan, Plan]:
    """The single-device plan and the parallel plan of `model`. Raises UsageError where sizes do not fit."""
    if model not in MODELS:
        raise UsageError(model, "there is no such model to generate", f"there are {', '.join(MODELS)}")
    check(model, sizes)
    alone = replace(sizes, dp=1, tp=1, pp=1, microbatches=1)
    return assemble(model, MODELS[model], alone), assemble(model, MODELS[model], sizes)
