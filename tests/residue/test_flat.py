"""Parameters that are gathered and reduced in flat buffers, as FSDP does: the right plan beside wrong twins."""

from dataclasses import replace

import pytest

from tests.builders import EXPLAINED
from tests.residue.test_between import OPTIONS
from tests.sampled import one_of
from tests.values.outline import plans as outlined
from verdict.backends.torch.oracle import oracle
from verdict.concrete import AGREE
from verdict.errors import VerdictError
from verdict.mutate import mutate
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

GIVEN = """
  x input [4, 3]
  w weight [6, 3]
  v weight [2, 6]
"""
STEP = """
  {own}h = linear({x}, {w})
  {own}a = silu({own}h)
  {own}y = linear({own}a, {v})
  {own}m = mean({own}y)
  seed {own}dm
  {own}dy = mean.grad({own}dm, {own}y)
  {own}da, {own}dv = linear.grad({own}dy, {own}a, {v})
  {own}dh = silu.grad({own}da, {own}h)
  -, {own}dw = linear.grad({own}dh, {x}, {w})
"""
SINGLE = (
    STEP.format(own="", x="x", w="w", v="v")
    + """
  l = mul(m) other=1.0
  loss l
  gradient dw of w
  gradient dv of v
"""
)
GATHERED = """
  shard_w = view(w[rank, :]) size=(9,)
  shard_v = view(v[rank, :]) size=(6,)
  flat = concatenate({laid}) dim=0
  gathered = {gathered}
  rows = view(gathered) size=(2, 15)
  {columns} = split(rows) sizes=(9, 6) dim=1
  full_w = view(cols_w) size=(6, 3)
  full_v = view(cols_v) size=(2, 6)
"""
REDUCED = """
  rows_w = view(own_dw) size=(2, 9)
  rows_v = view(own_dv) size=(2, 6)
  grads = concatenate(rows_w, rows_v) dim=1
  by_rank = view(grads) size=(30,)
  all_w = view(own_dw) size=(18,)
  all_v = view(own_dv) size=(12,)
  by_weight = concatenate(all_w, all_v) dim=0
  mine = {mine}
  mine_w, mine_v = split(mine) sizes=(9, 6) dim=0
  dw[rank, :] = view(mine_w) size=(3, 3)
  dv[rank, :] = view(mine_v) size=(1, 6)
  l{{rank}} = mul(own_m) other={share}
  loss l
  gradient dw of w
  gradient dv of v
"""
RIGHT = {
    "laid": "shard_w, shard_v",
    "gathered": "all_gather(flat) dim=0 ranks=rank",
    "columns": "cols_w, cols_v",
    "mine": 'reduce_scatter(by_rank) dim=0 ranks=rank reduce="avg"',
    "share": 0.5,
}
WRONG = {
    "shards of two weights exchanged": {"laid": "shard_v, shard_w"},
    "one rank's shard forgotten": {"gathered": "concatenate(flat, flat) dim=0"},
    "gradients weight by weight": {"mine": 'reduce_scatter(by_weight) dim=0 ranks=rank reduce="avg"'},
    "gradients added up": {"mine": "reduce_scatter(by_rank) dim=0 ranks=rank"},
    "gradients of its own rows alone": {"mine": "chunk(by_rank) dim=0 ranks=rank"},
    "a loss of another share": {"share": 1.0},
    "a loss of which one share counts more": {"share": "<0.75 | 0.25>"},
}


def plans(**changed):
    step = STEP.format(own="own_", x="x[rank, :]", w="full_w", v="full_v")
    parallel = (GATHERED + "{step}" + REDUCED).format(step=step, **{**RIGHT, **changed})
    return outlined(GIVEN + SINGLE, GIVEN + parallel, rank=2)


def between(single, parallel):
    """The report of what is proved between cut points, whatever the walk says; None where nothing is."""
    query = Query(single, parallel, OPTIONS)
    found = between_cut_points(query, walk(query))
    return None if found is None else found.report


def exhaustive(plans):
    return verify(*plans, replace(OPTIONS, exhaustive=True), causes=one_of(EXPLAINED)).verdict


def test_flat_buffers_are_followed_element_by_element():
    report = between(*plans())
    assert report.verdict is Verdict.PROVED
    assert exhaustive(plans()) is Verdict.PROVED


@pytest.mark.parametrize("changed", WRONG.values(), ids=WRONG)
def test_a_wrong_twin_is_not_proved(changed):
    assert between(*plans(**changed)) is None
    assert exhaustive(plans(**changed)) is Verdict.REFUTED


def assert_no_fault_is_proved(single, parallel, count):
    """Of mutants some are proved, with all of which the oracle agrees, and more than ten are not."""
    truth, proved, refused = oracle(1, 2), 0, 0
    for mutant in mutate(parallel, 1, count):
        try:
            report = between(single, mutant.plan)
        except VerdictError:
            continue
        refused += report is None
        if report is not None:
            proved += 1
            assert truth(single, mutant.plan)[0] == AGREE, (mutant.kind, mutant.description)
    assert proved > 0
    assert refused > 10


def test_no_fault_is_proved():
    assert_no_fault_is_proved(*plans(), 30)


def test_multiples_and_signs_are_followed():
    assert between(*signed("-2.0", "sum", "-0.5")).verdict is Verdict.PROVED
    assert between(*signed("<-2.0 | -4.0>", "sum", "-0.5")) is None
    assert between(*signed("-2.0", "avg", "-0.5")) is None
    assert between(*signed("-2.0", "sum", "0.5")) is None
    assert between(*signed("-2.0", "avg", "-1.0")).verdict is Verdict.PROVED


def signed(less, reduce, more):
    """The contraction of a product in parts, of which multiples are added up."""
    single = SIGNED.format("h = linear(x, w)")
    parallel = SIGNED.format(f"""
      columns = chunk(x) dim=1 ranks=tp
      part = linear(columns, w[:, tp])
      less = mul(part) other={less}
      all = all_reduce(less) ranks=tp reduce="{reduce}"
      h = mul(all) other={more}""")
    return outlined(single, parallel, tp=2)


SIGNED = """
  x input [4, 6]
  w buffer [5, 6]
  {}
  l = sum(h)
  loss l
  output h
"""
TWO = """
  x input [4, 2]
  w weight [2, 2]
  v weight [2, 2]
  h = linear(x, w)
  a = silu(h)
  y = linear(a, v)
  l = sum(y)
  loss l
  seed dl
  dy = sum.grad(dl, y)
  da, {} = linear.grad(dy, a, v)
  dh = silu.grad(da, h)
  -, {} = linear.grad(dh, x, w)
"""


@pytest.mark.parametrize(("of_v", "verdict"), [("dv", Verdict.PROVED), ("dw", None)])
def test_one_tensor_is_not_two_gradients(of_v, verdict):
    single = TWO.format("dv", "dw") + "gradient dv of v\n gradient dw of w"
    parallel = TWO.format("all_v", "all_w") + f"""
      less_v = mul(all_v) other=0.1
      less_w = mul(all_w) other=0.1
      dv = div(less_v) other=0.1
      dw = div(less_w) other=0.1
      gradient {of_v} of v
      gradient dw of w
    """
    report = between(*outlined(single, parallel))
    assert (report and report.verdict) is verdict


MEAN = """
  x input [4, 6]
  s = sum(x)
  m = div(s) other=24
  y = exp(m)
  loss y"""
OWN_MEAN = """
  x input [4, 6]
  s = sum(x[rank, :])
  o = div(s) other=12
  t = all_reduce(o) ranks=rank reduce="sum"
  m = mul(t) other={}
  y = exp(m)
  loss y"""


def test_a_mean_over_own_rows_is_a_multiple_of_a_share_of_the_mean():
    """Half the sum of what ranks have is the single-device mean again: nothing has to be guessed of it."""
    single, parallel = outlined(MEAN, OWN_MEAN.format(0.5), rank=2)
    report = between(single, parallel)
    assert report.verdict is Verdict.PROVED
    assert report.swept is None


def test_another_multiple_of_a_mean_is_not_the_mean():
    single, parallel = outlined(MEAN, OWN_MEAN.format(0.25), rank=2)
    assert between(single, parallel) is None
    assert verify(single, parallel, OPTIONS, causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED


COUNTERS = """
  x input [4, 3]
  n buffer {dtype} [2]
  k buffer {dtype} [3]
  y = mul(x) other=2.0
  new_n = aten.clone(n)
  new_k = aten.clone(k)
  output y
  output new_n of n
  output new_k of k
"""
SENT = """
  z = mul(x) other=2.0
  flat = aten.cat({laid}) dim=0
  sent = broadcast(flat) ranks=rank root=0
  got_n = aten.slice.Tensor(sent) start={start} end={end}
  got_k = aten.slice.Tensor(sent) start=2 end=5
  y = aten.clone(z)
  new_n = aten.clone(got_n)
  new_k = {made}
  output y
  output new_n of n
  output new_k of k
"""
SENT_RIGHT = {"laid": "n, k", "start": 0, "end": 2, "made": "aten.clone(got_k)"}
SENT_WRONG = {
    "others in their place": {"laid": "k, n"},
    "one further": {"start": 1, "end": 3},
    "backwards": {"made": "aten.flip(got_k) dims=(0,)"},
    "twice": {"made": "add(got_k, got_k)"},
}


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32", "bool"])
def test_buffers_that_are_sent_in_one_are_what_they_were(dtype):
    found = between(*outlined(COUNTERS.format(dtype=dtype), SENT.format(**SENT_RIGHT), rank=2))
    assert found is not None
    assert found.verdict is Verdict.PROVED


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("wrong", SENT_WRONG)
def test_buffers_that_are_sent_in_one_are_not_others(wrong, dtype):
    sent = SENT.format(**SENT_RIGHT | SENT_WRONG[wrong])
    plans = outlined(COUNTERS.format(dtype=dtype), sent, rank=2)
    assert verify(*plans, OPTIONS, causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED
