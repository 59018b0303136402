"""Linear premises, solved: each pivot variable becomes a combination of the others, parallel variables first.

A contradiction, or an equation left over among single-side variables alone, means that the premises hold for
fewer inputs than the obligation claims to speak of; nothing is proved from such premises.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from verdict.solver.errors import SolverError, VacuousError
from verdict.solver.term import Kind, Number, Term, show, span_of
from verdict.solver.terms import Terms

Row = tuple[Number, dict[Term, Number]]
_VARIABLES = (Kind.REAL, Kind.INDEX)


def solve(terms: Terms, premises: Iterable[tuple[Any, Any]]) -> dict[Term, Term]:
    """pivot variable -> its value, a term of the other variables. Raises SolverError, VacuousError."""
    solved: dict[Term, Row] = {}
    readers: dict[Term, set[Term]] = {}
    for left, right in premises:
        constant, weights = _reduce(_row(terms, left, right), solved)
        if not weights:
            if constant == 0:
                continue
            raise VacuousError(f"the premises contradict each other at {left!r} = {right!r}")
        pivot = _pivot(weights)
        row = _divide(constant, weights, pivot)
        for reader in sorted(readers.pop(pivot, ()), key=_uid):
            solved[reader] = _reduce(solved[reader], {pivot: row})
            _register(readers, reader, solved[reader])
        solved[pivot] = row
        _register(readers, pivot, row)
    return {pivot: _term(terms, pivot, row) for pivot, row in solved.items()}


def substitute(terms: Terms, roots: Iterable[Term], values: Mapping[Term, Term]) -> dict[Term, Term]:
    """Each of `roots` with variables replaced."""
    return _replaced(terms, terms.below(roots), values)


def rebuild(terms: Terms, roots: Iterable[Term], values: Mapping[Term, Term]) -> dict[Term, Term]:
    """The same, in what unknown functions are made of, too: what stands for one is made anew."""
    return _replaced(terms, terms.beneath(roots), values)


def _replaced(terms: Terms, order: Iterable[Term], values: Mapping[Term, Term]) -> dict[Term, Term]:
    done: dict[Term, Term] = {}
    for term in order:
        if term in values:
            done[term] = values[term]
            continue
        before = terms.made_of(term)
        args = tuple(done.get(arg, arg) for arg in before)
        unchanged = all(new is old for new, old in zip(args, before, strict=True))
        done[term] = term if unchanged else _rebuild(terms, term, args)
    return done


def _rebuild(terms: Terms, term: Term, args: tuple[Term, ...]) -> Term:
    result: Term
    if term in terms.unknown:
        return terms.unknown[term].again(args)
    if term.kind is Kind.SUM:
        result = terms.constant(term.data[0])
        for weight, arg in zip(term.data[1].values(), args, strict=True):
            result = terms.add(result, terms.scale(arg, weight), 1)
        return result
    if term.kind is Kind.PRODUCT:
        result = terms.one
        for exponent, arg in zip(term.data.values(), args, strict=True):
            result = terms.multiply(result, terms.power(arg, Fraction(exponent)))
        return result
    if term.kind is Kind.MAXIMUM:
        return terms.maximum(args)
    if term.kind is Kind.OPAQUE:
        return terms.opaque(term.data, args)
    if term.kind is Kind.INDICATOR:
        return terms.indicator(args[0], term.data)
    if term.kind is Kind.POWER:
        return terms.power(args[0], term.data)
    return {Kind.INVERSE: terms.inverse, Kind.EXP: terms.exp, Kind.LOG: terms.log}[term.kind](args[0])


def _row(terms: Terms, left: Any, right: Any) -> Row:
    sides = terms.coerce(left), terms.coerce(right)
    if sides[0] is None or sides[1] is None:
        raise SolverError(f"a premise is between terms, not {left!r} and {right!r}")
    difference = terms.add(sides[0], sides[1], -1)
    if difference.kind is Kind.CONSTANT:
        return difference.data, {}
    row: Row = difference.data if difference.kind is Kind.SUM else (0, {difference: 1})
    if any(term.kind not in _VARIABLES for term in row[1]):
        raise SolverError(f"the premise {show(difference)} = 0 is not linear")
    return row


def _reduce(row: Row, solved: Mapping[Term, Row]) -> Row:
    constant, weights = row
    result = dict(weights)
    for variable, weight in weights.items():
        if variable not in solved:
            continue
        del result[variable]
        constant = constant + weight * solved[variable][0]
        for other, factor in solved[variable][1].items():
            total = result.get(other, 0) + weight * factor
            if total:
                result[other] = total
            else:
                result.pop(other, None)
    return constant, result


def _pivot(weights: Mapping[Term, Number]) -> Term:
    candidates = [variable for variable in weights if variable.data[1]]
    if not candidates:
        names = ", ".join(sorted(variable.data[0] for variable in weights))
        raise VacuousError(f"the premises restrict inputs of the single side: {names}")
    return min(candidates, key=_name)


def _divide(constant: Number, weights: Mapping[Term, Number], pivot: Term) -> Row:
    factor = Fraction(-1) / weights[pivot]
    row: dict[Term, Number] = {
        variable: weight * factor for variable, weight in weights.items() if variable is not pivot
    }
    return constant * factor, row


def _register(readers: dict[Term, set[Term]], pivot: Term, row: Row) -> None:
    for variable in row[1]:
        readers.setdefault(variable, set()).add(pivot)


def _term(terms: Terms, pivot: Term, row: Row) -> Term:
    constant, weights = row
    if any(span_of(variable) is not None for variable in (pivot, *weights)):
        _check_index(pivot, row)
    result = terms.constant(constant)
    for variable, weight in weights.items():
        result = terms.add(result, terms.scale(variable, weight), 1)
    return result


def _check_index(pivot: Term, row: Row) -> None:
    """An index may only be another index over the same values: all else would restrict inputs."""
    constant, weights = row
    ((other, weight),) = weights.items() if len(weights) == 1 else ((pivot, 0),)
    if constant != 0 or weight != 1 or other.kind is not pivot.kind or span_of(other) != span_of(pivot):
        raise SolverError(f"the premise on index {pivot.data[0]} does not make it equal to an index of its range")


def _uid(term: Term) -> int:
    return term.uid


def _name(term: Term) -> str:
    return str(term.data[0])
