"""Programs that are wrong in a small way are never PROVED, and their right twins are; recorded and run, as
`verdict torch` does.
"""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import subtle  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("subtle.py")
BUILDERS = tuple(name for name in vars(subtle) if name.startswith("build_") and not name.endswith("_single"))
RIGHT = tuple(name for name in BUILDERS if name.endswith("_right"))
WRONG = tuple(name for name in BUILDERS if name not in RIGHT)
LEFT_OPEN = ("build_strided",)
"""Nothing is refuted of it: what the recording cannot say remains a question."""


def single(name):
    return next(value for start, value in subtle.SINGLES.items() if name.startswith(start))


def told():
    return answers(FILE, tuple((name, single(name)) for name in (*WRONG, *RIGHT)))


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_is_wrong_in_a_small_way_is_not_proved(name):
    found = told()[name]
    assert found.verdict == ("UNKNOWN" if name in LEFT_OPEN else "REFUTED"), found.why


@pytest.mark.parametrize("name", RIGHT)
def test_its_right_twin_is_proved(name):
    found = told()[name]
    assert found.verdict == "PROVED", found.why
