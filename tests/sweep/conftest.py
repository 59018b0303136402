"""What the tests of the sweep share."""

import importlib

import pytest

from verdict.sweep.larger import Larger


@pytest.fixture
def without_numbers(monkeypatch):
    """The proofs alone, at reduced shapes."""
    engine = importlib.import_module("verdict.sweep.sweep")
    monkeypatch.setattr(importlib.import_module("verdict.sweep.own"), "MOST_FULL", 0)
    monkeypatch.setattr(engine, "on_numbers", lambda *_: Larger(""))
