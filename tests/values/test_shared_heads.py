"""Attention in which heads of queries share heads of keys and values: which ones is half of the question."""

import pytest

from tests.values.outline import verdict

GIVEN = """
  q input [1, 4, 3, 2]
  k input [1, 2, 3, 2]
  v input [1, 2, 3, 2]
"""
FLASH = "aten._scaled_dot_product_flash_attention_for_cpu"
SHARED = f"""
  y, l = {FLASH}(q, k, v) dropout_p=0.0 is_causal=True
  y activation [1, 4, 3, 2]
  l activation [1, 4, 3]
  output y
"""
REPEATED = f"""
  k0, k1 = split(k) sizes=(1, 1) dim=1
  v0, v1 = split(v) sizes=(1, 1) dim=1
  ks = concatenate({{0}}) dim=1
  vs = concatenate({{1}}) dim=1
  y, l = {FLASH}(q, ks, vs) dropout_p=0.0 is_causal=True
  y activation [1, 4, 3, 2]
  l activation [1, 4, 3]
  output y
"""


def repeated(order):
    return (", ".join(f"{name}{head}" for head in order) for name in "kv")


@pytest.mark.parametrize(("order", "found"), [((0, 0, 1, 1), "PROVED"), ((0, 1, 0, 1), "REFUTED")])
def test_heads_of_queries_share_one_after_the_other(order, found):
    assert verdict(GIVEN + SHARED, GIVEN + REPEATED.format(*repeated(order))) == found


def test_heads_are_cut_in_groups():
    half = SHARED.replace("y, l", "y[:, tp, :, :], l[:, tp, :]")
    half = half.replace("(q, k, v)", "(q[:, tp, :, :], k[:, {0}, :, :], v[:, {0}, :, :])")
    right, wrong = (GIVEN + half.format(own) for own in ("tp", "0:1"))
    assert verdict(GIVEN + SHARED, right, tp=2) == "PROVED"
    assert verdict(GIVEN + SHARED, wrong, tp=2) == "REFUTED"
