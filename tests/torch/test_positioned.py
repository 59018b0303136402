"""Positions and masks of other places are told as what they are, with the line that makes them."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("positioned.py")
WRONG = {
    "keys_from_zero": ("rank 1", "reads 0 and 1 of slice ({})", "2 and 3 is due", "return torch.arange(n + 1)[:n]"),
    "mask_of_first_rows": ("rank 1", "0 and 1 of tril ({})", "due at other places", "dtype=torch.bool).tril()\n"),
    "no_mask": ("rank 0", "reads 1 of ones ({})", "0 and 1 is due", "return torch.ones(n, S, dtype=torch.bool)\n"),
}


def told(name):
    pairs = tuple((f"build_{each}", "build_single") for each in ("right", *WRONG))
    return answers(FILE, pairs, causes=ALL)[f"build_{name}"]


def test_the_right_program_is_proved():
    assert told("right").verdict == "PROVED", told("right").why


@pytest.mark.parametrize("name", WRONG)
def test_what_is_read_is_told_with_the_line_that_makes_it(name):
    rank, read, due, text = WRONG[name]
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(keepends=True), 1) if text in each)
    (finding,) = told(name).report.findings
    for part in (rank, read.format(f"positioned.py:{line}"), due):
        assert part in finding.title


BOUNDED = {
    "window_wider": ("rank 1", "has other=3", "the single-device node has other=2"),
    "window_wider_once": ("rank 1", "has other=3", "on the other ranks it has other=2"),
}


def bounded(name):
    pairs = tuple((f"build_{each}", "build_window_single") for each in ("window_right", "window_shifted", *BOUNDED))
    return answers(FILE, pairs, causes=ALL)[f"build_{name}"]


def test_the_right_window_is_proved():
    assert bounded("window_right").verdict == "PROVED", bounded("window_right").why


@pytest.mark.parametrize("name", BOUNDED)
def test_a_wrong_bound_of_a_mask_is_told_as_that(name):
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(), 1) if "back < reach" in each)
    (finding,) = bounded(name).report.findings
    assert finding.code == "wrong-constant"
    for part in (*BOUNDED[name], f"lt (positioned.py:{line})"):
        assert part in finding.title


def test_a_shift_of_positions_that_one_device_has_not_is_told():
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(), 1) if "- shift if shift" in each)
    (finding,) = bounded("window_shifted").report.findings
    assert finding.code == "operator-differs"
    for part in (f"sub (positioned.py:{line})", "other=1", "ranks 0, 1", "numbers from 0 to 3"):
        assert part in finding.title
