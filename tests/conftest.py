"""What tests of several rooms ask pytest for."""

import signal

import pytest


@pytest.fixture
def heeds_interrupts():
    """What a shell runs in the background ignores interrupts, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
