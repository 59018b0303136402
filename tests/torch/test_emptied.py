"""Uneven exchanges in which a rank gets and gives no rows."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("emptied.py")


def test_a_rank_without_rows_takes_part_in_an_uneven_exchange():
    found = answers(FILE, (("build", "build_single"), ("build_own", "build_single")), world=3)
    assert found["build"].verdict == "PROVED", found["build"].why
    assert found["build_own"].verdict == "REFUTED", found["build_own"].why
