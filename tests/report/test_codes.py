"""The table of codes and the code agree: what is emitted is explained, what is explained can be emitted."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.builders import ask, mlp, rewrite_where
from verdict.report.codes import CODES
from verdict.report.explain import explain_command
from verdict.report.lines import WIDTH
from verdict.report.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[2] / "verdict"
BUILDERS = {"Finding", "Difference", "Cause", "_Difference", "Conflict"}
HOLDERS = ("code", "codes")


def texts(node):
    """The strings in an expression; what it compares with is none of them."""
    if isinstance(node, ast.Compare):
        return set()
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    return set().union(*(texts(child) for child in ast.iter_child_nodes(node)))


def emitted(path):
    """The string literals that stand where a code stands in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in BUILDERS and node.args:
                found |= texts(node.args[0])
            if name == "add" and node.args and isinstance(node.func, ast.Attribute):
                found |= {t for t in texts(node.args[0]) if t in CODES}
            for keyword in node.keywords:
                if keyword.arg == "code":
                    found |= texts(keyword.value)
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name)]
            if any(t.id in HOLDERS for t in targets):
                value = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
                found |= texts(value)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and node.value.elts:
            found |= {t for t in texts(node.value.elts[0]) if t in CODES}
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            found |= {t for t in texts(node.iter) if t in CODES}
    return found


SILENT = ("report", "repair", "mutate", "concrete", "bugs", "text")
FILES = [*sorted(ROOT.rglob("*.py")), *sorted((ROOT.parent / "backends").rglob("*.py"))]
ROOMS = [path for path in FILES if path.parts[-2] not in SILENT]


@cache
def every():
    """All codes that are emitted."""
    return {code for path in ROOMS for code in emitted(path)}


def test_every_code_that_is_emitted_is_in_the_table():
    assert len(every()) > 20
    assert every() - set(CODES) == set()


def test_every_code_of_the_table_can_be_emitted():
    assert set(CODES) - every() == set()


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.code)
def test_every_code_explains_itself(code):
    assert code.meaning.endswith(".")
    assert code.repair.endswith(".")
    assert code.training.endswith(".")
    assert code.example
    run = CliRunner().invoke(explain_command, [code.code])
    assert run.exit_code == 0
    assert run.output.startswith(f"{code.code}: {code.name}")
    assert all(len(line) <= WIDTH for line in run.output.splitlines())


def test_the_list_names_every_code():
    assert {*CODES, *QUESTIONS} == {line.split()[0] for line in CliRunner().invoke(explain_command).output.splitlines()}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.code)
def test_every_code_of_open_questions_explains_itself(question):
    run = CliRunner().invoke(explain_command, [question.code])
    assert run.exit_code == 0
    assert run.output.startswith(f"{question.code}: {question.name}")
    assert all(len(line) <= WIDTH for line in run.output.splitlines())


def test_a_question_tells_its_kind():
    unknown = rewrite_where(mlp(), "relu", lambda node: node._replace(op="frobnicate"))
    assert {question.code for question in ask(unknown, unknown).unanswered} >= {"no-rule", "not-established", "not-run"}
    undeclared = replace(mlp(), gradients=mlp().gradients[1:])
    assert "nothing-to-compare" in {question.code for question in ask(undeclared, mlp()).unanswered}
