"""The clocks of ranks are apart: what is made of them is not one on all, however soon after one another they ask."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import clocked  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("clocked.py")
BUILDERS = tuple(name for name in vars(clocked) if name.startswith("build_") and name != "build_single")


@pytest.mark.parametrize("name", BUILDERS)
def test_seeds_that_are_the_time_are_not_the_same_on_all_ranks(name):
    found = answers(FILE, tuple((each, "build_single") for each in BUILDERS), 2, "real")[name]
    assert (found.verdict == "PROVED") is name.endswith("_right"), found.why
