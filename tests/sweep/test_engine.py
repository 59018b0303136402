"""The sweep against the walk and against the oracle: what it proves is right, what differs is seen."""

import importlib
from dataclasses import replace

import pytest

from tests.builders import ask, mlp
from tests.sweep.plans import OPTIONS, agrees, swept, told, twins
from tests.sweep.test_causes import DATA, SINGLE
from tests.values.outline import verdict as outline_verdict
from verdict.backends.generator import Sizes, generate
from verdict.mutate import mutate
from verdict.sweep import sweep
from verdict.sweep.sweep import UNASKED

SMALL = {"layers": 1, "hidden": 8, "heads": 2, "seq": 4, "batch": 4, "vocab": 8, "ffn": 8}
MESHES = {
    "mlp dp2 tp2": ("mlp", {"dp": 2, "tp": 2, "pp": 1, "microbatches": 2}),
    "llama3 tp2": ("llama3", {"seq": 4, "dp": 1, "tp": 2, "pp": 1, "microbatches": 1}),
    "mlp pp2": ("mlp", {"layers": 2, "dp": 1, "tp": 1, "pp": 2, "microbatches": 2}),
}


@pytest.mark.parametrize("name", MESHES)
def test_the_sweep_and_the_walk_agree_on_generated_plans(name):
    model, mesh = MESHES[name]
    single, parallel = generate(model, Sizes(**{**SMALL, **mesh}))
    assert ask(single, parallel).swept is None
    assert swept(single, parallel) == ask(single, parallel).verdict.name == "PROVED"


@pytest.mark.parametrize("name", ["mlp dp2 tp2", "mlp pp2"])
def test_no_fault_that_the_oracle_sees_is_proved(name):
    model, mesh = MESHES[name]
    single, parallel = generate(model, Sizes(**{**SMALL, **mesh}))
    outcomes = []
    for mutant in mutate(parallel, 5, 24):
        seen = agrees(single, mutant.plan)
        found = swept(single, mutant.plan)
        assert not (seen == "differ" and found == "PROVED"), mutant.description
        outcomes.append((seen, found))
    assert outcomes.count(("differ", "REFUTED")) > 3


UNEVEN = """plan single
  x input [4, 3]
  w weight [5, 3]
  y = linear(x, w)
  e = softmax(y) dim=-1
  e2 = mul(e, e)
  loss = sum(e2)
  new = mul(w) other=0.5
  loss loss
  output new of w
plan parallel tp=2
  y[:, <0:2 | 2:5>] = linear(x, w[<0:2 | 2:5>, :])
  f activation [4, 5]
  f[:, <0:2 | 2:5>] = exp(y)
  s{tp} = sum(f) dim=-1 keepdim=True
- z = all_reduce(s) ranks=tp reduce="sum"
+ z = identity(s)
  e[:, <0:2 | 2:5>] = div(f, z)
  e2[:, <0:2 | 2:5>] = mul(e, e)
  loss{tp} = sum(e2)
  new[<0:2 | 2:5>, :] = mul(w) other=0.5
  loss loss
  output new of w
"""


def test_uneven_shards_of_another_structure_are_proved():
    right, wrong = twins(UNEVEN)
    assert swept(*right) == "PROVED"
    assert (swept(*wrong), agrees(*wrong)) == ("REFUTED", "differ")


EXCHANGED = """plan single
  x input [4, 4]
  w weight [4, 4]
  y = linear(x, w)
  output y
plan parallel tp=2
  y activation [4, 4]
  p activation [4, 4]
  p[:, tp] = linear(x, w[tp, :])
- y = all_gather(p) ranks=tp dim=1
+ y = reduce_scatter(p) ranks=tp dim=1 reduce="sum"
  output y
"""


def test_a_collective_that_makes_another_shape_than_stated_is_a_fault_of_the_plan():
    right, wrong = twins(EXCHANGED)
    assert (swept(*right), agrees(*right)) == ("PROVED", "agree")
    assert (swept(*wrong), agrees(*wrong)) == ("UNKNOWN", "fault")
    assert "it makes shape [4, 1], not [4, 4]" in sweep(*wrong, OPTIONS).fault.what


EQUAL_BY_CHANCE = """plan single
  x input [2, 2]
  a = mul(x) other=2
  b = add(x, x)
  c = mul(a, b)
  output c
plan parallel tp=2
  a[:, tp] = add(x[:, tp], x)
  b[:, tp] = mul(x) other=2
- c[:, tp] = mul(b, a)
+ c[:, tp] = mul(b, b)
  output c
"""


def test_values_that_are_equal_twice_are_proved_whichever_is_guessed():
    right, wrong = twins(EQUAL_BY_CHANCE)
    assert swept(*right) == "PROVED"
    assert swept(*wrong) == "PROVED"


def test_a_guess_without_a_proof_costs_nothing():
    """Both plans take the greatest of two numbers, of which one is always the greater on the seeds."""
    right, _ = twins("""plan single
  x input [2, 2]
  big = add(x) other=100
  top = maximum(big, x)
  y = mul(top, x)
  output y
plan parallel tp=2
  big[:, tp] = add(x[:, tp]) other=100
  top[:, tp] = maximum(x, big)
- y[:, tp] = mul(x, top)
+ y[:, tp] = mul(x, big)
  output y
""")
    assert swept(*right) == "PROVED"


def test_constants_are_followed():
    right, wrong = twins("""plan single
  x input [2, 4]
  z = mul(x) other=0
  e = exp(z)
  y = mul(e, x)
  output y
plan parallel tp=2
  z[:, tp] = mul(x[:, tp]) other=0
- e[:, tp] = exp(z)
+ e[:, tp] = add(z) other=2
  y[:, tp] = mul(e, x)
  output y
""")
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


DROPOUT = """plan single
  x input [2, 4]
  a = dropout(x) p=0.5
  b = dropout({other}) p=0.5
  y = mul(a, b)
  output y
plan parallel tp=2
  a[:, tp] = dropout(x[:, tp]) p=0.5
- b[:, tp] = dropout({other}) p=0.5
- y[:, tp] = mul(a, b)
+ y[:, tp] = mul(a, a)
  output y
"""


def test_two_draws_for_one_value_are_never_identified():
    for pair in twins(DROPOUT.format(other="x")):
        assert swept(*pair) == "UNKNOWN"
        assert "draws random numbers" in sweep(*pair, OPTIONS).open[0][1]


def test_one_draw_for_each_value_is_followed():
    right, wrong = twins(DROPOUT.replace("dropout({other}", "dropout(a").format(other="a"))
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


def test_a_plan_of_the_walk_is_proved_by_the_sweep_too():
    assert swept(mlp(), mlp(dp=2, tp=2)) == "PROVED"


def test_a_rank_that_declares_no_gradient_of_a_weight_that_it_uses():
    line = 'dv = all_reduce(dv\'2) ranks=dp reduce="sum"'
    single, parallel = twins(SINGLE + DATA.replace(f"  {line}", f"- {line}\n+ dv = identity(dv'2)"))[0]
    assert swept(single, parallel) == "PROVED"
    silent = replace(parallel, gradients=parallel.gradients[:-1])
    assert swept(single, silent) == "REFUTED"
    assert [(finding.code, finding.title) for finding in told(single, silent)] == [
        ("gradient-missing", "nobody declares all of: gradient of v on device 1")
    ]


def scaled(factor):
    """Ranks that scale their own loss and average gradients: right for the number of ranks."""
    scaling = "\n".join(f"{sign} de[dp, :] = mul(de'2) other={by}" for sign, by in (("-", 2), ("+", factor)))
    text = DATA.replace("  de[dp, :] = sum.grad(one, e)", f"  de'2[dp, :] = sum.grad(one, e)\n{scaling}")
    return twins(SINGLE + text.replace('reduce="sum"', 'reduce="avg"'))


def test_ranks_that_scale_their_own_loss_are_compared_by_multiples():
    right, wrong = scaled(3)
    found = sweep(*right, OPTIONS)
    assert not found.different and not found.open
    assert found.distinct > 8
    assert swept(*wrong) == "REFUTED"


@pytest.mark.parametrize("name", MESHES)
def test_what_is_sifted_on_numbers_would_have_no_proof(name, monkeypatch):
    monkeypatch.setattr(importlib.import_module("verdict.sweep.own"), "MOST_SHORT", 10**9)
    model, mesh = MESHES[name]
    single, parallel = generate(model, Sizes(**{**SMALL, **mesh}))
    quick, slow = (sweep(single, parallel, replace(OPTIONS, exhaustive=each)) for each in (False, True))
    assert quick.open == slow.open == ()
    assert (quick.claims, quick.distinct, quick.methods) == (slow.claims, slow.distinct, slow.methods)


FUNCTIONS = ("exp", "tanh", "sigmoid") * 5
TWO_WEIGHTS = """plan single
  x input [4, 3]
  a weight [3]
  b weight [3]
  g = aten.sum.dim_IntList(x) dim=(0,)
  h = aten.sum.dim_IntList(x) dim=(0,)
  {p}
  {q}
  y = aten.add.Tensor(a, p15)
  z = aten.add.Tensor(b, q15)
  output y
  output z
plan parallel tp=2
  i = aten.sum.dim_IntList(x[tp, :]) dim=(0,)
  j = all_reduce(i) ranks=tp reduce="sum"
  {r}
  y = aten.add.Tensor(a, r15)
- z = aten.add.Tensor(b, r15)
+ z = aten.add.Tensor(b, r14)
  output y
  output z
"""


def chain(name, start):
    """Steps from a value on, each a function of the one before."""
    steps = [f"{name}{k} = aten.{word}({name}{k - 1})" for k, word in enumerate(FUNCTIONS, 1)]
    return "\n  ".join(steps).replace(f"({name}0)", f"({start})")


def test_what_two_equal_gradients_make_in_many_steps_is_followed_back_to_them():
    right, wrong = twins(TWO_WEIGHTS.format(p=chain("p", "g"), q=chain("q", "h"), r=chain("r", "j")))
    assert swept(*right) == "PROVED"
    assert swept(*wrong) == "REFUTED"


CUT = """
  x input [4]
  v input [4]
  w weight [4]
  c activation [{size}]
  d activation [{size}]
  y activation [4]
  x, v{part} = dataloader()
  {cut}
  d = mul(c, v)
  y = {joined}
  output y
"""


@pytest.mark.parametrize(
    ("ranks", "verdicts"), [("rank", {"PROVED"}), ("(self,)", {"UNKNOWN", "REFUTED"})], ids=["group", "one rank"]
)
def test_a_piece_has_the_size_that_its_group_makes(ranks, verdicts):
    single = CUT.format(size=4, part="", cut="c = add(w, x)", joined="identity(d)")
    cut = f"s = add(w, x)\n  c = chunk(s) dim=0 ranks={ranks}"
    several = CUT.format(size=2, part="[rank]", cut=cut, joined="all_gather(d) dim=0 ranks=rank").replace(
        "  c activation", "  s activation [4]\n  c activation"
    )
    assert outline_verdict(single, several, rank=2) in verdicts


def test_where_nothing_is_to_be_proved_numbers_alone_are_asked(monkeypatch):
    """What explains a refuted plan asks for no proof of what numbers do not tell apart: it may take minutes."""
    right, wrong = twins(UNEVEN)
    proofs = []
    monkeypatch.setattr(importlib.import_module("verdict.sweep.sweep"), "decide", lambda *_: proofs.append(1) or [])
    alike = sweep(*right, OPTIONS, proves=False)
    apart = sweep(*wrong, OPTIONS, proves=False)
    assert not proofs
    assert not alike.is_refuted
    assert [why for _, why in alike.open] == [UNASKED]
    assert [item.result for item in apart.different] == [item.result for item in sweep(*wrong, OPTIONS).different]
    sweep(*right, OPTIONS)
    assert proofs
