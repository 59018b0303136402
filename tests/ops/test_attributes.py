"""Every rule against torch at attributes drawn widely: signs, zeros, crossed bounds, thresholds in the midst of values.

A rule equals torch there, or refuses. torch's own choice of what it computes of what is not finite is left out.
"""

import warnings

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")
pytest.importorskip("hypothesis", reason="hypothesis draws the cases; it is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ops.aten_cases import NODES, Node, inside, nonzero, positive, real
from tests.ops.terms import to_floats, to_fractions, to_terms
from tests.ops.test_aten import given as as_numbers
from tests.ops.test_aten import run
from verdict.backends.torch.arguments import operator
from verdict.errors import ShapeError
from verdict.ops import RULES

EXAMPLES = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
REALS = st.sampled_from([-2.5, -1, -0.5, 0, 0.125, 0.5, 1, 2, 3, 20])
VALUES = np.array([-30, -3, -2, -1.5, -1, -0.75, -0.5, -0.125, 0, 0, 0.125, 0.5, 0.75, 1, 1, 1.5, 2, 3, 30.0])
"""Multiples of 1/8 that meet the attributes, on both sides of zero."""
SIZES = frozenset({"N", "C", "HxW", "group", "num_weights", "start", "end", "step", "length", "split_size"})
"""What cannot be drawn by itself: torch would read beyond its memory, or make a tensor of another size."""
APART = frozenset({"absent", "masks", "dtype", "input_dtype", "output_mask", "half_to_float", "training"})
UNFIT = (*("as_strided", "scatter", "index_put", "gather", "flash_attention", "embedding_dense_backward"), "nll_loss")
UNFIT += ("_linalg_eigh", "_linalg_svd")
"""Where attributes name places in tensors, what is not finite is left to chance, or a sign: held by other tests."""
ROUNDED = ("floor_divide", "_mode", "remainder")
"""Quotients that floats round to the wrong side of an integer; only wholes are drawn."""
TIED = ("linalg_lu",)
"""What takes the row of the greatest element. Of numbers with few digits two may be as great: floats take either."""
POLES = ("polygamma",)
"""Where gamma has a pole torch makes some great number, and the rule none."""
NUMERIC = {real, positive, nonzero, inside}
ASKED = [node for node in NODES if not any(word in node.op for word in UNFIT)]


def attribute(draw, name, value, whole):
    """Another value for an attribute, of the kind that it has."""
    if value is None or name in APART or name in SIZES or name.endswith("_count") or isinstance(value, tuple):
        return value
    if name == "approximate":
        return draw(st.sampled_from(["none", "tanh"]))
    if name == "rounding_mode":
        return draw(st.sampled_from(["floor", "trunc", None]))
    if name == "reduction":
        return value
    if isinstance(value, bool):
        return draw(st.booleans())
    if name in ("dim", "dim0", "dim1", "dim2", "diagonal", "offset", "index", "k", "n", "correction"):
        return draw(st.sampled_from([value, value - 1, value + 1, 0, -1]))
    if isinstance(value, int | float):
        return draw(st.integers(1, 4)) if whole else draw(REALS)
    return value


def drawn(draw, node):
    """The node with other attributes, those with defaults too, and with values that meet them."""
    whole = any(word in node.op for word in ROUNDED)
    known = dict(node.attrs)
    for argument in operator(node.op)._schema.arguments:
        default = argument.default_value if argument.has_default_value() else None
        if argument.name in RULES[node.op].attributes and isinstance(default, int | float | str):
            known.setdefault(argument.name, default)
    attrs = {name: attribute(draw, name, value, whole) for name, value in known.items()}
    bounds = [name for name in ("min", "max") if name in known and draw(st.booleans())]
    attrs.update({name: draw(REALS) for name in bounds})
    wide = draw(st.booleans()) and not whole and not any(word in node.op for word in TIED + POLES)
    fills = tuple(spread if wide and fill in NUMERIC else fill for fill in node.fills)
    return Node(node.op, node.shapes, attrs, fills)


def spread(rng, shape):
    return np.asarray(rng.choice(VALUES, shape))


@pytest.mark.parametrize("node", ASKED, ids=lambda node: f"{node.op}{node.shapes}")
@EXAMPLES
@given(data=st.data())
def test_torch_at_other_attributes(node, data):
    asked = drawn(data.draw, node)
    inputs = [np.asarray(x) for x in asked.inputs(data.draw(st.integers(0, 2**20)))]
    try:
        shapes = RULES[node.op].axes(asked.shapes, asked.attrs).output_shapes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = run(asked, inputs)
    except (ShapeError, RuntimeError, IndexError, TypeError, ValueError):
        return
    assert shapes == tuple(y.shape for y in expected)
    finite = all(np.isfinite(y.astype(np.float64)).all() for y in expected)
    for convert in (np.asarray, to_fractions, to_terms) if finite else (np.asarray,):
        with np.errstate(all="ignore"):
            found = RULES[node.op].forward([convert(x) for x in as_numbers(inputs)], asked.attrs)
        for y, due in zip(found, expected, strict=True):
            wanted = due.astype(np.float64)
            there = np.isfinite(wanted)
            np.testing.assert_allclose(to_floats(y)[there], wanted[there], rtol=1e-5, atol=1e-6)
