"""Where data says how long a tensor is, the recording points to what records choices."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.command import capture  # noqa: E402
from verdict.backends.torch.launch import UNCONFIRMED, Target  # noqa: E402

FILE = str(Path(__file__).with_name("masked.py"))


@pytest.mark.parametrize(("builder", "asked"), [("build_of_data", True), ("build_of_constants", False)])
def test_a_mask_of_data_points_to_live(builder, asked):
    said = list[str]()
    capture([(Target(FILE, builder), 1)], "real", 1, UNCONFIRMED, said.append)
    assert any("--live" in line for line in said) is asked, said
