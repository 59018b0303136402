"""What parallelizes a Step's model must hand its weights on: cut as their shares say, and changed by nobody."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402
from verdict.backends.torch.confirmation import CUT  # noqa: E402

FILE = Path(__file__).with_name("began.py")
RIGHT = ("cut_own", "cut_placed", "kept")
WRONG = {
    "cut_neighbours": "up.weight: rank 0 begins with other numbers than those at [0:2, 0:3] of the model's",
    "cut_misplaced": "down.weight: rank 0 begins with other numbers than those at [0:2, 0:2] of the model's",
    "doubled": "down.weight: rank 0 begins with other numbers than those at [0:2, 0:4] of the model's",
    "without_bias": "up.bias: rank 0 begins with other numbers than those at [0:2] of the model's",
    "permuted": "up.weight: rank 0 begins with other numbers than those at [0:4, 0:3] of the model's",
    "unlike": "up.weight: rank 1 begins with other numbers than those at [2:4, 0:3] of the model's",
}


def told(name):
    return answers(FILE, tuple((each, each) for each in (*RIGHT, *WRONG, "cut_every_second")), 2, "real")[name]


@pytest.mark.parametrize("name", RIGHT)
def test_a_model_that_is_cut_as_its_shares_say_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", WRONG)
def test_a_model_that_is_changed_where_it_is_parallelized_is_not_proved(name):
    assert told(name).verdict == "not put", told(name).why
    assert WRONG[name] in told(name).why and CUT in told(name).why


def test_a_mark_of_pieces_that_lie_apart_is_refused():
    assert told("cut_every_second").verdict == "not put"
    assert "a rank has 2 pieces of it that lie apart" in told("cut_every_second").why
