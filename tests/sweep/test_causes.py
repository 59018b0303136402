"""What the findings of a sweep say: the code, the node, the ranks; and that the right twin has none."""

import pytest

from tests.sweep.plans import swept, told, twins

SINGLE = """plan single
  x input [4, 4]
  w weight [4, 4]
  v weight [2, 4]
  h = linear(x, w)
  a = relu(h)
  y = linear(a, v)
  e = pow(y) exponent=2
  loss = sum(e)
  de = sum.grad(one, e)
  dy = pow.grad(de, y) exponent=2
  da, dv = linear.grad(dy, a, v)
  dh = relu.grad(da, h)
  -, dw = linear.grad(dh, x, w)
  seed one
  loss loss
  gradient dw of w
  gradient dv of v
"""
TENSOR = """plan parallel tp=2
  h[:, tp] = linear(x, w[tp, :])
  a[:, tp] = relu(h)
  part{tp} = linear(a, v[:, tp])
  y = all_reduce(part) ranks=tp reduce="sum"
  e = pow(y) exponent=2
  loss = sum(e)
  de = sum.grad(one, e)
  dy = pow.grad(de, y) exponent=2
  da[:, tp], dv[:, tp] = linear.grad(dy, a, v)
  dh[:, tp] = relu.grad(da, h)
  -, dw[tp, :] = linear.grad(dh, x, w)
  seed one
  loss loss
  gradient dw of w
  gradient dv of v
"""
DATA = """plan parallel dp=2
  h[dp, :] = linear(x[dp, :], w)
  a[dp, :] = relu(h)
  y[dp, :] = linear(a, v)
  e[dp, :] = pow(y) exponent=2
  loss{dp} = sum(e)
  de[dp, :] = sum.grad(one, e)
  dy[dp, :] = pow.grad(de, y) exponent=2
  da[dp, :], dv'2{dp} = linear.grad(dy, a, v)
  dh[dp, :] = relu.grad(da, h)
  -, dw'2{dp} = linear.grad(dh, x, w)
  dw = all_reduce(dw'2) ranks=dp reduce="sum"
  dv = all_reduce(dv'2) ranks=dp reduce="sum"
  seed one
  loss loss
  gradient dw of w
  gradient dv of v
"""
CASES = {
    "no reduction in the forward pass": (
        TENSOR, 'y = all_reduce(part) ranks=tp reduce="sum"', "y = identity(part)", "missing-reduction", "part"),
    "no reduction of a gradient": (
        DATA, 'dv = all_reduce(dv\'2) ranks=dp reduce="sum"', "dv = identity(dv'2)", "missing-reduction", "dv"),
    "a mean of gradients": (
        DATA, 'dw = all_reduce(dw\'2) ranks=dp reduce="sum"', 'dw = all_reduce(dw\'2) ranks=dp reduce="avg"',
        "mean-instead-of-sum", "dw"),
    "another exponent": (
        TENSOR, "  e = pow(y) exponent=2", "  e = pow(y) exponent=3", "wrong-constant", "exponent=3"),
    "another operator": (TENSOR, "a[:, tp] = relu(h)", "a[:, tp] = silu(h)", "operator-differs", "relu"),
    "a factor": (DATA, "de[dp, :] = sum.grad(one, e)",
                 "two = mul(one) other=2\n+ de[dp, :] = sum.grad(two, e)", "wrong-scale", "2"),
    "a factor that no number states": (DATA, "de[dp, :] = sum.grad(one, e)",
                 "two = add(one, one)\n+ three = add(two, one)\n+ de[dp, :] = sum.grad(three, e)", "wrong-scale", "3"),
    "another input": (TENSOR, "dh[:, tp] = relu.grad(da, h)", "dh[:, tp] = relu.grad(a, h)", "wrong-input", "da"),
}  # fmt: skip


def pair(plan, right, wrong):
    line = f"  {right.strip()}\n"
    assert plan.count(line) == 1, line
    return SINGLE + plan.replace(line, f"- {right.strip()}\n+ {wrong.strip()}\n")


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_named(name):
    plan, right, wrong, code, word = CASES[name]
    good, bad = twins(pair(plan, right, wrong))
    assert swept(*good) == "PROVED"
    first, *others = told(*bad)
    assert (first.code, others) == (code, [])
    assert word in first.title
    assert "agree" in first.notes[-1]
    assert all(value.single != value.parallel for value in first.values)


def test_two_faults_are_two_findings_and_the_earlier_comes_first():
    text = pair(DATA, 'dw = all_reduce(dw\'2) ranks=dp reduce="sum"', "dw = identity(dw'2)")
    line = "  de[dp, :] = sum.grad(one, e)\n"
    _, bad = twins(
        text.replace(line, "- de[dp, :] = sum.grad(one, e)\n+ dt = mul(one) other=3\n+ de[dp, :] = sum.grad(dt, e)\n")
    )
    assert [finding.code for finding in told(*bad)] == ["wrong-scale", "missing-reduction"]


def test_what_has_no_known_cause_says_where_the_trail_begins():
    good, bad = twins(pair(TENSOR, "a[:, tp] = relu(h)", "b = tanh(h)\n+ c = exp(b)\n+ a[:, tp] = mul(c, b)"))
    assert swept(*good) == "PROVED"
    found = told(*bad)
    assert found and all(finding.code for finding in found)
    assert swept(*bad) == "REFUTED"


def test_a_bias_that_every_rank_adds_is_counted_twice():
    good, bad = twins("""plan single
  x input [2, 4]
  w buffer [2, 4]
  b buffer [2]
  p = linear(x, w)
  y = add(p, b)
  output y
plan parallel tp=2
  part{tp} = linear(x[:, tp], w[:, tp])
- p = all_reduce(part) ranks=tp reduce="sum"
- y = add(p, b)
+ q{tp} = add(part, b)
+ y = all_reduce(q) ranks=tp reduce="sum"
  output y
""")
    assert swept(*good) == "PROVED"
    (finding,) = told(*bad)
    assert finding.code == "reduced-twice"
    assert "adds b" in finding.title


def test_the_trail_is_followed_back_to_where_the_plans_part():
    _, bad = twins("""plan single
  x input [2, 4]
  s = mul(x, x)
  n = add(s) other=1
  r = sqrt(n)
  y = div(x, r)
  output y
plan parallel tp=2
  s[:, tp] = mul(x[:, tp], x)
  n[:, tp] = add(s) other=1
- r[:, tp] = sqrt(n)
+ m = sigmoid(s)
+ r[:, tp] = sqrt(m)
  y[:, tp] = div(x, r)
  output y
""")
    assert any(finding.code in ("operator-differs", "wrong-input") for finding in told(*bad))


LAYERS = """plan single
  x input [4, 4]
  w weight [4, 4]
  b weight [4]
  v weight [3, 4]
  c weight [3]
  p = linear(x, w)
  h = add(p, b)
  q = linear(h, v)
  y = add(q, c)
  output y
plan parallel tp=2
  part{tp} = linear(x[:, tp], w[:, tp])
- p = all_reduce(part) ranks=tp reduce="sum"
- h = add(p, b)
+ more{tp} = add(part, b)
+ h = all_reduce(more) ranks=tp reduce="sum"
  h'2[:, tp] = chunk(h) dim=1 ranks=tp
  other{tp} = linear(h'2, v[:, tp])
- q = all_reduce(other) ranks=tp reduce="sum"
- y = add(q, c)
+ most{tp} = add(other, c)
+ y = all_reduce(most) ranks=tp reduce="sum"
  output y
"""


def test_one_cause_in_two_layers_is_one_finding():
    """No correction in one layer alone mends the output."""
    good, bad = twins(LAYERS)
    assert swept(*good) == "PROVED"
    found = told(*bad)
    assert {finding.code for finding in found} == {"reduced-twice"}
    assert len(found) == 1 and "adds b" in found[0].title
