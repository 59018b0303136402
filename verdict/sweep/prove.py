"""Claims to outcomes: both sides of their cones executed on solver terms, and the solver asked. Pure functions."""

from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from verdict.ops import FACTS, Array
from verdict.ops.aten.form import exactly
from verdict.ops.integers import symbol
from verdict.ops.signs import compares, orders
from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved, Unknown
from verdict.solver import Goal, Obligation, PlainTerms, Proofs, SolverError, Term, Terms, decide
from verdict.sweep.claim import Claim, Cone, is_infinite
from verdict.sweep.elements import Block, Ids, Kind
from verdict.sweep.flow import CANNOT, Step, apply
from verdict.sweep.hidden import hides_none
from verdict.sweep.trace import Trace, Traces, makes_infinite, reads_rising
from verdict.sweep.unknown import unknown_functions


def prove(
    traces: Traces, claims: Sequence[Claim], single: frozenset[int], options: SolverOptions,
    known: Proofs | None = None,
) -> tuple[Outcome, ...]:  # fmt: skip
    """Whether each claim holds for all values of the variables, all with cones of the same single-device steps.

    known: what was proved before, and need not be proved again. What is proved is put to the solvers anew, as plain
    arithmetic. Raises InternalError where one shows the contrary.
    """
    cone = Cone((), tuple(single))
    with Terms() as terms:
        execution, plainly = Execution(traces, cone, terms), Execution(traces, cone, PlainTerms())
        return tuple(_prove(execution, plainly, claim, terms, options, known) for claim in claims)


def _prove(
    execution: "Execution", plainly: "Execution", claim: Claim, terms: Terms, options: SolverOptions,
    known: Proofs | None,
) -> Outcome:  # fmt: skip
    """Of a choice of what need not have a value, the parallel side may do with less than it has (`FewerValues`)."""
    traces, cone = execution.traces, Cone((), tuple(execution.unfolded))
    if is_infinite(traces, claim, execution.unfolded):
        with Terms() as guarded:
            return _decided(Guarded(traces, cone, guarded), plainly, claim, guarded, options, known)
    outcome = _decided(execution, plainly, claim, terms, options, known)
    if isinstance(outcome, Proved) or not terms.gates or is_exact(traces, claim):
        return outcome
    with Terms() as fewer:
        return _decided(FewerValues(traces, cone, fewer), plainly, claim, fewer, options, known)


def _decided(
    execution: "Execution", plainly: "Execution", claim: Claim, terms: Terms, options: SolverOptions,
    known: Proofs | None,
) -> Outcome:  # fmt: skip
    try:
        execution.grant()
        goals = (execution.goal(claim),)
    except CANNOT as error:
        return Unknown(f"it cannot be executed on symbols: {error}")

    def again() -> tuple[Goal, ...]:
        try:
            return (plainly.goal(claim),)
        except CANNOT as error:
            raise SolverError(f"it cannot be written plainly: {error}") from error

    obligation = Obligation(terms, goals, both=is_exact(execution.traces, claim))
    return decide(obligation, again, options, known=known)


def is_exact(traces: Traces, claim: Claim) -> bool:
    """Whether both sides of a claim must be no numbers at the same inputs: a number may be made of them again."""
    if claim.step < 0 and claim.step not in traces.doubtful:
        return False
    doubtful = traces.may_fail if claim.step < 0 else traces.is_absorbed
    return any(map(doubtful, claim.right.tolist()))


Symbols = Terms | PlainTerms


class Execution:
    """The parallel steps that are reached, and the single-device steps of a cone, on terms, each once."""

    def __init__(self, traces: Traces, cone: Cone, terms: Symbols) -> None:
        self.traces, self.terms = traces, terms
        self.unfolded = frozenset(cone.single)
        self.known: dict[int, Any] = {}
        self.divided: set[Term] = set()
        self.done: dict[tuple[Kind, int], tuple[Array | None, ...]] = {}

    def grant(self) -> None:
        """Execute the divisions by what is not zero where anything is compared, before others divide by the same."""
        for number in sorted(self.unfolded & self.traces.single.divisions):
            self.step(Kind.SINGLE, number)

    def goal(self, claim: Claim) -> Goal:
        """What a claim says, on terms."""
        return Goal("claim", self.array(claim.right), self.array(claim.left))

    def array(self, ids: Ids) -> Array:
        """The terms of elements."""
        array = np.empty(ids.shape, dtype=object)
        flat = array.reshape(-1)
        for k, element in enumerate(ids.ravel().tolist()):
            if element not in self.known:
                self.known[element] = exactly(self.term(element))
            flat[k] = self.known[element]
        return array

    def term(self, element: int) -> Any:
        """The term of one element: a constant, a variable, or what its step makes of terms."""
        block = self.traces.elements.of(element)
        if block.kind is Kind.CONSTANT:
            value = block.constant
            return value if not isinstance(value, Fraction) or value.denominator != 1 else value.numerator
        if block.kind is Kind.GIVEN:
            return self.given(element, block)
        if block.kind is Kind.SINGLE and block.owner not in self.unfolded:
            known = self.traces.within(block)
            if known is not None:
                return symbol(known, self.terms, f"v{element}")
            variable = self.terms.real(f"v{element}", total=not self.traces.may_fail(element))
            if isinstance(variable, Term) and self.traces.single.divided >> block.owner & 1:
                self.divided.add(variable)
            return variable
        made = self.step(block.kind, block.owner)[block.output]
        if made is None:
            raise SolverError("nothing is made where an output is wanted")
        return made.reshape(-1)[element - block.start]

    def given(self, element: int, block: Block) -> Any:
        """What is given: a number, or one of some integers."""
        domain = self.traces.integers.get(block.owner)
        if domain is None:
            total = not self.traces.may_fail(element)
            if total and self.traces.is_positive(block):
                return self.terms.positive(f"g{element}")
            return self.terms.real(f"g{element}", total=total)
        return symbol(domain.of(element - block.start), self.terms, f"g{element}")

    def trace_of(self, kind: Kind) -> Trace:
        """The flow of a step."""
        return self.traces.single if kind is Kind.SINGLE else self.traces.parallel

    def step(self, kind: Kind, number: int) -> Sequence[Array | None]:
        """What a step makes, on terms."""
        if (kind, number) not in self.done:
            trace = self.trace_of(kind)
            reads = [self.array(ids) for ids in trace.reads[number]]
            granted = kind is Kind.SINGLE and number in trace.divisions
            with self.terms.granting() if granted and isinstance(self.terms, Terms) else nullcontext():
                self.done[kind, number] = self.made(kind, trace.flow.steps[number], reads)
        return self.done[kind, number]

    def made(self, kind: Kind, step: Step, reads: Sequence[Array]) -> tuple[Array | None, ...]:
        """What a step of a flow makes of terms."""
        if (compares(step.op) or orders(step.op)) and any(map(self.may_fail, reads)):
            return unknown_functions(f"operator {self.traces.keys.of(step)}", partial(apply, step), reads)
        return tuple(None if x is None else np.asarray(x, dtype=object) for x in apply(step, reads))

    def may_fail(self, array: Array) -> bool:
        """Whether an element may be no number. A comparison is false of it, and so is the opposite comparison: they
        have nothing to do with each other; nor do orders, which put it at one end, whichever way they are turned. Of
        terms alone: on what is written plainly, they are what they are.
        """
        terms = [value for value in array.flat if isinstance(value, Term)]
        if not isinstance(self.terms, Terms) or not terms:
            return False
        return any(not term.total for term in terms) or not self.divided.isdisjoint(self.terms.below(terms))


class FewerValues(Execution):
    """The same, where a choice on the parallel side has a value only where all has one that it chooses from."""

    def __init__(self, traces: Traces, cone: Cone, terms: Terms) -> None:
        super().__init__(traces, cone, terms)
        self.choosing = terms

    def made(self, kind: Kind, step: Step, reads: Sequence[Array]) -> tuple[Array | None, ...]:
        """What a step of a flow makes of terms."""
        self.choosing.chooses_numbers = kind is Kind.PARALLEL
        try:
            return super().made(kind, step, reads)
        finally:
            self.choosing.chooses_numbers = False


class Guarded(Execution):
    """The same, where some elements may be minus infinity: what reads them is a function of which nothing is known but
    its operator, its attributes and how it is written. What comes of them is a number again where the operator says so.
    """

    def __init__(self, traces: Traces, cone: Cone, terms: Terms) -> None:
        super().__init__(traces, cone, terms)
        self.guarded: dict[tuple[Kind, int], bool] = {}

    def step(self, kind: Kind, number: int) -> Sequence[Array | None]:
        """What a step makes, on terms."""
        if (kind, number) not in self.done and self.guards(kind, number):
            trace = self.trace_of(kind)
            step, key = trace.flow.steps[number], self.traces.keys.of(trace.flow.steps[number])
            reads = [self.array(ids) for ids in trace.reads[number]]
            hides = self.hides_none(kind, number)
            self.done[kind, number] = unknown_functions(f"operator {key}", partial(apply, step), reads, hides)
        return super().step(kind, number)

    def guards(self, kind: Kind, number: int) -> bool:
        """Whether a step reads or makes what may be infinite."""
        if (kind, number) not in self.guarded:
            trace = self.trace_of(kind)
            made = makes_infinite(trace.flow.steps[number].attrs, trace.reads[number], self.traces.elements)
            self.guarded[kind, number] = made or bool(self.infinite_reads(kind, number))
        return self.guarded[kind, number]

    def hides_none(self, kind: Kind, number: int) -> bool:
        """Whether what a step makes counts as numbers, and may be none."""
        trace, positions = self.trace_of(kind), self.infinite_reads(kind, number)
        rises = reads_rising(trace, number) if kind is Kind.SINGLE else self.reads_rising(number)
        return hides_none(trace.flow.steps[number], trace.reads[number], positions, rises, self.traces.elements)

    def infinite_reads(self, kind: Kind, number: int) -> frozenset[int]:
        """The positions at which a step reads what may be infinite."""
        reads = self.trace_of(kind).reads[number]
        return frozenset(k for k, ids in enumerate(reads) if any(map(self.is_infinite, np.unique(ids).tolist())))

    def is_infinite(self, element: int) -> bool:
        """Whether an element may be infinite."""
        block = self.traces.elements.of(element)
        if block.kind is not Kind.PARALLEL:
            return element in self.traces.single.infinite
        if not self.guards(block.kind, block.owner):
            return False
        step = self.traces.parallel.flow.steps[block.owner]
        positions = self.infinite_reads(block.kind, block.owner)
        return not (positions and FACTS.finite(step.op, positions, step.grads, self.reads_rising(block.owner)))

    def reads_rising(self, number: int) -> bool:
        """Whether a parallel step reads what may be plus infinity."""
        return any(any(map(self.rises, np.unique(ids).tolist())) for ids in self.traces.parallel.reads[number])

    def rises(self, element: int) -> bool:
        """Whether an element may be plus infinity."""
        block = self.traces.elements.of(element)
        if block.kind is not Kind.PARALLEL:
            return element in self.traces.single.rising
        step = self.traces.parallel.flow.steps[block.owner]
        return self.is_infinite(element) and (FACTS.rises(step.op, step.attrs) or self.reads_rising(block.owner))
