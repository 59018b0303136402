"""Labels that are shifted, and tables of distances, between cut points: each right pair beside wrong twins."""

from dataclasses import replace

import pytest

from tests.builders import EXPLAINED
from tests.residue.test_alike import OPTIONS, proved
from tests.sampled import one_of
from tests.values.outline import plans as outlined
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

SHIFTED = """
  labels input int64 [4, 4]
  w weight [6, 3]
  one = constant() shape=() values=({start},)
  {own}first = aten.expand(one) size=({rows},)
  none{at} = aten.new_zeros(labels{at}) size=({rows}, 4)
  before{at} = aten.slice.Tensor(labels{at}) dim=1 end=3 start=0
  late{at} = aten.slice_scatter(none{at}, before{at}) dim=1 end=4 start=1
  ids{at} = aten.select_scatter(late{at}, {own}first) dim=1 index={column}
  e{deep} = aten.embedding(w, ids{at})
  s{deep} = silu(e{deep})
  {own}l = mean(s{deep})
  seed {own}dl
  ds{deep} = mean.grad({own}dl, s{deep})
  de{deep} = silu.grad(ds{deep}, e{deep})
  {own}dw = aten.embedding_dense_backward(de{deep}, ids{at}) num_weights=6 padding_idx=-1 scale_grad_by_freq=False
  {reduced}
  gradient dw of w
"""
WHOLE = {"rows": 4, "at": "", "deep": "", "own": "", "start": 1, "column": 0, "reduced": "loss l\n  range labels 0 5"}
REDUCED = 'dw = all_reduce(own_dw) ranks=rank reduce="{}"\n  l = all_reduce(own_l) ranks=rank reduce="avg"\n  loss l'
OWN = {"rows": 2, "at": "[rank, :]", "deep": "[rank, :, :]", "own": "own_"}
PART = {**OWN, "start": 1, "column": 0, "reduced": REDUCED.format("avg")}
WRONG = {
    "another first token": {"start": 2},
    "in another place": {"column": 1},
    "added, not averaged": {"reduced": REDUCED.format("sum")},
}


def shifted(**changed):
    return SHIFTED.format(**WHOLE), SHIFTED.format(**PART | changed)


def test_labels_that_each_rank_shifts_are_those_of_all():
    """The first token is the same in every row: it does not say which rows a rank has."""
    assert proved(*shifted(), rank=2)


@pytest.mark.parametrize("wrong", WRONG)
def test_labels_that_are_shifted_otherwise_are_not(wrong):
    pair = outlined(*shifted(**WRONG[wrong]), rank=2)
    assert verify(*pair, OPTIONS, causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED


def divided(plan):
    def of(node):
        each = ((name, True if name == "scale_grad_by_freq" else value) for name, value in node.attrs)
        return node._replace(attrs=tuple(each))

    segments = tuple(each._replace(nodes=tuple(map(of, each.nodes))) for each in plan.segments)
    return replace(plan, segments=segments)


def test_ids_beside_a_node_without_a_rule_are_unknown():
    """Between which integers they lie is not known then: a gradient that is divided by how often an id occurs."""
    assert verify(*map(divided, outlined(*shifted(), rank=2)), OPTIONS).verdict is Verdict.UNKNOWN


DISTANCES = """
  x input [4, 3, 3]
  y{at} = silu(x{at})
  {own}l = sum(y{at})
  places = aten.arange() dtype="int64" end=3
  down = aten.unsqueeze(places) dim=1
  across = aten.unsqueeze(places) dim=0
  apart = aten.sub.Tensor(across, down)
  far = aten.abs(apart)
  near = aten.lt.Scalar(far) other=1
  float = aten._to_copy(far) dtype="float32"
  log = aten.log(float)
  cut = aten._to_copy(log) dtype="int64"
  more = aten.add.Tensor(cut) other={more}
  most = aten.full_like(more) fill_value=2
  least = aten.minimum(more, most)
  bucket = aten.where.self(near, far, least)
  seen = aten.{seen}.Tensor(down, across)
  {own}t = aten.sum.dim_IntList(y{at}) dim=(0,)
  {zero}
  {own}u = aten.where.self(seen, {own}t, zero)
  {own}d = aten.unsqueeze({own}u) dim=2
  {own}w = aten.embedding_dense_backward({own}d, bucket) num_weights=3 padding_idx=-1 scale_grad_by_freq=False
  {reduced}
  loss l
  output w
"""
ZERO = 'zero = aten.scalar_tensor() dtype="float32" s=0'
HIDDEN = 'two = aten.scalar_tensor() dtype="float32" s=2\n  zero = aten.sub.Tensor(two, two)'
ONE = {"zero": ZERO, "at": "", "own": "", "more": 1, "seen": "ge", "reduced": ""}
ADDED = 'w = all_reduce(own_w) ranks=rank reduce="{}"\n  l = all_reduce(own_l) ranks=rank reduce="sum"'
EACH = {"zero": ZERO, "at": "[rank, :, :]", "own": "own_", "more": 1, "seen": "ge", "reduced": ADDED.format("sum")}
OTHERS = {"another bucket": {"more": 0}, "another mask": {"seen": "gt"}, "averaged": {"reduced": ADDED.format("avg")}}


def test_tables_of_distances_are_computed_from_nothing():
    """The logarithm of a distance of zero is infinite, and no bucket is made of it; masked parts of a sum are parts."""
    plans = outlined(DISTANCES.format(**ONE), DISTANCES.format(**EACH), rank=2)
    assert verify(*plans, OPTIONS).verdict is Verdict.PROVED
    hidden = {"zero": HIDDEN}
    assert proved(DISTANCES.format(**ONE | hidden), DISTANCES.format(**EACH | hidden), rank=2)


@pytest.mark.parametrize("wrong", OTHERS)
def test_other_tables_of_distances_are_not_these(wrong):
    plans = outlined(DISTANCES.format(**ONE), DISTANCES.format(**EACH | OTHERS[wrong]), rank=2)
    assert verify(*plans, OPTIONS, causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED


QUOTIENT = """
  x input [4, 3]
  r = relu(x)
  n = sum(r)
  {}
  loss l
"""


@pytest.mark.parametrize(
    ("one", "other", "right"),
    [
        ("m = sum(x)\n  l = div(m, n)", "m = sum(x)\n  k = mul(n) other=2.0\n  j = div(m, k)\n  l = add(j, j)", True),
        ("m = sum(x)\n  l = div(m, n)", "m = sum(x)\n  k = mul(n) other=2.0\n  l = div(m, k)", False),
    ],
)
def test_a_loss_that_is_divided_by_what_may_be_zero(one, other, right):
    report = verify(*outlined(QUOTIENT.format(one), QUOTIENT.format(other)), OPTIONS)
    assert (report.verdict is Verdict.PROVED) is right
