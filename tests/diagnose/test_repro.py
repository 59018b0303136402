"""A replay script needs numpy only, shows the same numbers, and exits 1; without a difference it exits 0."""

import subprocess
import sys
from dataclasses import replace

import pytest

from tests.builders import ask
from tests.pairs import load
from verdict.diagnose import repro_script
from verdict.diagnose.counter import replays

ALONE = """
import runpy, sys
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
finally:
    own = [m for name, m in sys.modules.items() if name.split(".")[0] in ("verdict", "backends")]
    assert own and not any(getattr(m, "__file__", None) for m in own), "it read the project's files"
"""
SHOWN = (
    "missing_reduction",
    "missing_reduction_over_replicas",
    "wrong_constant",
    "counted_twice",
    "mean_instead_of_sum",
)


def run(script, folder):
    path = folder / "repro.py"
    path.write_text(script)
    command = [sys.executable, "-I", "-c", ALONE, str(path)]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SHOWN)
def test_the_script_shows_the_mismatch(name, tmp_path):
    (finding,) = ask(*load(name).plans()).findings
    done = run(repro_script([finding]), tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{finding.code}: {finding.title}" in done.stdout
    for block in finding.counterexample.parallel:
        assert "  ".join(str(value) for value in block.values) in done.stdout


def test_a_script_without_a_mismatch_exits_0(tmp_path):
    (finding,) = ask(*load("wrong_constant").plans()).findings
    found = finding.counterexample
    same = replace(found, parallel=found.single, recipes=tuple((one, one) for one, _ in found.recipes))
    assert run(repro_script([replace(finding, counterexample=same)]), tmp_path).returncode == 0
    assert not replays(same)


def test_a_counterexample_with_other_numbers_does_not_replay():
    (finding,) = ask(*load("wrong_constant").plans()).findings
    found = finding.counterexample
    assert replays(found)
    (block, *others) = found.single
    changed = replace(block, values=tuple(value + 1 for value in block.values))
    assert not replays(replace(found, single=(changed, *others)))


def test_nothing_to_show_is_no_script():
    findings = ask(*load("deadlock").plans()).findings
    assert findings
    assert repro_script(findings) == ""
