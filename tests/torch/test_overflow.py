"""Tests for overflow are no choices of a program of real numbers; bytes that are sent are numbers."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import live_answers  # noqa: E402

FILE = Path(__file__).with_name("overflow.py")
FINITE = "finite-numbers"
PROGRAMS = {
    "build_single": (
        "build_looked", "build_looked_summed", "build_below", "build_less", "build_bytes", "build_bytes_scaled",
        "build_bytes_apart", "build_bytes_most", "build_bytes_changed", "build_masked",
        "build_bytes_gathered", "build_bytes_mixed", "build_marked", "build_marked_summed", "build_under",
        "build_masked_under",
    ),
    "build_asking_single": ("build_asking_own",),
    "build_twice_single": ("build_twice", "build_twice_own"),
    "build_scaled_single": ("build_scaled", "build_scaled_early"),
    "build_fused_single": ("build_fused", "build_fused_summed"),
}  # fmt: skip
OPEN = {
    "build_less": "a choice that the single-device program does not make: lt",
    "build_bytes_apart": r"rank 0 is at broadcast_ of bytes of float32 .* where rank 1 is at broadcast_ of group",
    "build_bytes_most": "memory of dtype float32 is seen as uint8",
    "build_bytes_mixed": "bytes of float32 and uint8 are moved together",
    "build_bytes_changed": "memory of dtype float32 is seen as uint8",
    "build_masked": "a choice that the single-device program does not make: (ne|eq)",
    "build_masked_under": "a choice that the single-device program does not make: lt",
    "build_asking_own": "choice 1 on rank 0",
}


def answered(name):
    single = next(single for single, names in PROGRAMS.items() if name in names)
    return live_answers(FILE, single, PROGRAMS[single])[name]


@pytest.mark.parametrize(
    ("name", "assumed"),
    [
        ("build_looked", True), ("build_below", False), ("build_bytes", False), ("build_bytes_gathered", False),
        ("build_twice", False), ("build_marked", True), ("build_under", True),
    ],
)
def test_a_right_program_is_proved(name, assumed):
    found = answered(name)
    assert found.verdict == "PROVED", found.why
    told = [each.text for each in found.report.assumptions if each.name == FINITE]
    assert bool(told) is assumed
    assert all(re.search(r"overflow\.py:\d+", text) for text in told)


@pytest.mark.parametrize("name", ["build_scaled", "build_fused"])
def test_a_step_under_a_scaler_is_proved_where_data_chooses_so(name):
    found = answered(name)
    assert found.verdict == "PROVED", found.why
    assert any(each.name == "recorded-choices" for each in found.report.assumptions)


@pytest.mark.parametrize("name", ["build_scaled_early", "build_fused_summed"])
def test_a_wrong_step_under_a_scaler_is_refuted(name):
    assert answered(name).verdict == "REFUTED", answered(name).why


@pytest.mark.parametrize(
    "name", ["build_looked_summed", "build_marked_summed", "build_bytes_scaled", "build_twice_own"]
)
def test_a_wrong_program_is_refuted(name):
    found = answered(name)
    assert found.verdict == "REFUTED", found.why


@pytest.mark.parametrize("name", OPEN)
def test_what_cannot_be_followed_is_no_proof(name):
    found = answered(name)
    assert found.verdict == "UNKNOWN", found.why
    assert re.search(OPEN[name], found.why), found.why
