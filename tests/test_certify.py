"""A divergence of the walk is a refutation where numbers show it, and an open question where they agree."""

import sys
from dataclasses import replace
from importlib import import_module

import pytest

from tests.builders import FAST, answer, ask, codes, mlp, rewrite_where, walked
from tests.mutate.test_misses import SINGLE
from tests.values.outline import plans, report
from verdict.concrete import AGREE, DIFFER, compare
from verdict.graph import Node
from verdict.graph.cone import of_losses
from verdict.inputs import USUAL
from verdict.options import Options
from verdict.outcome import Finding
from verdict.phases import Examined, Query, certify, contradict, numbers, walk
from verdict.phases.certify import needs_no_run
from verdict.phases.replica import one_column
from verdict.report import Open, Verdict
from verdict.sweep import steps_of

TWIN = mlp(tp=2)
certify_module = import_module("verdict.phases.certify")
comparison_module = import_module("verdict.concrete.comparison")


def swapped(node):
    return node._replace(inputs=node.inputs[::-1])


def from_the_result(plan):
    """relu.grad looks at the sign of relu(h) instead of that of h."""
    results = {}

    def note(node):
        results[node.inputs[0]] = node.outputs[0]
        return node

    rewrite_where(plan, "relu", note)
    return rewrite_where(
        plan, "relu.grad", lambda node: node._replace(inputs=(node.inputs[0], results[node.inputs[1]]))
    )


HARMLESS = {
    "commuted": rewrite_where(TWIN, "mul", swapped, device=1),
    "the sign of the result": from_the_result(TWIN),
}
FAULTS = {
    "not summed": rewrite_where(TWIN, "all_reduce", lambda node: node._replace(op="identity", attrs=()), device=0),
    "another gradient": rewrite_where(TWIN, "relu.grad", lambda node: node._replace(op="identity.grad"), device=1),
}


def certified(single, parallel, report):
    return certify(Query(single, parallel), Examined(report)).report


def contradicted(single, parallel, report):
    return contradict(Query(single, parallel), Examined(report)).report


@pytest.mark.parametrize("name", HARMLESS)
def test_what_numbers_do_not_show_is_no_refutation_and_no_proof(name):
    found = walked(SINGLE, HARMLESS[name])
    assert codes(found) == {"wrong-input"}
    report = certified(SINGLE, HARMLESS[name], found)
    assert (report.verdict, report.findings) == (Verdict.UNKNOWN, ())
    assert any("wrong-input" in item.reason and "the plans agree" in item.reason for item in report.open)


@pytest.mark.parametrize("name", HARMLESS)
def test_beside_what_is_missing_only_that_is_a_finding(name):
    plan = replace(HARMLESS[name], gradients=HARMLESS[name].gradients[1:])
    assert "wrong-input" in codes(walked(SINGLE, plan))
    assert codes(ask(SINGLE, plan)) == {"gradient-missing", "weight-not-covered"}


def test_beside_what_is_missing_what_numbers_show_stays():
    wrong = FAULTS["another gradient"]
    plan = replace(wrong, gradients=wrong.gradients[1:])
    assert codes(ask(SINGLE, plan)) > {"gradient-missing"}


def test_the_sweep_proves_what_it_can():
    assert ask(SINGLE, HARMLESS["commuted"]).verdict is Verdict.PROVED
    assert ask(SINGLE, HARMLESS["the sign of the result"]).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("name", FAULTS)
def test_what_numbers_show_is_refuted(name):
    report = ask(SINGLE, FAULTS[name])
    assert report.verdict is Verdict.REFUTED
    assert report.notes == ()


def test_the_right_twin_is_proved():
    assert ask(SINGLE, TWIN).verdict is Verdict.PROVED


def undecided(plan):
    """What is said of a plan where the walk found nothing, and left a question."""
    return replace(walked(SINGLE, plan), findings=(), open=(Open("somewhere", "a question", "no-proof"),))


def test_what_is_open_is_refuted_by_numbers(monkeypatch):
    assert contradicted(SINGLE, TWIN, undecided(TWIN)) == undecided(TWIN)
    plan = FAULTS["another gradient"]
    report = contradicted(SINGLE, plan, undecided(plan))
    assert (report.verdict, codes(report)) == (Verdict.REFUTED, {"wrong-input"})
    monkeypatch.setattr(import_module("verdict.sweep.own"), "MOST_OWN", 0)
    report = contradicted(SINGLE, plan, undecided(plan))
    assert (report.verdict, codes(report)) == (Verdict.REFUTED, {"not-equivalent"})
    assert "somewhere" in report.findings[0].notes[0]


def test_one_seed_that_differs_is_enough():
    text = "\n  x input [4]\n  y activation []\n  m activation []\n  m = aten.amin(x)\n  {last}\n  output y\n"
    for bound in range(1, 40):
        lasts = "y = mul(m) other=1.0", f"y = aten.clamp(m) min={-bound / 10}"
        single, parallel = plans(*(text.format(last=last) for last in lasts))
        if [compare(single, parallel, seed).outcome for seed in numbers.SEEDS] == [AGREE, DIFFER]:
            break
    else:
        pytest.fail("no bound between what the seeds draw")
    report = contradicted(single, parallel, undecided(TWIN))
    assert report.verdict is Verdict.REFUTED


SCALED = """
  x input [4]
  c activation []
  y activation [4]
  c = constant() shape=() values=({},)
  y = mul(x, c)
  output y
"""


def test_a_constant_in_32_bits_is_no_other_constant():
    single = SCALED.format(0.1)
    assert report(single, SCALED.format(0.10000000149011612)).verdict is Verdict.UNKNOWN
    assert report(single, SCALED.format(0.10001)).verdict is Verdict.REFUTED
    assert report(single, single).verdict is Verdict.PROVED


@pytest.mark.parametrize(("constant", "stays"), [("0.10000000149011612", False), ("0.10001", True)])
def test_a_divergence_needs_numbers_that_differ_for_certain(constant, stays):
    """What the walk says of plans between which rounding of a constant stands is no refutation."""
    pair = plans(SCALED.format(0.1), SCALED.format(constant))
    found = replace(undecided(TWIN), findings=(Finding("shape-mismatch", "it does not fit", "somewhere"),))
    assert bool(certified(*pair, found).findings) is stays


def test_what_does_not_run_to_its_end_is_left_to_findings():
    plan = FAULTS["not summed"]
    assert contradicted(SINGLE, plan, undecided(plan)) == undecided(plan)


def test_what_is_proved_is_not_run():
    plan = FAULTS["another gradient"]
    report = ask(SINGLE, TWIN)
    assert contradicted(SINGLE, plan, report) == report


def test_what_is_assumed_is_not_in_numbers():
    plan = FAULTS["another gradient"]
    examined = Examined(undecided(plan))
    assumed = Options(assume=frozenset({"chunk-order-by-region"}))
    assert contradict(Query(SINGLE, plan, assumed), examined) == examined
    assert contradict(Query(SINGLE, plan), examined).report.verdict is Verdict.REFUTED


@pytest.mark.parametrize("few", [0, numbers.OPEN])
def test_what_was_run_is_run_again_on_more_seeds_where_quick_and_on_louder_and_other_numbers(few, monkeypatch):
    scales, run = [], certify_module.run_on_numbers
    monkeypatch.setattr(numbers, "OPEN", few)

    def noted(*pair, scale=USUAL, **given):
        scales.append(scale)
        return run(*pair, scale=scale, **given)

    monkeypatch.setattr(certify_module, "run_on_numbers", noted)
    for ran in (True, False):
        examined = Examined(undecided(TWIN), ran=ran)
        assert contradict(Query(SINGLE, TWIN), examined) == examined._replace(ran=True)
    more = [*numbers.LOUD, numbers.QUIET, *numbers.ZEROS]
    assert scales == [*([USUAL] if few else []), *more, USUAL, *more]


CLIPPED = """
  x input [4, 2]
  y = mul(x) other=0.3
  n = {}
  output n
"""


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        ("aten.clamp(y) min=-1.0 max=1.0", Verdict.UNKNOWN),
        ("aten.clamp(y) min=-1.2 max=1.0", Verdict.REFUTED),
        ("mul(y) other=1.0", Verdict.REFUTED),
    ],
)
def test_limits_that_no_usual_input_comes_to_are_looked_at(other, verdict):
    single, parallel = plans(CLIPPED.format("aten.clamp(y) min=-1.0 max=1.0"), CLIPPED.format(other))
    report = contradicted(single, parallel, undecided(TWIN))
    assert (run_of(single, parallel, USUAL), report.verdict) == (AGREE, verdict)
    if verdict is Verdict.REFUTED:
        assert [finding.where.split(" ")[0] for finding in report.findings] == ["n"]


NORMED = """
  x input [4, 2]
  w weight [4, 2]
  r = mul(x, x)
  m = mean(r) dim=(-1,) keepdim=True
  e = add(m) other=1.0e-6
  q = aten.rsqrt(e)
  h = mul(x, q)
  y = mul(h, w)
  n = {}
  output n
"""


@pytest.mark.parametrize(("low", "verdict"), [(-30.0, Verdict.UNKNOWN), (-1.5, Verdict.REFUTED)])
def test_bounds_behind_a_norm_are_come_to_by_greater_weights(low, verdict):
    single, parallel = plans(NORMED.format("mul(y) other=1.0"), NORMED.format(f"aten.clamp(y) min={low} max=30.0"))
    report = contradicted(single, parallel, undecided(TWIN))
    assert ([run_of(single, parallel, scale) for scale in numbers.LOUD[:3]], report.verdict) == ([AGREE] * 3, verdict)


BY_NORM = """
  x input [4, 2]
  r = mul(x, x)
  m = mean(r) dim=(0, 1) keepdim=True
  q = aten.rsqrt(m)
  c = mul(q) other=0.3
  k = {}
  y = mul(x, k)
  output y
"""


@pytest.mark.parametrize(("most", "verdict"), [(1.0, Verdict.UNKNOWN), (2.0, Verdict.REFUTED)])
def test_a_bound_that_only_small_norms_come_to_is_looked_at(most, verdict):
    single, parallel = plans(BY_NORM.format("aten.clamp(c) max=1.0"), BY_NORM.format(f"aten.clamp(c) max={most}"))
    report = contradicted(single, parallel, undecided(TWIN))
    assert ([run_of(single, parallel, scale) for scale in numbers.LOUD], report.verdict) == ([AGREE] * 4, verdict)


LOOKED_UP = """
  x input [32, 2]
  t weight [40, 2]
  i input int64 [2]
  r = embedding(i, t)
  b = aten.gt.Scalar(i) other={}
  z = aten.where.ScalarSelf(b, r) self=0.0
  output z
"""


@pytest.mark.parametrize(("beyond", "verdict"), [(40, Verdict.UNKNOWN), (38, Verdict.REFUTED)])
def test_what_one_row_alone_does_is_seen(beyond, verdict):
    single, parallel = plans(LOOKED_UP.format(50), LOOKED_UP.format(beyond))
    assert contradicted(single, parallel, undecided(TWIN)).verdict is verdict


def run_of(single, parallel, scale):
    return numbers.run_on_numbers(single, parallel, scale=scale).outcome


def test_what_louder_inputs_make_beyond_floats_shows_nothing():
    text = "\n  x input [4]\n  y = {}\n  z = {}\n  output z\n"
    stable = text.format("mul(x) other=120.0", "mul(y) other=1.0")
    beyond = text.format("mul(x) other=120.0\n  e = exp(y)", "aten.log(e)")
    single, parallel = plans(stable, beyond)
    assert run_of(single, parallel, USUAL) == AGREE
    assert contradicted(single, parallel, undecided(TWIN)).verdict is Verdict.UNKNOWN


ROUNDED = """
  x input [4]
  u = mul(x) other=8.0
  {}
  output z
"""
SATURATED = ROUNDED.format("t = aten.tanh(u)\n  s = mul(t, t)\n  v = aten.rsub.Scalar(s) other=1.0\n  z = aten.log(v)")
STABLE = "\n".join(
    ("n = neg(u)", "  e = exp(u)", "  f = exp(n)", "  c = add(e, f)", "  h = mul(c) other=0.5", "  l = aten.log(h)")
) + "\n  z = mul(l) other={}"
"""1 - tanh(u)**2 has no digits in floats where u is 18, and is 1 / cosh(u)**2."""


@pytest.mark.parametrize(("factor", "verdict"), [(-2.0, Verdict.UNKNOWN), (-2.001, Verdict.REFUTED)])
def test_what_only_rounding_makes_shows_no_difference(factor, verdict):
    stable = ROUNDED.format(STABLE.format(factor))
    single, parallel = plans(SATURATED, stable)
    assert contradicted(single, parallel, undecided(TWIN)).verdict is verdict


def test_that_rounding_is_looked_for_makes_the_difference(monkeypatch):
    monkeypatch.setattr(comparison_module, "MOST_SHAKEN", 0)
    single, parallel = plans(SATURATED, ROUNDED.format(STABLE.format(-2.0)))
    assert contradicted(single, parallel, undecided(TWIN)).verdict is Verdict.REFUTED


OF_FLOATS = """
  x input [2,3]
  y = mul(x) other={}
  {}
  output z
"""
SOFTMAX = "e = exp(y)\n  s = sum(e) dim=(-1,) keepdim=True\n  "
SATURATED_TOO = "p = sigmoid(y)\n  q = aten.rsub.Scalar(p) other=1.0\n  l = aten.log(q)\n  z = mul(l) other="
SIGN = "a = add(y, x)\n  b = sub(a, x)\n  n = sub(b, y)\n  s = aten.sign("
FLOATS_END = {
    "too great": (900.0, "z = softmax(y) dim=-1", SOFTMAX + "z = div(e, s)", SOFTMAX + "d = div(e, s)\n  z = neg(d)"),
    "too small": (
        900.0, "z = log_softmax(y) dim=-1", "p = softmax(y) dim=-1\n  z = aten.log(p)",
        "p = softmax(y) dim=-1\n  q = mul(p) other=2.0\n  z = aten.log(q)",
    ),
    "a bound": (60.0, "z = aten.softplus(y)", SATURATED_TOO + "-1.0", SATURATED_TOO + "-1.001"),
    "no digits left": (
        1.0, "z = mul(y) other=1.0", "a = add(y) other=1e17\n  z = sub(a) other=1e17",
        "w = mul(y) other=1.001\n  a = add(w) other=1e9\n  z = sub(a) other=1e9",
    ),
    "a sign": (7.3, "n = sub(y, y)\n  s = aten.sign(n)\n  z = add(x, s)", SIGN + "n)\n  z = add(x, s)",
               SIGN + "y)\n  z = add(x, s)"),
}  # fmt: skip
"""What real numbers and floats make something else of: a step of one device, a right and a wrong one of the ranks.

In floats x / x is no number where both are infinite, log(p) is infinite where p is too small for them or was rounded to
a bound, and the sign of what is zero but for rounding is one.
"""


@pytest.mark.parametrize("name", FLOATS_END)
def test_where_floats_end_nothing_is_refuted(name):
    scale, single, right, _ = FLOATS_END[name]
    both = plans(OF_FLOATS.format(scale, single), OF_FLOATS.format(scale, right))
    assert ask(*both).verdict is not Verdict.REFUTED
    assert run_of(*both, USUAL) == AGREE


@pytest.mark.parametrize("name", FLOATS_END)
def test_what_is_wrong_there_is_refuted(name):
    scale, single, _, wrong = FLOATS_END[name]
    both = plans(OF_FLOATS.format(scale, single), OF_FLOATS.format(scale, wrong))
    assert answer(*both) == "REFUTED"


@pytest.mark.parametrize("limit", ["MOST_STEPS", "MOST_WORK"])
def test_what_is_too_large_to_be_run_is_open_and_says_so(limit, monkeypatch):
    monkeypatch.setattr(numbers, limit, 10)
    report = certified(SINGLE, HARMLESS["commuted"], walked(SINGLE, HARMLESS["commuted"]))
    assert (report.verdict, report.findings) == (Verdict.UNKNOWN, ())
    assert "the limit is 10" in report.open[0].reason


WIDE = mlp(batch=64)
FAULTS_OF_A_COLUMN = {
    "not summed": lambda plan: rewrite_where(
        plan, "all_reduce", lambda node: node._replace(op="identity", attrs=()), device=0, nth=0
    ),
    "another gradient": lambda plan: rewrite_where(
        plan, "relu.grad", lambda node: node._replace(op="identity.grad"), device=1
    ),
}


def limited(monkeypatch, parallel):
    """The limit at what one column of the plan takes: far less than all of it."""
    one = one_column(WIDE, parallel)
    limit = steps_of(one.single) + steps_of(one.parallel)
    assert limit < steps_of(parallel) / 8
    monkeypatch.setattr(numbers, "MOST_STEPS", limit)


@pytest.mark.parametrize("name", FAULTS_OF_A_COLUMN)
def test_of_what_is_too_large_one_column_is_run(name, monkeypatch):
    wrong = FAULTS_OF_A_COLUMN[name](mlp(dp=8, tp=2, nm=4, batch=64))
    limited(monkeypatch, wrong)
    assert answer(WIDE, wrong) == "REFUTED"
    assert ask(WIDE, mlp(dp=8, tp=2, nm=4, batch=64)).verdict is Verdict.PROVED


@pytest.mark.parametrize(("op", "other", "verdict"), [
    ("relu", "identity", Verdict.REFUTED), ("relu.grad", "identity.grad", Verdict.UNKNOWN),
])  # fmt: skip
def test_of_large_plans_the_losses_are_enough_where_they_differ(op, other, verdict, monkeypatch):
    """The limit is at what one column of the losses takes: nothing else is run."""
    wrong = rewrite_where(mlp(dp=8, tp=2, nm=4, batch=64), op, lambda node: node._replace(op=other), device=1)
    one = one_column(of_losses(WIDE), of_losses(wrong))
    monkeypatch.setattr(numbers, "MOST_STEPS", steps_of(one.single) + steps_of(one.parallel))
    assert certified(WIDE, wrong, walked(WIDE, wrong)).verdict is Verdict.UNKNOWN
    monkeypatch.setattr(sys.modules[certify.__module__], "FEW_STEPS", 0)
    assert certified(WIDE, wrong, walked(WIDE, wrong)).verdict is verdict


def test_a_column_that_agrees_leaves_what_was_found_open(monkeypatch):
    harmless = rewrite_where(mlp(dp=8, tp=2, nm=4, batch=64), "mul", swapped, device=1)
    limited(monkeypatch, harmless)
    report = certified(WIDE, harmless, walked(WIDE, harmless))
    assert (report.verdict, report.findings) == (Verdict.UNKNOWN, ())
    assert "one microbatch of one replica agrees" in report.open[0].reason


def test_an_output_that_is_a_part_of_what_it_must_be_needs_no_run(monkeypatch):
    monkeypatch.setattr(numbers, "MOST_STEPS", 10)
    lacking = rewrite_where(mlp(dp=4, batch=64), "all_reduce", lambda node: node._replace(op="identity", attrs=()))
    assert codes(ask(WIDE, lacking)) == {"missing-reduction"}


def test_what_numbers_cannot_take_back_stays():
    report = ask(SINGLE, HARMLESS["commuted"], denied={"real-arithmetic"})
    assert codes(report) == {"assumption-denied"}
    assert report.open


TARGETS = """
  x input [6, 5]
  t input int64 [6]
  w weight [5, 5]
  y = linear(x, w)
  loss = cross_entropy(y, t) {}reduction="sum"
  dy, - = cross_entropy.grad(one, y, t) {}reduction="sum"
  -, gw = linear.grad(dy, x, w)
  seed one
  loss loss
  gradient gw of w
"""


@pytest.mark.parametrize(("other", "verdict"), [("", Verdict.UNKNOWN), ("ignore_index=2 ", Verdict.REFUTED)])
def test_ids_of_which_nobody_says_that_they_occur_are_no_refutation(other, verdict):
    ignored = "ignore_index=-100 "
    right, wrong = (plans(TARGETS.format(*[ignored] * 2), TARGETS.format(*[i] * 2)) for i in (ignored, other))
    assert ask(*right).verdict is Verdict.PROVED
    found = certified(*wrong, walked(*wrong))
    assert found.verdict is verdict
    assert any("`range t 0 4`" in item.reason for item in found.open) is (verdict is Verdict.UNKNOWN)


def test_what_follows_from_the_form_is_not_taken_back():
    """A message that nobody receives, beside outputs that agree: the rank that sends it waits for ever."""
    sent = (("peer", 1),)
    late = rewrite_where(TWIN, "sum", lambda node: (node, Node("send", node.inputs, (), sent, "late")), device=0)
    query = Query(SINGLE, late, Options(solver=FAST))
    found = walk(query)
    assert {finding.code for finding in found.raw.structural} == {"send-without-receive"}
    assert set(needs_no_run(found)) >= set(found.raw.structural)
    report = certify(query, found).report
    assert "send-without-receive" in codes(report)
    assert answer(SINGLE, late) == "REFUTED"


@pytest.mark.parametrize("lost", ["y = aten.sum.dim_IntList(x) dim=(0,)", "y = aten.sum(x)"])
def test_an_output_with_other_dimensions_is_refuted(lost):
    kept = "y = aten.sum.dim_IntList(x) dim=(0,) keepdim=True"
    texts = [f"x input [4]\ny activation {shape}\n{steps}\noutput y" for shape, steps in (("[1]", kept), ("[]", lost))]
    assert report(texts[0], texts[0]).verdict is Verdict.PROVED
    for one, other in (texts, texts[::-1]):
        assert "output-missing" in codes(report(one, other))


def test_what_is_too_large_for_its_own_shapes_is_not_run_twice(monkeypatch):
    """A run at full shapes would be the one that was made."""
    single, right = mlp(batch=64), mlp(tp=2, batch=64)
    wrong = rewrite_where(right, "relu.grad", lambda node: node._replace(op="identity.grad"), device=1)
    monkeypatch.setattr(numbers, "MOST_FULL", 100)
    small = numbers.run_on_numbers(single, wrong, 100)
    assert numbers.is_reduced(small) and small.outcome == DIFFER
    assert numbers.at_full_shapes(single, wrong, small) is small
    assert numbers.run_on_numbers(single, wrong, numbers.MOST_FULL) == small
    monkeypatch.setattr(numbers, "MOST_FULL", 10**9)
    assert not numbers.is_reduced(numbers.at_full_shapes(single, wrong, small))


SUMMED = """
  x input [4, 4]
  z activation [4, 4]
  s activation [4]
  y activation [4]
  z = {}
  s = sum(z) dim=1 keepdim=False
  y = {}
  output y
"""


@pytest.mark.parametrize(
    ("made", "verdict"), [("sub(x, x)", Verdict.PROVED), ("add(x, x)", Verdict.REFUTED), ("neg(x)", Verdict.REFUTED)]
)
def test_what_is_always_zero_may_be_reduced_twice(made, verdict):
    single = SUMMED.format(made, "identity(s)")
    assert report(single, SUMMED.format(made, 'all_reduce(s) ranks=tp reduce="sum"'), tp=2).verdict is verdict
