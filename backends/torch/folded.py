"""Numbers of values that depend on no input, or on what was chosen alone, computed when they are asked for."""

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.replay import apply, typed
from verdict.backends.torch.trace import COMMUNICATION, SHAPE_ALONE, UNKNOWN, Tape, Value
from verdict.graph import ABSENT


class NotFolded(Exception):
    """A value depends on what others send, or on what is not known."""


def folded(tape: Tape, value: int) -> Any:
    """A real tensor that holds what `value` is, a constant of the tape or what is decided. Raises NotFolded."""
    held: dict[int, Any] = {ABSENT: None}
    waiting = [value]
    with _disable_current_modes():
        while waiting:
            last = waiting[-1]
            if last in tape.stated:
                held[last] = _stated(tape, last)
                waiting.pop()
                continue
            step = tape.steps[tape.makers[last]]
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


def _stated(tape: Tape, value: int) -> Any:
    """What was chosen, or what decided something, as it was recorded."""
    made = tape.values[value]
    return typed(torch.tensor(tape.stated[value]).reshape(made.shape), made.dtype)
