"""Following again without wrong guesses: what reads the same makes the same, and what was proved stays so."""

import importlib

import pytest

from tests.sweep.plans import OPTIONS, twins
from verdict.sweep.parallel import Before
from verdict.sweep.sweep import sweep

TEXT = """plan single
  x input [2, 4]
  a = mul(x) other=2
  b = exp(a)
  c = mul(b) other=3
  output c
plan parallel tp=2
  d = clamp(x[:, tp]) min=-100
  e = mul(d) other=2
  f = exp(e)
  z = sub(f, f)
  g = exp(z)
  h = mul(g) other=3
  a[:, tp] = mul(x[:, tp]) other=2
  b[:, tp] = exp(a)
- c[:, tp] = mul(h, b)
+ c[:, tp] = mul(h, f)
  output c
"""
"""No number that is drawn is below -100: by its values e is a, and f is b. Neither has a proof, and is not needed."""


def rounds(monkeypatch, plans):
    """What the sweep finds, and of each round how many claims there were and how many of them were asked."""
    module, found = importlib.import_module("verdict.sweep.sweep"), []
    follow = module.follow_parallel

    def counted(*words):
        made = follow(*words)
        found.append((len(made.claims), len(made.fresh)))
        return made

    with monkeypatch.context() as patch:
        patch.setattr(module, "follow_parallel", counted)
        return sweep(*plans, OPTIONS), found


@pytest.mark.parametrize("right", [True, False])
def test_what_is_not_followed_anew_is_as_it_would_be(monkeypatch, right):
    plans = twins(TEXT)[0 if right else 1]
    again, found = rounds(monkeypatch, plans)
    monkeypatch.setattr(Before, "made", lambda *_: None)
    anew, every = rounds(monkeypatch, plans)
    assert bool(again.open) is not right
    assert not again.different
    assert (again.open, again.claims, again.distinct) == (anew.open, anew.claims, anew.distinct)
    assert [claims for claims, _ in found] == [claims for claims, _ in every]
    assert all(claims == fresh for claims, fresh in every)
    assert len(found) > 2
    assert found[-1][1] < found[-1][0]
