"""The examples, compiled by jax."""

from pathlib import Path

import pytest

pytest.importorskip("jax", reason="it compiles the examples; it is not installed")

pytest.importorskip("optax", reason="the examples use its optimizers; it is not installed")

from verdict.jax import verify
from verdict.report import Verdict

EXAMPLES = Path(__file__).parents[3] / "examples" / "jax"


PROVED = (
    *("mlp.py", "mlp.py:build_adam", "mlp.py:build_explicit", "shard_map.py", "pipeline.py", "moe.py"),
    *("ring.py", "fsdp.py", "sequence.py", "attention.py", "transformer.py:build_fsdp"),
    *("transformer.py:build_tensor_deep", "scanned.py", "grouped.py"),
)


@pytest.mark.parametrize("name", PROVED)
def test_an_example_is_proved(name, assert_jax_equivalent):
    assert_jax_equivalent(str(EXAMPLES / name))


@pytest.mark.parametrize("function", ["build", "build_old"])
def test_a_model_of_equinox_is_proved_as_it_is(function, assert_jax_equivalent):
    pytest.importorskip("equinox", reason="it makes the model; it is not installed")
    assert_jax_equivalent(f"{EXAMPLES}/equinox_model.py:{function}")


@pytest.mark.parametrize(
    "name",
    [
        *("flax_model.py:build", "flax_model.py:build_tensor"),
        *("flax_attention.py:build", "flax_attention.py:build_tensor", "flax_attention.py:build_both"),
    ],
)
def test_a_model_of_flax_is_proved_as_it_is(name, assert_jax_equivalent):
    pytest.importorskip("flax", reason="it makes the model; it is not installed")
    assert_jax_equivalent(f"{EXAMPLES}/{name}")


def test_microbatches_in_the_wrong_order_are_refuted():
    assert verify(f"{EXAMPLES}/pipeline.py:build_wrong").verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("ring.py:build_wrong_scale", "max."),
        ("ring.py:build_wrong_mask", "max."),
        ("fsdp.py:build_wrong_norm", "missing-reduction"),
        ("sequence.py:build_wrong_norm", "missing-reduction"),
        ("attention.py:build_wrong_mask", "start=1"),
        ("attention.py:build_wrong_sum", "missing-reduction"),
        ("sequence.py:build_wrong_positions", "sequence.py:28 add."),
    ],
)
def test_a_mistake_is_refuted_where_it_is(name, where):
    report = verify(f"{EXAMPLES}/{name}")
    assert report.verdict is Verdict.REFUTED
    first = report.findings[0]
    assert where in f"{first.code} {first.title} {' '.join(first.notes)}"


def test_heads_that_read_another_group_are_refuted_where_they_do():
    report = verify(f"{EXAMPLES}/grouped.py:build_wrong_heads", devices=4)
    assert report.verdict is Verdict.REFUTED
    assert "grouped.py:51" in report.findings[0].title


def test_a_sum_over_the_wrong_axis_is_refuted():
    assert verify(f"{EXAMPLES}/shard_map.py:build_wrong_axis").verdict is Verdict.REFUTED


@pytest.mark.parametrize("function", ["build_wrong_sum", "build_wrong_layer"])
def test_a_mistake_in_a_scan_is_refuted(function):
    assert verify(f"{EXAMPLES}/scanned.py:{function}").verdict is Verdict.REFUTED
