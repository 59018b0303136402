"""A line that multiplies twice: a correction of both factors is one of what both make, one behind the other."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("chained.py")
BUILDERS = ("build", "build_own_rows", "build_as_it_is")


def told(builder):
    return answers(FILE, tuple((each, "build_single") for each in BUILDERS), causes=ALL)[builder]


def test_a_variance_of_all_rows_is_proved():
    assert told("build").verdict == "PROVED", told("build").why


@pytest.mark.parametrize("builder", ["build_own_rows", "build_as_it_is"])
def test_another_factor_is_corrected_by_what_mends_it(builder):
    """1.2, by which one device multiplies first, is due for 1.5, or for both factors, with 0.1 behind it."""
    answer = told(builder)
    assert answer.verdict == "REFUTED", answer.why
    (first, *_) = answer.report.findings
    assert first.source.line == 26, first
    assert "1/12" not in first.title, first
