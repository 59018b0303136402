"""Equal elements of the single-device flow are one, if that is proved."""

import numpy as np
import pytest

from tests.builders import FAST
from tests.sweep.plans import OPTIONS, swept, twins
from tests.sweep.test_claims import followed
from tests.values.outline import plans
from verdict.counting import uncounted
from verdict.options import Options
from verdict.reduction import Reduced
from verdict.semantics import bind, full
from verdict.sweep import sweep
from verdict.sweep.decide import Decided, decide
from verdict.sweep.elements import Elements, Kind
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.match import catalogue_of
from verdict.sweep.merge import merged, repeats, without
from verdict.sweep.seen import flows_of, seen
from verdict.sweep.trace import Keys, Traces

CUBE = """plan single
  x input [4, 6]
  g input [4, 6]
  a = mul(x, x)
  b = mul(g, a)
  c = mul(g, x)
  d = mul(c, x)
  e = add(b, d)
  f = exp(e)
  output f
plan parallel tp=2
  a[:, tp] = mul(x[:, tp], x)
  b[:, tp] = mul(g[:, tp], a)
  c[:, tp] = mul(g, x)
- d[:, tp] = mul(c, x)
+ d[:, tp] = mul(c, {other})
  e[:, tp] = add({first}, {second})
  f[:, tp] = exp(e)
  output f
"""


def pair(other="g", first="b", second="d"):
    return twins(CUBE.format(other=other, first=first, second=second))


@pytest.mark.parametrize(("first", "second"), [("b", "d"), ("d", "b"), ("b", "b"), ("d", "d")])
def test_products_that_are_one_value_may_be_added_up_as_either(first, second):
    right, _ = pair(first=first, second=second)
    assert swept(*right) == "PROVED"


@pytest.mark.parametrize(("first", "second"), [("b", "d"), ("d", "d")])
def test_another_product_is_refuted(first, second):
    _, wrong = pair(first=first, second=second)
    assert swept(*wrong) == "REFUTED"


@pytest.mark.parametrize("both", pair(second="b"))
def test_without_merging_the_verdict_is_the_same(both):
    """`exhaustive` merges nothing."""
    exhaustive = sweep(*both, Options(workers=0, solver=FAST, exhaustive=True))
    quick = sweep(*both, OPTIONS)
    assert bool(quick.different) == bool(exhaustive.different)
    assert bool(quick.open) == bool(exhaustive.open)


def decided(traces, repeated):
    """What is left of some repeats, and the single-device flow with those that are proved."""
    own, beside, claims = merged(traces.single, repeated, Follower(traces.elements, traces.keys))
    both = Traces(traces.elements, own, beside, traces.integers, traces.keys)
    return own, decide(both, claims, Decided({}), OPTIONS, uncounted, 8)


def outputs_of(trace, step):
    return trace.ids[trace.flow.steps[step].outputs[0]]


def test_a_wrong_guess_is_refused():
    """That the sum is the first product, for instance."""
    traces, _ = followed(CUBE.format(other="g", first="b", second="d"))
    single = traces.single
    names = [step.op for step in single.flow.steps]
    product, total = 1, names.index("add")
    _, refused = decided(traces, {(total, 0): outputs_of(single, product)})
    assert {claim.step for claim, _ in refused} == {total}
    assert without({(total, 0): outputs_of(single, product)}, [claim for claim, _ in refused]) == {}


def test_a_right_guess_merges_what_reads_it():
    traces, _ = followed(CUBE.format(other="g", first="b", second="d"))
    single = traces.single
    own, refused = decided(traces, {(3, 0): outputs_of(single, 1)})
    assert not refused
    assert not np.array_equal(outputs_of(single, 3), outputs_of(single, 1))
    assert np.array_equal(outputs_of(own, 3), outputs_of(own, 1))
    total = [step.op for step in single.flow.steps].index("add")
    assert np.array_equal(*own.reads[total])


@pytest.mark.parametrize(("line", "found"), [("mul(c, x)", {(3, 0)}), ("mul(c, g)", set()), ("add(c, x)", set())])
def test_what_has_the_values_of_earlier_elements_is_looked_at(line, found):
    """Never the first of them, nor what is a truth value, nor a later one."""
    text = f"  x input [4, 6]\n  g input [4, 6]\n  a = mul(x, x)\n  b = mul(g, a)\n  c = mul(g, x)\n  d = {line}\n"
    single, parallel = plans(text + "  output b\n  output d", text + "  output b\n  output d")
    reduced = Reduced(single, parallel, bind(single, parallel), (full(single), full(parallel)))
    flows = flows_of(reduced)
    both = seen(flows, reduced, (0, 1, 2), {})
    follower = Follower(Elements(), Keys())
    ids = {k: follower.elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in both.given[0].items()}
    trace = follow_single(flows[0], ids, both.values[0], follower)
    catalogue = catalogue_of(flows[0], both.values[0], ids, both.given, trace.ids)
    assert set(repeats(trace, both.values[0], catalogue, follower.elements)) == found


TWICE = ("  a = mul(q) other=2.0", "  b = mul(x) other=2.0")
PARTIAL = """plan single
  x input [4, 6]
  y input [4, 6]
  p = mul(x, y)
  q = div(p, y)
{first}
{second}
  c = exp(b)
  output a
  output c
plan parallel tp=2
  p[:, tp] = mul(x[:, tp], y[:, tp])
  q[:, tp] = div(p, y)
  a[:, tp] = mul(q) other=2.0
- b[:, tp] = mul(x) other=2.0
+ b[:, tp] = mul(q) other=2.0
  c[:, tp] = exp(b)
  output a
  output c
"""


@pytest.mark.parametrize(("first", "second"), [TWICE, TWICE[::-1]])
def test_what_has_no_value_somewhere_is_not_what_has_one(first, second):
    """x y / y is no 2 x where y is zero, though 2 x is x y / y wherever that has a value."""
    _, wrong = twins(PARTIAL.format(first=first, second=second))
    assert swept(*wrong) == "UNKNOWN"


def test_what_has_a_value_everywhere_is_found_beside_what_has_not():
    right, _ = twins(PARTIAL.format(first=TWICE[1], second=TWICE[0]))
    assert swept(*right) == "PROVED"


CHOSEN = """plan single
  x input [4, 6]
  y input [4, 6]
  m = aten.gt.Scalar(y) other=0.5
  z = aten.zeros_like(x)
  q = div(x, y)
  b = {one}
  output b
plan parallel tp=2
  m[:, tp] = aten.gt.Scalar(y[:, tp]) other=0.5
  z[:, tp] = aten.zeros_like(x[:, tp])
  q[:, tp] = div(x, y)
- b[:, tp] = {right}
+ b[:, tp] = {wrong}
  output b
"""
WHERE = "aten.where.self(m, q, z)"


def test_a_choice_of_what_has_no_value_somewhere_is_never_proved_by_leaving_that_out():
    """Where y is zero the single-device choice is zero: a plan that makes anything else there is wrong."""
    _, wrong = twins(CHOSEN.format(one=WHERE, right=WHERE, wrong="mul(m, q)"))
    assert swept(*wrong) != "PROVED"


def test_a_parallel_choice_may_have_values_where_the_single_plan_has_none():
    """m x / y has none where y is zero."""
    right, wrong = twins(CHOSEN.format(one="mul(m, q)", right=WHERE, wrong="aten.where.self(m, z, q)"))
    assert swept(*right) == "PROVED"
    assert swept(*wrong) == "REFUTED"


@pytest.mark.parametrize("operator", ["mul", "add", "matmul"])
def test_one_node_may_make_one_value_twice(operator):
    """The gradients of both factors of x x are one value, as the other plan may have it."""
    good, bad = twins(f"""plan single
  x input [4, 4]
  g input [4, 4]
  h = exp(x)
  a, b = {operator}.grad(g, h, h)
  c = mul(a, b)
  y = mul(c, h)
  output y
plan parallel dp=1
  h = exp(x)
  b, a = {operator}.grad(g, h, h)
- c = mul(a, b)
+ c = mul(a, h)
  y = mul(c, h)
  output y
""")
    assert (swept(*good), swept(*bad)) == ("PROVED", "REFUTED")
