"""An id that is compared with shrinks with the vocabulary, and is told as the program has it."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("weighted_words.py")
PAIRS = (("build", "build_single"), ("build_other", "build_single"))


def test_rare_words_that_count_alike_are_proved():
    told = answers(FILE, PAIRS, causes=("build_other",))["build"]
    assert told.verdict == "PROVED", told.why


def test_another_id_is_told_with_both_numbers():
    told = answers(FILE, PAIRS, causes=("build_other",))["build_other"]
    assert told.verdict == "REFUTED", told.why
    (finding,) = told.report.findings
    assert finding.code == "wrong-constant"
    assert "other=4001 on rank 1" in finding.title and "other=4000" in finding.help
