"""Where a careless reduction would break: other attributes that small or equal sizes would hide, each beside its right
twin. A stage is one node of the single-device plan and one parallel node that computes its share.
"""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from tests.builders import FAST, Builder, answer
from tests.tape import Tape
from verdict.graph import whole
from verdict.lineage import Signature, mean, meaning
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.transfer import Misfit, transfer
from verdict.ops import RULES
from verdict.outcome import Proved, Refuted, Unknown
from verdict.stage import Members, run


def decide(op, shapes, attrs, other=None, regions=None, dtypes=None, outputs=1, wanted=None):
    """The outcome of one stage: the node with `attrs`, whose share `regions` is computed with `other` attributes."""
    grads = outputs if op.endswith(".grad") else 0
    arity = len(shapes) - grads if grads else outputs
    signature = Signature(
        op=op,
        attrs=tuple(sorted(attrs.items())),
        shapes=tuple(shapes),
        dtypes=tuple(dtypes or ["float32"] * len(shapes)),
        columns=(NO_COLUMN,) * len(shapes),
        alias=tuple(range(len(shapes))),
        grads=grads,
        wanted=wanted or (True,) * arity,
        arity=arity,
    )
    own = tuple(sorted((attrs if other is None else other).items()))
    known = mean(signature, 1)
    assert not known.problem, known.problem
    member = transfer(known, own, tuple(regions or [whole(shape) for shape in shapes]), signature.wanted)
    if isinstance(member, Misfit):
        return member
    return run(Members(signature, (member,)), 1, FAST)


SCORES, MASK, CUBE = (2, 4, 128, 128), (1, 1, 128, 128), (4, 128, 128, 128)
TRAPS = [
    ("create_mask", [(2, 128), (2, 128, 8)], {}, {"start_pos": 1}),
    ("transpose", [CUBE], {"dim0": 1, "dim1": 2}, {"dim0": 1, "dim1": 3}),
    ("transpose", [CUBE], {"dim0": 1, "dim1": 2}, {"dim0": 2, "dim1": 3}),
    ("softmax", [SCORES], {"dim": -1}, {"dim": -2}),
    ("sum", [(2, 128, 128)], {"dim": (1,)}, {"dim": (2,)}),
    ("mean", [(2, 128, 128)], {"dim": (1,), "keepdim": True}, {"dim": (2,), "keepdim": True}),
    ("mean", [(2, 4096)], {"dim": (1,)}, {"dim": (1,), "count": 4}),
    ("mean", [(2, 4096)], {"dim": (1,)}, {"dim": (1,), "count": 2048}),
    ("pow", [(2, 8)], {"exponent": 2}, {"exponent": 1}),
    ("pow", [(2, 8)], {"exponent": 2}, {"exponent": 3}),
    ("add", [(2, 8)], {"other": 1e-5}, {"other": 1e-6}),
    ("add", [(2, 8)], {"other": 1e-5}, {"other": 2.0}),
    ("sub", [(2, 8)], {"other": 1.0}, {"other": 1.0, "reflected": True}),
    ("div", [(2, 8)], {"other": 11.313708498984761}, {"other": 11.31370849898476}),
    ("layernorm", [(2, 64), (64,), (64,)], {"normalized_shape": (64,)}, {"normalized_shape": (64,), "eps": 1e-6}),
    ("layernorm", [(2, 64), (64,), (64,)], {"normalized_shape": (64,)}, {"normalized_shape": (64,), "count": 32}),
    ("embedding", [(2, 5), (64, 6)], {}, {"start": 1, "stop": 65}),
    ("mean.grad", [(2, 1), (2, 4096)], {"dim": (1,), "keepdim": True}, {"dim": (1,), "keepdim": True, "count": 2048}),
    ("pow.grad", [(2, 8), (2, 8)], {"exponent": 2}, {"exponent": 3}),
]


def dtypes_of(op, shapes):
    ids = int(op.endswith(".grad"))
    return ["int64" if op.startswith("embedding") and position == ids else "float32" for position in range(len(shapes))]


@pytest.mark.parametrize(("op", "shapes", "attrs", "other"), TRAPS)
def test_the_same_attributes_are_proved_and_others_are_not(op, shapes, attrs, other):
    dtypes = dtypes_of(op, shapes)
    assert isinstance(decide(op, shapes, attrs, dtypes=dtypes), Proved)
    assert not isinstance(decide(op, shapes, attrs, other, dtypes=dtypes), Proved)


SAME_SHAPE = ("create_mask", "softmax", "pow", "add", "layernorm", "pow.grad")
REFUTABLE = [trap for trap in TRAPS if trap[0] in SAME_SHAPE]


@pytest.mark.parametrize(("op", "shapes", "attrs", "other"), REFUTABLE)
def test_another_attribute_at_one_shape_is_refuted_with_numbers(op, shapes, attrs, other):
    outcome = decide(op, shapes, attrs, other)
    assert isinstance(outcome, Refuted)
    assert outcome.mismatches


def test_a_slice_of_a_mean_needs_the_divisor_of_the_whole():
    """Each of two ranks has half of what the mean runs over."""

    def half(**attrs):
        return decide("mean", [(2, 4096)], {"dim": (1,)}, {"dim": (1,), **attrs}, [((0, 2), (0, 2048))])

    assert isinstance(half(count=4096), Proved)
    assert isinstance(half(), Refuted)
    assert isinstance(half(count=2), Refuted)


def test_a_slice_of_a_vocabulary_needs_its_own_range():
    def second_half(**attrs):
        regions = [((0, 2), (0, 5)), ((32, 64), (0, 6))]
        return decide("embedding", [(2, 5), (64, 6)], {}, attrs, regions, ["int64", "float32"])

    assert isinstance(second_half(start=32, stop=64), Proved)
    assert not isinstance(second_half(start=0, stop=32), Proved)
    assert not isinstance(second_half(), Proved)


def test_padding_takes_a_row_out_of_the_gradient():
    def looked_up(wanted, other):
        shapes, kinds = [(2, 5, 6), (2, 5), (64, 6)], ["float32", "int64", "float32"]
        return decide("embedding.grad", shapes, {}, other, None, kinds, wanted=wanted)

    assert isinstance(looked_up((False, True), {}), Proved)
    assert isinstance(looked_up((False, True), {"padding_idx": 3}), Refuted)
    assert isinstance(looked_up((True, True), {}), Unknown)


def test_a_rotation_may_be_cut_between_pairs_only():
    q, freqs = (2, 4, 3, 12), (4, 6)
    dtypes = ["float32", "float32", "complex64"]

    def cut(features, frequencies):
        heads = (*whole(q)[:3], features)
        regions = [heads, heads, ((0, 4), frequencies)]
        return decide("apply_rotary_emb", [q, q, freqs], {}, {}, regions, dtypes, 2)

    assert isinstance(cut((0, 12), (0, 6)), Proved)
    assert isinstance(cut((6, 12), (3, 6)), Proved)
    assert isinstance(cut((6, 12), (0, 3)), Misfit)
    assert isinstance(cut((3, 9), (1, 4)), Misfit)


def test_pairs_of_neighbours_are_not_pairs_of_halves():
    """At a width of two both are one pair: reduction leaves more."""
    right = RULES["apply_rotary_emb"]

    def halves(x):
        return np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)

    def forward(inputs, attrs):
        q, k, freqs = inputs
        if attrs.get("halves"):
            width = q.shape[-1] // 2
            q, k = (np.stack([x[..., :width], x[..., width:]], axis=-1).reshape(x.shape) for x in (q, k))
            return tuple(halves(y) for y in right.forward([q, k, freqs], {}))
        return right.forward(inputs, {})

    planted = replace(right, axes=lambda shapes, attrs: right.axes(shapes, {}), forward=forward, attributes=("halves",))
    shapes, dtypes = [(2, 4, 3, 12), (2, 4, 3, 12), (4, 6)], ["float32", "float32", "complex64"]
    with patch.object(meaning, "RULES", {**RULES, "apply_rotary_emb": planted}):
        for style in ({}, {"halves": True}):
            assert isinstance(decide("apply_rotary_emb", shapes, style, style, None, dtypes, 2), Proved)
        outcome = decide("apply_rotary_emb", shapes, {}, {"halves": True}, None, dtypes, 2)
    assert isinstance(outcome, Refuted)


def test_a_causal_mask_is_not_a_window():
    """Both let position 1 see 0 and 1; with two positions they are one mask."""
    right = RULES["create_mask"]

    def forward(inputs, attrs):
        (mask,) = right.forward(inputs, {})
        if attrs.get("window"):
            position = np.arange(mask.shape[-1])
            mask = mask.copy()
            mask[..., position[None, :] < position[:, None] - 1] = -np.inf
        return (mask,)

    planted = replace(right, axes=lambda shapes, attrs: right.axes(shapes, {}), forward=forward, attributes=("window",))
    shapes = [(2, 128), (2, 128, 8)]
    with patch.object(meaning, "RULES", {**RULES, "create_mask": planted}):
        assert isinstance(decide("create_mask", shapes, {}), Proved)
        assert isinstance(decide("create_mask", shapes, {}, {"window": True}), Refuted)


def biased(tp=1, cut="rows"):
    """A linear with a bias. Cut by rows each rank has its own biases; cut by columns each would add all of them."""
    b = Builder(tp)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        rows, columns = (t.cut(6), (0, 8)) if cut == "rows" else ((0, 6), t.cut(8))
        x = t.input("x", (4, 8), ((0, 4), columns))
        w, bias = t.weight("w", (6, 8), (rows, columns)), t.weight("bias", (6,), (rows,))
        y = t.op("linear", [x, w, bias], "y", (4, 6), ((0, 4), rows))
        y = t.total(y) if tp > 1 and cut == "columns" else y
        loss = t.op("sum", [t.op("silu", [y], "s", (4, 6), ((0, 4), rows))], "loss", (1,))
        loss = t.total(loss) if tp > 1 and cut == "rows" else loss
        b.loss(device, loss)
        t.declare(t.backward(loss))
    return b.plan()


def test_a_bias_is_added_once():
    assert answer(biased(), biased(2)) == "PROVED"
    assert answer(biased(), biased(2, "columns")) == "REFUTED"


def merged(turned=False, batch=2):
    """Batch and sequence flattened, then weighted by position in the flat order."""
    b = Builder()
    t = Tape(b, 0, [0])
    x = t.input("x", (batch, 3, 4))
    x = t.op("mul", [x, t.weight("w", (4,))], "y", (batch, 3, 4))
    if turned:
        x = t.op("transpose", [x], "turned", (3, batch, 4), dim0=0, dim1=1)
    flat = t.op("view", [x], "flat", (3 * batch, 4), size=(3 * batch, 4))
    weighted = t.op("mul", [flat, t.weight("v", (3 * batch, 4))], "z", (3 * batch, 4))
    loss = t.op("sum", [weighted], "loss", (1,))
    b.loss(0, loss)
    t.declare(t.backward(loss))
    return b.plan()


def test_two_axes_flattened_in_the_other_order():
    assert answer(merged(), merged()) == "PROVED"
    assert answer(merged(), merged(turned=True)) != "PROVED"


def test_the_same_node_of_whole_tensors_needs_no_symbols():
    """A table of 8,192 rows is too large to be executed; the parallel node is the single-device one."""
    whole_rows, part = [((0, 8192), (0, 128))], [((0, 4096), (0, 128))]
    assert isinstance(decide("aten.roll", [(8192, 128)], {"shifts": (1,)}, None, whole_rows), Proved)
    assert not isinstance(decide("aten.roll", [(8192, 128)], {"shifts": (1,)}, None, part), Proved)
