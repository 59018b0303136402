"""The script of what has no counterexample: both plans whole, on numpy alone, with the same numbers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sweep.plans import OPTIONS, twins
from tests.sweep.test_likely_causes import CASES
from verdict.backends import pairs
from verdict.bugs.command import SUITE
from verdict.phases import Query, script_of
from verdict.pipeline import verify


def script(single, parallel):
    return script_of(Query(single, parallel, OPTIONS), verify(single, parallel, OPTIONS))


def run(text, folder):
    """The script, run where no verdict can be imported."""
    path = Path(folder, "repro.py")
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", path.name]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["one piece where a piece of each block is due", "an operator behind the sum"])
def test_it_shows_what_differs(name, tmp_path):
    right, wrong = twins(CASES[name][0])
    done = run(script(*wrong), tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "elements differ" in done.stdout and "single" in done.stdout
    assert script(*right) == ""


def test_a_recorded_program_has_one(tmp_path):
    pytest.importorskip("torch", reason="records a PyTorch program")
    plans = pairs.load_bug(SUITE, "deepspeed-3844.py").plans()
    text = script(*plans)
    done = run(text, tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "y on rank 0" in done.stdout
    assert "deepspeed_3844.py" in text and "import torch" not in text
