"""A gradient that is placed otherwise than its parameter is compared where the parameter is."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("placed.py")
WRONG, RIGHT = "build_placed", "build_placed_right"


def test_a_gradient_that_all_ranks_have_of_a_parameter_that_they_share_is_cut_as_it_is():
    found = answers(FILE, tuple((name, "build_placed_single") for name in (WRONG, RIGHT)))
    assert found[RIGHT].verdict == "PROVED", found[RIGHT].why
    assert found[WRONG].verdict == "REFUTED", found[WRONG].why
