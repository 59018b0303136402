"""Bits of integers joined along a dimension, and products of narrow integers summed as wider ones."""

import pytest

from tests.backends.hlo.test_pair import report_of
from verdict.report import Verdict

REDUCED = """HloModule reduced, num_partitions={count}

%joined (a: s32[], b: s32[]) -> s32[] {{
  %a = s32[] parameter(0)
  %b = s32[] parameter(1)
  ROOT %c = s32[] {word}(%a, %b)
}}

ENTRY %main (p: f32[{rows}], i: s32[{rows},3]) -> f32[{rows}] {{
  %p = f32[{rows}] parameter(0), sharding={{devices=[2]<=[2]}}
  %i = s32[{rows},3] parameter(1), sharding={{devices=[2,1]<=[2]}}
  %given = s32[] constant({begin})
{joined}
  %f = f32[{rows}] convert(%made)
  ROOT %y = f32[{rows}] multiply(%p, %f), sharding={{devices=[2]<=[2]}}
}}
"""
KNOWN = """  %several = s32[2] constant({values})
  %one = s32[] reduce(%several, %given), dimensions={{0}}, to_apply=%joined
  %made = s32[{rows}] broadcast(%one), dimensions={{}}"""
READ = "  %made = s32[{rows}] reduce(%i, %given), dimensions={{1}}, to_apply=%joined"
STEPS = """  %a0 = s32[{rows},1] slice(%i), slice={{[0:{rows}], [0:1]}}
  %a1 = s32[{rows},1] slice(%i), slice={{[0:{rows}], [1:2]}}
  %a2 = s32[{rows},1] slice(%i), slice={{[0:{rows}], [2:3]}}
  %b = s32[{rows},1] {word}(%a0, %a1)
  %c = s32[{rows},1] {word}(%b, %a2)
  %made = s32[{rows}] reshape(%c)"""
NUMBER = "  %made = s32[{rows}] broadcast(%given), dimensions={{}}"
BEGINS = {"or": 0, "and": -1}


def _text(count, word, joined, **more):
    filled = {"count": count, "rows": 4 // count, "word": word, "begin": BEGINS[word], **more}
    return REDUCED.format(joined=joined.format(**filled), **filled)


@pytest.mark.parametrize(("word", "made", "truth"), [("or", 7, 1), ("and", 2, 1)])
def test_known_integers_are_joined_bit_by_bit(word, made, truth):
    values = {"or": "{4, 3}", "and": "{6, 3}"}[word]
    after = _text(2, word, KNOWN, values=values)
    assert report_of(_text(1, word, NUMBER, begin=made), after).verdict is Verdict.PROVED
    assert report_of(_text(1, word, NUMBER, begin=truth), after).verdict is Verdict.REFUTED


@pytest.mark.parametrize("word", BEGINS)
def test_integers_of_a_row_are_joined_bit_by_bit(word):
    ranges = {"parameter 1": (0, 7)}
    (other,) = BEGINS.keys() - {word}
    assert report_of(_text(1, word, STEPS), _text(2, word, READ), ranges).verdict is Verdict.PROVED
    assert report_of(_text(1, other, STEPS), _text(2, word, READ), ranges).verdict is Verdict.REFUTED


PRODUCT = """HloModule product, num_partitions={count}

ENTRY %main (p: s8[{rows},3], q: s8[{rows},3]) -> f32[{rows}] {{
  %p = s8[{rows},3] parameter(0), sharding={{devices=[2,1]<=[2]}}
  %q = s8[{rows},3] parameter(1), sharding={{devices=[2,1]<=[2]}}
  %dot = {dtype}[{rows}] dot(%p, %q), lhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}
  ROOT %y = f32[{rows}] convert(%dot), sharding={{devices=[2]<=[2]}}
}}
"""  # noqa: E501


@pytest.mark.parametrize(("dtype", "verdict"), [("s32", Verdict.PROVED), ("s8", Verdict.REFUTED)])
def test_products_of_narrow_integers_are_summed_in_the_type_that_is_stated(dtype, verdict):
    before, after = PRODUCT.format(count=1, rows=4, dtype="s32"), PRODUCT.format(count=2, rows=2, dtype=dtype)
    assert report_of(before, after).verdict is verdict


def test_a_type_that_no_operator_makes_is_no_fault_of_a_plan():
    before, after = PRODUCT.format(count=1, rows=4, dtype="s32"), PRODUCT.format(count=2, rows=2, dtype="f32")
    report = report_of(before, after)
    assert report.verdict is Verdict.UNKNOWN
    assert any("it makes float32 where hlo.dot makes int8" in f"{each.where} {each.reason}" for each in report.open)
