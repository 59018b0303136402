"""The examples, compiled by jax."""

from pathlib import Path

import pytest

pytest.importorskip("jax", reason="it compiles the examples; it is not installed")

pytest.importorskip("optax", reason="the examples use its optimizers; it is not installed")

from verdict.jax import verify
from verdict.report import Verdict

EXAMPLES = Path(__file__).parents[3] / "examples" / "jax"


PROVED = ("mlp.py", "mlp.py:build_adam", "mlp.py:build_explicit", "shard_map.py", "pipeline.py", "moe.py")


@pytest.mark.parametrize("name", PROVED)
def test_an_example_is_proved(name, assert_jax_equivalent):
    assert_jax_equivalent(str(EXAMPLES / name))


@pytest.mark.parametrize("function", ["build", "build_old"])
def test_a_model_of_equinox_is_proved_as_it_is(function, assert_jax_equivalent):
    pytest.importorskip("equinox", reason="it makes the model; it is not installed")
    assert_jax_equivalent(f"{EXAMPLES}/equinox_model.py:{function}")


def test_microbatches_in_the_wrong_order_are_refuted():
    assert verify(f"{EXAMPLES}/pipeline.py:build_wrong").verdict is Verdict.REFUTED


def test_a_sum_over_the_wrong_axis_is_refuted():
    assert verify(f"{EXAMPLES}/shard_map.py:build_wrong_axis").verdict is Verdict.REFUTED
