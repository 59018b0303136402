"""Numbers of values that depend on no input: what recorded operators make of nothing, computed when it is asked for."""

from typing import Any

from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.replay import apply, typed
from verdict.backends.torch.trace import Step, Tape
from verdict.graph import ABSENT


def folded(tape: Tape, value: int) -> Any:
    """A real tensor that holds what `value`, one of the tape's constants, is."""
    makers: dict[int, Step] = {}
    for step in tape.steps:
        makers |= {made: step for made in step.outputs if made != ABSENT}
    held: dict[int, Any] = {ABSENT: None}
    waiting = [value]
    with _disable_current_modes():
        while waiting:
            step = makers[waiting[-1]]
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
