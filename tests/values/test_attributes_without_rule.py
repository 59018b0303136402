"""Values of attributes that an operator takes and its rule does not: nothing is said, whichever plan has them."""

import pytest

from tests.values.outline import report, verdict

NORM = """
  x input [4, 3]
  n = aten.linalg_vector_norm(x) dim=1 keepdim=False ord={}
  n activation float32 [4]
  output n
"""
ATTENTION = """
  q input [2, 2, 4, 4]
  k input [2, 2, 4, 4]
  v input [2, 2, 4, 4]
  y, l = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v) dropout_p={} is_causal=False
  y activation [2, 2, 4, 4]
  l activation [2, 2, 4]
  output y
"""
CASES = {"the order of a norm": (NORM, "2", "-70", "3"), "dropout": (ATTENTION, "0.0", "0.5", None)}


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_rule_is_unknown_and_no_fault_of_the_plan(name):
    text, ruled, unruled, another = CASES[name]
    for single, parallel in ((ruled, unruled), (unruled, ruled), (unruled, unruled)):
        found = report(text.format(single), text.format(parallel))
        assert (found.verdict.name, found.findings) == ("UNKNOWN", ())
        assert any("rule" in left.reason for left in found.open)
    assert verdict(text.format(ruled), text.format(ruled)) == "PROVED"
    if another:
        assert verdict(text.format(ruled), text.format(another)) == "REFUTED"


def test_a_value_that_no_operator_takes_is_a_fault_of_the_plan():
    text = "\n  x input [4, 3]\n  n = aten.sum.dim_IntList(x) dim={} keepdim=False\n  n activation [4]\n  output n\n"
    assert verdict(text.format("(1,)"), text.format("(1,)")) == "PROVED"
    assert verdict(text.format("(1,)"), text.format("(5,)")) == "REFUTED"
