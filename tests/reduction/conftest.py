"""What tests of reduced shapes share."""

import importlib

import pytest

from verdict.sweep.larger import Larger


@pytest.fixture
def no_numbers(monkeypatch):
    """Numbers at full or larger shapes, which show much of what is wrong, too, are not run."""
    monkeypatch.setattr(importlib.import_module("verdict.sweep.sweep"), "on_numbers", lambda *_: Larger(""))
    for name in ("by_blocks", "between", "numbers"):
        module = importlib.import_module(f"verdict.phases.{name}")
        monkeypatch.setattr(module, "difference_at_own_shapes", lambda *_: None)
