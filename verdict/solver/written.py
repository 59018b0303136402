"""How an expression of terms is written, with what is added and compared in an order of its own.

Sums and maxima of the same are written alike, however they are ordered and grouped. What is infinite or no number may
be taken in any order, too.
"""

from hashlib import blake2b
from typing import Any, NamedTuple

from verdict.solver.plain import Plain
from verdict.solver.term import Term


class Key(NamedTuple):
    """Where an expression stands among others: by how it is written, by the first term in it, by all of them."""

    shape: bytes
    first: int
    whole: bytes


class Written:
    """Expressions of some terms, with what is added and compared in one order. known: the terms by their variables."""

    def __init__(self, known: dict[Plain, Term]) -> None:
        self._known = known
        self._keys: dict[Plain, Key] = {}
        self._args: dict[Plain, tuple[Plain, ...]] = {}

    def form(self, root: Plain) -> tuple[str, list[Term]]:
        """How an expression is written, with numbers for the terms in it, and these terms in their order."""
        self._read(root)
        place: dict[Plain, int] = {}
        args: dict[Term, int] = {}
        lines: dict[tuple[Any, ...], int] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            before = [arg for arg in reversed(self._args[node]) if arg not in place] if node not in place else ()
            stack.extend(before)
            if before:
                continue
            stack.pop()
            if node in place:
                continue
            term, inner = self._known.get(node), tuple(place[arg] for arg in self._args[node])
            if node.head in _ANY_ORDER and len(inner) == 1:
                place[node] = inner[0]
                continue
            line = (node.head, node.data, *inner) if term is None else ("term", args.setdefault(term, len(args)))
            place[node] = lines.setdefault(line, len(lines))
        return repr(list(lines)), list(args)

    def _read(self, root: Plain) -> None:
        """Note the arguments and the keys of an expression and of all below it."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self._keys:
                stack.pop()
                continue
            args = self._args.setdefault(node, self._leaves(node))
            before = [arg for arg in args if arg not in self._keys]
            stack.extend(before)
            if not before:
                self._args[node] = self._in_order(node, args)
                self._keys[node] = self._key(node, self._args[node])
                stack.pop()

    def _leaves(self, node: Plain) -> tuple[Plain, ...]:
        """What a node is made of; of a sum or a maximum of such, what all of it is made of, but for zeros added."""
        if node in self._known:
            return ()
        if node.head not in _ANY_ORDER:
            return node.args
        leaves: list[Plain] = []
        stack = list(reversed(node.args))
        while stack:
            arg = stack.pop()
            if arg.head == node.head and arg not in self._known:
                stack.extend(reversed(arg.args))
            elif not (node.head == "add" and arg.head == "constant" and not arg.data):
                leaves.append(arg)
        return tuple(leaves) or node.args[:1]

    def _in_order(self, node: Plain, args: tuple[Plain, ...]) -> tuple[Plain, ...]:
        return tuple(sorted(args, key=self._keys.__getitem__)) if node.head in _ANY_ORDER else args

    def _key(self, node: Plain, args: tuple[Plain, ...]) -> Key:
        keys = [self._keys[arg] for arg in args]
        if node.head in _ANY_ORDER and len(keys) == 1:
            return keys[0]
        term = self._known.get(node)
        if term is not None:
            return Key(b"term", term.uid, b"%d" % term.uid)
        shape = _digest(node, [key.shape for key in keys])
        return Key(shape, min((key.first for key in keys), default=0), _digest(node, [key.whole for key in keys]))


_ANY_ORDER = ("add", "max")
"""What may be taken in any order and in any grouping."""


def _digest(node: Plain, parts: list[bytes]) -> bytes:
    return blake2b(repr((node.head, node.data, parts)).encode(), digest_size=16).digest()
