"""Buffers of several pieces: what is computed of them element by element is computed in pieces, and is the same."""

import numpy as np
import pytest

from verdict.sweep.apart import apart
from verdict.sweep.flow import CONCATENATE, PIECE, SUM, Flow, Place, Step, apply

SCALE = "aten.mul.Tensor"
HERE = Place(0, 0, "here")
PUT = {"start": 2, "end": 5}


def step(op, inputs, made, attrs=None, grads=0):
    return Step(op, inputs, (made,), attrs or {}, grads, HERE)


JOINED = (step(CONCATENATE, (0, 1), 2, {"axis": 0}), step(SCALE, (2,), 3, {"other": 2}), step(SUM, (3, 2), 4))
PUT_IN = (step("aten.slice_scatter", (2, 0), 3, PUT), step(SCALE, (3,), 4, {"other": 2}))
TAKEN = (step(CONCATENATE, (0, 1), 2, {"axis": 0}), step(PIECE, (2,), 3, {"axis": 0, "start": 1, "stop": 5}),
         step(SCALE, (3,), 4, {"other": 2}))  # fmt: skip
ALONG = (step(CONCATENATE, (0, 1), 2, {"axis": 0}), step("aten.cumsum", (2,), 3, {"dim": 0}),
         step("aten._softmax", (2,), 4, {"dim": 0, "half_to_float": False}))  # fmt: skip
BESIDE = (step(CONCATENATE, (0, 1), 2, {"axis": 1}), step("aten.view", (2,), 3, {"size": (6,)}), step(SUM, (3, 3), 4))
FLOWS = {
    "joined": (JOINED, [(3,), (4,), (7,), (7,), (7,)], {SCALE: 2, SUM: 2}),
    "put in": (PUT_IN, [(3,), (1,), (7,), (7,), (7,)], {SCALE: 3}),
    "taken out": (TAKEN, [(3,), (4,), (7,), (4,), (4,)], {SCALE: 2}),
    "side by side": (BESIDE, [(2, 1), (2, 2), (2, 3), (6,), (6,)], {SUM: 4}),
    "along": (ALONG, [(3,), (4,), (7,), (7,), (7,)], {"aten.cumsum": 1, "aten._softmax": 1}),
}
"""Steps, the shapes of values, and how many steps of an operator there are then."""


def run(flow, given):
    held = dict(enumerate(given))
    for each in flow.steps:
        made = apply(each, [held[value] for value in each.inputs])
        held |= dict(zip(each.outputs, made, strict=True))
    return held


@pytest.mark.parametrize("name", FLOWS)
def test_what_is_computed_in_pieces_is_the_same(name):
    steps, shapes, counts = FLOWS[name]
    flow = Flow(len(shapes), (), steps, ())
    found = apart(flow, shapes)
    assert {op: sum(each.op == op for each in found.steps) for op in counts} == counts
    given = [np.arange(1.0, 1 + np.prod(shape)).reshape(shape) ** (k + 1) for k, shape in enumerate(shapes)]
    made = {value for each in steps for value in each.outputs}
    given = [np.zeros(0) if k in made else array for k, array in enumerate(given)]
    before, after = run(flow, given), run(found, given)
    assert found.values == max(after) + 1
    for value in made:
        np.testing.assert_array_equal(before[value], after[value])


def test_one_tensor_stays_in_one_piece():
    steps = (step(SCALE, (0,), 1, {"other": 2}), step(SUM, (1, 0), 2))
    flow = Flow(3, (), steps, ())
    assert apart(flow, [(6,), (6,), (6,)]) == flow
