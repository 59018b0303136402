"""docs/codes.md holds every code of findings with its example."""

import subprocess
import sys
from pathlib import Path

from verdict.report.codes import CODES

ROOT = Path(__file__).parents[1]


def test_the_page_is_up_to_date():
    command = [sys.executable, "scripts/codes_page.py", "--check"]
    assert subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, check=False).returncode == 0, (
        "run python scripts/codes_page.py"
    )


def test_every_code_has_an_example_a_repair_and_a_section():
    text = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    for code in CODES.values():
        assert code.example.strip() and code.repair.strip()
        assert f"\n## {code.code}\n" in text and code.example in text
