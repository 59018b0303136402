"""What has no order has another one on some rank of a group, whichever axis of a mesh the group lies along."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import unsorted  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("unsorted.py")
BUILDERS = tuple(name for name in vars(unsorted) if name.startswith("build_") and name != "build_single")


@pytest.mark.parametrize("name", BUILDERS)
def test_a_bucket_in_the_order_of_a_set_is_not_the_same_on_replicas(name):
    found = answers(FILE, tuple((each, "build_single") for each in BUILDERS), 4)[name]
    assert found.verdict == ("PROVED" if name.endswith("_right") else "REFUTED"), found.why
