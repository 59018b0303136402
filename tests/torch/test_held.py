"""Operators held against PyTorch's own database of samples: the script, on a few of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "held_against_torch.py"
WRONG = """
import runpy, sys, torch
from torch.testing._internal.common_methods_invocations import op_db
for info in op_db:
    if info.name == "{name}":
        right = info.op
        info.op = lambda *args, **kwargs: right(*args, **kwargs) if torch._C._len_torch_dispatch_stack() else {wrong}
sys.argv = ["held", "--only", "{name}", "--types", "f"]
sys.path.insert(0, {root!r})
runpy.run_path({script!r}, run_name="__main__")
"""


def run(*command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


NAMED = ("cosh", "acos", "__rpow__", "any", "clamp", "addbmm", "var_mean", "constant_pad_nd")


@pytest.mark.parametrize(("further", "least"), [((), 140), (("--in-place", "--types", "f"), 20)])
def test_what_was_wrong_once_is_what_torch_computes(further, least):
    status, told = run(SCRIPT, *(word for name in NAMED for word in ("--only", name)), *further)
    assert status == 0, told
    (counted,) = re.findall(r"([\d,]+)  equal$", told, re.MULTILINE)
    assert int(counted) >= least, told


@pytest.mark.parametrize(("name", "wrong"), [("exp", "right(*args) * 1.001"), ("mul", "right(*args) + 1")])
def test_another_number_is_told(name, wrong):
    """torch's number and what is recorded are of different functions here."""
    status, told = run("-c", WRONG.format(name=name, wrong=wrong, root=str(ROOT), script=str(SCRIPT)))
    assert status == 1, told
    assert "differs" in told and f"{name} torch.float64" in told
