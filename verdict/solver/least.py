"""The least whole numbers that linear constraints leave."""

from collections.abc import Iterable
from typing import Any

import z3

MOST_WORK = 100_000_000
"""Z3's own steps, some ten seconds: numbers that take more are not found."""
Factors = Iterable[Any]
"""A whole number for each unknown: a list, or a row of an array."""


def least_whole(
    count: int, equal: Iterable[Factors], less: Iterable[Factors], bounds: Iterable[tuple[Factors, int]]
) -> tuple[int, ...] | None:
    """So many numbers, of which the last is as small as can be; None where there are none.

    Each constraint has a factor for each number. equal: the sum of the multiples is zero. less: it is positive. bounds:
    it is at least a bound.
    """
    numbers = [z3.Int(f"n{place}") for place in range(count)]
    solver = z3.Optimize()
    solver.set(rlimit=MOST_WORK)
    solver.add(*(_sum(row, numbers) == 0 for row in equal), *(_sum(row, numbers) >= 1 for row in less))
    solver.add(*(_sum(row, numbers) >= bound for row, bound in bounds))
    solver.minimize(numbers[-1])
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    return tuple(model.eval(number, model_completion=True).as_long() for number in numbers)


def _sum(factors: Factors, numbers: Iterable[z3.ArithRef]) -> z3.ArithRef:
    terms = [int(factor) * number for factor, number in zip(factors, numbers, strict=True) if factor]
    return z3.Sum(terms) if terms else z3.IntVal(0)
