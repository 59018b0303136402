"""The imports with which a user's file begins, read without running it: what can be imported before it is."""

import ast
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from verdict.backends.torch.unordered import is_foreign

_HERE = frozenset({"torch", "numpy", "verdict", *sys.stdlib_module_names})
"""Packages that a process that records has imported."""
_PLAIN = frozenset({"dict", "frozenset", "list", "range", "set", "tuple", "int", "float", "str", "bool", "len"})
"""Python's functions that a file may call before it imports more: they do nothing to what is imported."""
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def leading(file: Path) -> tuple[str, ...]:
    """The statements by which a file, and the user's files that it imports, import packages, in the order in which they
    run, up to the first statement that may do anything to what is imported behind it. Empty where nothing of other
    packages is among them.
    """
    found, _ = _gone_through(file)
    others = any(_package(name) not in _HERE for each in found for name in _modules(each))
    return tuple(ast.unparse(each) for each in found) if others else ()


def own_files(file: Path) -> list[Path]:
    """The user's files that are gone through for that, in their order."""
    return list(_gone_through(file)[1])


def _gone_through(file: Path) -> tuple[list[ast.stmt], dict[Path, None]]:
    found, seen = list[ast.stmt](), dict[Path, None]()
    _read(file.resolve(), found, seen)
    return found, seen


def _read(file: Path, found: list[ast.stmt], seen: dict[Path, None]) -> bool:
    """Add the file's imports; whether its end was come to."""
    seen[file] = None
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):
        return False
    return all(_taken(each, file, found, seen) for each in body)


def _taken(statement: ast.stmt, file: Path, found: list[ast.stmt], seen: dict[Path, None]) -> bool:
    """Add what a statement imports; whether what is behind it can be imported as well before it runs."""
    if not isinstance(statement, ast.Import | ast.ImportFrom):
        return _is_quiet(statement)
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return False
    for name in _modules(statement):
        origin = _origin(_package(name), [str(file.parent), *sys.path])
        if origin is None:
            continue
        own = Path(origin).resolve()
        if own.parent != file.parent and is_foreign(str(own)):
            continue
        if isinstance(statement, ast.Import) and len(statement.names) > 1:
            return False
        return own.name != "__init__.py" and (own in seen or _read(own, found, seen))
    found.append(statement)
    return True


def _modules(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return [statement.module or ""]
    return [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []


def _package(name: str) -> str:
    return name.partition(".")[0]


def _origin(package: str, path: Sequence[str]) -> str | None:
    """The file of a package; None of Python's own, and of one that has none or is not there."""
    if package in sys.builtin_module_names:
        return None
    spec = importlib.machinery.PathFinder.find_spec(package, path)
    return None if spec is None or spec.origin in (None, "built-in", "frozen") else spec.origin


def _is_quiet(statement: ast.stmt) -> bool:
    """Whether a statement defines something, and calls nobody's code for it."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(each, ast.Name) for each in statement.targets) and not any(_calls(statement))
    if isinstance(statement, ast.AnnAssign):
        return isinstance(statement.target, ast.Name) and not any(_calls(statement))
    if isinstance(statement, ast.ClassDef):
        around = [*statement.decorator_list, *statement.bases, *(word.value for word in statement.keywords)]
        return not any(call for each in around for call in _calls(each)) and all(map(_is_quiet, statement.body))
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) == "__name__ == '__main__'" and not statement.orelse
    return isinstance(statement, ast.FunctionDef | ast.Expr | ast.Pass) and not any(_calls(statement))


def _calls(node: ast.AST) -> Iterator[ast.AST]:
    """What runs other code when this is evaluated; the bodies of functions are not."""
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN):
        yield node
    if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
        yield node
    inner = ast.iter_child_nodes(node)
    if isinstance(node, _LATER):
        inner = iter([*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)])
    for each in inner:
        yield from _calls(each)
