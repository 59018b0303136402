"""An order is a permutation: what a mask sums up to does not depend on it, where each place is picked once."""

import pytest

from tests.values.outline import verdict

MASKED = """
  noise input [4, 3]
  x input [4, 3]
  first{own} = constant() shape=({rows}, 3) values=({values})
  -, shuffled{at} = aten.sort(noise{at}) dim={dim}
  -, back{at} = aten.sort(shuffled{at}) dim=1
  mask{own} = aten.gather(first{own}, {index}{at}) dim=1
  kept{own} = mul(x{at}, mask{own})
  all{own} = sum(kept{own})
  count{own} = aten.sum(mask{own})
  l{own} = div(all{own}, count{own})
  {reduced}
  loss l
"""
ROW = ("0.0", "0.0", "1.0")
WHOLE = {"own": "", "at": "", "rows": 4, "values": ", ".join(ROW * 4), "dim": 1, "index": "back", "reduced": ""}
PART = {
    "own": "_own", "at": "[rank, :]", "rows": 2, "values": ", ".join(ROW * 2), "dim": 1, "index": "back",
    "reduced": 'l = all_reduce(l_own) ranks=rank reduce="avg"',
}  # fmt: skip
WRONG = {
    "added, not averaged": {"reduced": 'l = all_reduce(l_own) ranks=rank reduce="sum"'},
    "another mask": {"values": ", ".join(ROW[1:] * 3)},
    "the ranks' masks are not alike": {"values": ", ".join((*ROW, "1.0", "0.0", "1.0"))},
}


@pytest.mark.parametrize("index", ["back", "shuffled"])
def test_a_mask_in_an_order_sums_up_to_what_it_does_in_another(index):
    one, other = (MASKED.format(**{**given, "index": index}) for given in (WHOLE, PART))
    assert verdict(one, other, rank=2) == "PROVED"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_masks_are_refuted(name):
    one, other = MASKED.format(**WHOLE), MASKED.format(**{**PART, **WRONG[name]})
    assert verdict(one, other, rank=2) == "REFUTED"


def test_an_order_along_another_dimension_permutes_no_row():
    """Of a rank's rows each place is one of two, of all rows one of four: no place is picked once."""
    one, other = (MASKED.format(**{**given, "dim": 0, "index": "shuffled"}) for given in (WHOLE, PART))
    assert verdict(one, other, rank=2) != "PROVED"
