"""Whole numbers that rules make or cast are those that a tensor of the type holds, as torch has it."""

from fractions import Fraction

import numpy as np
import pytest

from verdict.ops import RULES

torch = pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")

TYPES = ("bfloat16", "float16", "float32", "float64")
NUMBERS = (-259, -257, 0, 255, 257, 258, 2049, 2051, (1 << 24) + 1)
HELD = [(n, dtype) for dtype in TYPES for n in NUMBERS if abs(n) <= torch.finfo(getattr(torch, dtype)).max]
SHAPE = (2, 3)


def forward(name, *inputs, **attrs):
    """What a rule makes of arrays of exact numbers."""
    (y,) = RULES[name].forward(list(inputs), attrs)
    return y


def held(number, dtype):
    """The number that a tensor of torch's holds where it is given a whole one."""
    return float(torch.tensor(number, dtype=torch.int64).to(getattr(torch, dtype)))


X = np.zeros(SHAPE)
MAKERS = {
    "aten.full": lambda n, dtype: forward("aten.full", size=SHAPE, fill_value=n, dtype=dtype),
    "aten.full_like": lambda n, dtype: forward("aten.full_like", X, fill_value=n, dtype=dtype),
    "aten.new_full": lambda n, dtype: forward("aten.new_full", X, size=SHAPE, fill_value=n, dtype=dtype),
    "aten.scalar_tensor": lambda n, dtype: forward("aten.scalar_tensor", s=n, dtype=dtype),
    "aten.arange.start": lambda n, dtype: forward("aten.arange.start", start=n, end=n + 1, dtype=dtype),
    "aten._to_copy": lambda n, dtype: forward("aten._to_copy", np.full(SHAPE, n), dtype=dtype),
    "hlo.convert": lambda n, dtype: forward("hlo.convert", np.full(SHAPE, n), dtype=dtype, saturate=False),
    "of exact numbers": lambda n, dtype: forward(
        "hlo.convert", np.full(SHAPE, Fraction(n), dtype=object), dtype=dtype, saturate=False
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("number", "dtype"), HELD)
def test_a_whole_number_is_what_a_tensor_of_the_type_holds(maker, number, dtype):
    made = MAKERS[maker](number, f"torch.{dtype}" if maker.startswith("aten") else dtype)
    assert set(np.asarray(made, dtype=float).flat) == {held(number, dtype)}


@pytest.mark.parametrize("dtype", TYPES)
def test_places_are_counted_as_the_type_counts(dtype):
    made = forward("hlo.iota", size=(260,), dim=0, dtype=dtype)
    wanted = torch.arange(260).to(getattr(torch, dtype)).double().numpy()
    np.testing.assert_array_equal(np.asarray(made, dtype=float), wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_fractions_stay_exact(dtype):
    """Real numbers are what a proof is about: only what counts or places things is rounded."""
    assert set(forward("aten.full", size=SHAPE, fill_value=0.1, dtype=f"torch.{dtype}").flat) == {Fraction(1, 10)}
