"""Numbers of values that depend on no input, or on what was chosen alone, computed when they are asked for."""

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.replay import apply, typed
from verdict.backends.torch.trace import COMMUNICATION, DECISION, UNKNOWN, Step, Tape
from verdict.graph import ABSENT


class NotFolded(Exception):
    """A value depends on what others send, or on what is not known."""


def folded(tape: Tape, value: int) -> Any:
    """A real tensor that holds what `value` is, a constant of the tape or what is decided. Raises NotFolded."""
    makers: dict[int, Step] = {}
    for step in tape.steps:
        makers |= {made: step for made in step.outputs if made != ABSENT}
    held: dict[int, Any] = {ABSENT: None, **_chosen(tape)}
    waiting = [value]
    with _disable_current_modes():
        while waiting:
            step = makers[waiting[-1]]
            if step.op in COMMUNICATION or step.op in UNKNOWN:
                raise NotFolded
            missing = [source for source in step.inputs if source not in held]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            found = apply(step.op, [held[source] for source in step.inputs], dict(step.attrs))
            if step.op == "constant":
                found = [typed(found[0], tape.values[step.outputs[0]].dtype)]
            held |= dict(zip(step.outputs, found, strict=True))
    return held[value]


def _chosen(tape: Tape) -> dict[int, Any]:
    """What was chosen, and what decided something, as it was recorded."""
    known: dict[int, Any] = {choice.value: choice.chosen for choice in tape.choices}
    known |= {step.inputs[0]: dict(step.attrs)["values"] for step in tape.steps if step.op == DECISION}
    shapes = {value: tape.values[value] for value in known}
    return {value: typed(torch.tensor(known[value]).reshape(made.shape), made.dtype) for value, made in shapes.items()}
