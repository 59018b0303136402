"""Constants that two programs compute in floats, each in its own way, are what they are but for rounding."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers, plan  # noqa: E402
from verdict.backends.torch.launch import Limits, Target, record_each  # noqa: E402
from verdict.graph.computed import NAME  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.pipeline import verify  # noqa: E402

FILE = Path(__file__).with_name("adams.py")
RIGHT = ("build_published", "build_first", "build_flat", "build_flat_without_padding")
WRONG = ("build_flat_added", "build_uncorrected", "build_less_decay")


def told(name):
    return answers(FILE, tuple((each, "build_single") for each in (*RIGHT, *WRONG)))[name]


@pytest.mark.parametrize("name", RIGHT)
def test_adam_by_hand_is_torchs_but_for_rounding(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    (assumed,) = (each.text for each in found.report.assumptions if each.name == NAME)
    assert "-0.10000000000000002 is -0.1" in assumed


@pytest.mark.parametrize("name", WRONG)
def test_another_adam_is_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why


def test_a_number_that_is_off_by_a_quotient_is_told_as_what_it_must_be():
    """g + 0.9 (g + 0.01 w) lacks 0.01 w; with 0.01 * 19/9 in that place it is (g + 0.01 w) + 0.9 (g + 0.01 w)."""
    single, right, wrong = plans("build_nesterov_single", "build_nesterov", "build_nesterov_half")
    assert verify(single, right, Options()).verdict.name == "PROVED"
    (repair,) = verify(single, wrong, Options(attempts=None)).repairs
    assert repair.proved and f"other={0.01 * 19 / 9!r}" in repair.sentence


def test_who_denies_the_assumption_is_told_no_such_thing():
    single, parallel = plans("build_single", "build_published")
    report = verify(single, parallel, Options(denied=frozenset({NAME})))
    assert report.verdict.name == "UNKNOWN"
    assert NAME not in {assumption.name for assumption in report.assumptions}


def plans(single, *parallel):
    programs = [(Target(str(FILE), single), 1), *((Target(str(FILE), name), 2) for name in parallel)]
    return [plan(each, "adams") for each in record_each(programs, "fake", 2, Limits(120.0))]
