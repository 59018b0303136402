"""Numbers of values that depend on no input, or on what was chosen alone, computed when they are asked for."""

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.replay import apply, typed
from verdict.backends.torch.trace import COMMUNICATION, DECISION, SHAPE_ALONE, UNKNOWN, Step, Tape, Value
from verdict.graph import ABSENT


class NotFolded(Exception):
    """A value depends on what others send, or on what is not known."""


def folded(tape: Tape, value: int) -> Any:
    """A real tensor that holds what `value` is, a constant of the tape or what is decided. Raises NotFolded."""
    makers: dict[int, Step] = {}
    for step in tape.steps:
        makers |= {made: step for made in step.outputs if made != ABSENT}
    held: dict[int, Any] = {ABSENT: None, **_chosen(tape)}
    waiting = [] if value in held else [value]
    with _disable_current_modes():
        while waiting:
            step = makers[waiting[-1]]
            if step.op in COMMUNICATION or step.op in UNKNOWN:
                raise NotFolded
            shapes = [tape.values[source] for source in step.inputs] if step.op in SHAPE_ALONE else None
            missing = [source for source in step.inputs if source not in held and shapes is None]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            read = [held[source] for source in step.inputs] if shapes is None else list(map(_empty, shapes))
            found = apply(step.op, read, dict(step.attrs))
            if step.op == "constant":
                found = [typed(found[0], tape.values[step.outputs[0]].dtype)]
            held |= dict(zip(step.outputs, found, strict=True))
    return held[value]


def _empty(value: Value) -> Any:
    return typed(torch.zeros(value.shape), value.dtype)


def _chosen(tape: Tape) -> dict[int, Any]:
    """What was chosen, and what decided something, as it was recorded."""
    known: dict[int, Any] = {choice.value: choice.chosen for choice in tape.choices}
    known |= {step.inputs[0]: dict(step.attrs)["values"] for step in tape.steps if step.op == DECISION}
    shapes = {value: tape.values[value] for value in known}
    return {value: typed(torch.tensor(known[value]).reshape(made.shape), made.dtype) for value, made in shapes.items()}
