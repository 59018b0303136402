"""docs/operators.md is what the rules say now."""

import subprocess
import sys
from pathlib import Path

from verdict.ops import RULES

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    script = [sys.executable, "scripts/operator_table.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert done.returncode == 0, "run python scripts/operator_table.py"


def test_every_rule_is_on_the_page_with_its_meaning():
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    for name, rule in RULES.items():
        assert rule.formula
        assert rule.source
        assert f"| `{name}` | {rule.formula} |" in page
