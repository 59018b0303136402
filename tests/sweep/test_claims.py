"""Elements, moves, claims and cones, by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.sweep.plans import OPTIONS, swept, twins
from verdict.inputs import domains, random_values
from verdict.ops.domain import Integers
from verdict.outcome import Proved
from verdict.semantics import bind, full, itself
from verdict.sweep.claim import Claim, Cone, cone_of, grown, key_of, size_of
from verdict.sweep.draws import drawn_twice
from verdict.sweep.elements import Elements, Kind, of_numbers
from verdict.sweep.ends import ends_of
from verdict.sweep.flow import Flow, Place, Step
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.guesses import Guesses
from verdict.sweep.match import catalogue_of
from verdict.sweep.moves import Moves
from verdict.sweep.parallel import follow_parallel
from verdict.sweep.prove import prove
from verdict.sweep.sweep import ALONE, sweep
from verdict.sweep.trace import Keys, Traces
from verdict.sweep.trial import Trial
from verdict.sweep.unroll import unroll
from verdict.sweep.values import run


def step(op, inputs, outputs, **attrs):
    return Step(op, tuple(inputs), tuple(outputs), attrs, 0, Place(0, 0, op))


def test_elements_are_numbered_side_by_side():
    elements = Elements()
    ids = elements.block(Kind.GIVEN, 7, 0, (2, 3))
    assert ids.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert elements.constant(Fraction(0)) == 0
    one = elements.constant(Fraction(1))
    assert elements.constant(Fraction(1)) == one == 7
    assert elements.of(5).owner == 7
    assert elements.constants(np.array([0, one])) == [0, 1]
    assert elements.constants(ids) is None
    assert of_numbers(elements, [0, 1]).tolist() == [0, one]
    assert of_numbers(elements, [0.25]) is None


@pytest.mark.parametrize(
    "op, attrs, expected",
    [
        ("transpose", {"dim0": 0, "dim1": 1}, [[1, 4], [2, 5], [3, 6]]),
        ("~piece", {"axis": 1, "start": 1, "stop": 3}, [[2, 3], [5, 6]]),
        ("identity", {}, [[1, 2, 3], [4, 5, 6]]),
        ("relu", {}, None),
        ("exp", {}, None),
    ],
)
def test_what_only_moves_is_found_by_moving_tokens(op, attrs, expected):
    elements, keys = Elements(), Keys()
    ids = elements.block(Kind.GIVEN, 0, 0, (2, 3))
    one = step(op, [0], [1], **attrs)
    found = Moves().of(keys.of(one), one, [ids], elements)
    assert (None if found is None else found[0].tolist()) == expected


def test_padding_is_the_constant_zero():
    elements, keys = Elements(), Keys()
    ids = elements.block(Kind.GIVEN, 0, 0, (2,))
    one = step("pad", [0], [1], dim=0, before=1, after=1)
    found = Moves().of(keys.of(one), one, [ids], elements)
    assert found is not None
    assert found[0].tolist() == [0, 1, 2, 0]


def followed(text, right=True):
    """The traces and claims of the right plan of a pair, or of the wrong one."""
    single, parallel = twins(text)[0 if right else 1]
    binding = bind(single, parallel)
    small = full(single), full(parallel)
    whole = small[0].logicals
    flows = unroll(single, small[0], itself(single), whole), unroll(parallel, small[1], binding, whole)
    given = [random_values(single, small[0], seed, False) for seed in range(3)]
    values = [[run(flow, seed) for seed in given] for flow in flows]
    elements = Elements()
    follower = Follower(elements, Keys())
    ids = {k: elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in given[0].items()}
    trace = follow_single(flows[0], ids, values[0], follower)
    guesses = Guesses(catalogue_of(flows[0], values[0], ids, given, trace.ids), trace)
    other, claims, *_ = follow_parallel(flows[1], ids, values[1], trace, follower, guesses)
    positive = guesses.catalogue.positive()
    return Traces(elements, trace, other, domains(single, small[0]), follower.keys, positive=positive), claims


LAYERS = """plan single
  x input [2, 4]
  a = mul(x) other=2
  b = exp(a)
  c = mul(b) other={second}
  d = exp(c)
  output d
plan parallel tp=2
- a[:, tp] = add(x[:, tp], x)
+ a[:, tp] = add(x[:, tp], x[:, tp])
  b[:, tp] = exp(a)
  c[:, tp] = {again}
  d[:, tp] = exp(c)
  output d
"""


PLAIN = LAYERS.format(second=2, again="add(b, b)")


def keyed(text=PLAIN):
    traces, claims = followed(text)
    return traces, [(claim, key_of(traces, claim, cone_of(traces, claim))) for claim in claims]


def test_congruent_claims_share_one_key():
    _, found = keyed()
    assert len(found) >= 4
    assert len({key for _, key in found}) < len(found)


def test_claims_of_other_elements_or_another_order_do_not():
    traces, found = keyed()
    claim, key = found[0]
    turned = claim._replace(right=claim.right[::-1])
    fewer = claim._replace(left=claim.left[1:], right=claim.right[1:])
    one = claim._replace(right=np.full_like(claim.right, claim.right[0]))
    keys = {key, *(key_of(traces, other, cone_of(traces, other)) for other in (turned, fewer, one))}
    assert len(keys) == 4


def test_claims_with_other_constants_do_not():
    plans = (PLAIN, LAYERS.format(second=2, again="sub(b, m)"))
    plans = (
        plans[0],
        plans[1].replace("  c[:, tp]", "  m activation [2, 4]\n  m[:, tp] = mul(b) other=-1\n  c[:, tp]"),
    )
    one, other = ({key for _, key in keyed(text)[1]} for text in plans)
    assert one != other


@pytest.mark.parametrize(("other", "size"), [("x", 6), ("y", 12)])
def test_elements_that_a_step_reads_twice_are_read_once(other, size):
    traces, claims = followed(f"""plan single
  x input [2, 2]
  y input [2, 2]
  b = mul(x, {other})
  output b
plan parallel tp=2
- b[:, tp] = mul(x[:, tp], {other}[:, tp])
+ b[:, tp] = add(x[:, tp], {other}[:, tp])
  output b
""")
    assert {size_of(traces, cone_of(traces, claim)) for claim in claims} == {size}


def test_a_cone_grows_where_it_is_too_small():
    traces, claims = followed("""plan single
  x input [2, 2]
  a = mul(x) other=3
  b = mul(a) other=2
  output b
plan parallel tp=2
- b[:, tp] = mul(x[:, tp]) other=6
+ b[:, tp] = mul(x[:, tp]) other=5
  output b
""")
    claim = claims[0]
    first = cone_of(traces, claim)
    larger = grown(traces, claim, first)
    assert larger is not None
    assert set(larger.single) > set(first.single)
    assert grown(traces, claim, larger) is None


def test_what_both_sides_have_is_replaced_where_it_rests_on_what_one_side_has():
    """b + c with c = (g x) x, against b + b with b = g (x x): c leads down to x, and so must b."""
    traces, claims = followed("""plan single
  x input [2, 2]
  g input [2, 2]
  a = mul(x, x)
  b = mul(g, a)
  c = mul(g, x)
  d = mul(c, x)
  e = add(b, d)
  output e
plan parallel tp=2
  a[:, tp] = mul(x[:, tp], x)
  b[:, tp] = mul(g[:, tp], a)
- e[:, tp] = add(b, b)
+ e[:, tp] = add(b, a)
  output e
""")
    claim = next(claim for claim in claims if traces.elements.of(int(claim.right[0])).owner == 4)
    cone = cone_of(traces, claim)
    trial = Trial(traces, 0)
    for _ in range(4):
        assert trial.differ(claim, cone)
        cone = grown(traces, claim, cone)
        if not trial.differ(claim, cone):
            break
    assert not trial.differ(claim, cone)
    assert {0, 1} <= set(cone.single)


def test_a_claim_is_about_elements_of_both_plans():
    traces, claims = followed(PLAIN)
    for claim in claims:
        assert isinstance(claim, Claim)
        assert claim.left.shape == claim.right.shape
        assert all(block.kind is Kind.PARALLEL for block in traces.elements.blocks_of(claim.left))


def test_draws_for_equal_values_are_found():
    first, second = step("dropout", [0], [1], p=0.5), step("dropout", [0], [2], p=0.5)
    flow = Flow(3, (), (first, second), ())
    values = [[np.array([float(seed + 1), 0.0]), None, None] for seed in range(3)]
    assert len(drawn_twice(flow, values)) == 1
    off = first._replace(attrs={"p": 0.5, "training": False})
    assert drawn_twice(Flow(3, (), (off, second), ()), values) == ()


def test_claims_about_different_outputs_of_a_step_do_not_share_a_key():
    _, found = keyed("""plan single
  x input [2, 2]
  y input [2, 2]
  g = exp(x)
  a, - = mul.grad(g, x, y)
  -, b = mul.grad(g, x, y)
  output a
  output b
plan parallel tp=2
- g[:, tp] = exp(x[:, tp])
+ g[:, tp] = exp(y[:, tp])
  a[:, tp], - = mul.grad(g, x[:, tp], y[:, tp])
  -, b[:, tp] = mul.grad(g, x[:, tp], y[:, tp])
  output a
  output b
""")
    keys = {(claim.step, claim.output): key for claim, key in found}
    assert len(set(keys.values())) == len(found) > 2


IDS = """plan single
  x input [2, 3]
  t input int64 [2]
  loss = cross_entropy(x, t) ignore_index=-100 reduction="sum"
  loss loss
plan parallel tp=1
- loss = cross_entropy(x, t) ignore_index=-100 reduction="sum"
+ loss = cross_entropy(x, t) reduction="sum"
  loss loss
"""


@pytest.mark.parametrize("covered, expected", [(Integers(0, 2, (-100,)), False), (Integers(0, 2), True)])
def test_a_proof_covers_ids_that_are_ignored(covered, expected):
    traces, _ = followed(IDS, right=False)
    assert traces.integers[1].kinds == (Integers(0, 2, (-100,)),)
    (claim,) = ends_of(traces).claims
    known = replace(traces.integers[1], kinds=(covered,))
    (outcome,) = prove(
        replace(traces, integers={1: known}), [claim], frozenset(cone_of(traces, claim).single), OPTIONS.solver
    )
    assert isinstance(outcome, Proved) is expected


def test_ids_that_are_ignored_do_not_keep_a_right_plan_from_its_proof():
    (single, parallel), _ = twins(IDS)
    assert swept(single, parallel) == "PROVED"


def test_ids_that_are_shifted_are_not_those_that_are_looked_up():
    traces, _ = followed("""plan single
  t input int64 [2]
  u input int64 [2]
  w weight [3, 2]
  s = sub(t) other=4
  y = embedding(u, w)
  z = mul(y) other=2
  output z
plan parallel tp=1
- y = embedding(u, w)
+ y = embedding(t, w)
  z = mul(y) other=2
  output z
""")
    assert all(traces.integers[k].kinds == (Integers(),) for k in (0, 1))
    assert traces.integers[1].tables == (3,)
    assert traces.integers[0].tables == ()


def test_an_output_that_only_the_parallel_plan_declares_is_open():
    (single, parallel), _ = twins(PLAIN)
    both = replace(parallel, outputs=(*parallel.outputs, parallel.outputs[0]._replace(tensor=0)))
    assert swept(single, parallel) == "PROVED"
    assert [why for _, why in sweep(single, both, OPTIONS).open] == [ALONE]


def test_a_trial_sees_that_a_cone_is_too_small_and_never_that_a_claim_fails_which_holds():
    traces, claims = followed(LAYERS.format(second=2, again="mul(b) other=2"))
    trial = Trial(traces, 0)
    for claim in claims:
        assert not trial.differ(claim, cone_of(traces, claim))
        assert trial.differ(claim._replace(right=np.roll(claim.right, 1)), cone_of(traces, claim))
        assert trial.differ(claim, cone_of(traces, claim)._replace(single=()))
        assert not trial.differ(claim, cone_of(traces, claim))


@pytest.mark.parametrize(("bound", "apart"), [("1e-06", True), ("0.0", False), ("-1.0", False)])
def test_a_trial_sees_that_a_bound_is_passed_where_all_is_zero(bound, apart):
    """No number that is drawn is so small, so that what is kept from zero looks like itself."""
    traces, _ = followed(f"""plan single
  x input [2, 4]
  a = mul(x) other=2
  b = aten.linalg_vector_norm(a)
  c = aten.clamp(b) min={bound}
  output c
plan parallel tp=2
- a = mul(x) other=3
+ a = add(x, x)
  b = aten.linalg_vector_norm(a)
  c = aten.clamp(b) min={bound}
  output c
""")
    (norm,), (kept,) = traces.single.made[1], traces.single.made[2]
    claim = Claim(kept.ravel(), norm.ravel(), 2, 0)
    assert Trial(traces, 0).differ(claim, Cone((), (1, 2))) is apart


def test_a_trial_draws_positive_what_is_positive_on_all_seeds():
    """A root of forty numbers of both signs has no value, and of those near one no difference is seen."""
    rest = """
  r = rsqrt(a)
  s = sum(r) dim=1 keepdim=True
  b = mul(s, y)
  c = aten.abs(y)
  d = mul(s, c)
  output b
  output d
"""
    traces, _ = followed(f"""plan single
  x input [1, 40]
  y input [1, 4]
  a = exp(x){rest}plan parallel tp=1
- a = mul(x) other=1
+ a = exp(x){rest}""")
    steps = {one.op: k for k, one in enumerate(traces.single.flow.steps)}
    first, last = (k for k, one in enumerate(traces.single.flow.steps) if one.op == "mul")
    claim = Claim(traces.single.made[first][0].ravel(), traces.single.made[last][0].ravel(), last, 0)
    cone = Cone((), (steps["rsqrt"], steps["sum"], first, steps["aten.abs"], last))
    assert Trial(traces, 0).differ(claim, cone)
    assert not Trial(traces, 0).differ(claim._replace(right=claim.left), cone)
    unknown = replace(traces, positive=np.zeros(0, np.int64))
    assert not Trial(unknown, 0).differ(claim, cone)


MASKED = """plan single
  x input [2, 4]
  m activation bool [2, 4]
  n activation bool [2, 4]
  m = aten.gt.Scalar(x) other=0
  n = aten.{op}(m{second})
  a = mul(n, x)
  b = mul(n, a)
  output b
plan parallel tp=2
  m[:, tp] = aten.gt.Scalar(x[:, tp]) other=0
  n[:, tp] = aten.{op}(m{cut})
- b[:, tp] = mul(n, x[:, tp])
+ b[:, tp] = add(n, x[:, tp])
  output b
"""


@pytest.mark.parametrize("op", ["bitwise_and.Tensor", "clone", "logical_not"])
def test_truth_values_are_zero_or_one_where_they_are_not_followed(op):
    """n n x is n x, without what made n; what is said of the numbers that a mask holds is in the key."""
    second, cut = (", m", ", m[:, tp]") if op.startswith("bitwise") else ("", "")
    traces, claims = followed(MASKED.format(op=op, second=second, cut=cut))
    claim = next(claim for claim in claims if traces.parallel.flow.steps[claim.step].op == "mul")
    once, twice = (k for k, one in enumerate(traces.single.flow.steps) if one.op == "mul")
    claim = claim._replace(right=traces.single.made[twice][0][:, :2].ravel())
    cone = cone_of(traces, claim)._replace(single=(once, twice))
    unknown = replace(traces, single=replace(traces.single, flow=replace(traces.single.flow, truths=frozenset())))
    assert not Trial(traces, 0).differ(claim, cone)
    assert Trial(unknown, 0).differ(claim, cone)
    for known, expected in ((traces, True), (unknown, False)):
        (outcome,) = prove(known, [claim], frozenset(cone.single), OPTIONS.solver)
        assert isinstance(outcome, Proved) is expected
    assert key_of(traces, claim, cone) != key_of(unknown, claim, cone)


@pytest.mark.parametrize(("made", "expected"), [("bool", True), ("int64", False)])
def test_what_takes_a_mask_for_numbers_is_no_truth_value(made, expected):
    """Two more than a truth value is cast to one where a plan says that it is one, and stays what it is elsewhere."""
    traces, _ = followed(f"""plan single
  x input [4]
  m activation bool [4]
  n activation {made} [6]
  m = aten.gt.Scalar(x) other=0
  n = aten.constant_pad_nd(m) pad=(1, 1) value=2
  output n
plan parallel tp=1
  m = aten.gt.Scalar(x) other=0
- n = aten.constant_pad_nd(m) pad=(1, 1) value=2
+ n = aten.constant_pad_nd(m) pad=(1, 1) value=1
  output n
""")
    steps = {step.op: step.outputs[0] for step in traces.single.flow.steps}
    assert steps["aten.gt.Scalar"] in traces.single.flow.truths
    assert steps["aten.constant_pad_nd"] not in traces.single.flow.truths
    assert ("~cast" in steps and steps["~cast"] in traces.single.flow.truths) is expected
