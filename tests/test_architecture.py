"""The rooms import only downwards, z3 stays in the solver, plan formats in the backends, and files fit one sitting."""

import ast
from pathlib import Path

import pytest

from verdict.graph import COPY, GRAD, NARROW, SUM
from verdict.ops import RULES

ROOT = Path(__file__).resolve().parents[1]
WORDS = {"errors", "outcome", "options", "words", "counting"}
MAY_IMPORT = {
    "errors": set(),
    "outcome": set(),
    "words": set(),
    "limits": set(),
    "observer": set(),
    "counting": set(),
    "progress": set(),
    "completing": set(),
    "seconds": set(),
    "options": {"limits"},
    "graph": {"errors", "outcome"},
    "comparison": {"graph"},
    "solver": {"errors", "outcome", "options"},
    "ops": {"errors", "outcome", "words", "graph", "solver"},
    "lineage": {"errors", "outcome", "counting", "graph", "ops"},
    "stage": {*WORDS, "graph", "ops", "lineage", "solver"},
    "report": {*WORDS, "completing", "graph"},
    "child": {"limits"},
    "beside": {"child"},
    "workers": {"child", "limits", "outcome"},
    "semantics": {"errors", "graph", "comparison", "ops"},
    "reduction": {"errors", "graph", "comparison", "ops", "semantics"},
    "inputs": {"errors", "graph", "ops", "semantics"},
    "concrete": {"errors", "graph", "comparison", "ops", "semantics", "reduction", "inputs"},
    "sweep": {*WORDS, "graph", "ops", "solver", "workers", "comparison", "semantics", "reduction", "inputs"},
    "residue": {
        *(*WORDS, "graph", "comparison", "ops", "lineage", "stage", "solver", "sweep", "workers", "semantics"),
        "inputs",
    },
    "layers": {"errors", "graph", "ops", "lineage", "residue"},
    "diagnose": {*WORDS, "graph", "ops", "lineage", "solver", "stage"},
    "phases": {
        *(*WORDS, "observer", "graph", "ops", "lineage", "stage", "semantics", "solver", "workers"),
        *("inputs", "concrete", "sweep", "residue", "layers", "diagnose", "report"),
    },
    "repair": {*WORDS, "observer", "graph", "ops", "lineage", "stage", "report", "phases"},
    "pipeline": {*WORDS, "observer", "limits", "beside", "graph", "report", "phases", "repair"},
}
"""What the rooms of the proof may import. Whatever else stands in verdict/ looks down on them, and they never up."""

LONG = {
    "verdict/solver/terms.py": "one factory: terms are hash-consed, so every constructor shares its tables",
}
"""Files over 300 lines, and why."""
BACKENDS, SUITE = ROOT / "verdict" / "backends", ROOT / "verdict" / "bugs" / "suite"
"""Links in a checkout, folders in an sdist."""
IN_VERDICT = sorted(
    path for path in (ROOT / "verdict").rglob("*.py") if not path.is_relative_to(BACKENDS) and SUITE not in path.parents
)
FILES = [*IN_VERDICT, *sorted(BACKENDS.rglob("*.py"))]


def name_of(path):
    return str(path.relative_to(ROOT))


def room_of(path):
    """The room of a file of verdict/: its folder, or its own name at the top."""
    parts = path.relative_to(ROOT / "verdict").with_suffix("").parts
    return parts[0]


def imported(path):
    """All modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(path):
    """The rooms of verdict that a file imports, its own aside."""
    parts = (module.split(".") for module in imported(path))
    return {words[1] for words in parts if words[0] == "verdict" and len(words) > 1} - {room_of(path)}


@pytest.mark.parametrize("path", [p for p in IN_VERDICT if room_of(p) in MAY_IMPORT], ids=name_of)
def test_rooms_import_only_downwards(path):
    assert rooms_imported(path) <= MAY_IMPORT[room_of(path)]


def test_every_room_of_the_proof_is_there():
    rooms = {room_of(path) for path in IN_VERDICT}
    assert set(MAY_IMPORT) <= rooms


def test_the_arrows_have_no_circle():
    order = list(MAY_IMPORT)
    for room, below in MAY_IMPORT.items():
        assert all(order.index(other) < order.index(room) for other in below), room


def test_no_prover_knows_the_oracle():
    """What they share stands below both."""
    provers = {"lineage", "stage", "solver", "sweep"}
    assert all("concrete" not in rooms_imported(path) for path in IN_VERDICT if room_of(path) in provers)
    assert all(not provers & rooms_imported(path) for path in IN_VERDICT if room_of(path) == "concrete")


def test_only_the_solver_knows_z3():
    users = {name_of(path) for path in FILES if any(module.split(".")[0] == "z3" for module in imported(path))}
    assert users
    assert all(user.startswith("verdict/solver/") for user in users)


def test_only_the_command_line_knows_the_backends():
    """And what records programs for it; and verdict.api, verdict.torch and verdict.jax, ways in for Python programs."""
    users = {name_of(p) for p in IN_VERDICT if any(module.startswith("verdict.backends") for module in imported(p))}
    users -= {"verdict/torch/__init__.py", "verdict/torch/proving.py", "verdict/jax/__init__.py", "verdict/api.py"}
    assert all(Path(user).name in ("cli.py", "command.py", "recording.py") for user in users), users
    assert "verdict/cli.py" in users


def test_backends_know_the_plan_and_the_words_only():
    for path in FILES:
        if path not in IN_VERDICT:
            below = {module.split(".")[1] for module in imported(path) if module.startswith("verdict.")}
            known = {"backends", "child", "limits", "counting", "progress", "words", "seconds"}
            known |= {"graph", "errors", "outcome", "ops", "comparison"}
            assert below <= known, name_of(path)


def test_nothing_that_reads_or_proves_needs_torch_or_pickles():
    for path in FILES:
        if path.is_relative_to(BACKENDS / "torch"):
            continue
        assert not {"torch", "nnscaler", "dill", "cloudpickle"} & {m.split(".")[0] for m in imported(path)}, name_of(
            path
        )


NAMES = {name + end for name in RULES for end in ("", GRAD)}
WORDS_TOO = {"sum", "mean", "maximum", "minimum", "constant", "split", "to"}
"""Operators whose names are words of other things: reductions of a group, kinds of terms and elements."""
KNOW_OPERATORS = {"ops", "mutate", "solver"}
"""Rooms that may name operators; the solver's terms have words of their own."""


def operators_named(path):
    """The operators that a file names; words of other things, too, where the operator of a node is compared."""
    tree = ast.parse(path.read_text())
    compared = {
        id(value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and any(getattr(side, "attr", "") == "op" for side in (node.left,))
        for side in node.comparators
        for value in ast.walk(side)
    }
    for node in ast.walk(tree):
        word = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if word.startswith(("aten.", "hlo.")) or word in (NAMES if id(node) in compared else NAMES - WORDS_TOO):
            yield word


@pytest.mark.parametrize("path", [p for p in IN_VERDICT if room_of(p) not in KNOW_OPERATORS], ids=name_of)
def test_engines_ask_facts_and_know_no_operators(path):
    named = set(operators_named(path))
    if name_of(path) == "verdict/graph/plan.py":
        named -= {COPY, NARROW, SUM}
    assert not named


def test_operators_that_are_named_are_seen(tmp_path):
    odd = tmp_path / "odd.py"
    lines = 'TABLE = {"rsqrt", "aten.mul"}', 'how = "sum"', 'good = n.op == "sum" or n.op in ("to",)'
    odd.write_text("\n".join(lines))
    assert sorted(operators_named(odd)) == ["aten.mul", "rsqrt", "sum", "to"]


def test_files_fit_one_sitting():
    long = {name_of(path) for path in FILES if len(path.read_text().splitlines()) > 300}
    assert long == set(LONG)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_says_what_it_is(path):
    text = path.read_text()
    assert not text or ast.get_docstring(ast.parse(text)), "it has no docstring"


def test_the_rule_can_fail(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_text("def f():\n    import z3.z3util\n    from verdict.stage import run\n")
    assert set(imported(odd)) == {"z3.z3util", "verdict.stage", "verdict.stage.run"}
