"""What is guarded against a division by zero, and what is greatest over shards: right programs are PROVED, wrong ones
REFUTED; recorded and run, as `verdict torch` does.
"""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import guarded  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("guarded.py")
RIGHT = tuple(name for name in vars(guarded) if name.startswith("build_") and name.endswith("_right"))
WRONG = tuple(name.removesuffix("_right") for name in RIGHT)


def told():
    pairs = tuple((name, f"{name.removesuffix('_right')}_single") for name in (*WRONG, *RIGHT))
    return answers(FILE, pairs)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_guard_is_proved(name):
    found = told()[name]
    assert found.verdict == "PROVED", found.why


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_guard_is_refuted(name):
    found = told()[name]
    assert found.verdict == "REFUTED", found.why
