"""Norms that are the greatest size, or the sum of sizes, join over ranks and shards."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("greatest.py")
RIGHT = {"build_fsdp2": "build_single", "build_fsdp2_sum": "build_single_sum", "build_tensor": "build_single"}
WRONG = {
    "build_fsdp2_local": "linalg_vector_norm (greatest.py:76) on ranks 0, 1 is of",
    "build_tensor_summed": "all_reduce (greatest.py:113) sums over ranks 0, 1 where the greatest",
}


def told(name):
    pairs = (*RIGHT.items(), *((name, "build_single") for name in WRONG))
    return answers(FILE, pairs, causes=tuple(WRONG))[name]


@pytest.mark.parametrize("name", RIGHT)
def test_norms_that_join_are_proved_between_cut_points(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", WRONG)
def test_norms_of_parts_are_refuted(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert WRONG[name] in found.why
