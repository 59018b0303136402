"""Communication whose ends have unlike shapes: what is moved is memory, which each rank sees in a shape of its own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from verdict.backends.torch.trace import COMMUNICATION, Shape, Step, Trace, Value
from verdict.graph.effects import ASYNCHRONOUS

_ALIKE = frozenset({"all_reduce", "broadcast"})
"""Collectives in which each member puts in, or gets, as many elements as any other, one for one."""


class _Met(NamedTuple):
    """One rank's part in communication. at: the number of its step."""

    rank: int
    at: int


def fitted(traces: Sequence[Trace]) -> Sequence[Trace]:
    """The recordings, in which each message has the shape that its sender has it in, each broadcast its root's, and
    each all-reduce its first member's. Ranks that have as many elements in another shape see these as such.
    """
    due: list[dict[int, Shape]] = [{} for _ in traces]
    for first, others in _meetings(traces):
        one = traces[first.rank].steps[first.at]
        sent = traces[first.rank].values[(one.inputs or one.outputs)[0]]
        for rank, at in others:
            step = traces[rank].steps[at]
            seen = traces[rank].values[(step.outputs or step.inputs)[0]]
            alike = step.op == one.op or (one.op, step.op) == ("send", "recv")
            if alike and seen.shape != sent.shape and (prod(seen.shape), seen.dtype) == (prod(sent.shape), sent.dtype):
                due[rank][at] = sent.shape
    return [_seen(trace, shapes) if shapes else trace for trace, shapes in zip(traces, due, strict=True)]


def _meetings(traces: Sequence[Trace]) -> list[tuple[_Met, list[_Met]]]:
    """Whose shape communication has, and who else takes part in it."""
    messages: dict[tuple[int, int], tuple[list[_Met], list[_Met]]] = defaultdict(lambda: ([], []))
    groups: dict[tuple[int, ...], dict[int, list[_Met]]] = defaultdict(lambda: defaultdict(list))
    for rank, trace in enumerate(traces):
        for at, step in enumerate(trace.steps):
            if step.op not in COMMUNICATION:
                continue
            attrs: dict[str, Any] = dict(step.attrs)
            if step.op == "send":
                messages[rank, attrs["peer"]][0].append(_Met(rank, at))
            elif step.op == "recv":
                messages[attrs["peer"], rank][1].append(_Met(rank, at))
            else:
                groups[attrs["ranks"]][rank].append(_Met(rank, at))
    found = [(one, [other]) for sent, got in messages.values() for one, other in zip(sent, got, strict=False)]
    for members in groups.values():
        for met in zip(*members.values(), strict=False):
            one = traces[met[0].rank].steps[met[0].at]
            root = dict(one.attrs)["root"] if one.op == "broadcast" else met[0].rank
            first = next((each for each in met if each.rank == root), met[0])
            found += [(first, [each for each in met if each != first])] if one.op in _ALIKE else []
    return found


def _seen(trace: Trace, shapes: dict[int, Shape]) -> Trace:
    """`trace` whose communication has these shapes, by the numbers of its steps; what goes on beside others stays."""
    values, steps = list(trace.values), list[Step]()

    def view(value: int, shape: Shape, name: str) -> Step:
        values.append(Value(shape, values[value].dtype))
        return Step("aten.view", (value,), (len(values) - 1,), (("size", shape),), name)

    for at, step in enumerate(trace.steps):
        if at not in shapes or dict(step.attrs).get(ASYNCHRONOUS):
            steps.append(step)
            continue
        before = [view(value, shapes[at], step.name) for value in step.inputs]
        made = []
        for value in step.outputs:
            values.append(Value(shapes[at], values[value].dtype))
            made.append(len(values) - 1)
        steps += [*before, step._replace(inputs=tuple(each.outputs[0] for each in before), outputs=tuple(made))]
        for value, found in zip(step.outputs, made, strict=True):
            steps.append(Step("aten.view", (found,), (value,), (("size", values[value].shape),), step.name))
    return replace(trace, values=tuple(values), steps=tuple(steps))
