"""The pytest plugin: fixtures that prove a parallel program equivalent to its single-device program."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assert_equivalent() -> Callable[..., Any]:
    """`verdict.torch.assert_equivalent`; skips the test where torch is not installed."""
    pytest.importorskip("torch")
    from verdict import torch  # noqa: PLC0415  (a test run that does not ask for it does not pay for it)

    return torch.assert_equivalent


@pytest.fixture
def assert_parallel() -> Callable[..., Any]:
    """`verdict.torch.assert_parallel`; skips the test where torch is not installed."""
    pytest.importorskip("torch")
    from verdict import torch  # noqa: PLC0415  (a test run that does not ask for it does not pay for it)

    return torch.assert_parallel


@pytest.fixture
def assert_jax_equivalent() -> Callable[..., Any]:
    """`verdict.jax.assert_equivalent`; skips the test where jax is not installed."""
    pytest.importorskip("jax")
    from verdict import jax  # noqa: PLC0415  (a test run that does not ask for it does not pay for it)

    return jax.assert_equivalent
