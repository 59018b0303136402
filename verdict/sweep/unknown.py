"""What an operator makes as functions of which nothing is known: equal where they are written alike of equal terms.

They are written as verdict/solver/written.py does, so that the softmax of a row is one function of its elements however
the row is ordered.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verdict.ops import Array
from verdict.ops.elements import MINUS_INFINITY, is_number
from verdict.solver.errors import SolverError
from verdict.solver.plain import Plain, PlainTerms, plain
from verdict.solver.term import Term
from verdict.solver.written import Written

Run = Callable[[Sequence[Array]], Sequence[Array | None]]


def unknown_functions(
    name: str, run: Run, inputs: Sequence[Array], partial: bool = False
) -> tuple[Array | None, ...]:
    """What `run` makes of some arrays of terms and numbers: of each element a function of the terms that it is made of,
    named after `name` and the way in which it is written. What is one of the terms, or a number, stays so.

    partial: whether such a function need not have a value. Raises SolverError, and what `run` raises.
    """
    variables, known = PlainTerms(), dict[Plain, Term]()
    written = Written(known)

    def stand_in(value: Any) -> Any:
        if is_number(value):
            return value
        variable = variables.real(f"t{value.uid}")
        known[variable] = value
        return variable

    def function(value: Any) -> Any:
        node = plain(value)
        if node in known:
            return known[node]
        if node.head in ("constant", "infinity"):
            return node.data if node.head == "constant" else MINUS_INFINITY
        form, args = written.form(node)
        if not args:
            raise SolverError(f"{name} makes of numbers what is no number")
        named = f"{name}: {form}"
        return _partial(named, tuple(args)) if partial else args[0].opaque(named, *args[1:])

    made = run([np.asarray(np.frompyfunc(stand_in, 1, 1)(array), dtype=object) for array in inputs])
    return tuple(None if x is None else np.asarray(np.frompyfunc(function, 1, 1)(x), dtype=object) for x in made)


def _partial(name: str, args: tuple[Term, ...]) -> Term:
    """A function of some terms that need not have a value."""
    return args[0].terms.whatever(name, args, lambda others: _partial(name, others))
