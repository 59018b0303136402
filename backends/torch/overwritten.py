"""What is put into a place of a tensor and overwritten there: nothing depends on it, and it is left out."""

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from verdict.backends.torch.trace import UNMODELLED, Step, Trace
from verdict.graph import ABSENT

_SLICED = "aten.slice_scatter"
_PUT_IN = frozenset({"aten.as_strided_scatter", "aten.diagonal_scatter", "aten.select_scatter", _SLICED})
"""What puts a tensor into a place of another one."""


def overwritten(trace: Trace) -> Trace:
    """`trace` in which what is put into a place of a tensor, and then something else into the same place, is not put
    there; and in which a buffer of which every place was overwritten since something was there of which nothing is
    known (weights that were drawn, before they have their names) is what was put there, end to end.
    """
    made: dict[int, Step] = {}
    steps: list[Step] = []
    unknown: set[int] = set()
    for step in trace.steps:
        found = _at_once(_once(step, made, trace), made, unknown, trace)
        made |= {out: found for out in found.outputs if out != ABSENT}
        if found.op == UNMODELLED or not unknown.isdisjoint(found.inputs):
            unknown.update(found.outputs)
        steps.append(found)
    return replace(trace, steps=tuple(steps))


def _once(step: Step, made: Mapping[int, Step], trace: Trace) -> Step:
    """What puts a tensor into a place, where nothing else was put there just before."""
    while step.op in _PUT_IN and (before := made.get(step.inputs[0])) is not None:
        same = (before.op, before.attrs, len(before.inputs)) == (step.op, step.attrs, len(step.inputs))
        if not same or trace.values[before.inputs[1]].shape != trace.values[step.inputs[1]].shape:
            break
        step = step._replace(inputs=(before.inputs[0], *step.inputs[1:]))
    return step


class _Place(NamedTuple):
    """Where a step puts its second input: so many places of one dimension."""

    dim: int
    start: int
    stop: int


def _at_once(step: Step, made: Mapping[int, Step], unknown: Set[int], trace: Trace) -> Step:
    """A step that fills the last place of a tensor that began as something unknown: what fills it, end to end."""
    if step.op != _SLICED or step.inputs[0] not in unknown:
        return step
    parts: dict[_Place, int] = {}
    link: Step | None = step
    while link is not None and (place := _place(link, trace)) is not None:
        if place not in parts:
            if link.inputs[1] in unknown or not all(_apart(place, other) for other in parts):
                break
            parts[place] = link.inputs[1]
        if sum(each.stop - each.start for each in parts) == trace.values[step.outputs[0]].shape[place.dim]:
            values = tuple(parts[each] for each in sorted(parts))
            attrs = (("dim", place.dim),) * bool(place.dim) + (("tensors_count", len(values)),)
            return Step("aten.cat", values, step.outputs, attrs, step.name.replace("slice_scatter", "cat", 1))
        link = made.get(link.inputs[0])
    return step


def _place(step: Step, trace: Trace) -> _Place | None:
    """Where `slice_scatter` puts numbers of the tensor's own type, if it does so in one piece."""
    if step.op != _SLICED or len({trace.values[value].dtype for value in (*step.inputs, *step.outputs)}) > 1:
        return None
    attrs, shape = dict(step.attrs), trace.values[step.outputs[0]].shape
    dim, start, stop = attrs.get("dim", 0), attrs.get("start", 0), attrs.get("end")
    if not (isinstance(dim, int) and isinstance(start, int) and isinstance(stop, int)) or attrs.get("step", 1) != 1:
        return None
    return _Place(dim, start, stop) if 0 <= dim < len(shape) and 0 <= start < stop <= shape[dim] else None


def _apart(one: _Place, other: _Place) -> bool:
    """Whether two places are none of each other's, of one dimension."""
    return one.dim == other.dim and (one.stop <= other.start or other.stop <= one.start)
