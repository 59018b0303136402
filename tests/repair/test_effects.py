"""Repairs of effects: the waits, events and copies that races of the suite lack, each plan with them proved."""

from dataclasses import replace

import pytest

from tests.builders import FAST
from verdict.backends import pairs
from verdict.backends.text import read, write
from verdict.bugs.command import SUITE
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

OPTIONS = Options(workers=0, solver=FAST, attempts=None)
ALONE = replace(OPTIONS, attempts=0)
REPAIRED = {
    "deepspeed-5545": "wait for all_reduce reduced_2 before contiguous bucket_1 on ranks 0, 1",
    "infinitrain-214": "da in memory of its own on rank 0",
    "megatron-lm-1586": "wait for send h before linear h on rank 0",
    "pytorch-180889": "mul u2 reads a copy of sum_2, made before all_reduce sum_1 on ranks 0, 1",
    "pytorch-181723": "add dw reads a copy of g_0, made before linear.grad g_1 on rank 0",
    "rocm-pytorch-3501": "wait for all_reduce g2_sum before linear.grad g1 on ranks 0, 1",
    "tensorflow-41539": "record an event behind linear.grad g, await it before all_reduce g on ranks 0, 1",
    "tensorflow-62493": "wait for all_reduce g before mul u on ranks 0, 1",
    "tensorrt-llm-18023": "add z reads a copy of kept, made before linear y2 on ranks 0, 1",
    "tt-metal-53053": "wait for recv k before transpose kt on ranks 0, 1",
}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_race_is_repaired_and_proved(name):
    single, wrong = pairs.load(SUITE, name).plans()
    report = verify(single, wrong, OPTIONS)
    (repair,) = report.repairs
    assert repair.proved and repair.sentence == f"{REPAIRED[name]}: every obligation holds"
    assert REPAIRED[name] in report.findings[0].help
    again = read(write(repair.plan).encode(), wrong.source)
    assert verify(single, again, ALONE).verdict is Verdict.PROVED
    assert verify(single, wrong, ALONE).verdict is Verdict.REFUTED


def faulty(name, old, new):
    """The plan of a bug with another fault."""
    single, wrong = pairs.load(SUITE, name).plans()
    text = write(wrong)
    assert old in text
    return single, read(text.replace(old, new, 1).encode(), wrong.source)


def test_a_race_beside_a_wrong_value_has_no_repair_that_is_told():
    single, wrong = faulty("tensorflow-62493", "other=0.25", "other=0.5")
    report = verify(single, wrong, OPTIONS)
    assert report.verdict is Verdict.REFUTED
    assert not report.repairs


def test_two_races_are_repaired_one_after_the_other():
    table, node = "  u activation float32 [1, 2] origin name\n", "  new = sub"
    both = "".join(table.replace(" u ", f" {name} ") for name in "utk")
    lines = '  t = all_reduce(g) ranks=dp reduce="sum" asynchronous=True\n  k = mul(t) other=3\n'
    single, wrong = pairs.load(SUITE, "tensorflow-62493").plans()
    text = write(wrong).replace(table, both).replace(node, lines + node)
    twice = read(text.encode(), wrong.source)
    report = verify(single, twice, OPTIONS)
    assert {finding.code for finding in report.findings} == {"read-before-wait"}
    (repair,) = report.repairs
    assert repair.sentence.count("wait for all_reduce") == 2
    assert verify(single, repair.plan, ALONE).verdict is Verdict.PROVED
