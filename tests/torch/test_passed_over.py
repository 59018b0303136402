"""A mean over targets that count, of a divided vocabulary: the count is one number on both sides, whatever counts."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("passed_over.py")
PAIRS = tuple((name, "build_single") for name in ("build", "build_counted_from_one", "build_one_word_too_many"))


def test_a_divided_vocabulary_with_targets_that_do_not_count_is_proved():
    found = answers(FILE, PAIRS)["build"]
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", ["build_counted_from_one", "build_one_word_too_many"])
def test_another_count_or_another_word_is_refuted(name):
    found = answers(FILE, PAIRS)[name]
    assert found.verdict == "REFUTED", found.why
