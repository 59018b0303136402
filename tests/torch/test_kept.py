"""What a rank does not change, though one device does, is told as that, with what is due."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("kept.py")
KEPT = {
    "build_no_step": ("rank 1 leaves weight as it was given", "sgd.step()"),
    "build_no_count": ("rank 1 leaves seen as it was given", "seen.add_(4)"),
}


def answer(name):
    return answers(FILE, tuple((each, "build_single") for each in ("build_right", *KEPT)), causes=ALL)[name]


def test_the_right_program_is_proved():
    assert answer("build_right").verdict == "PROVED", answer("build_right").why


@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_changed_is_told_with_the_line_that_changes_it(name):
    said, text = KEPT[name]
    line = next(n for n, each in enumerate(FILE.read_text().splitlines(), 1) if text in each)
    (finding,) = answer(name).report.findings
    assert finding.title.startswith(said)
    assert f"(kept.py:{line}) is due" in finding.title
