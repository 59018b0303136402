"""Random bits as a function of the key: dropout by hand on two devices, as jax 0.10.2 on the CPU lowers it."""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.hlo.running import results_of
from verdict.backends.hlo.pair import pair_of
from verdict.backends.hlo.text import read_module
from verdict.ops import RULES
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

TEXTS = Path(__file__).parent / "random"


def _text(name):
    return (TEXTS / f"{name}.hlo").read_text()


def _report(after):
    pair = pair_of(read_module(_text("dropout.before"), "before"), read_module(_text(after), "after"))
    return verify(*pair, Options())


def test_each_device_takes_its_rows_of_the_mask():
    report = _report("sliced.after")
    assert report.verdict is Verdict.PROVED
    assert "bitwise-uninterpreted" in {assumption.name for assumption in report.assumptions}


@pytest.mark.parametrize("after", ["same.after", "folded.after"])
def test_a_mask_of_its_own_on_each_device_is_another_one(after):
    """The same key for all shards, and a key for each of them."""
    assert _report(after).verdict is Verdict.REFUTED


@pytest.mark.parametrize(("key", "due"), [((0, 42), 0.3406502604484558), ((7, 1 << 31), 0.227845698595047)])
def test_the_loss_of_a_key_is_that_of_jax(key, due):
    weights = np.arange(6.0).reshape(2, 3) / 4 - 0.5
    rows = np.arange(8.0).reshape(4, 2) / 8
    (made,) = results_of(_text("dropout.before"), [weights, np.array(key, dtype=np.int64), rows])
    assert made == pytest.approx(due, rel=1e-5)


BITS = np.array([0, 1, 0x3F800000, 0x7F7FFFFF, 0xFFFFFFFF, 0x80000001, 0xC0490FDB], dtype=np.uint32)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("bits_and", np.bitwise_and),
        ("bits_or", np.bitwise_or),
        ("bits_xor", np.bitwise_xor),
        ("shift_left", np.left_shift),
        ("shift_right_logical", np.right_shift),
    ],
)
def test_bits_are_those_of_numpy(op, function):
    one, other = (array.ravel() for array in np.meshgrid(BITS, np.arange(32, dtype=np.uint32)))
    (made,) = RULES[f"hlo.{op}"].forward([one.astype(np.int64), other.astype(np.int64)], {})
    assert np.array_equal(made, function(one, other).astype(np.int64))


def test_shifts_by_all_bits_leave_none():
    """As XLA defines it; a processor would take the remainder."""
    for op in ("shift_left", "shift_right_logical"):
        (made,) = RULES[f"hlo.{op}"].forward([np.array([5, 5]), np.array([32, 33])], {"width": 32})
        assert made.tolist() == [0, 0]


def test_bits_are_taken_for_numbers_as_numpy_does():
    bits = BITS[np.isfinite(BITS.view(np.float32))]
    (made,) = RULES["hlo.bitcast_convert"].forward([bits.astype(np.int64)], {"dtype": "float32"})
    assert np.array_equal(made, bits.view(np.float32).astype(np.float64))
