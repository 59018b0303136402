"""A script of its own that shows a counterexample: numpy is all it needs.

It carries the source text of the operators that take part and of the recipes' interpreter, word for word, as
modules in memory, and the data. What it computes is what was computed here.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Sequence

from verdict import errors, outcome
from verdict.diagnose import recipe
from verdict.graph import COPY, GRAD, SUM, region
from verdict.ops import RULES, OpRule, rule
from verdict.outcome import Counterexample, Finding

_TABLE = '''"""The operators that take part."""
import importlib
from verdict.ops.rule import Array
RULES = {{r.name: r for name in {modules!r} for r in importlib.import_module(name).RULES}}
'''

LOADING = '''SOURCES = []
{sources}


def load(name, source):
    """A module in memory, or more of it."""
    module = sys.modules.setdefault(name, types.ModuleType(name))
    module.__path__ = []
    parent, _, own = name.rpartition(".")
    if parent and parent not in sys.modules:
        load(parent, "")
    if parent:
        setattr(sys.modules[parent], own, module)
    exec(compile(source, name, "exec"), module.__dict__)


for name, source in SOURCES:
    load(name, source)
'''
"""The part of a script that loads the sources which it carries."""
_SCRIPT = (
    '''#!/usr/bin/env python3
"""{title}

Recomputes both sides of a counterexample and prints them. Exits 1 if they differ. Needs numpy only.
"""

import sys
import types
from fractions import Fraction

'''
    + LOADING
    + '''
from verdict.diagnose.recipe import apply, mismatches  # noqa: E402
from verdict.outcome import Applied, Block, Counterexample  # noqa: E402

inf, nan = float("inf"), float("nan")

FOUND = [
{data}
]


def arrays(blocks):
    import numpy as np

    for block in blocks:
        array = np.empty(len(block.values), dtype=object)
        array[:] = block.values
        yield array.reshape(block.shape)


def show(label, array):
    print(f"{{label}} {{tuple(array.shape)}}")
    print("  " + "  ".join(str(value) for value in array.flat))


def main():
    differs = False
    for title, found in FOUND:
        print(title)
        inputs = list(arrays(found.inputs))
        for block, array in zip(found.inputs, inputs):
            show("input " + block.label, array)
        for (one, other), single, parallel in zip(found.recipes, found.single, found.parallel):
            expected, made = apply(one, inputs), apply(other, inputs)
            wrong = mismatches(expected, made)
            show("single device: " + single.label, expected)
            show(parallel.label + ":", made)
            print(f"  {{int(wrong.sum())}} of {{wrong.size}} elements differ")
            differs = differs or bool(wrong.any())
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
'''
)


def repro_script(findings: Iterable[Finding]) -> str:
    """The script for all findings that have a counterexample; empty where there is none."""
    found = [(f"{f.code}: {f.title}", f.counterexample) for f in findings if f.counterexample is not None]
    if not found:
        return ""
    modules = _sources([example for _, example in found])
    sources = "\n".join(f"SOURCES.append(({name!r}, {quoted(text)}))" for name, text in modules)
    data = "\n".join(f"    ({title!r}, {example!r})," for title, example in found)
    return _SCRIPT.format(title=_plain(found[0][0]), sources=sources, data=data)


def _plain(title: str) -> str:
    return title.replace("\\", "/").replace('"""', "'''")


def _sources(found: Sequence[Counterexample]) -> list[tuple[str, str]]:
    """The modules that the recipes need, each behind those that it imports."""
    ops = (step.op for example in found for pair in example.recipes for one in pair for step in one)
    return [*sources_of(ops), ("verdict.diagnose", ""), (recipe.__name__, inspect.getsource(recipe))]


def sources_of(ops: Iterable[str], more: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The modules that operators need, by name and text, each behind those that it imports. more: modules of
    `verdict.ops` that are wanted besides.
    """
    named = sorted({_home(op) for op in {op.removesuffix(GRAD) for op in ops} if op in RULES})
    ordered: list[str] = []
    for name in (rule.__name__, *more, *named):
        _require(name, ordered)
    return [
        ("verdict", ""),
        (errors.__name__, inspect.getsource(errors)),
        (outcome.__name__, inspect.getsource(outcome)),
        ("verdict.graph", f"{inspect.getsource(region)}\nCOPY, SUM, GRAD = {COPY!r}, {SUM!r}, {GRAD!r}\n"),
        ("verdict.ops", ""),
        *((name, inspect.getsource(sys.modules[name])) for name in ordered),
        ("verdict.ops", _TABLE.format(modules=tuple(named))),
    ]


def _home(op: str) -> str:
    """The module in whose table an operator stands."""
    for name, module in sorted(sys.modules.items()):
        rules = getattr(module, "RULES", ()) if name.startswith("verdict.ops.") else ()
        if any(isinstance(known, OpRule) and known.name == op for known in rules):
            return name
    raise LookupError(op)


def _require(name: str, ordered: list[str]) -> None:
    if name in ordered:
        return
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[name]))):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("verdict.ops"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                _require(inner if inner in sys.modules else node.module, ordered)
    ordered.append(name)


def quoted(text: str) -> str:
    """A text as a literal of Python."""
    return repr(text) if "'''" in text or text.endswith("\\") else f"r'''{text}'''"
