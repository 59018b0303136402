"""Sets, ids and hashes whose order differs from rank to rank in the user's files, as it may from process to process.

Python says nothing of the order of a set of words or objects: it is another in each process, by the seed of its hashes
and by the places of objects in memory. Copies of one process would all have the same. So the user's files are compiled
with a set of their own, whose elements have the order in which the program came by them, and on every other rank that
order backwards; the same holds for ids. Sets of numbers have one order everywhere, and keep it.
"""

import ast
import builtins
import importlib.machinery
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import verdict
from verdict.errors import UsageError

_SETS = "_verdict_sets"
_OWN = Path(verdict.__file__).resolve().parent
_FOREIGN = tuple(
    str(Path(path).resolve()) for path in [*sysconfig.get_paths().values(), str(_OWN), str(_OWN / "backends")]
)
_MIDDLE, _BYTES = 1 << 46, 64
"""Ids are about so great, and so far apart."""


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


def compile_before(path: Path) -> None:
    """Compile a user's file, which is not run: copies of this process that import it need not. What is wrong with it,
    they say.
    """
    with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        _compiled(path.read_bytes(), str(path))


@lru_cache(maxsize=64)
def _compiled(text: bytes, path: str) -> CodeType:
    tree = ast.parse(text, path)
    code: CodeType = compile(ast.fix_missing_locations(_Sets().visit(tree)), path, "exec", dont_inherit=True)
    return code


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
        return _compiled(self.get_data(self.path), self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, with the names that stand for Python's own."""
        vars(module).update(self._names)
        super().exec_module(module)


class _Sets(ast.NodeTransformer):
    """What makes a set makes one of `_names`: displays, comprehensions, and operators that may return one."""

    def visit_Set(self, node: ast.Set) -> ast.AST:
        return self._wrapped(ast.copy_location(ast.List(node.elts, ast.Load()), node), "set")

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._wrapped(ast.copy_location(ast.ListComp(node.elt, node.generators), node), "set")

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Sub):
            return self._wrapped(node)
        self.generic_visit(node)
        return node

    def _wrapped(self, node: ast.expr, kind: str = "like") -> ast.AST:
        self.generic_visit(node)
        maker = ast.Attribute(ast.Name(_SETS, ast.Load()), kind, ast.Load())
        call = ast.Call(maker, [node], [])
        return ast.copy_location(call, node)


class _Numbers:
    """Values by the order in which the program came by them. They are kept, for an id is one value's only so long."""

    def __init__(self, backwards: bool) -> None:
        self._step = -_BYTES if backwards else _BYTES
        self._known: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any) -> int:
        """The number of a value, which is new where it was not met before."""
        return self._known.setdefault(id(value), (_MIDDLE + self._step * len(self._known), value))[0]

    def meet(self, values: Iterable[Any]) -> list[Any]:
        """The values; those whose hash differs from process to process have numbers from now on."""
        found = list(values)
        for value in found:
            if _varies(value):
                self.of(value)
        return found


class _Kinds(NamedTuple):
    """What stands for Python's sets. like: one of them in place of one of Python's, else the value itself."""

    set: Any
    frozenset: Any
    like: Callable[[Any], Any]


def is_backwards(rank: int) -> bool:
    """Whether a rank sees orders backwards: not all ranks of a group, along whichever axis of a mesh it lies.

    Ranks along an axis are often 1, 2, 4, .. apart, so that their numbers differ in one bit.
    """
    return rank.bit_count() % 2 == 1


def _names(rank: int) -> dict[str, Any]:
    backwards = is_backwards(rank)
    numbers = _Numbers(backwards)
    kinds: dict[type, Any] = {}

    def like(found: Any) -> Any:
        kind = kinds.get(type(found))
        return found if kind is None else kind(found)

    kinds |= {kind: _ordered(kind, numbers, like) for kind in (builtins.set, builtins.frozenset)}

    def hash_of(value: Any) -> int:
        if _is_identity(type(value).__hash__):
            return numbers.of(value)
        found = builtins.hash(value)
        return ~found if backwards and _varies(value) and not _is_own(type(value).__hash__) else found

    names = {"set": kinds[set], "frozenset": kinds[frozenset], "id": numbers.of, "hash": hash_of}
    return {**names, _SETS: _Kinds(kinds[set], kinds[frozenset], like)}


def _is_identity(function: Any) -> bool:
    """Whether a hash, Python's or torch's, tells no more than which object it is."""
    return function is object.__hash__ or getattr(function, "__module__", "") == "torch._tensor"


def _is_own(function: Any) -> bool:
    """Whether a function stands in a user's file, which sees hashes as `_names` gives them."""
    return hasattr(function, "__code__") and not is_foreign(function.__code__.co_filename)


class _Like(type):
    """What is a set for Python is one."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, cls.__base__)  # type: ignore[arg-type]


def _ordered(base: Any, numbers: _Numbers, like: Callable[[Any], Any]) -> Any:
    """A set or frozenset with the order of `numbers`."""

    def iterate(self: Any) -> Iterator[Any]:
        items = numbers.meet(base.__iter__(self))
        return iter(sorted(items, key=numbers.of) if any(map(_varies, items)) else items)

    def new(cls: Any, items: Any = ()) -> Any:
        return base.__new__(cls, numbers.meet(items)) if base is frozenset else base.__new__(cls)

    def begin(self: Any, items: Any = ()) -> None:
        base.__init__(self, numbers.meet(items))

    def pop(self: Any) -> Any:
        found = next(iterate(self))
        self.remove(found)
        return found

    def add(self: Any, item: Any) -> None:
        base.add(self, *numbers.meet([item]))

    def update(self: Any, *others: Any) -> None:
        base.update(self, *map(numbers.meet, others))

    more: dict[str, Any] = {name: _again(getattr(base, name), like) for name in _MAKERS}
    if base is set:
        more |= {"pop": pop, "add": add, "update": update, "__init__": begin}
    return _Like(base.__name__, (base,), {"__iter__": iterate, "__new__": new, "__slots__": (), **more})


_MAKERS = (
    "__and__", "__or__", "__sub__", "__xor__", "__rand__", "__ror__", "__rsub__", "__rxor__", "union", "intersection",
    "difference", "symmetric_difference", "copy",
)  # fmt: skip


def _again(method: Callable[..., Any], like: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda self, *others: like(method(self, *others))


def _varies(value: Any) -> bool:
    """Whether the hash of a value may be another in another process."""
    if isinstance(value, tuple):
        return any(map(_varies, value))
    return not isinstance(value, int | float | complex | None)
