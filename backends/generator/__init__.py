"""Generated pairs of plans: a model on one device, and the same model under data, tensor and pipeline parallelism.

The parallel plan is made from the recipe of its parallelization alone. It shares no code with the verifier, so
that a plan which is right here is evidence from outside.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from verdict.backends.generator import deepseek, gpt, llama3, mlp
from verdict.backends.generator.consecutive import consecutive
from verdict.backends.generator.sizes import Sizes, check
from verdict.backends.generator.stages import assemble
from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value
from verdict.errors import UsageError
from verdict.graph import Plan

__all__ = ["MODELS", "Model", "Sizes", "generate"]


class Model(NamedTuple):
    """A model: its input, which sizes it refuses, what its stages hand on, and how a stage's layers are recorded."""

    input: str
    check: Callable[[str, Sizes], None]
    boundary: Callable[[Tape, Sizes, int], tuple[Value, ...]]
    record: Callable[[Tape, Sizes, range, tuple[Value, ...]], tuple[Value, ...]]


CHOICES = ("lora", "sp", "cp", "ep", "loss", "routing", "tied", "dropout", "vocab_multiple", "padding", "loss_scale")
"""Fields of Sizes that not every model knows; _OFFERS are those that it does."""
_TOKENS = frozenset({"sp", "cp", "loss", "vocab_multiple", "padding"})
_OFFERS = {
    "deepseek": _TOKENS | {"ep", "routing"},
    "gpt": _TOKENS | {"lora", "tied", "dropout"},
    "llama3": _TOKENS | {"lora"},
    "mlp": frozenset({"loss_scale"}),
}
MODELS = {
    "deepseek": Model(deepseek.INPUT, deepseek.check, deepseek.boundary, deepseek.record),
    "gpt": Model(gpt.INPUT, gpt.check, gpt.boundary, gpt.record),
    "llama3": Model(llama3.INPUT, llama3.check, llama3.boundary, llama3.record),
    "mlp": Model(mlp.INPUT, mlp.check, mlp.boundary, mlp.record),
}


_NONE = Sizes()


def generate(model: str, sizes: Sizes) -> tuple[Plan, Plan]:
    """The single-device plan and the parallel plan of `model`. Raises UsageError where sizes do not fit."""
    if model not in MODELS:
        raise UsageError(model, "there is no such model to generate", f"there are {', '.join(MODELS)}")
    check(model, sizes)
    for choice in CHOICES:
        if getattr(sizes, choice) != getattr(_NONE, choice) and choice not in _OFFERS[model]:
            raise UsageError(model, f"{choice} is not offered for this model", "see docs/parallelisms.md")
    sizes = replace(sizes, list_ranks=sizes.list_ranks or sizes.flat)
    MODELS[model].check(model, sizes)
    alone = replace(
        sizes, flat=False, dp=1, tp=1, pp=1, vpp=1, cp=1, ep=1, microbatches=1, zero=0, split_backward=False, sp=False,
        zigzag=False, vocab_parallel=False,
    )  # fmt: skip
    single, parallel = (assemble(model, MODELS[model], each) for each in (alone, sizes))
    return consecutive(single, sizes.steps), consecutive(parallel, sizes.steps)
