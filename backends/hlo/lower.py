"""A module evaluated for one device: every instruction is known numbers or nodes of the recording.

Calls, fusions, loops that count and branches that are known vanish: their computations are evaluated where they stand.
What has no meaning here makes values of which nothing is known, and says why, by name and line.
"""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from verdict.backends.hlo.branches import chosen_of, taken
from verdict.backends.hlo.communication import COLLECTIVES, communicated
from verdict.backends.hlo.convolution import convolved
from verdict.backends.hlo.folds import FOLDED, folded, is_of_one_operator
from verdict.backends.hlo.induction import Induction
from verdict.backends.hlo.instruction import At, named
from verdict.backends.hlo.opcodes import lowered
from verdict.backends.hlo.ordering import ordered
from verdict.backends.hlo.pooling import selected
from verdict.backends.hlo.probe import Probe
from verdict.backends.hlo.text import DTYPES, Array, Computation, Instruction, Module, Tuple
from verdict.backends.hlo.values import Counted, Found, Known, Leaf, Made, Recording, Refused, Stacked
from verdict.backends.torch.trace import COMMUNICATION, UNMODELLED, Value

MOST_STEPS = 400_000
"""The most instructions that are evaluated on one device, those of loops each time: more take minutes."""
MOST_CALLS = 200
"""How deep computations may call each other."""
PURE = frozenset({"constant"})
"""Opcodes that do nothing but make a value: where nobody reads it, it does not matter that it has no meaning here."""
UNKNOWN_DTYPE = "float32"
"""What plans are told of values whose type has no meaning here: nothing is known of these either."""


class Device:
    """One device of `world`. After `run`, `recording` holds its nodes. loops: where they are not unrolled."""

    def __init__(self, module: Module, rank: int, world: int) -> None:
        self.recording = Recording()
        self.loops: Induction | Probe | None = None
        self._module = module
        self._rank = rank
        self._world = world
        self._steps = 0
        self._depth = 0

    def run(self, arguments: Sequence[Found]) -> Found:
        """What the entry makes of its arguments."""
        return self._evaluated(self._module.entry, arguments)

    def _evaluated(self, computation: Computation, arguments: Sequence[Found]) -> Found:
        if self._depth >= MOST_CALLS:
            raise Refused("computations call each other too deep")
        self._depth += 1
        known: dict[str, Found] = {}
        for each in computation.instructions:
            known[each.name] = self._instruction(each, known, arguments)
        self._depth -= 1
        return known[computation.root.name]

    def _instruction(self, each: Instruction, known: dict[str, Found], arguments: Sequence[Found]) -> Found:
        operands = tuple(known[name] for name in each.operands)
        depth = self._depth
        try:
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise Refused(f"more than {MOST_STEPS} instructions are evaluated")
            return self._made(each, operands, arguments)
        except Refused as refused:
            self._depth = depth
            return self._unknown(each, str(refused))

    def _made(self, each: Instruction, operands: tuple[Found, ...], arguments: Sequence[Found]) -> Found:
        match each.opcode:
            case "parameter":
                return self._argument(each, arguments)
            case "tuple":
                return operands
            case "get-tuple-element":
                return self._element(each, operands)
            case "opt-barrier" | "optimization-barrier":
                return operands[0] if len(operands) == 1 else operands
            case "partition-id" | "replica-id":
                rank = self._rank if each.opcode == "partition-id" else 0
                return Known(np.asarray(rank, dtype=np.int64), "uint32")
            case "call" | "fusion":
                key = "to_apply" if each.opcode == "call" else "calls"
                return self._evaluated(self._computation(each, key), operands)
            case "while":
                return self._looped(each, operands)
            case "conditional":
                return self._branched(each, operands)
        if isinstance(self.loops, Induction) and any(isinstance(operand, Counted | Stacked) for operand in operands):
            at = At(self._module, self.recording, each, ())
            return self.loops.counted(at, operands, lambda leaves: self._lowered(at._replace(operands=leaves)))
        return self._lowered(At(self._module, self.recording, each, _leaves(operands)))

    def _lowered(self, at: At) -> Found:
        if at.each.opcode in FOLDED and not is_of_one_operator(at):
            return folded(at, self._evaluated)
        if at.each.opcode == "convolution":
            return convolved(at)
        if at.each.opcode == "select-and-scatter":
            return selected(at)
        if at.each.opcode in ("topk", "sort"):
            return ordered(at)
        if at.each.opcode in COLLECTIVES:
            return communicated(at, self._rank, self._world)
        return lowered(at)

    def _argument(self, each: Instruction, arguments: Sequence[Found]) -> Found:
        number = int(each.literal)
        if number >= len(arguments):
            raise Refused(f"there are {len(arguments)} arguments")
        return arguments[number]

    def _element(self, each: Instruction, operands: tuple[Found, ...]) -> Found:
        index = each.attrs.get("index", "")
        whole = operands[0] if len(operands) == 1 else None
        several = whole if isinstance(whole, tuple) and not isinstance(whole, Known | Made) else ()
        if not index.isdecimal() or int(index) >= len(several):
            raise Refused("it takes an element that is not there")
        return several[int(index)]

    def _computation(self, each: Instruction, key: str) -> Computation:
        found = self._module.computations.get(each.attrs.get(key, "").lstrip("%"))
        if found is None:
            raise Refused(f"its {key} is no computation of the module")
        return found

    def _looped(self, each: Instruction, operands: tuple[Found, ...]) -> Found:
        condition, body = self._computation(each, "condition"), self._computation(each, "body")
        state: Found = operands[0]
        if self.loops is not None and not self.loops.inside:
            depth = self._depth
            with suppress(Refused):
                return self.loops.cut(condition, body, state, self._evaluated)
            self._depth = depth
        while True:
            goes_on = self._evaluated(condition, (state,))
            if not isinstance(goes_on, Known):
                raise Refused("how often it loops depends on data")
            if not goes_on.array.any():
                return state
            state = self._evaluated(body, (state,))
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise Refused(f"more than {MOST_STEPS} instructions are evaluated")

    def _branched(self, each: Instruction, operands: tuple[Found, ...]) -> Found:
        chosen = operands[0]
        if not isinstance(chosen, Known | Made) or chosen.shape != ():
            raise Refused("which branch is taken is no single value")
        if chosen.dtype == "bool":
            listed = [each.attrs.get(key, "") for key in ("true_computation", "false_computation")]
        else:
            listed = each.attrs.get("branch_computations", "").strip("{}").split(",")
        found = [self._module.computations.get(name.strip().lstrip("%")) for name in listed]
        branches = [branch for branch in found if branch is not None]
        if len(branches) < len(found) or len(operands) != len(found) + 1:
            raise Refused("its branch is no computation of the module")
        if isinstance(chosen, Known):
            number = taken(chosen, len(branches))
            return self._evaluated(branches[number], (operands[number + 1],))
        begun = len(self.recording.tape.steps)
        made = [self._evaluated(*pair) for pair in zip(branches, ((x,) for x in operands[1:]), strict=True)]
        if any(step.op in COMMUNICATION for step in self.recording.tape.steps[begun:]):
            raise Refused("which branch is taken depends on data, and a branch communicates")
        return chosen_of(At(self._module, self.recording, each, ()), chosen, made)

    def _unknown(self, each: Instruction, why: str) -> Found:
        """Values of which nothing is known, and a node that says so even where there are no values."""
        reason = f"{each.opcode} {named(each)}: {why}"
        if isinstance(each.shape, Tuple):
            self.recording.tape.emit(UNMODELLED, (), (), {"reason": reason}, reason, True)

        def of(shape: Array | Tuple) -> Found:
            if isinstance(shape, Tuple):
                return tuple(of(part) for part in shape.parts)
            dtype = DTYPES.get(shape.dtype, UNKNOWN_DTYPE)
            value = Value(shape.dims, dtype)
            kept = each.opcode not in PURE
            return Made(self.recording.tape.emit(UNMODELLED, (), (value,), {"reason": reason}, reason, kept)[0], *value)

        return of(each.shape)


def _leaves(operands: tuple[Found, ...]) -> tuple[Leaf, ...]:
    leaves = tuple(operand for operand in operands if isinstance(operand, Known | Made))
    if len(leaves) < len(operands):
        raise Refused("it reads a tuple")
    return leaves
