"""What is divided by a norm that may be zero, and masked there, is proved between cut points; another mask is not."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("masked_quotients.py")
RIGHT, WRONG, ZEROS = ("eq", "where"), ("one", "less", "none"), ("safe", "unsafe", "ones")


def told(name):
    builders = [f"build_{each}" for each in (*RIGHT, *WRONG, *ZEROS, "alone")]
    return answers(FILE, tuple(zip(builders, builders, strict=True)))[f"build_{name}"]


@pytest.mark.parametrize("name", RIGHT)
def test_the_same_mask_on_rows_of_the_batch_is_proved_between_cut_points(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", WRONG)
def test_another_mask_is_not(name):
    assert told(name).verdict in ("REFUTED", "UNKNOWN"), told(name).why


def test_a_gradient_of_own_rows_is_refuted():
    assert told("alone").verdict == "REFUTED", told("alone").why


def test_what_is_divided_by_no_zero_is_proved():
    assert told("safe").verdict == "PROVED", told("safe").why


@pytest.mark.parametrize("name", ["unsafe", "ones"])
def test_what_goes_otherwise_where_a_row_is_zero_is_refuted_by_such_rows(name):
    assert told(name).verdict == "REFUTED", told(name).why
