"""What differs on numbers far out alone, or with one row of a table, is refuted by these; what never does is proved."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("bounded.py")
RIGHT, WRONG = ("with_all", "of_some"), ("clamped", "chosen", "saturated", "without_last")


def told(name):
    builders = [f"build_{each}" for each in (*RIGHT, *WRONG)]
    return answers(FILE, tuple(zip(builders, builders, strict=True)), causes=ALL)[f"build_{name}"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_no_number_changes_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", WRONG)
def test_what_some_numbers_show_is_refuted_at_its_line(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    line = next(n for n, text in enumerate(FILE.read_text().splitlines(), 1) if f"def {name}" in text) + 1
    assert any(f"bounded.py:{line}" in finding.title for finding in found.report.findings), found.report.findings
