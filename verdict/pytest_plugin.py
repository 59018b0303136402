"""The pytest plugin: a fixture that proves a parallel PyTorch program equivalent to its single-device program."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assert_equivalent() -> Callable[..., Any]:
    """`verdict.torch.assert_equivalent`; skips the test where torch is not installed."""
    pytest.importorskip("torch")
    from verdict import torch  # noqa: PLC0415  (a test run that does not ask for it does not pay for it)

    return torch.assert_equivalent
