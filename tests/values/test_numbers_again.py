"""What may be no number, and an operator makes a number of it again: a comparison, an order, a choice, an integer.

Values that are equal wherever both are numbers are not equal there, unless both are none at the same inputs. Each is of
x + 50, so that no random number of a run shows the difference, and of x.
"""

import pytest
import torch

from tests.values.outline import report, verdict

PLAN = """
  x input [4]
  y input [4]
  m = add(x) other={shift}
  {made}
  {read}
  output out
"""
SPOILED = {
    "a difference that vanishes": ("l = aten.log(m)\n  v = sub(l, l)", "v = mul(m) other=0.0"),
    "a square of a root": ("l = aten.sqrt(m)\n  v = mul(l, l)", "v = mul(m) other=1.0"),
    "an exponential of a logarithm": ("l = aten.log(m)\n  v = aten.exp(l)", "v = mul(m) other=1.0"),
}
SPOILED |= {
    "a quotient by itself": ("v = div(m, m)", "z = mul(m) other=0.0\n  v = add(z) other=1.0"),
    "a product with an inverse": ("q = aten.reciprocal(m)\n  w1 = mul(q, m)\n  v = mul(w1, m)", "v = mul(m) other=1.0"),
    "a difference of quotients": ("d = div(y, m)\n  v = sub(d, d)", "v = mul(m) other=0.0"),
}
FLOATS = 'out = aten._to_copy(i) dtype="float32"'
AGAIN = {
    "a comparison": "c = aten.lt.Scalar(v) other=0.5\n  out = aten.where.self(c, x, y)",
    "places in an order": f"w = aten.cat(v, y) dim=0\n  s, i = aten.sort(w)\n  {FLOATS}",
    "the greatest": f"w = aten.cat(v, y) dim=0\n  s, i = aten.topk(w) k=3\n  {FLOATS}",
    "the place of the greatest": f"w = aten.cat(v, y) dim=0\n  i = aten.argmax(w)\n  {FLOATS}",
    "an integer": f'i = aten._to_copy(v) dtype="int64"\n  {FLOATS}',
    "a sign": "t = add(v) other=3.0\n  out = aten.sign(t)",
}
SHIFTS = [0.0, 50.0]


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("spoiled", SPOILED)
def test_what_is_equal_of_numbers_is_not_where_a_number_is_made_again(spoiled, again, shift):
    one, other = (PLAN.format(shift=shift, made=made, read=AGAIN[again]) for made in SPOILED[spoiled])
    assert verdict(one, other) != "PROVED"
    assert verdict(other, one) != "PROVED"


@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("spoiled", SPOILED)
def test_the_same_computation_is_proved(spoiled, again):
    for made in SPOILED[spoiled]:
        text = PLAN.format(shift=50.0, made=made, read=AGAIN[again])
        assert verdict(text, text) == "PROVED"


STRICT = ["out = mul(v, y)", "out = aten.maximum(v, y)", "out = add(v) other=2.0"]


@pytest.mark.parametrize("read", STRICT)
@pytest.mark.parametrize("spoiled", SPOILED)
def test_where_nothing_makes_a_number_of_it_there_is_nothing_to_compare(spoiled, read):
    one, other = (PLAN.format(shift=50.0, made=made, read=read) for made in SPOILED[spoiled])
    assert verdict(one, other) == "PROVED"


BESIDE = """
  x input [4]
  m = add(x) other=50.0
  l = aten.log(m)
  w = mul(x) other=2.0
  {made}
  output l
  output out
"""


def test_an_output_that_is_a_number_is_not_to_depend_on_what_is_none():
    right, wrong = (BESIDE.format(made=f"d = sub({of}, {of})\n  out = add(w, d)") for of in ("x", "l"))
    assert verdict(right, right) == verdict(wrong, wrong) == verdict(wrong, right) == "PROVED"
    assert verdict(right, wrong) != "PROVED"


MASKED = """
  x input [4]
  y input [4]
  m = add(x) other=50.0
  l = {function}(m)
  c = aten.gt.Scalar(y) other=0
  {made}
  output out
"""
CHOSEN = "z = mul(y) other=0.0\n  out = aten.where.self(c, l, z)"
MULTIPLIED = 'f = aten._to_copy(c) dtype="float32"\n  out = mul(f, l)'


def test_a_mask_that_is_multiplied_is_no_choice_of_what_may_be_no_number():
    chosen, multiplied = (MASKED.format(function="aten.log", made=made) for made in (CHOSEN, MULTIPLIED))
    assert verdict(chosen, chosen) == verdict(multiplied, multiplied) == "PROVED"
    assert verdict(chosen, multiplied) != "PROVED"
    assert verdict(*(MASKED.format(function="aten.exp", made=made) for made in (CHOSEN, MULTIPLIED))) == "PROVED"


CUT_OFF = {
    "threshold_backward": ("threshold=0", "c = aten.gt.Scalar(y) other=0"),
    "hardtanh_backward": (
        "min_val=-1.0 max_val=1.0",
        "a = aten.gt.Scalar(y) other=-1.0\n  b = aten.lt.Scalar(y) other=1.0\n  c = aten.bitwise_and.Tensor(a, b)",
    ),
    "hardsigmoid_backward": (
        "",
        "a = aten.gt.Scalar(y) other=-3.0\n  b = aten.lt.Scalar(y) other=3.0\n  c = aten.bitwise_and.Tensor(a, b)",
    ),
}
"""Gradients that are 0 where the operator is flat, whatever they are of: attributes, and where it is not flat."""
CUT = """
  x input [4]
  y input [4]
  m = add(x) other=50.0
  l = {function}(m)
  {made}
  output out
"""


@pytest.mark.parametrize("name", CUT_OFF)
def test_a_gradient_is_cut_off_by_a_choice(name):
    """Of what may be no number, the root of what is 0 for one, it is no product with the mask: torch makes zeros."""
    attributes, mask = CUT_OFF[name]
    scale = 1 / 6 if name == "hardsigmoid_backward" else 1.0
    cut = f"out = aten.{name}(l, y) {attributes}"
    multiplied = f'{mask}\n  f = aten._to_copy(c) dtype="float32"\n  g = mul(f) other={scale}\n  out = mul(g, l)'
    for function, proved in (("aten.log", False), ("aten.exp", True)):
        one, other = (CUT.format(function=function, made=made) for made in (cut, multiplied))
        assert verdict(one, one) == verdict(other, other) == "PROVED"
        assert (verdict(one, other) == "PROVED") is proved
    given = [float(part.partition("=")[2]) for part in attributes.split()]
    made = getattr(torch.ops.aten, name)(torch.full((2,), torch.nan), torch.tensor([-9.0, 0.5]), *given)
    assert made[0] == 0
    assert made[1].isnan()


def test_the_gradient_of_relu_is_cut_off_by_a_choice():
    mask = 'c = aten.gt.Scalar(y) other=0\n  f = aten._to_copy(c) dtype="float32"'
    cut = CUT.format(function="aten.log", made="out = relu.grad(l, y)")
    multiplied = CUT.format(function="aten.log", made=f"{mask}\n  out = mul(f, l)")
    assert verdict(cut, cut) == "PROVED"
    assert verdict(cut, multiplied) != "PROVED"


@pytest.mark.parametrize(("name", "wins"), [("maximum", "gt"), ("minimum", "lt")])
def test_who_loses_gets_no_gradient_whatever_it_is(name, wins):
    """Of a tie both get half of it."""
    cut = f"out, b = {name}.grad(l, y, x)"
    multiplied = f"""a = aten.{wins}.Tensor(y, x)
  e = aten.eq.Tensor(y, x)
  f = aten._to_copy(a) dtype="float32"
  g = aten._to_copy(e) dtype="float32"
  h = mul(g) other=0.5
  s = add(f, h)
  out = mul(s, l)"""
    for function, proved in (("aten.log", False), ("aten.exp", True)):
        one, other = (CUT.format(function=function, made=made) for made in (cut, multiplied))
        assert verdict(one, one) == verdict(other, other) == "PROVED"
        assert (verdict(one, other) == "PROVED") is proved
        assert verdict(other, one) == "PROVED"
    x, y = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    (dy,) = torch.autograd.grad(getattr(torch, name)(y, x), y, torch.full((3,), torch.nan))
    assert [bool(each.isnan()) for each in dy] == [name == "minimum", True, name == "maximum"]


INDEXED = """
  range t 0 3
  x input [4]
  t input int64 [4]
  m = add(x) other=50.0
  l = {function}(m)
  {made}
  output out
"""
CAST = 'f = aten._to_copy(c) dtype="float32"\n  '
TRUTH = 'c = aten.eq.Scalar(t) other=1\n  f = aten._to_copy(c) dtype="float32"\n  '
BY_INDEX = {
    "a choice": (
        "c = aten.eq.Scalar(t) other=1\n  z = mul(x) other=0.0\n  out = aten.where.self(c, l, z)",
        TRUTH + "out = mul(f, l)",
    ),
    "rows that are looked up": (
        "out = aten.index_select(l, t) dim=0",
        'h = aten.arange() start=0 end=4 dtype="int64"\n  a = aten.unsqueeze(t) dim=1\n  c = aten.eq.Tensor(a, h)\n'
        '  f = aten._to_copy(c) dtype="float32"\n  out = aten.mv(f, l)',
    ),
}


@pytest.mark.parametrize("function", ["aten.log", "aten.reciprocal"])
@pytest.mark.parametrize("by", BY_INDEX)
def test_a_mask_of_indices_that_is_multiplied_is_no_choice_either(by, function):
    chosen, multiplied = (INDEXED.format(function=function, made=made) for made in BY_INDEX[by])
    assert verdict(chosen, chosen) == verdict(multiplied, multiplied) == "PROVED"
    assert verdict(chosen, multiplied) != "PROVED"
    assert verdict(*(INDEXED.format(function="aten.exp", made=made) for made in BY_INDEX[by])) == "PROVED"


TRAINED = """
  x input [4]
  t input [4]
  n = aten.sum(t)
  s = aten.sum(x)
  q = div(s, n)
  g = div(x, n)
  c = aten.gt.Scalar(x) other=0
  {made}
  {declared}
  output out
"""


@pytest.mark.parametrize(("declared", "known"), [("loss q", True), ("output q", False), ("loss s", False)])
def test_what_a_loss_is_divided_by_is_not_zero_where_anything_is_compared(declared, known):
    choice, product = "z = mul(x) other=0.0\n  out = aten.where.self(c, g, z)", CAST + "out = mul(f, g)"
    chosen, multiplied = (TRAINED.format(made=made, declared=declared) for made in (choice, product))
    assert verdict(chosen, chosen) == verdict(multiplied, multiplied) == "PROVED"
    found = report(chosen, multiplied)
    assert (found.verdict.name == "PROVED") == known
    named = {assumption.name for assumption in found.assumptions}
    assert ("losses-are-numbers" in named) == declared.startswith("loss")


LOST = """
  x input [4]
  y input [4]
  m = add(y) other=50.0
  q = div(x, m)
  {through}
  loss = aten.mean(s)
  {made}
  loss loss
  output out
"""
VANISHED = "d = sub(q, q)\n  c = aten.lt.Scalar(d) other=0.5\n  out = aten.where.self(c, x, y)"
THROUGH = {
    "a multiple": ("s = mul(q) other=2.0", True),
    "a square": ("s = mul(q, q)", True),
    "a sigmoid": ("s = aten.sigmoid(q)", False),
    "a relu": ("s = aten.relu(q)", False),
    "an exponential": ("s = aten.exp(q)", False),
    "a divisor": ("s = div(x, q)", False),
    "what is divided": ("s = div(q, x)", True),
    "an integer": ('i = aten._to_copy(q) dtype="int64"\n  s = aten._to_copy(i) dtype="float32"', False),
    "a narrower type": ('s = aten._to_copy(q) dtype="bfloat16"', True),
}


@pytest.mark.parametrize("through", THROUGH)
def test_a_loss_that_is_a_number_of_an_infinite_quotient_says_nothing_of_the_divisor(through):
    made, known = THROUGH[through]
    one, other = (LOST.format(through=made, made=end) for end in (VANISHED, "out = mul(x) other=1.0"))
    assert (verdict(one, other) == "PROVED") is known
    assert (verdict(other, one) == "PROVED") is known
    assert verdict(one, one) == "PROVED"


@pytest.mark.parametrize(
    ("quotient", "told"),
    [
        ("div(m) other=1.0 reflected=True", True),
        ("div(m) other=2.0", False),
        ("aten.pow.Tensor_Scalar(m) exponent=2", False),
    ],
)
def test_every_divisor_that_may_be_zero_is_told(quotient, told):
    text = f"  x input [4]\n  m = add(x) other=50.0\n  q = {quotient}\n  loss = aten.mean(q)\n  loss loss\n"
    found = report(text, text)
    assert found.verdict.name == "PROVED"
    named = {assumption.name for assumption in found.assumptions}
    assert told or "losses-are-numbers" not in named
    divisor = (
        f"  x input [4]\n  m = add(x) other=50.0\n  q = {quotient}\n  y = mul(q) other=1.0\n  loss = aten.mean(y)\n"
    )
    swept = report(divisor + "  loss loss\n", text)
    assert swept.verdict.name == "PROVED"
    assert ("losses-are-numbers" in {assumption.name for assumption in swept.assumptions}) is told


NO_NUMBER = torch.tensor(float("nan"))


def test_torch_makes_numbers_again_of_what_is_none():
    one, other = torch.tensor(1.0), torch.tensor(0.0)
    assert not NO_NUMBER < 0.5
    assert torch.where(NO_NUMBER < 0.5, one, other) == other
    assert torch.where(one < 0.5, NO_NUMBER, other) == other
    assert torch.sign(NO_NUMBER) == 0
    assert torch.stack([NO_NUMBER, one]).argmax() == 0
    assert all(torch.isnan(f(NO_NUMBER)) for f in (torch.relu, torch.exp, torch.tanh, lambda x: torch.maximum(x, one)))


ROOT = """
{stated}
  v buffer [4]
  x input [4]
  y input [4]
  m = add(v) other={shift}
  r = {function}(m)
  {made}
  c = aten.lt.Scalar(d) other=0.5
  out = aten.where.self(c, x, y)
  output out
"""
VANISHES, ZERO = "d = sub(r, r)", "d = mul(x) other=0.0"


@pytest.mark.parametrize(
    ("function", "shift", "known"),
    [
        ("aten.sqrt", 0.0, True),
        ("aten.log", 0.5, True),
        ("aten.log", 0.0, False),
        ("aten.sqrt", -0.5, False),
    ],
)
def test_what_is_never_negative_has_a_root_where_the_plan_says_so(function, shift, known):
    def plans(stated):
        texts = ROOT.format(stated=stated, function=function, shift=shift, made="{made}")
        return tuple(texts.format(made=made) for made in (VANISHES, ZERO))

    one, other = plans("  range v 0 inf")
    assert verdict(one, one) == verdict(other, other) == "PROVED"
    assert (verdict(one, other) == "PROVED") is (verdict(other, one) == "PROVED") is known
    one, other = plans("")
    assert verdict(one, other) != "PROVED"
