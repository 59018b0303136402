"""DistributedDataParallel that waits for a gradient which the step does not make reduces no other of its bucket."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers  # noqa: E402

FILE = Path(__file__).with_name("waited_for.py")
PAIRS = (
    ("build_waits", "build_single"), ("build_looks", "build_single"), ("build_frozen", "build_frozen_single"),
)  # fmt: skip


def told(name):
    found = answers(FILE, PAIRS, tensors="real", causes=ALL)[name]
    return found, {each.name: each.text for each in found.report.assumptions}


def test_the_parameter_is_named_that_it_waits_for():
    found, said = told("build_waits")
    assert found.verdict == "REFUTED", found.why
    assert found.report.findings[0].code == "missing-reduction"
    assert "waits for the gradient of spare" in said["ddp-waits"]


def test_one_that_looks_for_unused_parameters_does_not_wait():
    found, said = told("build_looks")
    assert found.verdict != "REFUTED", found.why
    assert "ddp-waits" not in said


def test_one_whose_spare_parameter_is_frozen_is_proved():
    found, said = told("build_frozen")
    assert found.verdict == "PROVED", found.why
    assert "ddp-waits" not in said
