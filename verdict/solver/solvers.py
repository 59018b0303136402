"""The solvers themselves: an SMT-LIB 2 text in, an answer out. Each question has a context of its own.

`unsat` is taken as said. `sat` only proposes inputs: some functions are loose in the texts, so that whoever asks
replays it. cvc5 is optional and imported where it is asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import z3

from verdict.options import SolverOptions

MOST_KNOWN = 512
"""How many of the last answers are kept: a text has up to some hundred thousand letters."""
UNSAT, SAT, UNKNOWN = "unsat", "sat", "unknown"
_STEPS_PER_SECOND = {"z3": 300_000, "cvc5": 4_000_000}
"""Resource units. They end a question at the same place in every run; seconds are only a last resort. cvc5, slower
on sums over columns, is given about three times as long.
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a solver said, and the values it proposes where it said `sat`."""

    answer: str
    values: Mapping[str, Fraction | bool] = field(default_factory=dict)


def installed(solver: str) -> bool:
    """Whether a solver of this name can be asked."""
    return solver in _SAYS and find_spec(solver) is not None


def says(
    solver: str, text: str, options: SolverOptions, reals: tuple[str, ...] = (), booleans: tuple[str, ...] = ()
) -> Said:
    """What `solver` says of a script without commands other than declarations, assertions and (check-sat).

    reals, booleans: the constants of the script that are given values where the answer is `sat`.
    """
    return _said(solver, text, options, reals, booleans)


@lru_cache(MOST_KNOWN)
def _said(
    solver: str, text: str, options: SolverOptions, reals: tuple[str, ...], booleans: tuple[str, ...]
) -> Said:
    """The same text is asked once."""
    return _SAYS[solver](text, options, reals, booleans)


def _z3_says(text: str, options: SolverOptions, reals: tuple[str, ...], booleans: tuple[str, ...]) -> Said:
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("random_seed", options.seed)
    solver.set("rlimit", int(options.z3_timeout * _STEPS_PER_SECOND["z3"]))
    solver.set("timeout", int(options.z3_timeout * 2000))
    solver.from_string(text)
    result = solver.check()
    if result == z3.unsat:
        return Said(UNSAT)
    if result != z3.sat:
        return Said(UNKNOWN)
    model = solver.model()
    values: dict[str, Fraction | bool] = {
        name: _fraction(model.eval(z3.Real(name, context), model_completion=True)) for name in reals
    }
    for name in booleans:
        values[name] = z3.is_true(model.eval(z3.Bool(name, context), model_completion=True))
    return Said(SAT, values)


def _fraction(value: Any) -> Fraction:
    rational = value.approx(20) if z3.is_algebraic_value(value) else value
    return Fraction(_integer(rational.numerator()), _integer(rational.denominator()))


def _integer(value: Any) -> int:
    """An integer of any length: Python reads none of more than some thousand digits from a string."""
    return int(Decimal(value.as_string()))


def _cvc5_says(text: str, options: SolverOptions, reals: tuple[str, ...], booleans: tuple[str, ...]) -> Said:
    import cvc5  # noqa: PLC0415  (optional)

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("produce-models", "true")
    solver.setOption("seed", str(options.seed % 2**32))
    solver.setOption("rlimit-per", str(int(options.z3_timeout * _STEPS_PER_SECOND["cvc5"])))
    solver.setOption("tlimit-per", str(int(options.z3_timeout * 10_000)))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text.replace("(check-sat)", ""), "question")
    symbols = parser.getSymbolManager()
    command = parser.nextCommand()
    while not command.isNull():
        problem = command.invoke(solver, symbols)
        if problem.startswith("(error"):
            raise ValueError(f"cvc5 does not read our text: {problem}")
        command = parser.nextCommand()
    result = solver.checkSat()
    if not result.isSat():
        return Said(UNSAT if result.isUnsat() else UNKNOWN)
    declared = {term.getSymbol(): term for term in symbols.getDeclaredTerms()}
    values: dict[str, Fraction | bool] = {}
    for name in (*reals, *booleans):
        value = solver.getValue(declared[name])
        if value.isRealValue():
            values[name] = Fraction(value.getRealValue())
        elif value.isBooleanValue():
            values[name] = value.getBooleanValue()
    return Said(SAT, values)


_SAYS: dict[str, Callable[[str, SolverOptions, tuple[str, ...], tuple[str, ...]], Said]] = {
    "z3": _z3_says,
    "cvc5": _cvc5_says,
}
