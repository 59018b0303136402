"""What the walk follows row by row, and what it follows of parts of sums, so that no cut point is needed there."""

import pytest

from tests.values.outline import plans, verdict
from verdict.lineage import bind, reference
from verdict.lineage.grounds import grounds_of
from verdict.lineage.propagate import guessed


def cuts(single, parallel):
    """The names of the tensors that are guessed."""
    pair = plans(single, parallel, rank=2)
    binding = bind(*pair)
    walk = guessed(grounds_of(reference(pair[0], 1, binding.batch), pair[1]), pair[1], binding)
    return {pair[1].logicals[pair[1].tensors[tensor].logical].name for _, tensor in walk.cuts}


ROWS = """
  x input [4, 3]
  i input int64 [4, 3]
  q input [4, 2, 4, 2]
  k input [4, {heads}, 4, 2]
  w input [3]
  {step}
  m{own} = mul(t{own}, w)
  s{own} = sum(m{own})
  {summed}
  range i 0 2
  loss l"""
FLASH = "aten._scaled_dot_product_flash_attention_for_cpu"
ATTENTION = f"""r{{own}}, n{{own}} = {FLASH}(q{{four}}, k{{four}}, k{{four}}) is_causal={{causal}}
  t{{own}} = aten.slice.Tensor(n{{own}}) dim=2 end=3"""
GATHERED = "t{own} = aten.gather(x{rows}, i{rows}) dim=1"
ADDED = """g{own} = mul(x{rows}) other=2
  t{own} = aten.scatter_add(g{own}, i{rows}, x{rows}) dim=1"""
REPEATED = """g{own} = mul(x{rows}) other=2
  c = constant() shape=(1, 3) values=(1.0, 2.0, 3.0)
  e{own} = aten.expand(c) size=({size}, 3)
  t{own} = mul(g{own}, e{own})"""


def rows(step, heads=2, causal=True, single_causal=True):
    """A step on all rows, and on those that each rank has."""
    of_one = {"own": "", "rows": "", "four": "", "size": 4, "causal": single_causal}
    of_each = {"own": "_own", "rows": "[rank, :]", "four": "[rank, :, :, :]", "size": 2, "causal": causal}
    single = ROWS.format(step=step.format(**of_one), summed="l = identity(s)", heads=heads, **of_one)
    added = 'l = all_reduce(s_own) ranks=rank reduce="sum"'
    return single, ROWS.format(step=step.format(**of_each), summed=added, heads=heads, **of_each)


@pytest.mark.parametrize("step", [GATHERED, ADDED, REPEATED], ids=["gather", "scatter_add", "repeated rows"])
def test_rows_are_followed(step):
    pair = rows(step)
    assert cuts(*pair) <= {"l"}
    assert verdict(*pair, rank=2) == "PROVED"
    assert verdict(pair[0], pair[1].replace('reduce="sum"', 'reduce="avg"'), rank=2) == "REFUTED"


@pytest.mark.parametrize("heads", [1, 2])
def test_rows_of_attention_are_followed(heads):
    pair = rows(ATTENTION, heads)
    assert cuts(*pair) <= {"l"}
    assert verdict(*pair, rank=2) == "PROVED"
    assert verdict(*rows(ATTENTION, heads, causal=False), rank=2) == "REFUTED"


PARTS = """
  o input [2, 4]
  x input [4, 4]
  w input [4, 4]
  i = constant() shape=(4,) values=(1, 0, 1, 0)
  z = {base}(o)
  h{own} = linear(x{columns}, w{columns})
  y{own} = aten.index_put(z, i, h{own}) accumulate=True
  c = aten.gt.Scalar(o) other=0
  {step}
  {summed}
  t = tanh(s)
  l = sum(t)
  loss l"""
CHOSEN = "v{own} = aten.where.self(c, y{own}, {other})"


def parts(step=CHOSEN, base="aten.zeros_like", other="z", reduced='all_reduce(v_own) ranks=rank reduce="sum"'):
    """A step on a sum, and on its parts."""

    def plan(summed, **more):
        done = {**more, "other": other.format(**more)}
        return PARTS.format(step=step.format(**done), summed=summed, base=base, **more)

    return plan("s = identity(v)", own="", columns=""), plan(f"s = {reduced}", own="_own", columns="[:, rank]")


@pytest.mark.parametrize("other", ["z", "y{own}"], ids=["zeros", "a part"])
def test_parts_beside_zeros_stay_parts(other):
    pair = parts(other=other)
    assert not cuts(*pair)
    assert verdict(*pair, rank=2) == "PROVED"


@pytest.mark.parametrize(
    "wrong", [{"base": "aten.ones_like"}, {"reduced": "identity(v_own)"}], ids=["ones", "unreduced"]
)
def test_parts_beside_numbers_are_no_parts(wrong):
    assert verdict(*parts(**wrong), rank=2) == "REFUTED"
