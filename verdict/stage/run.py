"""One stage to one outcome: shrink, execute, check, confirm. A pure function, so that any process may run it."""

from dataclasses import replace

from verdict.errors import ShapeError
from verdict.graph import whole
from verdict.lineage import LinearLaw
from verdict.ops.types import FLOAT, kind
from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved, Refuted, Unknown
from verdict.solver import Obligation, PlainTerms, SolverError, check, decide, put_anew
from verdict.stage.execute import goals, obligation, on
from verdict.stage.linear import additive
from verdict.stage.numbers import Larger, on_numbers
from verdict.stage.shrink import OTHER, SMALLEST, Sizes, TooManyElementsError
from verdict.stage.stage import Members, Stage

CANNOT = (ShapeError, SolverError, ZeroDivisionError, ValueError)
"""How an operator ends that cannot be run at some shapes; the last is numpy's, as of shares that a view cannot take."""


def run(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool = False) -> Outcome:
    """Prove or refute one stage of a parallel plan of `columns` columns.

    What is proved is proved at other reduced shapes, too, run on numbers at full or larger ones, and put to the solvers
    anew, as plain arithmetic; what is refuted, too, where there are two of them. Raises InternalError where a solver
    shows the contrary. The very same node of the same whole tensors is proved by that, where symbols would be many.
    """
    linear = _linear(stage, columns, options, exhaustive)
    if linear is not None:
        return linear
    one_node = not exhaustive and columns == 1 and _is_one_node(stage)
    if one_node and _looks_up(stage):
        return Proved((("same", stage.signature.arity),))
    try:
        question = obligation(stage, columns, exhaustive)
    except CANNOT as error:
        if isinstance(error, TooManyElementsError) and one_node:
            return Proved((("same", stage.signature.arity),))
        why = f"{stage.signature.op} cannot be run at reduced shapes: {error}"
        return _at_equal_sizes(stage, columns, options, exhaustive) or Unknown(why)
    with question.terms:
        misshapen = _misshapen(question)
        if misshapen:
            return _at_equal_sizes(stage, columns, options, exhaustive) or Unknown(f"{stage.signature.op}: {misshapen}")
        return decide(
            question,
            lambda: goals(stage, columns, exhaustive, on(PlainTerms())),
            options,
            lambda proved: _besides(stage, columns, options, exhaustive, proved),
        )


def _linear(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool) -> Outcome | None:
    """The outcome of a law that the form of terms shows at both choices of reduced shapes; None where it does not."""
    if not isinstance(stage, LinearLaw):
        return None
    kept = columns if exhaustive else min(columns, 2)
    try:
        counts = [additive(stage, columns, kept, sizes) for sizes in (SMALLEST, OTHER)]
    except CANNOT:
        return None
    if not all(counts):
        return None
    larger = on_numbers(stage, columns, exhaustive)
    if larger.against:
        return _against(stage, larger)
    proved = Proved((("normal-form", counts[0]),), larger=larger.shapes)
    return put_anew(proved, lambda: goals(stage, columns, exhaustive, on(PlainTerms())), options, counts[0])


def _besides(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool, proved: Proved) -> Outcome:
    """A proof with what holds at other reduced shapes, and what numbers say at full or larger ones."""
    other = _at_other_sizes(stage, columns, options, exhaustive)
    if isinstance(other, Refuted):
        return Unknown(f"{stage.signature.op} is proved at some reduced shapes, and refuted at others")
    if isinstance(other, Unknown):
        return other
    larger = on_numbers(stage, columns, exhaustive)
    if larger.against:
        return _against(stage, larger)
    return replace(proved, larger=larger.shapes)


def _against(stage: Stage, larger: Larger) -> Unknown:
    why = f"on random numbers at {larger.shapes} shapes {larger.against}"
    return Unknown(f"{stage.signature.op} is proved at reduced shapes, but {why}")


def _is_one_node(stage: Stage) -> bool:
    """Whether all parallel nodes are the single-device one: the same operator, attributes and whole inputs."""
    if not isinstance(stage, Members):
        return False
    whole_inputs = tuple(whole(shape) if shape is not None else None for shape in stage.signature.shapes)
    return all(
        member.attrs == stage.signature.attrs
        and member.regions == whole_inputs
        and not any(claim and claim.part for claim in member.claims)
        for member in stage.members
    )


def _looks_up(stage: Stage) -> bool:
    """Whether what is no real number may say which elements are meant: on symbols there is a case for each of them.

    Not where the gradient of such a number is wanted, of which no rule says what it is.
    """
    signature = stage.signature
    numbers = [kind(dtype) == FLOAT for dtype in signature.dtypes]
    own = zip(numbers[signature.grads :], signature.wanted, strict=True) if signature.grads else ()
    return not all(numbers) and all(real or not wanted for real, wanted in own)


def _at_other_sizes(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool) -> Outcome:
    try:
        question = obligation(stage, columns, exhaustive, OTHER)
    except CANNOT as error:
        return Unknown(f"{stage.signature.op} cannot be run at other reduced shapes: {error}")
    with question.terms:
        misshapen = _misshapen(question)
        return Unknown(f"{stage.signature.op}: {misshapen}") if misshapen else check(question, options)


def _misshapen(question: Obligation) -> str:
    """Why some goal compares arrays of other shapes; empty where none does."""
    wrong = next((goal for goal in question.goals if goal.single.shape != goal.parallel.shape), None)
    return f"{wrong.name} has another shape than its partner's share" if wrong is not None else ""


def _at_equal_sizes(stage: Stage, columns: int, options: SolverOptions, exhaustive: bool) -> Refuted | None:
    """A refutation with one size for axes that have one at full size: there, exchanged axes differ in values only."""
    try:
        question = obligation(stage, columns, exhaustive, Sizes(apart=False))
    except CANNOT:
        return None
    outcome = check(question, options) if not _misshapen(question) else None
    return outcome if isinstance(outcome, Refuted) else None
