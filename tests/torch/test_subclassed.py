"""Tensors of a library's own class are recorded like any others, where the class only adds to what they are."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers  # noqa: E402

FILE = Path(__file__).with_name("subclassed.py")
PAIRS = (("build", "build_single"), ("build_alone", "build_single"))


@pytest.mark.parametrize(("name", "verdict"), [("build", "PROVED"), ("build_alone", "REFUTED")])
def test_parameters_of_a_class_of_their_own(name, verdict):
    found = answers(FILE, PAIRS, tensors="real", causes=ALL)[name]
    assert found.verdict == verdict, found.why
    assert verdict == "PROVED" or "missing-reduction" in found.report.findings[0].code
