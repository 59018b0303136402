"""Complex numbers are none of the reals that rules speak of; numbers in the place of tensors are tensors."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("odd_numbers.py")
SINGLE = {
    "build_sizes": "build_sizes_single",
    "build_squares": "build_sizes_single",
    "build_turned": "build_turned_single",
    "build_each": "build_summed_single",
    "build_each_averaged": "build_summed_single",
    "build_unreduced": "build_summed_single",
    "build_beside": "build_beside_single",
    "build_beside_another": "build_beside_single",
    "build_first": "build_first_single",
    "build_first_otherwise": "build_first_single",
}


def told(name):
    return answers(FILE, tuple(SINGLE.items()))[name]


@pytest.mark.parametrize("name", ["build_sizes", "build_squares", "build_turned"])
def test_what_is_made_of_complex_numbers_is_not_known(name):
    assert told(name).verdict == "UNKNOWN", told(name).why
    assert "of complex numbers has no rule" in told(name).why


def test_gradients_of_each_row_are_added_up():
    assert told("build_each").verdict == "PROVED", told("build_each").why
    assert told("build_each_averaged").verdict == "REFUTED", told("build_each_averaged").why


def test_a_loss_of_several_elements_is_none_of_one():
    assert told("build_unreduced").verdict == "REFUTED", told("build_unreduced").why


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("build_beside", "PROVED"),
        ("build_beside_another", "REFUTED"),
        ("build_first", "PROVED"),
        ("build_first_otherwise", "REFUTED"),
    ],
)
def test_numbers_beside_truth_values_and_before_tensors_are_what_torch_makes_of_them(name, verdict):
    assert told(name).verdict == verdict, told(name).why


def test_an_integer_that_is_read_under_another_mode_is_read_once():
    """A mode for functions looks up `Tensor.item` anew."""
    found = answers(FILE, (("build_read", "build_read_single"),), tensors="real")["build_read"]
    assert found.verdict == "UNKNOWN"
    assert "a value is read by Python" in found.why
