"""docs/codes.md holds every code of findings with its example."""

import ast
import subprocess
import sys
from pathlib import Path

from verdict.report import questions
from verdict.report.codes import CODES
from verdict.report.questions import QUESTIONS

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


def test_every_code_of_open_questions_has_an_example_and_an_answer():
    text = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    assert QUESTIONS.keys().isdisjoint(CODES)
    for question in QUESTIONS.values():
        assert f"\n### {question.code}\n" in text and question.example in text and question.answer in text


def test_every_open_question_has_a_code_that_is_explained():
    """Wherever one is made, its code is a name of verdict.report.questions."""
    made = 0
    for path in sorted((ROOT / "verdict").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Open":
                named = (name.id for name in ast.walk(node.args[-1]) if isinstance(name, ast.Name))
                codes = [getattr(questions, name) for name in named if hasattr(questions, name)]
                assert codes and set(codes) <= QUESTIONS.keys(), path
                made += 1
    assert made > 10
