"""Advice: one question or finding a cause says what is missing and what to write; with that, the program is proved."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "advised.py"
PAIRS = (
    ("build", "build_single"),
    ("build_unstated", "build_single"),
    ("build_wrapped", "build_single"),
    ("build_classes", "build_classes_single"),
    ("build_ranged", "build_ranged_single"),
    ("build_dropped", "build_dropped_single"),
)


def told(builder):
    return answers(FILE, PAIRS, tensors="auto", causes=("build_dropped",))[builder]


@pytest.mark.parametrize("builder", ["build", "build_wrapped", "build_ranged"])
def test_what_follows_the_advice_is_proved(builder):
    assert told(builder).verdict == "PROVED", told(builder).why


def test_forgotten_specs_are_one_question_that_says_what_to_state():
    (question,) = told("build_unstated").report.open
    assert (told("build_unstated").verdict, question.code) == ("UNKNOWN", "specs-missing")
    assert 'specs={"x": shard(0, ctx.rank, 2)}' in question.reason
    assert "x ([2, 4] of [4, 4]), target ([2, 4] of [4, 4])" in question.reason


def test_targets_that_are_ignored_are_named_with_the_range_that_rules_them_out():
    (question,) = told("build_classes").report.open
    assert told("build_classes").verdict == "UNKNOWN"
    assert "-100" in question.reason and "`range target 0 3`" in question.reason and "`ranges`" in question.reason


def test_one_mask_on_all_ranks_is_one_finding_at_the_line_of_the_dropout():
    (finding,) = told("build_dropped").report.findings
    assert finding.code == "same-random-state"
    assert "self.drop" in finding.source.text or "run(x)" in finding.source.text
    assert "depends on which part the rank holds" in finding.help


def test_without_data_a_wrapped_model_is_answered_with_the_option_that_records_it():
    found = answers(FILE, (("build_wrapped", "build_single"),), tensors="fake")["build_wrapped"]
    assert found.verdict == "not put" and "record with --tensors real" in found.why


def test_a_number_that_decides_is_an_open_question_at_its_line():
    found = answers(FILE, (("build_decided", "build_decided_single"),), tensors="real")["build_decided"]
    assert found.verdict == "UNKNOWN"
    assert "a value is read by Python" in found.why and "(advised.py:25:40 step)" in found.why
