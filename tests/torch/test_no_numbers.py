"""What is no number stands at one end of an order, whichever way it is turned; and the last bit is the sign."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import no_numbers  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("no_numbers.py")
RIGHT, WRONG = (
    tuple(name for name in vars(no_numbers) if name.startswith("build_") and name.endswith(way))
    for way in ("_right", "_wrong")
)


def told(name):
    pairs = tuple((each, f"{each.rpartition('_')[0]}_single") for each in (*RIGHT, *WRONG))
    return answers(FILE, pairs)[name]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_the_same_of_numbers_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_the_same_where_something_is_no_number_is_not_proved(name):
    assert told(name).verdict != "PROVED", told(name).why
