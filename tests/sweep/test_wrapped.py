"""A wrapper around a model gives its nodes another path: what they multiply by is what the single device has there."""

from dataclasses import replace

from tests.sweep.plans import swept, told
from tests.values.outline import plans

SINGLE = """
  x input [4, 2]
  w buffer [2, 2]
  a = mul(x) other=1.5
  b = mul(a) other=0.75
  y = linear(b, w)
  s = sum(y) dim=0 keepdim=False
  output s
"""
RIGHT = """
  a_own = mul(x[rank, :]) other=1.5
  b_own = mul(a_own) other=0.75
  y_own = linear(b_own, w)
  part_own = sum(y_own) dim=0 keepdim=False
  s = all_reduce(part_own) ranks=rank reduce="sum"
  output s
"""
HALVED = RIGHT.replace("  s = all_reduce(part_own)", "  half_own = mul(part_own) other=0.5\n  s = all_reduce(half_own)")


def wrapped(plan, path):
    """The plan, with a path before the names of its nodes."""
    named = (
        tuple(node._replace(name=f"{path}: {node.name.removesuffix('_own')}") for node in segment.nodes)
        for segment in plan.segments
    )
    return replace(plan, segments=tuple(s._replace(nodes=n) for s, n in zip(plan.segments, named, strict=True)))


def pair(parallel):
    single, other = plans(SINGLE, parallel, rank=2)
    return wrapped(single, "model"), wrapped(other, "module.model")


def test_the_factor_that_only_the_wrapped_model_has_is_the_cause():
    first, *_ = told(*pair(HALVED))
    assert "half" in first.where
    assert first.code in ("wrong-scale", "wrong-constant")


def test_a_wrapped_model_is_proved():
    assert swept(*pair(RIGHT)) == "PROVED"
