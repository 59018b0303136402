"""What reduction may do to a node: atoms, least sizes, cuts, and attributes at reduced shapes."""

import numpy as np
import pytest

from verdict.errors import ShapeError
from verdict.ops import RULES, Law, Scale
from verdict.ops.view import factor

EACH, SUM, WHOLE = Law.EACH, Law.SUM, Law.WHOLE


def _atoms(op, shapes, attrs=None):
    axes = RULES[op].axes(shapes, attrs or {})
    return {atom.name: (atom.size, atom.law, atom.least) for atom in axes.atoms}


def test_a_view_into_heads_splits_the_last_dimension():
    axes = factor((128, 128, 4096), (128, 128, 32, 128))
    assert [(atom.name, atom.size) for atom in axes.atoms] == [("v0", 128), ("v1", 128), ("v2", 32), ("v3", 128)]
    assert axes.inputs == ((("v0",), ("v1",), ("v2", "v3")),)
    assert axes.outputs == ((("v0",), ("v1",), ("v2",), ("v3",)),)


@pytest.mark.parametrize(
    ("source", "target", "inputs", "outputs"),
    [
        ((2, 3, 4), (6, 4), (("v0",), ("v1",), ("v2",)), (("v0", "v1"), ("v2",))),
        ((6, 20), (2, 3, 4, 5), (("v0", "v1"), ("v2", "v3")), (("v0",), ("v1",), ("v2",), ("v3",))),
        ((4, 6), (8, 3), (("v0",), ("v1", "v2")), (("v0", "v1"), ("v2",))),
        ((1, 2, 1), (2, 1), ((), ("v0",), ()), (("v0",), ())),
        ((1,), (1, 1), ((),), ((), ())),
        ((5, 42), (7, 5, 6), (("x0",), ("x1", "v0")), (("y0",), ("y1",), ("v0",))),
        ((5, 42), (7, 5, 2, 3), (("x0",), ("x1", "v1", "v0")), (("y0",), ("y1",), ("v1",), ("v0",))),
        ((4, 6), (6, 4), (("v0", "x0"), ("x1", "v1")), (("v0", "y0"), ("y1", "v1"))),
    ],
)
def test_views_factor_into_common_atoms(source, target, inputs, outputs):
    axes = factor(source, target)
    assert (axes.inputs, axes.outputs) == ((inputs,), (outputs,))
    assert (axes.shape(axes.inputs[0]), axes.output_shapes) == (source, (target,))


def test_what_two_shapes_do_not_share_is_never_reduced():
    assert _atoms("view", [(2, 300)], {"size": (3, 200)}) == {
        "v0": (100, EACH, 2),
        "x0": (2, WHOLE, 2),
        "x1": (3, WHOLE, 3),
        "y0": (3, WHOLE, 3),
        "y1": (2, WHOLE, 2),
    }


def test_laws_and_least_sizes():
    linear = [(2, 8), (6, 8), (6,)]
    assert _atoms("linear", linear[:2]) == {"b0": (2, EACH, 1), "k": (8, SUM, 2), "n": (6, EACH, 1)}
    assert _atoms("linear", linear)["k"] == (8, WHOLE, 2)
    assert _atoms("softmax", [(2, 8)], {"dim": -1}) == {"b0": (2, EACH, 1), "k": (8, WHOLE, 2)}
    assert _atoms("mean", [(2, 8)], {"dim": (1,)}) == {"b0": (2, EACH, 1), "k1": (8, SUM, 2)}
    assert _atoms("transpose", [(2, 3, 4)], {"dim0": 1, "dim1": 2})["d2"] == (4, EACH, 2)
    assert _atoms("apply_mask", [(2, 3, 8, 8), (1, 1, 8, 8)]) == {
        "d0": (2, EACH, 1),
        "d1": (3, EACH, 1),
        "d2": (8, EACH, 4),
        "d3": (8, EACH, 4),
    }
    assert _atoms("apply_rotary_emb", [(2, 8, 6, 8), (2, 8, 3, 8), (8, 4)]) == {
        "b": (2, EACH, 1),
        "s": (8, EACH, 1),
        "h": (3, EACH, 1),
        "q": (2, WHOLE, 1),
        "i": (4, EACH, 2),
        "pair": (2, WHOLE, 2),
    }


def test_a_mask_keeps_four_positions_and_all_of_them_with_a_start():
    shapes = [(2, 128), (2, 128, 8)]
    assert _atoms("create_mask", shapes)["s"] == (128, WHOLE, 4)
    assert _atoms("create_mask", shapes)["b0"] == (2, Law.UNUSED, 1)
    assert _atoms("create_mask", shapes, {"start_pos": 3})["s"] == (128, WHOLE, 128)


def _scale(bounds, inputs, outputs, points=None):
    return Scale(bounds, dict.fromkeys(bounds, 2), points or {}, inputs, outputs)


def test_a_mean_keeps_the_count_of_the_interval_it_works_on():
    scale = _scale({"b0": (0, 4), "k1": (64, 128)}, ((2, 2),), ((2,),))
    mean = RULES["mean"]
    reduced = mean.reduce({"dim": (1,)}, scale)
    assert reduced == {"dim": (1,), "count": 64}
    assert mean.forward([np.ones((2, 2))], reduced)[0].tolist() == [2 / 64, 2 / 64]
    assert mean.reduce({"dim": (1,), "count": 128}, scale)["count"] == 128


def test_a_layernorm_keeps_its_count_and_takes_the_reduced_shape():
    scale = _scale({"b0": (0, 4), "n0": (0, 512)}, ((2, 2), (2,), (2,)), ((2, 2),))
    reduced = RULES["layernorm"].reduce({"normalized_shape": (512,), "eps": 1e-5}, scale)
    assert reduced == {"normalized_shape": (2,), "eps": 1e-5, "count": 512}


def test_a_view_takes_the_reduced_output_shape():
    scale = _scale({}, ((2, 6),), ((2, 2, 3),))
    assert RULES["view"].reduce({"size": (128, -1, 64)}, scale) == {"size": (2, 2, 3)}


def test_an_embedding_cuts_the_vocabulary_and_moves_with_the_cuts():
    rule = RULES["embedding"]
    attrs = {"start": 100, "stop": 200, "padding_idx": 7}
    assert rule.cuts(attrs) == {"v": (100, 107, 108, 200)}
    assert rule.cuts({"start": 0, "stop": 8}) == {"v": (0, 8)}
    points = {"v": {0: 0, 100: 2, 107: 4, 108: 5, 200: 7, 300: 9}}
    scale = _scale({"v": (100, 200)}, ((2,), (5, 2)), ((2, 2),), points)
    assert rule.reduce(attrs, scale) == {"start": 2, "stop": 7, "padding_idx": 2}
    with pytest.raises(ShapeError, match="row 400 lies outside the vocabulary"):
        rule.reduce({"start": 200, "stop": 400}, scale)


def test_an_embedding_narrows_to_a_share_of_its_rows():
    narrow = RULES["embedding"].narrow
    attrs = {"start": 100, "stop": 200, "padding_idx": 7}
    assert narrow(attrs, "v", (0, 50)) == {"start": 100, "stop": 150, "padding_idx": 7}
    assert narrow(attrs, "v", (50, 100)) == {"start": 150, "stop": 200, "padding_idx": None}
    assert narrow(attrs, "b0", (0, 1)) is attrs


def test_a_vocabulary_of_one_row_keeps_its_atom():
    assert _atoms("embedding", [(3,), (1, 4)], {"start": 5, "stop": 6})["v"] == (1, SUM, 1)


@pytest.mark.parametrize(
    ("op", "arity", "attrs", "expected"),
    [
        ("linear", 2, {}, {0, 1}),
        ("linear", 3, {}, set()),
        ("mul", 1, {"other": 2}, {0}),
        ("mul", 2, {}, {0, 1}),
        ("div", 2, {}, {0}),
        ("div", 1, {"other": 2, "reflected": True}, set()),
        ("add", 2, {}, set()),
        ("embedding", 2, {}, {1}),
        ("apply_rotary_emb", 3, {}, set()),
    ],
)
def test_linear_in(op, arity, attrs, expected):
    assert RULES[op].linear_in(arity, attrs) == expected


def test_a_gate_keeps_its_choice_and_loses_slots():
    rule, attrs = RULES["gate"], {"score_func": "sigmoid", "n_groups": 8, "topk_groups": 4, "topk": 6}
    assert _atoms("gate", [(32, 8), (64, 8)], attrs) == {
        "t": (32, EACH, 1),
        "i": (8, WHOLE, 2),
        "e": (64, WHOLE, 2),
        "k": (6, WHOLE, 2),
    }
    reduced = rule.reduce(attrs, _scale({"t": (0, 4), "k": (0, 6)}, ((2, 2), (3, 2)), ((2, 2), (2, 2))))
    assert reduced == {**attrs, "slots": 2}
    weights, indices = rule.forward([np.eye(2), np.array([[3.0, 0], [1, 2], [2, 1]])], reduced)
    assert indices.tolist() == [[0, 2], [1, 2]]
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_experts_move_with_the_cuts():
    rule = RULES["moe_gmm"]
    attrs = {"n_routed_experts": 256, "local_expert_start": 32, "local_expert_end": 64}
    assert rule.cuts(attrs) == {"e": (32, 64)}
    scale = _scale({"e": (32, 64)}, (), (), {"e": {0: 0, 32: 1, 64: 2, 256: 8}})
    assert rule.reduce(attrs, scale) == {**attrs, "local_expert_start": 1, "local_expert_end": 2}
    with pytest.raises(ShapeError, match="expert 300 is none of the experts"):
        rule.reduce({**attrs, "local_expert_end": 300}, scale)
    assert rule.narrow(attrs, "e", (8, 16)) == {**attrs, "local_expert_start": 40, "local_expert_end": 48}
    assert rule.narrow(attrs, "t", (8, 16)) is attrs


def test_heads_at_reduced_sizes():
    rule, attrs = RULES["self_attention"], {"h": 8, "scale": 0.5, "dropout_p": 0.0}
    shapes = ((2, 2, 2), (18, 2), (18,), (2, 6))
    scale = Scale({"h": (8, 16)}, {"h": 3}, {"h": {8: 3, 10: 4, 16: 6}}, shapes, ((2, 2, 2),))
    assert rule.reduce(attrs, scale)["h"] == 3
    assert rule.reduce(rule.narrow(attrs, "h", (10, 16)), scale) == {**attrs, "h": 2}
    for wrong, reduced in ((16, 6), (4, 1), (1, 1), (12, 1)):
        assert rule.reduce({**attrs, "h": wrong}, scale)["h"] == reduced
