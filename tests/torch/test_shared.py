"""What depends on no input is in a recording once; what an input reaches, and what has a name, stays as it is."""

import pytest

pytest.importorskip("torch")

from verdict.backends.torch.trace import UNMODELLED, Bound, Step, Trace, Value, shared

VALUE = Value((2,), "float32")


def step(op, inputs, output, keep=False):
    return Step(op, inputs, (output,), (("end", 2),) if op == "aten.arange" else (), f"step {output}", keep)


def trace(steps, bound):
    return Trace(
        0, 1, (VALUE,) * 9, tuple(steps), tuple(Bound(kind, kind, value, (2,), ((0, 2),)) for kind, value in bound)
    )


def test_tables_of_two_layers_are_one():
    steps = [
        step("aten.arange", (), 1), step("aten.cos", (1,), 2), step("aten.mul.Tensor", (0, 2), 3),
        step("aten.arange", (), 4), step("aten.cos", (4,), 5), step("aten.mul.Tensor", (0, 5), 6),
    ]  # fmt: skip
    found = shared(trace(steps, [("input", 0), ("loss", 6)])).steps
    assert [(each.op, each.inputs) for each in found] == [
        ("aten.arange", ()), ("aten.cos", (1,)), ("aten.mul.Tensor", (0, 2)), ("aten.mul.Tensor", (0, 2)),
    ]  # fmt: skip


def test_what_is_not_known_or_has_a_name_stays():
    steps = [
        step(UNMODELLED, (), 1), step(UNMODELLED, (), 2), step("aten.arange", (), 3), step("aten.arange", (), 4),
        step("all_reduce", (3,), 5), step("all_reduce", (3,), 6),
    ]  # fmt: skip
    assert shared(trace(steps, [("output", 4)])).steps == tuple(steps)
