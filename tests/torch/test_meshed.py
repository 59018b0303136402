"""Causes are looked for where ranks join pieces of unlike shapes, some of what others have joined."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("meshed.py")


def test_pieces_that_do_not_fit_are_not_joined_to_find_a_cause():
    found = answers(FILE, (("build", "build_single"),), world=4)["build"]
    assert found.verdict == "REFUTED", found.why
