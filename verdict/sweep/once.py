"""What is written once is added up: into zeros, at places that an order or a choice of the greatest makes.

No place is there twice, so that nothing is written over. As a sum, zeros that stand beside what is written (the
gradient of elements that are not among the first, of a row that one plan sorts and the other chooses from) add nothing,
whichever places these are: all of them are places of the row. They are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verdict.graph import ABSENT
from verdict.ops import FACTS
from verdict.ops.orders import distinct, hands_on, padding, written
from verdict.sweep.flow import Flow, Step, apply
from verdict.sweep.values import Values


@dataclass(slots=True)
class _Known:
    """zeros: values that are zero everywhere. places: those of which no row holds a place twice, with the dimension.
    padded: those that are others between zeros, with that dimension and what takes the others.
    """

    values: Values
    zeros: set[int] = field(default_factory=set)
    places: dict[int, int] = field(default_factory=dict)
    padded: dict[int, tuple[int, int, str, Mapping[str, Any]]] = field(default_factory=dict)

    def along(self, dim: int, value: int) -> int:
        """A dimension of a value, counted from the first."""
        array = self.values[0][value]
        return dim % max(1, 0 if array is None else array.ndim)

    def note(self, step: Step) -> None:
        """Note what a step makes."""
        found, put = distinct(step.op, step.attrs), padding(step.op, step.attrs)
        if FACTS.makes_zeros(step.op, len(step.inputs), step.attrs):
            self.zeros.update(step.outputs)
        elif found is not None and step.outputs[found[0]] != ABSENT:
            self.places[step.outputs[found[0]]] = self.along(found[1], step.outputs[found[0]])
        elif hands_on(step.op) and step.inputs[0] in self.places:
            self.places[step.outputs[0]] = self.places[step.inputs[0]]
        elif put is not None:
            self.padded[step.outputs[0]] = (step.inputs[0], self.along(put[0], step.outputs[0]), *put[1:])


def once(flow: Flow, values: Values) -> tuple[Flow, Values]:
    """The same flow, in which such steps add, with its values on the same seeds."""
    known = _Known([list(each) for each in values])
    steps: list[Step] = []
    for step in flow.steps:
        known.note(step)
        steps += _adding(step, known)
    return replace(flow, steps=tuple(steps), values=len(known.values[0])), known.values


def _adding(step: Step, known: _Known) -> list[Step]:
    """Steps that add in place of one that writes, where that is one."""
    found = written(step.op, step.attrs)
    if found is None or step.grads or ABSENT in step.inputs or step.inputs[0] not in known.zeros:
        return [step]
    zeros, index, source = step.inputs
    dim = known.along(found[0], index)
    if known.places.get(index) != dim:
        return [step]
    inner = known.padded.get(source)
    if inner is None or inner[1] != dim or _shape(known, source) != _shape(known, index):
        return [step._replace(op=found[1])]
    part = len(known.values[0])
    taken = Step(inner[2], (index,), (part,), inner[3], 0, step.place)
    for each in known.values:
        array = each[index]
        each.append(None if array is None else np.asarray(apply(taken, [array])[0], dtype=np.float64))
    return [taken, step._replace(op=found[1], inputs=(zeros, part, inner[0]))]


def _shape(known: _Known, value: int) -> tuple[int, ...]:
    array = known.values[0][value]
    return () if array is None else array.shape
