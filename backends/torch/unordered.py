"""Sets, ids and hashes whose order differs from rank to rank in the user's files, as it may from process to process.

Python says nothing of the order of a set of words or objects: it is another in each process, by the seed of its hashes
and by the places of objects in memory. Copies of one process would all have the same. So the user's files are compiled
with a set of their own, which odd ranks go through backwards. Sets of numbers have one order everywhere, and keep it.
"""

import ast
import builtins
import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from verdict.errors import UsageError

_SETS = "_verdict_sets"
_OWN = Path(__file__).resolve().parents[2]
_FOREIGN = tuple(
    str(Path(path).resolve()) for path in [*sysconfig.get_paths().values(), f"{_OWN}/backends", f"{_OWN}/verdict"]
)
_HIGHEST = 1 << 62


def is_foreign(file: str) -> bool:
    """Whether a file is Python's, a package's or ours, and not the user's."""
    return file.startswith(("<", *_FOREIGN)) or "site-packages" in file


def enter(rank: int) -> None:
    """The user's files that this process imports from now on see sets, ids and hashes as rank `rank` does."""
    sys.meta_path.insert(0, _Finder(_names(rank)))


def module_of(name: str, path: Path) -> ModuleType:
    """The module of a user's file, not yet run. Imported as the finder imports those that it imports itself."""
    finder = next((each for each in sys.meta_path if isinstance(each, _Finder)), None)
    loader = _Loader(name, str(path), finder.names) if finder else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise UsageError(str(path), "it is no Python file", "give FILE.py:FUNCTION")
    return importlib.util.module_from_spec(spec)


class _Finder:
    """Finds what is found on the path, and compiles the user's files of it anew."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module that is a user's file; None for others, which are found as ever."""
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        if is_foreign(str(Path(spec.origin).resolve())):
            return None
        spec.loader = _Loader(name, spec.origin, self.names)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, names: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._names = names

    def get_code(self, fullname: str) -> CodeType:
        """The code with the sets; nothing of it is kept on disk."""
        tree = ast.parse(self.get_data(self.path), self.path)
        code: CodeType = compile(ast.fix_missing_locations(_Sets().visit(tree)), self.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, with the names that stand for Python's own."""
        vars(module).update(self._names)
        super().exec_module(module)


class _Sets(ast.NodeTransformer):
    """What makes a set makes one of `_names`: displays, comprehensions, and operators that may return one."""

    def visit_Set(self, node: ast.Set) -> ast.AST:
        return self._wrapped(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._wrapped(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Sub):
            return self._wrapped(node)
        self.generic_visit(node)
        return node

    def _wrapped(self, node: ast.expr) -> ast.AST:
        self.generic_visit(node)
        call = ast.Call(ast.Name(_SETS, ast.Load()), [node], [])
        return ast.copy_location(call, node)


def _names(rank: int) -> dict[str, Any]:
    backwards = rank % 2 == 1

    class _Like(type):
        """What is a set for Python is one."""

        def __instancecheck__(cls, other: Any) -> bool:
            return isinstance(other, cls.__base__)  # type: ignore[arg-type]

    def ordered(base: type) -> type:
        def iterate(self: Any) -> Iterator[Any]:
            items = list(base.__iter__(self))  # type: ignore[attr-defined]
            return iter(items[::-1] if backwards and any(map(_varies, items)) else items)

        def pop(self: Any) -> Any:
            found = next(iterate(self))
            self.remove(found)
            return found

        more = {name: _again(getattr(base, name), kinds) for name in _MAKERS}
        kept = {"pop": pop} if hasattr(base, "pop") else {}
        return _Like(base.__name__, (base,), {"__iter__": iterate, "__slots__": (), **more, **kept})

    kinds: dict[type, Any] = {}
    kinds |= {kind: ordered(kind) for kind in (builtins.set, builtins.frozenset)}

    def id_of(value: Any) -> int:
        return _HIGHEST - builtins.id(value) if backwards else builtins.id(value)

    def hash_of(value: Any) -> int:
        found = builtins.hash(value)
        return ~found if backwards and _varies(value) else found

    return {
        "set": kinds[set],
        "frozenset": kinds[frozenset],
        "id": id_of,
        "hash": hash_of,
        _SETS: lambda found: _wrapped(kinds, found),
    }


_MAKERS = (
    "__and__", "__or__", "__sub__", "__xor__", "__rand__", "__ror__", "__rsub__", "__rxor__", "union", "intersection",
    "difference", "symmetric_difference", "copy",
)  # fmt: skip


def _again(method: Callable[..., Any], kinds: dict[type, Any]) -> Callable[..., Any]:
    return lambda self, *others: _wrapped(kinds, method(self, *others))


def _wrapped(kinds: dict[type, Any], found: Any) -> Any:
    kind = kinds.get(type(found))
    return found if kind is None else kind(found)


def _varies(value: Any) -> bool:
    """Whether the hash of a value may be another in another process."""
    if isinstance(value, tuple):
        return any(map(_varies, value))
    return not isinstance(value, int | float | complex | None)
