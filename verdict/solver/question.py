"""Plain equalities as an SMT-LIB 2 script of its own: can some pair differ where the single side is defined?

Real and uninterpreted functions only (QF_UFNRA). What is asserted beside the claim: an index is one of its values;
no divisor of the single side is zero, no logarithm or root of it is taken of what has none; an exponential is
positive; a root is what its powers give back. That the parallel side divides by zero, or takes a logarithm or root
where there is none, is part of the claim: it must be defined wherever the single side is. `unsat` says that it is, and
that the sides are equal, for every input.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from verdict.solver.errors import SolverError
from verdict.solver.obligation import Goal
from verdict.solver.plain import Plain, below, plain

NODE_LIMIT = 4_000
"""How many operations one question may hold. Of a larger obligation evenly spaced elements are asked."""
_INLINE = 160
"""Longer texts get a name, too, so that those that they stand in do not grow with them."""

Pair = tuple[Plain, Plain]


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """text: the script, (check-sat) included. variables: their symbols there, and names. pairs: the equalities in it,
    `total` in all.
    """

    text: str
    variables: dict[str, str]
    pairs: tuple[Pair, ...]
    total: int


def question(goals: Sequence[Goal], limit: int = NODE_LIMIT, named: bool = False) -> Question | None:
    """The question whether the goals, made of plain terms, can fail; None where one element exceeds the limit.

    named: whether variables have their names in the text. Otherwise they are numbered as they occur, and questions that
    differ in names alone have one text.

    Raises SolverError where the sides have different shapes, or values that are no real numbers.
    """
    elements = [pair for goal in goals for pair in pairs_of(goal)]
    step = 1
    chosen = tuple(elements)
    while (order := below((side for pair in chosen for side in pair), limit)) is None:
        if len(chosen) == 1:
            return None
        step = 2 * step + 1
        chosen = tuple(elements[::step])
    script = Script(order, {id(side) for pair in chosen for side in pair}, named)
    single = set(below(single for single, _ in chosen) or ())
    defined = dict.fromkeys(c for node in order if node in single for c in script.conditions(node))
    needed = dict.fromkeys(c for node in order if node not in single for c in script.conditions(node))
    claim = [script.differ(pair) for pair in chosen]
    claim += [f"(not {condition})" for condition in needed if condition not in defined]
    lines = [
        "(set-logic QF_UFNRA)",
        *script.lines,
        *(f"(assert {condition})" for condition in defined),
        f"(assert (or {' '.join(claim)} false))",
        "(check-sat)",
    ]
    return Question("\n".join(lines) + "\n", script.variables, chosen, len(elements))


def pairs_of(goal: Goal) -> list[Pair]:
    """The elements of a goal as pairs of plain terms."""
    single, parallel = np.asarray(goal.single, dtype=object), np.asarray(goal.parallel, dtype=object)
    if single.shape != parallel.shape:
        raise SolverError(f"{goal.name}: shapes {single.shape} and {parallel.shape} differ")
    return [(plain(one), plain(two)) for one, two in zip(single.flat, parallel.flat, strict=True)]


class Script:
    """Declarations and definitions of some nodes. Nodes that are used more than once get a name."""

    def __init__(self, order: Sequence[Plain], named: set[int], names: bool) -> None:
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}
        self._names = names
        self._functions: dict[tuple[str, int], str] = {}
        self._texts: dict[Plain, str] = {}
        uses = Counter(arg for node in order for arg in node.args)
        for node in order:
            text = self._text(node)
            if node.args and (uses[node] > 1 or id(node) in named or len(text) > _INLINE):
                symbol = f"n{len(self._texts)}"
                self.lines.append(f"(define-fun {symbol} () Real {text})")
                text = symbol
            self._texts[node] = text
            self._facts(node, text)

    def differ(self, pair: Pair) -> str:
        """That the two of a pair differ."""
        infinite = [node.head == "infinity" for node in pair]
        if any(infinite):
            return "false" if all(infinite) else "true"
        return f"(distinct {self._texts[pair[0]]} {self._texts[pair[1]]})"

    def conditions(self, node: Plain) -> list[str]:
        """Where a node has a value, its arguments having theirs."""
        if node.head == "div":
            return [f"(distinct {self._texts[node.args[1]]} 0.0)"]
        if node.head == "log":
            return [f"(> {self._texts[node.args[0]]} 0.0)"]
        if node.head == "power" and node.data.denominator > 1:
            return [f"({'>' if node.data < 0 else '>='} {self._texts[node.args[0]]} 0.0)"]
        if node.head == "power" and node.data < 0:
            return [f"(distinct {self._texts[node.args[0]]} 0.0)"]
        return []

    def _text(self, node: Plain) -> str:
        args = [self._texts[arg] for arg in node.args]
        if node.head in _SIGNS:
            return f"({_SIGNS[node.head]} {' '.join(args)})"
        return _HEADS[node.head](self, node, args)

    def _declared(self, node: Plain, args: Sequence[str]) -> str:
        name = node.data if node.head == "real" else node.data[0]
        symbol = name if self._names else f"x{len(self.variables)}"
        self.variables[symbol] = name
        self.lines.append(f"(declare-const |{symbol}| Real)")
        return f"|{symbol}|"

    def _constant(self, node: Plain, args: Sequence[str]) -> str:
        return number(node.data)

    def _function(self, name: str, args: Sequence[str]) -> str:
        key = (name, len(args))
        if key not in self._functions:
            self._functions[key] = f"|{name}/{len(args)}|"
            self.lines.append(f"(declare-fun {self._functions[key]} ({' '.join(['Real'] * len(args))}) Real)")
        return f"({self._functions[key]} {' '.join(args)})"

    def _maximum(self, node: Plain, args: Sequence[str]) -> str:
        one, two = args
        return f"(ite (>= {one} {two}) {one} {two})"

    def _indicator(self, node: Plain, args: Sequence[str]) -> str:
        return f"(ite (= {args[0]} {number(Fraction(node.data))}) 1.0 0.0)"

    def _part(self, node: Plain, args: Sequence[str]) -> str:
        return f"(ite (= {args[0]} 0.0) 0.0 (* {args[0]} {args[1]}))"

    def _choice(self, node: Plain, args: Sequence[str]) -> str:
        condition, one, other = args
        return f"(ite (= {condition} 1.0) {one} {other})"

    def _opaque(self, node: Plain, args: Sequence[str]) -> str:
        if node.data == "step" and len(args) == 1:
            return f"(ite (> {args[0]} 0.0) 1.0 0.0)"
        return self._function(node.data, args)

    def _unary(self, node: Plain, args: Sequence[str]) -> str:
        return self._function(node.head, args)

    def _power(self, node: Plain, args: Sequence[str]) -> str:
        exponent: Fraction = node.data
        base = args[0]
        if exponent.denominator > 1:
            base = self._function(f"root{exponent.denominator}", args)
        product = repeated(base, abs(exponent.numerator))
        return f"(/ 1.0 {product})" if exponent < 0 else product

    def _infinity(self, node: Plain, args: Sequence[str]) -> str:
        if "(declare-const |-inf| Real)" not in self.lines:
            self.lines.append("(declare-const |-inf| Real)")
        return "|-inf|"

    def _facts(self, node: Plain, text: str) -> None:
        if node.head in ("exp", "positive"):
            self.lines.append(f"(assert (> {text} 0.0))")
        if node.head == "integer":
            low, high = node.data[1]
            for relation, bound in ((">=", low), ("<=", high)):
                if bound is not None:
                    self.lines.append(f"(assert ({relation} {text} {number(Fraction(bound))}))")
        if node.head == "index":
            values = " ".join(f"(= {text} {value}.0)" for value in range(node.data[1]))
            self.lines.append(f"(assert (or {values} false))")
        if node.head == "power" and node.data.denominator > 1:
            of = self._texts[node.args[0]]
            root = self._function(f"root{node.data.denominator}", [of])
            powers = f"(and (>= {root} 0.0) (= {repeated(root, node.data.denominator)} {of}))"
            self.lines.append(f"(assert (=> (>= {of} 0.0) {powers}))")


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "neg": "-"}
_HEADS: dict[str, Callable[[Script, Plain, Sequence[str]], str]] = {
    "real": Script._declared,
    "positive": Script._declared,
    "index": Script._declared,
    "integer": Script._declared,
    "constant": Script._constant,
    "max": Script._maximum,
    "indicator": Script._indicator,
    "part": Script._part,
    "choose": Script._choice,
    "opaque": Script._opaque,
    "exp": Script._unary,
    "log": Script._unary,
    "power": Script._power,
    "infinity": Script._infinity,
}


def repeated(text: str, times: int) -> str:
    """A product of equal factors."""
    if times == 0:
        return "1.0"
    return text if times == 1 else f"(* {' '.join([text] * times)})"


def number(value: Fraction) -> str:
    """A rational number."""
    text = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        text = f"(/ {text} {value.denominator}.0)"
    return f"(- {text})" if value < 0 else text
