"""The state of a loop: which elements a turn keeps as they are, which only count turns, and what computes these."""

from collections.abc import Iterable
from typing import NamedTuple

from verdict.backends.hlo.folds import Evaluate
from verdict.backends.hlo.text import Computation, Instruction, Module, Tuple
from verdict.backends.hlo.values import Found, Known, Made, Refused

SAME = frozenset({"copy", "opt-barrier", "optimization-barrier"})
"""Opcodes that hand on what they read, where it is one array."""
MOST_TURNS = 4096
"""How often a loop turns whose turns are counted: numbers are computed for each."""


class Loop(NamedTuple):
    """A loop that can be looked at. state: before the first turn. kept: elements that no turn changes. counters:
    elements that are computed from such and from known ones that are kept. counting: makes these alone, in their
    order. condition: no more of it than is needed.
    """

    state: tuple[Found, ...]
    kept: frozenset[int]
    counters: frozenset[int]
    counting: Computation
    condition: Computation


def loop_of(condition: Computation, body: Computation, state: Found) -> Loop:
    """What is known of a loop by its text. Raises Refused."""
    if not isinstance(state, tuple) or isinstance(state, Known | Made) or body.root.opcode != "tuple":
        raise Refused("its state is no tuple")
    made = body.root.operands
    if len(made) != len(state):
        raise Refused("its state is no tuple of what a turn makes")
    kept = frozenset(k for k, name in enumerate(made) if kept_by(body, name) == k)
    known = {k for k in range(len(state)) if isinstance(state[k], Known)}
    counters = known - kept
    while True:
        fits = {k for k in counters if _read(_cone(body, [made[k]])) <= counters | (known & kept)}
        if fits == counters:
            break
        counters = fits
    if not _read(_cone(condition, [condition.root.name])) <= counters | (known & kept):
        raise Refused("how often it turns depends on data")
    root = body.root._replace(operands=tuple(made[k] for k in sorted(counters)), shape=Tuple(()))
    counting = Computation(body.name, (*_cone(body, root.operands), root), root)
    of_condition = Computation(condition.name, tuple(_cone(condition, [condition.root.name])), condition.root)
    return Loop(state, kept, frozenset(counters), counting, of_condition)


def turns_of(loop: Loop, evaluate: Evaluate) -> list[dict[int, Known]]:
    """What the counters are before each turn, and behind the last one. Raises Refused."""
    found: list[dict[int, Known]] = []
    now = {k: each for k, each in enumerate(loop.state) if k in loop.counters and isinstance(each, Known)}
    while True:
        found.append(now)
        state: Found = tuple(now.get(k, each if k in loop.kept else ()) for k, each in enumerate(loop.state))
        goes_on = evaluate(loop.condition, (state,))
        if not isinstance(goes_on, Known) or len(found) > MOST_TURNS:
            raise Refused("how often it turns is not known, or too often")
        if not goes_on.array.any():
            return found
        made = evaluate(loop.counting, (state,))
        several = made if isinstance(made, tuple) and not isinstance(made, Known | Made) else ()
        now = {k: each for k, each in zip(sorted(loop.counters), several, strict=True) if isinstance(each, Known)}
        if len(now) < len(loop.counters):
            raise Refused("what counts its turns is not known")


def kept_by(body: Computation, name: str) -> int | None:
    """The element of the state that a value of a turn is."""
    by_name = {each.name: each for each in body.instructions}
    each = by_name[name]
    while each.opcode in SAME and len(each.operands) == 1:
        each = by_name[each.operands[0]]
    is_element = each.opcode == "get-tuple-element" and by_name[each.operands[0]].opcode == "parameter"
    return int(each.attrs["index"]) if is_element and each.attrs.get("index", "").isdecimal() else None


def loops_of(module: Module) -> list[Instruction]:
    """The loops that are met when a module is evaluated, none of those within other loops, in their order."""
    found: list[Instruction] = []

    def walk(computation: Computation, depth: int) -> None:
        for each in computation.instructions:
            called = module.computations.get(each.attrs.get("to_apply", "").lstrip("%"))
            if each.opcode == "while":
                found.append(each)
            elif each.opcode == "call" and called is not None and depth:
                walk(called, depth - 1)

    walk(module.entry, 64)
    return found


def _cone(computation: Computation, names: Iterable[str]) -> list[Instruction]:
    """The instructions that some values need, in their order."""
    needed = set(names)
    found = []
    for each in reversed(computation.instructions):
        if each.name in needed:
            needed.update(each.operands)
            found.append(each)
    return found[::-1]


def _read(cone: Iterable[Instruction]) -> set[int]:
    """The elements of the state that instructions read; -1 where one reads it as a whole."""
    parameters = {each.name for each in cone if each.opcode == "parameter"}
    found = set()
    for each in cone:
        if not parameters.isdisjoint(each.operands):
            element = each.opcode == "get-tuple-element" and each.attrs.get("index", "").isdecimal()
            found.add(int(each.attrs["index"]) if element else -1)
    return found
