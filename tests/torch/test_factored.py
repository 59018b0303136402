"""A number that does not belong there is told at the line that multiplies by it, whatever follows."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("factored.py")
SINGLE = {"plain": "plain", "before": "plain", "gated": "plain", "behind": "plain", "counted": "counted"}
PAIRS = {f"build_{name}": f"build_single_{alone}" for name, alone in {**SINGLE, "counted_twice": "counted"}.items()}
LINES = {
    "before": ("* ranks) @ b", "other=2"),
    "gated": ("* 0.25 @ b", "other=0.25"),
    "behind": (".softmax(-1) * ranks", "other=2"),
    "counted_twice": ("/ N * ranks", "other=2"),
}


def told(name):
    return answers(FILE, tuple(PAIRS.items()), causes=ALL)[f"build_{name}"]


@pytest.mark.parametrize("name", ["plain", "counted"])
def test_the_right_program_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", LINES)
def test_one_finding_names_the_line_and_the_number(name):
    text, number = LINES[name]
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(), 1) if text in each)
    (finding,) = told(name).report.findings
    assert finding.code == "wrong-scale"
    assert f"(factored.py:{line}) has {number} on ranks 0, 1, where other=1 is due" in finding.title
