"""Every HLO rule: the same on floats, on exact numbers and on terms, and the laws of its axes.

What floats are is held against jax, in tests/backends/hlo/test_against_jax.py.
"""

import numpy as np
import pytest

from tests.ops.aten_cases import Node, truth, whole
from tests.ops.harness import Case, check_laws, nonzero, positive, real, same
from tests.ops.terms import to_fractions, to_terms
from verdict.errors import ShapeError
from verdict.ops import RULES

HLO = sorted(name for name in RULES if name.startswith("hlo."))


def node(op, *shapes, fill=real, **attrs):
    fills = fill if isinstance(fill, tuple) else (fill,) * len(shapes)
    return Node(f"hlo.{op}", shapes, attrs, fills)


def far(rng, shape):
    """Integers from -3 to 8: starts, many of them outside."""
    return rng.integers(-3, 9, shape)


def bits(rng, shape):
    """Integers of 32 bits without a sign, as they are no numbers that are infinite."""
    return rng.integers(0, 0x7F000000, shape)


def shift(rng, shape):
    """By how many bits, some of them all."""
    return rng.integers(0, 35, shape)


ROWS = {"start_map": (0,), "index_vector": 1}
WHERE = (real, far, real)
NODES = (
    *(node(op, (2, 3), (2, 3)) for op in ("add", "subtract", "multiply", "maximum", "minimum")),
    node("divide", (2, 3), (2, 3), fill=(real, nonzero)),
    node("divide", (4,), (4,), fill=(whole, lambda rng, shape: rng.integers(1, 4, shape)), rounding="trunc"),
    node("remainder", (6,), (6,), fill=(whole, lambda rng, shape: rng.choice([-3, -2, 2, 5], shape))),
    node("power", (3,), (3,), fill=(positive, real)),
    *(node(op, (2, 3)) for op in ("negate", "abs", "sign", "exponential", "exponential_minus_one", "logistic")),
    *(node(op, (2, 3)) for op in ("tanh", "erf", "sine", "cosine", "copy")),
    *(node(op, (2, 3)) for op in ("floor", "ceil", "round_nearest_even")),
    *(node(op, (2, 3), fill=positive) for op in ("log", "log_plus_one", "sqrt", "rsqrt")),
    *(node("compare", (2, 3), (2, 3), direction=way) for way in ("LT", "LE", "GT", "GE", "EQ", "NE")),
    *(node(op, (2, 3), (2, 3), fill=truth) for op in ("and", "or", "xor")),
    node("not", (2, 3), fill=truth),
    *(node(f"bits_{op}", (2, 3), (2, 3), fill=bits) for op in ("and", "or", "xor")),
    *(node(op, (2, 3), (2, 3), fill=(bits, shift), width=32) for op in ("shift_left", "shift_right_logical")),
    node("bitcast_convert", (2, 3), fill=bits, dtype="float32"),
    node("select", (2, 3), (2, 3), (2, 3), fill=(truth, real, real)),
    node("select", (), (2, 3), (2, 3), fill=(truth, real, real)),
    node("is_finite", (2, 3)),
    node("topk", (2, 4), k=3),
    node("topk", (2, 3), k=2, largest=False),
    node("sort", (3, 2), dim=0),
    node("sort", (2, 3), (2, 3), (2, 3), dim=1, descending=True, fill=(real, whole, real)),
    node("clamp", (), (2, 3), ()),
    node("clamp", (2, 3), (2, 3), (2, 3)),
    node("convert", (2, 3), dtype="float32"),
    node("convert", (2, 3), dtype="int32"),
    node("convert", (2, 3), dtype="uint8", saturate=True),
    node("convert", (2, 3), dtype="bool"),
    node("broadcast", (2, 3), size=(3, 4, 2), dims=(2, 0)),
    node("broadcast", (), size=(3, 4), dims=()),
    node("reshape", (2, 6), size=(4, 3)),
    node("transpose", (2, 3, 4), dims=(2, 0, 1)),
    node("slice", (4, 6), starts=(1, 0), limits=(4, 5), strides=(2, 3)),
    node("slice", (4, 6), starts=(0, 1), limits=(4, 5), strides=(1, 3)),
    node("reverse", (2, 3, 4), dims=(0, 2)),
    node("reverse", (2, 3, 4), dims=(-1,)),
    node("update_slice", (4, 5), (2, 3), starts=(1, 2)),
    node("update_slice", (4, 5), (4, 3), starts=(0, 2)),
    node("concatenate", (2, 3), (2, 2), dim=1),
    node("constant", shape=(2, 2), values=(1, 2, 3, 4), dtype="int32"),
    node("iota", size=(2, 3), dim=1, dtype="int32"),
    node("pad", (3, 4), (), low=(1, -1), high=(0, 2), interior=(1, 0)),
    node("pad", (3, 4), (), low=(0, 1), high=(0, -1), interior=(0, 0)),
    node(
        "dot", (3, 2, 4), (4, 3, 5), lhs_batch=(0,), rhs_batch=(1,), lhs_contracting=(2,), rhs_contracting=(0,)
    ),
    node(
        "dot", (3, 4, 2), (3, 5, 4), lhs_batch=(), rhs_batch=(), lhs_contracting=(0, 1), rhs_contracting=(0, 2)
    ),
    *(node(f"reduce_{word}", (2, 3, 4), dim=(0, 2)) for word in ("add", "maximum", "minimum")),
    *(node(f"reduce_{word}", (2, 3, 4), dim=(1,), fill=truth) for word in ("and", "or")),
    node("dynamic_slice", (4, 6), (), (), fill=(real, far, far), sizes=(2, 3)),
    node("dynamic_slice", (4, 6), (), (), fill=(real, far, far), sizes=(4, 3)),
    node("dynamic_update_slice", (4, 5), (2, 3), (), (), fill=(real, real, far, far)),
    node("dynamic_update_slice", (4, 6), (4, 3), (), (), fill=(real, real, far, far)),
    node("gather", (5, 3), (4, 1), fill=(real, far), offset=(1,), collapsed=(0,), sizes=(1, 3), **ROWS),
    node("gather", (5, 3), (4, 2), fill=(real, far), offset=(0, 2), collapsed=(), sizes=(2, 2), start_map=(1, 0),
         index_vector=1),
    node("gather", (5, 3), (1,), fill=(real, far), offset=(0, 1), collapsed=(), sizes=(2, 3), start_map=(0,),
         index_vector=0),
    node("scatter", (5, 3), (1,), (2, 3), fill=WHERE, window=(0, 1), inserted=(), start_map=(0,), index_vector=0),
    *(node(op, (5, 3), (4, 1), (4, 3), fill=WHERE, window=(1,), inserted=(0,), **ROWS) for op in ("scatter_add",
      "scatter", "scatter_maximum", "scatter_minimum")),
)  # fmt: skip
per_node = pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.op}{node.shapes}")


def given(inputs):
    """Inputs as a rule gets them: truth values are numbers."""
    return [np.asarray(x).astype(np.int64) if np.asarray(x).dtype == bool else np.asarray(x) for x in inputs]


def test_every_rule_has_nodes():
    assert {node.op for node in NODES} == set(HLO)


@per_node
def test_fractions_and_terms_mean_the_same_as_floats(node):
    inputs = given(node.inputs(2))
    rule = RULES[node.op]
    expected = rule.forward(inputs, node.attrs)
    assert rule.axes(node.shapes, node.attrs).output_shapes == tuple(y.shape for y in expected)
    for convert in (to_fractions, to_terms):
        found = rule.forward([convert(x) for x in inputs], node.attrs)
        for k, (y, wanted) in enumerate(zip(found, expected, strict=True)):
            same(y, np.asarray(wanted, dtype=np.float64), f"output {k} of {convert.__name__}")


@per_node
def test_laws(node):
    fills = tuple(lambda rng, shape, fill=fill: given([fill(rng, shape)])[0] for fill in node.fills)
    axes = RULES[node.op].axes(node.shapes, node.attrs)
    check_laws(RULES[node.op], Case(node.shapes, node.attrs, fills), {a.name: [a.size // 2] for a in axes.atoms})


@per_node
def test_unknown_attributes_are_refused(node):
    with pytest.raises(ShapeError, match="unknown attribute colour"):
        RULES[node.op].axes(node.shapes, {**node.attrs, "colour": 1})


def test_nothing_is_broadcast():
    with pytest.raises(ShapeError, match="they must be equal"):
        RULES["hlo.add"].axes([(2, 3), (3,)], {})
    with pytest.raises(ShapeError, match="they must be equal"):
        RULES["hlo.multiply"].axes([(2, 3), (1, 3)], {})
