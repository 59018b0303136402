"""A program of a user's is typed: mypy --strict accepts the right use of `import verdict` and refuses wrong ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RIGHT = '''
import verdict


def prove(single: str, parallel: str) -> bool:
    plan: verdict.Plan = verdict.load(single)
    solver = verdict.SolverOptions(timeout=5.0)
    options = verdict.Options(workers=2, denied=frozenset({"real-arithmetic"}), solver=solver)
    try:
        report: verdict.Report = verdict.verify(plan, parallel, options, time_limit=60.0, memory_limit=2048)
    except verdict.PlanFileError as error:
        where: str = error.where
        raise SystemExit(where) from None
    except verdict.VerdictError:
        return False
    codes: list[str] = [finding.code for finding in report.findings]
    status: int = report.verdict.value
    print(codes, status)
    return report.verdict is verdict.Verdict.PROVED


one, many = verdict.generate("mlp", dp=2)
verdict.save(many, "many.plan")
'''
WRONG = {
    'verdict.verify(3, "b")': "arg-type",
    'verdict.verify("a", "b", time_limit="1")': "arg-type",
    'verdict.load("a").nothing': "attr-defined",
    "verdict.Options(worker=2)": "call-arg",
    'number: int = verdict.verify("a", "b")': "assignment",
    "verdict.nothing": "attr-defined",
}


@pytest.mark.slow
def test_mypy_strict_accepts_a_right_program_and_refuses_wrong_ones(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    wrong = "\n".join(WRONG)
    (tmp_path / "right.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(f"import verdict\n\n{wrong}\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--config-file=", "--no-pretty"]
    done = subprocess.run(
        [*command, "right.py", "wrong.py"], cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if ": error: " in line]
    found = {(int(line.split(":")[1]) - 3, line.rpartition("[")[2].rstrip("]")) for line in told}
    assert all(line.startswith("wrong.py:") for line in told), told
    assert found == set(enumerate(WRONG.values())), told
