"""The integers that a plan may be given, followed through what moves them."""

import tracemalloc

from tests.sweep.plans import twins
from verdict.inputs import domains
from verdict.semantics import full

MASKED = """plan single
  t input int64 [2, {seq}]
  x input [{batch}, 2, {seq}, {seq}]
  w weight [3, 2]
  y = embedding(t, w)
  m = create_mask(t, y)
  s = apply_mask(x, m)
  z = mul(y) other=2
  output z
plan parallel tp=1
- z = mul(y) other=2
+ z = mul(y) other=3
"""


def test_no_room_is_made_for_scores_that_a_mask_made_of_ids_is_added_to():
    (single, _), _ = twins(MASKED.format(batch=64, seq=256))
    tracemalloc.start()
    found = domains(single, full(single))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(own.usual[0].low, own.usual[0].high) for own in found.values()] == [(0, 2)]
    assert peak < 32 << 20
