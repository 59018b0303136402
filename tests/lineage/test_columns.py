"""What one column of the batch makes of an operator, and what the reference keeps of the single-device plan."""

import pytest

from tests.builders import BACKWARD, Builder, mlp
from verdict.graph import GRADIENT, INPUT, WEIGHT
from verdict.lineage import bind, reference
from verdict.lineage.columns import NO_COLUMN, SUMMED, flow
from verdict.ops import RULES


def through(op, shapes, columns, **attrs):
    axes = RULES[op].axes(shapes, attrs)
    return flow(axes, tuple(zip(axes.inputs, columns, strict=True)), axes.outputs, linear=True)


@pytest.mark.parametrize(
    ("op", "shapes", "columns", "attrs", "outputs"),
    [
        ("linear", ((8, 6), (5, 6)), (0, NO_COLUMN), {}, (0,)),
        ("transpose", ((8, 6),), (0,), {"dim0": 0, "dim1": 1}, (1,)),
        ("sum", ((8, 6),), (0,), {}, (SUMMED,)),
        ("sum", ((8, 6),), (0,), {"dim": (1,)}, (0,)),
        ("mul", ((8, 6), (6,)), (0, NO_COLUMN), {}, (0,)),
        ("mul", ((6,),), (SUMMED,), {"other": 2.0}, (SUMMED,)),
        ("relu", ((6,),), (NO_COLUMN,), {}, (NO_COLUMN,)),
        ("create_mask", ((8, 4), (8, 4, 6)), (0, 0), {}, (NO_COLUMN,)),
        ("view", ((8, 4, 6),), (0,), {"size": (32, 6)}, (0,)),
    ],
)
def test_columns_flow(op, shapes, columns, attrs, outputs):
    found = through(op, shapes, columns, **attrs)
    assert not isinstance(found, str), found
    assert found.outputs == outputs


@pytest.mark.parametrize(
    ("op", "shapes", "columns", "attrs"),
    [
        ("softmax", ((8, 6),), (0,), {"dim": 0}),
        ("mul", ((8, 6), (8, 6)), (0, NO_COLUMN), {}),
        ("mul", ((8, 6), (8, 6)), (0, 1), {}),
        ("matmul", ((8, 8), (8, 8)), (0, 0), {}),
        ("view", ((4, 8, 6),), (1,), {"size": (32, 6)}),
        ("layernorm", ((8, 6), (6,), (6,)), (1, NO_COLUMN, NO_COLUMN), {"normalized_shape": (6,)}),
    ],
)
def test_what_a_column_alone_cannot_tell_has_a_reason(op, shapes, columns, attrs):
    assert isinstance(through(op, shapes, columns, **attrs), str)


def test_a_sum_over_the_batch_that_is_read_as_a_whole_is_the_same_for_all_columns():
    axes = RULES["mul"].axes(((6,), (6,)), {})
    squared = flow(axes, tuple(zip(axes.inputs, (SUMMED, SUMMED), strict=True)), axes.outputs, False)
    assert (squared.outputs, squared.by_summand) == ((NO_COLUMN,), False)
    joined = through("add", ((8, 6), (6,)), (0, SUMMED))
    assert (joined.outputs, joined.by_summand) == ((0,), False)
    assert through("mul", ((6,),), (SUMMED,), other=2.0).by_summand


def table(plan, columns=1, axis=None):
    single = next(k for k, logical in enumerate(plan.logicals) if logical.kind == INPUT)
    return reference(plan, columns, {single: axis})


def test_copies_vanish_and_equal_nodes_are_one():
    b = Builder()
    x = b.tensor("x", (4, 6), INPUT)
    b.op(0, "dataloader", [], [x])
    one, two = (b.tensor(f"x{k}", (4, 6)) for k in (1, 2))
    b.op(0, "multiref", [x], [one, two], times=2)
    three = b.op(0, "contiguous", [b.op(0, "identity", [two], [b.tensor("x3", (4, 6))])], [b.tensor("x4", (4, 6))])
    first = b.op(0, "relu", [one], [b.tensor("y", (4, 6))])
    second = b.op(0, "relu", [three], [b.tensor("z", (4, 6))])
    third = b.op(0, "silu", [three], [b.tensor("v", (4, 6))])
    values = table(b.plan()).values
    assert values[x] == values[one] == values[three]
    assert values[first] == values[second] != values[third]


def test_equal_inputs_with_other_attributes_are_two():
    b = Builder()
    x = b.tensor("x", (4, 6), INPUT)
    b.op(0, "dataloader", [], [x])
    ones = [b.op(0, "mul", [x], [b.tensor(f"y{k}", (4, 6))], other=other) for k, other in enumerate((2.0, 2.0, 3.0))]
    values = table(b.plan()).values
    assert values[ones[0]] == values[ones[1]] != values[ones[2]]


def added(*trees):
    """The value of the sum of three gradients, added up by `trees` of their numbers."""
    b = Builder()
    x, w = b.tensor("x", (4, 6), INPUT), b.tensor("w", (6,), WEIGHT)
    b.op(0, "dataloader", [], [x])
    grads = []
    for k in range(3):
        y = b.op(0, "mul", [x, w], [b.tensor(f"y{k}", (4, 6))])
        z = b.op(0, "mul", [y], [b.tensor(f"z{k}", (4, 6))], other=float(k + 2))
        dz = b.op(0, "sum.grad", [b.seed(), z], [b.tensor(f"z{k}.grad", (4, 6), GRADIENT)], BACKWARD)
        dy = b.tensor(f"y{k}.grad", (4, 6), GRADIENT)
        grads.append(b.op(0, "mul.grad", [dz, y], [dy], BACKWARD, other=float(k + 2)))

    def total(tree):
        if isinstance(tree, int):
            return grads[tree]
        return b.op(0, "accumulate", [total(t) for t in tree], [b.tensor("sum", (4, 6), GRADIENT)], BACKWARD)

    last = total(trees)
    return table(b.plan()).values[last]


def test_gradients_are_formal_sums_whatever_the_tree_that_adds_them():
    assert added((0, 1), 2) == added(0, (2, 1)) == added(0, 1, 2)
    assert len(added(0, 1, 2)) == 3
    assert added(0, 1, 1) != added(0, 1, 2)


def test_the_columns_of_an_mlp():
    found = table(mlp(), 2, 0)
    columns = {base.name: base.column for base in found.bases}
    shapes = {base.name: found.column_shape(k) for k, base in enumerate(found.bases)}
    assert columns["w0"] == columns["scale"] == columns["loss.grad"] == NO_COLUMN
    assert columns["x"] == columns["h"] == columns["xs.grad"] == 0
    assert columns["loss"] == columns["w0.grad"] == columns["scale.grad"] == SUMMED
    assert (shapes["h"], shapes["w0"], shapes["loss"]) == ((4, 12), (12, 6), (1,))


def test_the_batch_axis_is_found_by_comparing_the_plans():
    binding = bind(mlp(), mlp(dp=2, nm=2))
    assert set(binding.batch.values()) == {0}
    assert binding.findings == ()
    wrong = bind(mlp(batch=16), mlp(dp=2))
    assert [finding.code for finding in wrong.findings] == ["batch-mismatch"]
    assert bind(mlp(), mlp()).findings == ()
