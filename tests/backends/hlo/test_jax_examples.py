"""The examples, compiled by jax."""

from pathlib import Path

import pytest

pytest.importorskip("jax", reason="it compiles the examples; it is not installed")

from verdict.jax import verify
from verdict.report import Verdict

EXAMPLES = Path(__file__).parents[3] / "examples" / "jax"


@pytest.mark.parametrize("name", ["mlp.py", "mlp.py:build_adam", "shard_map.py"])
def test_an_example_is_proved(name, assert_jax_equivalent):
    assert_jax_equivalent(str(EXAMPLES / name))


def test_a_sum_over_the_wrong_axis_is_refuted():
    assert verify(f"{EXAMPLES}/shard_map.py:build_wrong_axis").verdict is Verdict.REFUTED
