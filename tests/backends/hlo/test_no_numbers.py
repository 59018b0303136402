"""What may be no number: comparisons of it are false, whichever way they are written, and so is that it is finite."""

import pytest

from tests.backends.hlo.test_pair import report_of
from verdict.backends.hlo.literals import literal_of
from verdict.report import Verdict

MODULE = """
HloModule step

ENTRY %main {{
  %x = f32[4]{{0}} parameter(0)
  %c = f32[] constant({shift})
  %shift = f32[4]{{0}} broadcast(%c), dimensions={{}}
  %moved = f32[4]{{0}} add(%x, %shift)
  %log = f32[4]{{0}} log(%moved)
  %l = f32[] constant(3)
  %limit = f32[4]{{0}} broadcast(%l), dimensions={{}}
  %twice = f32[4]{{0}} add(%x, %x)
  {chosen}
  ROOT %out = (f32[4]{{0}}) tuple(%made)
}}
"""
LESS = """%is = pred[4]{0} compare(%log, %limit), direction=LT
  %made = f32[4]{0} select(%is, %x, %twice)"""
NOT_LESS = """%is = pred[4]{0} compare(%log, %limit), direction=GE
  %made = f32[4]{0} select(%is, %twice, %x)"""
FINITE = """%is = pred[4]{0} is-finite(%log)
  %made = f32[4]{0} select(%is, %log, %x)"""
AS_IT_IS = "%made = f32[4]{0} copy(%log)"
NEVER_DRAWN = 1000
"""What is added to x so that the random numbers of a run are none of which there is no logarithm."""


def _verdict(one, other, shift):
    return report_of(*(MODULE.format(shift=shift, chosen=chosen) for chosen in (one, other))).verdict


@pytest.mark.parametrize("shift", [0, NEVER_DRAWN])
@pytest.mark.parametrize("chosen", [LESS, NOT_LESS, FINITE])
def test_the_same_choice_is_proved(chosen, shift):
    assert _verdict(chosen, chosen, shift) is Verdict.PROVED


@pytest.mark.parametrize(("one", "other"), [(LESS, NOT_LESS), (FINITE, AS_IT_IS)])
def test_a_choice_turned_around_is_another_one(one, other):
    assert _verdict(one, other, 0) is not Verdict.PROVED
    assert _verdict(one, other, NEVER_DRAWN) is Verdict.UNKNOWN


FINITE_NUMBERS = FINITE.replace("%log", "%moved"), AS_IT_IS.replace("%log", "%moved")


def test_numbers_are_finite():
    assert _verdict(*FINITE_NUMBERS, 1) is Verdict.PROVED


@pytest.mark.parametrize(
    ("word", "due"),
    [
        ("0.0833333358", 1 / 12),
        ("-0.666666687", -2 / 3),
        ("1.01725265e-05", 1 / 98304),
        ("0.999000013", 0.999000013),
        ("1.41421354", 1.41421354),
        ("0.142857134", 0.142857134),
        ("0.1", 0.1),
    ],
)
def test_a_quotient_in_32_bits_is_that_quotient(word, due):
    """The nearest numbers of 32 bits to 0.999 and to 1/7 are others than those that are left as they are written."""
    assert literal_of(word, "float32", ()) == (due,)
    assert literal_of(word, "float64", ()) == (float(word),)
