"""What is added up of numbers within bounds, and compared, is added up at full size; anything else shrinks."""

import pytest

from tests.values.outline import plans, verdict
from verdict.concrete.comparison import prepare

SUMMED = """
  x input [500, 700]
  w weight [500, 700]
  {steps}
  s activation [500, 1]
  c activation [500, 1]
  y activation [500, 700]
  s = aten.sum.dim_IntList(h) dim=(-1,) keepdim=True
  c = {last}
  y = mul(x, c)
  output y
"""
CLAMP = "aten.clamp(s) max=600.0"
THEN = "\n  d activation [500, 1]\n  d = "
LEFT = "aten.rsub.Scalar(s) other=600.0" + THEN
STEPS = {
    "sigmoids": ("h = sigmoid(x)", CLAMP, False),
    "signs": ("h = aten.sign(x)\n  h activation [500, 700]", CLAMP, False),
    "numbers within bounds": ("h = aten.clamp(x) min=0.0 max=1.0\n  h activation [500, 700]", CLAMP, False),
    "steps of sigmoids": ("h = sigmoid(x)", "relu(s)", True),
    "steps of what is left of sigmoids": ("h = sigmoid(x)", LEFT + "relu(c)", False),
    "sigmoids times weights": ("g = sigmoid(x)\n  g activation [500, 700]\n  h = mul(g, w)", CLAMP, True),
    "given numbers": ("h = mul(x, w)", CLAMP, True),
    "differences of given numbers": ("h = sub(x, w)", CLAMP, True),
    "what is left to the greatest": (
        "m = amax(x) dim=(-1,) keepdim=True\n  m activation [500, 1]\n  l activation [500, 700]\n  l = sub(x, m)\n"
        "  h = aten.add.Scalar(l) other=1.0",
        CLAMP,
        False,
    ),
    "squares": ("g = mul(x, w)\n  g activation [500, 700]\n  h = pow(g) exponent=2", CLAMP, True),
    "sigmoids that nothing compares": ("h = sigmoid(x)", "exp(s)", True),
    "whole powers of sigmoids": ("h = sigmoid(x)", "pow(s) exponent=3", True),
    "quotients of sigmoids": ("h = sigmoid(x)", "aten.div.Scalar(s) other=3.0", True),
    "roots of sigmoids": ("h = sigmoid(x)", "aten.sqrt(s)", True),
    "roots of what is left of sigmoids": ("h = sigmoid(x)", LEFT + "aten.sqrt(c)", False),
    "powers of what is left of sigmoids": ("h = sigmoid(x)", LEFT + "pow(c) exponent=0.5", False),
    "logarithms of sigmoids": ("h = sigmoid(x)", "aten.log(s)", True),
    "logarithms of logarithms": ("h = sigmoid(x)", "aten.log(s)" + THEN + "aten.log(c)", False),
    "rounded quotients": ("h = sigmoid(x)", 'aten.div.Scalar_mode(s) other=3.0 rounding_mode="floor"', False),
}


@pytest.mark.parametrize("name", STEPS)
def test_an_axis_shrinks_where_its_sum_may_be_anything(name):
    steps, last, shrinks = STEPS[name]
    text = SUMMED.format(steps=steps, last=last)
    text = text.replace("mul(x, c)", "mul(x, d)") if THEN in text else text
    if "h activation" not in text:
        text = text.replace("  s activation", "  h activation [500, 700]\n  s activation", 1)
    small = prepare(*plans(text, text)).small[0]
    assert (small.logicals[0][1] < 700) is shrinks
    assert small.logicals[0][0] < 500


TAKEN = """
  x input [500, 7000]
  ids input int64 [500]
  range ids 0 7000
  h activation [500, 7000]
  t activation [500]
  y activation [500]
  g activation [500, 1]
  p activation [500, 7000]
  l activation [500]
  z activation [500]
  g = amax(x) dim=(1,) keepdim=True
  h = sub(x, g) alpha=1
  p = exp(h)
  l = sum(p) dim=(1,) keepdim=False
  z = log(l)
  t = take_ids(h, ids) start=0 stop=7000
  y = {made}
  output y
"""


MADE = {"sub(z, t) alpha=1": True, "aten.clamp(z) max=600.0": False, "aten.clamp(t) min=-5.0": False}


@pytest.mark.parametrize("made, shrinks", MADE.items())
def test_what_ids_take_is_linear_in_the_numbers_that_it_is_taken_of(made, shrinks):
    text = TAKEN.format(made=made)
    small = prepare(*plans(text, text)).small[0]
    assert (small.logicals[0][1] < 7000) is shrinks
    assert small.logicals[0][0] < 500


MASKED = """
  x input [500, 7000]
  m input {kind} [500, 7000]
  {more}
  h activation [500, 7000]
  s activation [500, 1]
  y activation [500, 1]
  h = {chosen}
  s = aten.sum.dim_IntList(h) dim=(1,) keepdim=True
  y = aten.clamp(s) max=600.0
  output y
"""
BOUNDED = "b activation [500, 7000]\n  b = sigmoid(x)"
SCALAR = 'b activation []\n  b = aten.scalar_tensor() s={} dtype="float32"'
CUT = """
  w weight [500, 7000]
  a activation [500, 7000]
  c activation bool [500, 7000]
  o activation []
  a = aten.abs({})
  c = aten.gt.Scalar(a) other=1.0
  o = aten.scalar_tensor() s=0.0 dtype="float32"
"""
PLACED = """
  w weight [500, 7000]
  a activation int64 [500]
  r activation bool [7000, 7000]
  c activation bool [500, 7000]
  q activation bool [7000, 7000]
  a = aten.argmax(w) dim=1
  q = aten.ones() size=(7000, 7000) dtype="bool"
  r = aten.tril(q) diagonal=0
  c = aten.index.Tensor(r, a) indices_count=1
"""
CHOSEN = {
    "numbers or zero": ("", "aten.masked_fill.Scalar(x, m) value=0.0", True),
    "numbers or minus infinity": ("", "aten.masked_fill.Scalar(x, m) value=-inf", True),
    "numbers or one": ("", "aten.masked_fill.Scalar(x, m) value=1.0", False),
    "bounded numbers or zero": (BOUNDED, "aten.masked_fill.Scalar(b, m) value=0.0", False),
    "numbers, or a tensor of minus infinity": (SCALAR.format("-inf"), "aten.where.self(m, x, b)", True),
    "numbers, or a tensor of zero": (SCALAR.format("0.0"), "aten.where.self(m, x, b)", True),
    "numbers, or a tensor of one": (SCALAR.format("1.0"), "aten.where.self(m, x, b)", False),
    "numbers or bounded ones": (BOUNDED, "aten.where.self(m, x, b)", False),
    "numbers within bounds, or zero": (CUT.format("x"), "aten.masked_fill.Scalar(x, c) value=0.0", False),
    "numbers, beside zeros, within bounds": (CUT.format("x"), 'aten.index_put(x, c, o) masks=(0,)', False),
    "numbers that other ones choose": (CUT.format("w"), "aten.masked_fill.Scalar(x, c) value=0.0", False),
    "numbers at places that other ones choose": (PLACED, "aten.masked_fill.Scalar(x, c) value=0.0", False),
    "numbers or numbers": ("w weight [500, 7000]", "aten.where.self(m, x, w)", True),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_a_mask_lets_through_beside_zeros_or_infinities_may_be_anything(name):
    more, chosen, shrinks = CHOSEN[name]
    text = MASKED.format(kind="bool", more=more, chosen=chosen)
    small = prepare(*plans(text, text)).small[0]
    assert (small.logicals[0][1] < 7000) is shrinks
    assert small.logicals[0][0] < 500


@pytest.mark.parametrize("name", ["numbers within bounds, or zero", "numbers, beside zeros, within bounds"])
def test_what_is_let_through_within_bounds_is_not_taken_to_stay_below_a_limit(name):
    more, chosen, _ = CHOSEN[name]
    text = MASKED.format(kind="bool", more=more, chosen=chosen)
    other = text.replace("y = aten.clamp(s) max=600.0", "y = aten.clone(s)")
    assert verdict(text, text) == "PROVED"
    assert verdict(text, other) != "PROVED"


LEFT = """
  x input [500, 7000]
  w weight [500, 7000]
  m input bool [500, 7000]
  a activation [500, 7000]
  b activation [500, 7000]
  c activation [500, 7000]
  r activation [500, 1]
  s activation [500, 1]
  t activation [500, 1]
  y activation [500, 1]
  a = {first}
  b = {second}
  c = {third}
  r = aten.sum.dim_IntList(b) dim=(1,) keepdim=True
  s = aten.sum.dim_IntList(c) dim=(1,) keepdim=True
  t = sub(r, s) alpha=1
  y = aten.clamp(t) max=600.0
  output y
"""
ONE, CLONED = "aten.add.Scalar(x) other=1.0", "aten.clone({})"
COMPARED = """
  x input [500, 700]
  h activation [500, 700]
  s activation [500, 1]
  c activation bool [500, 1]
  y activation [500, 700]
  h = sigmoid(x)
  s = aten.sum.dim_IntList(h) dim=(-1,) keepdim=True
  {compared}
  y = aten.masked_fill.Scalar(x, c) value=0
  output y
"""


@pytest.mark.parametrize(("compared", "shrinks"), [
    ("c = aten.ge.Scalar(s) other=0", True), ("c = aten.gt.Scalar(s) other=600", False),
    ("t activation [500, 1]\n  t = aten.sub.Scalar(s) other=600.0\n  c = aten.ge.Scalar(t) other=0", False),
])  # fmt: skip
def test_what_is_compared_with_zero_shrinks_unless_something_was_added_before(compared, shrinks):
    text = COMPARED.format(compared=compared)
    assert (prepare(*plans(text, text)).small[0].logicals[0][1] < 700) is shrinks


DIFFERENCES = {
    "what is left is a count of truths": (ONE, "aten.masked_fill.Scalar(a, m) value=0.0",
                                          "aten.masked_fill.Scalar(x, m) value=0.0", False),
    "what is left is a number of elements": (ONE, CLONED.format("a"), CLONED.format("x"), False),
    "what is left is a sum within bounds": ("sigmoid(w)", "add(x, a) alpha=1", CLONED.format("x"), False),
    "what is left may be anything": ("aten.clone(w)", "add(x, a) alpha=1", CLONED.format("x"), True),
    "nothing is left": (CLONED.format("w"), "mul(x, a)", CLONED.format("a"), True),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_what_is_left_of_numbers_that_may_be_anything_may_have_bounds(name):
    first, second, third, shrinks = DIFFERENCES[name]
    text = LEFT.format(first=first, second=second, third=third)
    small = prepare(*plans(text, text)).small[0]
    assert (small.logicals[0][1] < 7000) is shrinks


STEP = """
  x input [500, 7000]
  {state}
  h activation [500, 7000]
  g activation [1, 7000]
  n activation [1, 7000]
  y activation [1, 7000]
  h = sigmoid(x)
  g = aten.sum.dim_IntList(h) dim=(0,) keepdim=True
  {made}
  n = aten.addcmul(v, g, g) value=0.01
  y = aten.sqrt(n)
  output y
"""


@pytest.mark.parametrize("state, made, shrinks", [("buffer", "", True), ("activation", "v = mul(g) other=0.9", False)])
def test_the_root_of_a_given_state_shrinks_what_is_summed_into_it(state, made, shrinks):
    text = STEP.format(state=f"v {state} [1, 7000]", made=made)
    small = prepare(*plans(text, text)).small[0]
    assert (small.logicals[0][0] < 500) is shrinks
    assert small.logicals[0][1] < 7000


LOSS = """
  x input [2000, 300]
  w weight [300, 400]
  b weight [400]
  t input int64 [2000]
  h activation [2000, 400]
  p activation [2000, 400]
  q activation [2000, 400]
  loss activation []
  total activation []
  h = aten.addmm(b, x, w)
  p = aten._log_softmax(h) dim=1 half_to_float=False
  q = aten._to_copy(p) dtype="float64"
  loss, total = aten.nll_loss_forward(q, t) ignore_index=-100 reduction=1
  loss loss
"""


def test_tokens_and_classes_of_a_loss_shrink():
    small = prepare(*plans(LOSS, LOSS)).small[0]
    assert max(max(shape) for shape in small.logicals if shape) <= 6


NORMS = """
  x input [200, 300, 64]
  w weight [64]
  d weight [200, 300, 64]
  g activation [200, 300, 64]
  y activation [200, 300, 64]
  m activation [200, 300, 1]
  r activation [200, 300, 1]
  a activation [64]
  b activation [64]
  y, m, r = aten.native_layer_norm(x, w) absent=("bias",) normalized_shape=(64,) eps=1e-05
  g, a, b = aten.native_layer_norm_backward(d, x, m, r, w) absent=("bias",) normalized_shape=(64,)
  output g
  output a
"""


def test_rows_and_features_of_layer_norms_shrink():
    text = NORMS
    small = prepare(*plans(text, text)).small[0]
    assert max(small.logicals[0]) <= 4
    assert verdict(text, text) == "PROVED"
    assert verdict(text, text.replace("(d, x, m, r, w)", "(y, x, m, r, w)")) == "REFUTED"


def test_an_extreme_of_bounded_numbers_is_not_their_sum():
    text = SUMMED.format(steps="h = sigmoid(x)", last=CLAMP).replace("aten.sum.dim_IntList", "aten.amax")
    text = text.replace("  s activation", "  h activation [500, 700]\n  s activation", 1)
    assert max(prepare(*plans(text, text)).small[0].logicals[0]) <= 4


def test_a_mean_of_a_million_shrinks():
    text = "\n  x input [5000, 300]\n  y activation []\n  y = aten.mean(x)\n  output y\n"
    prepared = prepare(*plans(text, text))
    assert prepared.small[0].logicals[0] == (2, 2)
    assert verdict(text, text) == "PROVED"
    assert verdict(text, text.replace("aten.mean(x)", "aten.mean(x) count=1500001")) == "REFUTED"


EMPTY = """
  z input [0, 4]
  t input int64 [0]
  x input [4000, 900]
  w activation [4000, 900]
  v activation [0]
  y activation [0]
  w = mul(x, x)
  v = aten.view(z) size=(0,)
  y = aten.gather(v, t) dim=0
  output y
  output w
"""


def test_where_there_is_no_element_there_is_nothing_to_shrink():
    small = prepare(*plans(EMPTY, EMPTY)).small[0]
    assert small.logicals[0] == (0, 4)
    assert max(small.logicals[2]) <= 4
    assert verdict(EMPTY, EMPTY) == "PROVED"
    assert verdict(EMPTY, EMPTY.replace("mul(x, x)", "mul(x) other=2.0")) == "REFUTED"
