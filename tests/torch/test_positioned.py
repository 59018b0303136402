"""Positions and masks of other places are told as what they are, with the line that makes them."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("positioned.py")
WRONG = {
    "keys_from_zero": ("rank 1", "reads 0 and 1 of slice ({})", "2 and 3 is due", "return torch.arange(n + 1)[:n]"),
    "mask_of_first_rows": ("rank 1", "0 and 1 of tril ({})", "due at other places", "dtype=torch.bool).tril()\n"),
    "no_mask": ("rank 0", "reads 1 of ones ({})", "0 and 1 is due", "return torch.ones(n, S, dtype=torch.bool)\n"),
}


def told(name):
    pairs = tuple((f"build_{each}", "build_single") for each in ("right", *WRONG))
    return answers(FILE, pairs)[f"build_{name}"]


def test_the_right_program_is_proved():
    assert told("right").verdict == "PROVED", told("right").why


@pytest.mark.parametrize("name", WRONG)
def test_what_is_read_is_told_with_the_line_that_makes_it(name):
    rank, read, due, text = WRONG[name]
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(keepends=True), 1) if text in each)
    (finding,) = told(name).report.findings
    for part in (rank, read.format(f"positioned.py:{line}"), due):
        assert part in finding.title
