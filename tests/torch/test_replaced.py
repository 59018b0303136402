"""Parameters are what their names stand for when the step has ended, and states of optimizers all that they hold."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch import replaced  # noqa: E402
from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("replaced.py")
NAMES = (*replaced.NAMES, "listed")


def told(name):
    pairs = [(f"build_{each}{end}", f"build_{each}_single") for each in NAMES for end in ("", "_right")]
    return answers(FILE, (*pairs, ("build_gone", "build_dictionary_single")))[name]


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_in_a_parameters_place_is_what_the_step_made(name):
    assert told(f"build_{name}_right").verdict == "PROVED", told(f"build_{name}_right").why


@pytest.mark.parametrize("name", NAMES)
def test_another_tensor_in_its_place_is_refuted(name):
    assert told(f"build_{name}").verdict == "REFUTED", told(f"build_{name}").why


def test_a_parameter_that_is_gone_is_told():
    assert told("build_gone").verdict == "not put"
    assert "takes it out of Program.params" in told("build_gone").why
