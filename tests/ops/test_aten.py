"""Every ATen rule against torch's own operator, on exact numbers and on terms, and the laws of its axes."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")

import torch

from tests.ops.aten_cases import NODES, truth
from tests.ops.harness import Case, check_laws, same
from tests.ops.terms import to_fractions, to_terms
from verdict.backends.torch.arguments import decode, operator
from verdict.errors import ShapeError
from verdict.ops import FACTS, RULES, facts

ATEN = sorted(name for name in RULES if name.startswith("aten."))
UNSET = {name for name in ATEN if "empty" in name}
NOT_ON_A_CPU = {"aten._fused_rms_norm_backward"}
per_node = pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.op}{node.shapes}")
SEEDS = (0, 1)


def run(node, inputs):
    """What torch makes of a node, as arrays."""
    func = operator(node.op)
    args, kwargs = decode(func, [torch.from_numpy(np.asarray(x).copy()) for x in inputs], node.attrs)
    made = func(*args, **kwargs)
    outputs = [made] if isinstance(made, torch.Tensor) else made
    return [(y.float() if y.dtype == torch.bfloat16 else y).numpy() for y in outputs]


def given(inputs):
    """Inputs as a rule gets them: truth values are numbers."""
    return [x.astype(np.int64) if x.dtype == bool else x for x in inputs]


def test_every_rule_has_nodes():
    assert {node.op for node in NODES} == set(ATEN) - UNSET - NOT_ON_A_CPU


EITHER_SIGN = {"aten._linalg_eigh": (1,), "aten._linalg_svd": (0, 2)}
"""Outputs of which kernels choose the sign: numpy's and torch's are not the same."""
LOSSES = ("aten.mse_loss", "aten.smooth_l1_loss", "aten.huber_loss", "aten.binary_cross_entropy")
AVERAGING = ("aten.mean", "aten.native_layer_norm", "aten._fused_rms_norm", "aten.native_group_norm", *LOSSES)
"""Operators whose means may divide by another number than that of the elements."""


@pytest.mark.parametrize("name", ATEN)
def test_the_signature_is_the_schema(name):
    """Names, order and defaults are torch's."""
    rule, schema = RULES[name], operator(name)._schema
    named = {argument.name for argument in schema.arguments}
    further = {"arange": {"start", "step"}, "arange.start": {"step"}}.get(name.removeprefix("aten."), set())
    ours = {"absent", "masks", "memory_format", "layout", "device", "pin_memory", "non_blocking"} | further
    ours |= {"dtype"} if name.startswith(("aten.bitwise_not", "aten.zero", "aten.add.")) else set()
    ours |= {"dim"} if name == "aten.squeeze" else {"count"} if name.startswith(AVERAGING) else set()
    unknown = {attribute for attribute in rule.attributes if not attribute.endswith("_count")} - named - ours
    assert not unknown
    plain = {argument.name for argument in schema.arguments if "Tensor" not in str(argument.type)}
    assert plain - {"generator"} <= set(rule.attributes)


@per_node
@pytest.mark.parametrize("seed", SEEDS)
def test_torch(node, seed):
    inputs = node.inputs(seed)
    expected = run(node, inputs)
    rule = RULES[node.op]
    assert rule.axes(node.shapes, node.attrs).output_shapes == tuple(y.shape for y in expected)
    found = rule.forward(given(inputs), node.attrs)
    for k, (y, wanted) in enumerate(zip(found, expected, strict=True)):
        rounded = np.float32 if wanted.dtype == np.float32 else np.float64
        both = [np.asarray(y, dtype=rounded).astype(np.float64), np.asarray(wanted, dtype=np.float64)]
        same(*map(np.abs, both) if k in EITHER_SIGN.get(node.op, ()) else both, f"output {k}")


@per_node
def test_fractions_and_terms_mean_the_same_as_floats(node):
    inputs = given(node.inputs(2))
    rule = RULES[node.op]
    expected = rule.forward(inputs, node.attrs)
    masked = -math.inf in node.attrs.values()
    for convert in (to_fractions, to_terms):
        others = [x if masked and fill is truth else convert(x) for x, fill in zip(inputs, node.fills, strict=True)]
        found = rule.forward(others, node.attrs)
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


MASKED = {
    "aten._softmax": 0, "aten._safe_softmax": 0, "aten._log_softmax": 0, "aten.logsumexp": 0, "aten.amax": 0,
    "aten.exp": 0, "aten.sigmoid": 0, "aten.relu": 0, "aten.maximum": 0, "aten.where.self": 1, "aten.cat": 0,
    "aten.nll_loss_forward": 0, "aten._scaled_dot_product_flash_attention_for_cpu": 3,
}  # fmt: skip
"""Operators that a mask of minus infinity reaches, and the input that holds it."""


@pytest.mark.parametrize("rows", [slice(0, 1), slice(None)], ids=["one row", "all rows"])
@pytest.mark.parametrize("node", [n for n in NODES if n.op in MASKED], ids=lambda node: f"{node.op}{node.shapes}")
def test_rows_that_are_masked_are_what_torch_makes_of_them(node, rows):
    inputs = [np.array(x) for x in node.inputs(0)]
    if len(inputs) <= MASKED[node.op] or inputs[MASKED[node.op]].dtype.kind != "f":
        pytest.skip("this node has no such input")
    masked = inputs[MASKED[node.op]]
    masked.reshape(-1, masked.shape[-1] if masked.ndim else 1)[rows] = -math.inf
    with np.errstate(all="ignore"):
        found = RULES[node.op].forward(given(inputs), node.attrs)
    for y, wanted in zip(found, run(node, inputs), strict=True):
        np.testing.assert_allclose(np.asarray(y, np.float64), np.asarray(wanted, np.float64), rtol=1e-6, atol=1e-12)


def finite_positions(node, rises):
    """Each set of inputs of floats of which the facts say that nothing infinite is made of them."""
    floats = [k for k, x in enumerate(node.inputs(0)) if np.asarray(x).dtype.kind == "f"]
    each = (set(at) for n in range(1, len(floats) + 1) for at in combinations(floats, n))
    return [at for at in each if FACTS.finite(node.op, at, 0, rises)]


SIGNED = [(node, sign) for node in NODES for sign in (-1, 1) if finite_positions(node, sign > 0)]


@pytest.mark.parametrize(("node", "sign"), SIGNED, ids=lambda x: f"{x.op}{x.shapes}" if hasattr(x, "op") else str(x))
def test_nothing_infinite_is_made_of_what_is_masked(node, sign):
    random = np.random.default_rng(0)
    for at, share in product(finite_positions(node, sign > 0), (0.2, 0.6, 1.0)):
        inputs = [np.array(x) for x in node.inputs(0)]
        for k in at:
            inputs[k][random.random(inputs[k].shape) < share] = sign * math.inf
        assert not any(np.isinf(y.astype(np.float64)).any() for y in run(node, inputs))


def test_facts_of_infinite_numbers_are_of_operators():
    names = {name.removeprefix("aten.").partition(".")[0] for name in RULES}
    assert names >= facts.FINITE | set(facts.MASKED)


def test_of_a_gradient_that_is_infinite_no_finite_one_is_made():
    assert FACTS.finite("exp", {0}, 0, rises=False)
    assert not FACTS.finite("exp", {0}, 0, rises=True)
    assert not FACTS.finite("exp.grad", {0}, 1, rises=False)


def test_minus_infinity_rises_in_what_turns_it_round_alone():
    assert not any(FACTS.rises(op, {}) for op in ("aten._log_softmax", "aten.add.Tensor", "aten.where.self"))
    assert all(FACTS.rises(op, {}) for op in ("aten.neg", "aten.sub.Tensor", "aten.mul.Tensor"))
    assert FACTS.rises("aten.add.Tensor", {"alpha": -1})


def test_a_constant_is_exact():
    rule = RULES["constant"]
    attrs = {"shape": (2, 2), "values": (0.1, -math.inf, 1, True)}
    assert rule.axes((), attrs).output_shapes == ((2, 2),)
    assert rule.forward((), attrs)[0].tolist() == [[Fraction(1, 10), -math.inf], [1, 1]]
    assert rule.forward((), {"shape": (), "values": (3,)})[0] == 3
    with pytest.raises(ShapeError, match="as many values"):
        rule.axes((), {"shape": (3,), "values": (1, 2)})


def test_the_gradient_of_rms_norm_is_autograds():
    x, w, dy = (torch.randn(shape, dtype=torch.float64) for shape in ((2, 3, 4), (4,), (2, 3, 4)))
    x.requires_grad_()
    w.requires_grad_()
    _, rate = torch.ops.aten._fused_rms_norm.default(x, [4], w, 1e-3)
    expected = torch.autograd.grad(torch.nn.functional.rms_norm(x, (4,), w, 1e-3), (x, w), dy)
    attrs = {"normalized_shape": (4,), "output_mask": (True, True)}
    inputs = [t.detach().numpy() for t in (dy, x, rate, w)]
    found = RULES["aten._fused_rms_norm_backward"].forward(inputs, attrs)
    for k, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        same(mine, theirs.numpy(), f"gradient {k}")


@pytest.mark.parametrize("correction", [0.5, 2.75, 3, 4, 5.5])
@pytest.mark.parametrize("name", ["aten.var.correction", "aten.std.correction", "aten.var_mean.correction"])
def test_a_variance_divides_by_no_less_than_nothing(name, correction):
    """The number of elements less any number, also where that is not whole or is greater."""
    x = torch.randn((2, 4), dtype=torch.float64)
    expected = operator(name)(x, [1], correction=correction)
    with np.errstate(all="ignore"):
        found = RULES[name].forward([x.numpy()], {"dim": (1,), "correction": correction})
    for y, wanted in zip(found, [expected] if isinstance(expected, torch.Tensor) else expected, strict=True):
        np.testing.assert_allclose(y, wanted.numpy())


def test_gradients_of_a_convolution_that_are_not_asked_for_are_not_made():
    rule, random = RULES["aten.convolution_backward"], np.random.default_rng(0)
    dy, x, w = (random.standard_normal(shape) for shape in ((2, 3, 3), (2, 2, 4), (3, 2, 2)))
    one = {"stride": (1,), "padding": (0,), "dilation": (1,), "transposed": False, "output_padding": (0,), "groups": 1}
    every = rule.forward([dy, x, w], {**one, "bias_sizes": (3,), "output_mask": (True, True, True)})
    for mask in product((True, False), repeat=3):
        found = rule.forward([dy, x, w], {**one, "bias_sizes": (3,), "output_mask": mask})
        assert [made is not None for made in found] == list(mask)
        assert all(np.array_equal(made, all_) for made, all_ in zip(found, every, strict=True) if made is not None)


@pytest.mark.parametrize("count", [1, 2])
def test_what_has_no_elements_is_joined_as_torch_joins_it(count):
    made = RULES["aten.cat"].forward([np.zeros(0)] * count, {"tensors_count": count, "dim": 0})
    assert made[0].shape == tuple(torch.cat([torch.zeros(0)] * count).shape) == (0,)
