"""A walk that goes on behind what it cannot follow, from cut points: guesses of what a tensor holds.

Where nothing can be said of a step, its outputs are unknown. Where a node reads an unknown tensor, the single-device
node that is its counterpart, by its name or by what else it reads, says which value that must be. Such a guess is a
cut point: a claim that somebody has to prove before anything is concluded from the walk.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from math import prod
from typing import NoReturn

from verdict.graph import ABSENT, GRAD, INPUT, Interval, Node, Place, Plan, Region, Shape, extent
from verdict.graph.lockstep import COMMUNICATION, Step
from verdict.lineage.binding import Binding
from verdict.lineage.claims import given_pieces
from verdict.lineage.columns import UNDECIDED
from verdict.lineage.compare import Difference
from verdict.lineage.counterparts import NONE, in_turn
from verdict.lineage.grounds import CutPoint, Grounds, Learned
from verdict.lineage.holdings import Holdings
from verdict.lineage.lineages import Evidence, IgnoredLaw, Unfollowed
from verdict.lineage.meaning import read_by
from verdict.lineage.movement import Movement
from verdict.lineage.reference import Bases
from verdict.lineage.transfer import Misfit
from verdict.lineage.values import ONCE, Share, Times, Value
from verdict.ops import FACTS
from verdict.ops.types import FLOAT, kind

Piece = tuple[Interval, int]
"""An interval of an axis, and the size of the axis."""
MOST_REGIONS = 16
"""How many regions of a value are tried for a tensor: two axes that are cut have a few choices each."""


class Guessing(Holdings):
    """Holdings whose gaps and divergences end a step, and leave its outputs unknown.

    cuts: what was guessed. learned: what is guessed otherwise, or not at all.
    """

    def __init__(self, grounds: Grounds, plan: Plan, binding: Binding, learned: Learned) -> None:
        super().__init__(grounds.table, plan, binding, frozenset(), every=False)
        self.grounds, self.learned = grounds, learned
        self.cuts: dict[CutPoint, Value] = {}
        self.infinite, self.alike = grounds.infinite, grounds.alike
        partners = enumerate(grounds.table.partners) if learned.closed else ()
        self._closed = frozenset(index for index, partner in partners if partner.signature in learned.closed)
        self._scales: dict[CutPoint, Times] = {}
        self._parts: set[CutPoint] = set()
        self._cut_so: list[set[tuple[Region, Shape]]] = [set() for _ in range(plan.devices)]
        inputs = frozenset(tensor for tensor, found in enumerate(self.kinds) if found == INPUT)
        self._pieces = [
            given_pieces(plan, device, inputs, self.claim, grounds.table) for device in range(plan.devices)
        ]
        self.movement = Movement(self, self.infinite, self._pieces)

    def first(self, device: int, tensor: int) -> Value | None:
        """What a tensor holds that nothing has written; None where nothing can be said of it."""
        try:
            return super().first(device, tensor)
        except Unfollowed:
            return None

    def join(self, index: int, number: int, place: Place) -> None:
        """Note a node that computes a single-device one; leave the step where that has no proof."""
        if index in self._closed:
            raise Unfollowed("its stage has no proof")
        super().join(index, number, place)

    def write(self, device: int, tensor: int, value: Value | None, place: Place) -> None:
        """Let a tensor hold a value, and note which pieces of axes the device has."""
        for share in value or ():
            if share.times != 1 and share.base in self.infinite:
                raise Unfollowed("it is a multiple of what may be infinite")
        super().write(device, tensor, value, place)
        for share in value or ():
            shape = self.reference.shapes[share.base]
            known = (share.region, shape)
            if share.base in self.alike or known in self._cut_so[device] or extent(share.region) == shape:
                continue
            self._cut_so[device].add(known)
            for interval, full in zip(share.region, shape, strict=True):
                if interval != (0, full):
                    self._pieces[device].setdefault((full, interval[1] - interval[0]), interval)

    def piece(self, device: int, full: int, size: int) -> Interval | None:
        """Which part of so many elements a device has where it has so few: as of an input, or of another value."""
        return self._pieces[device].get((full, size))

    def gap(self, reason: str, place: Place) -> NoReturn:
        """Leave the step: nothing can be said of it."""
        raise Unfollowed(reason)

    def diverge(self, found: Difference, about: Evidence, note: str = "", help_text: str = "") -> NoReturn:
        """Leave the step: it reads something else than a single-device node, or there is none."""
        raise Unfollowed(found.text)

    def unordered(self, shares: Sequence[Share]) -> Value | None:
        """The formal sum of shares that are added up in another order than on the single device."""
        return self.sum([(share,) for share in shares])

    def guess(self, device: int, step: Step, values: tuple[Value | None, ...]) -> tuple[Value, ...] | None:
        """What a node reads, with what is unknown of it guessed; None where there is nothing to guess from."""
        node = step.node
        if self.movement.moves(device, step):
            return None
        adds = FACTS.addends(node.op, values, len(node.outputs)) is not None
        for due in self._due(device, node, values):
            guessed = (self._addends if adds else self._fitting)(device, node, values, due)
            if guessed is not None and _is_one_value_each(node, guessed):
                ignored = () if adds else self._ignored(node, due)
                for position, (tensor, known, value) in enumerate(zip(node.inputs, values, guessed, strict=True)):
                    if known is None and position not in ignored:
                        self.cuts[device, tensor] = value
                        self.env[device][tensor] = value
                return guessed
        return None

    def _ignored(self, node: Node, due: tuple[Bases, ...]) -> frozenset[int]:
        """The inputs of which the single-device counterpart of a node needs no value; that is noted as a law."""
        meaning = self.reference.partners[self.reference.by_inputs[node.op, due][0]].meaning
        self.laws.update(IgnoredLaw(meaning.signature, (position,)) for position in meaning.ignored)
        return meaning.ignored

    def follow(self, steps: Mapping[int, Step]) -> None:
        """Look at the elements of what steps make of which nothing else is known, and how often they count."""
        outputs = [(d, t) for d, step in steps.items() for t in step.node.outputs if t != ABSENT]
        if None not in [self.env[device].get(tensor) for device, tensor in outputs]:
            return
        for device, tensor, value, place in self.movement.follow(steps):
            with suppress(Unfollowed):
                self.write(device, tensor, value, place)
        self._follow_parts(steps)
        each = (self._times(device, tensor) for device, step in steps.items() for tensor in _scaling(step.node))
        times = next((found for found in each if found != 1), ONCE)
        for device, tensor in outputs if times > 0 and times != 1 else ():
            self._scales[device, tensor] = times

    def _follow_parts(self, steps: Mapping[int, Step]) -> None:
        """Note what a device makes, by itself, of one part of a sum and of what is known, or of several parts that it
        adds or joins: it is likelier a part of what is due than all of that. A number that stands beside others, as how
        many tokens a rank counts, makes no part.
        """
        for device, step in steps.items() if next(iter(steps.values())).node.op not in COMMUNICATION else ():
            node = step.node
            rule = FACTS.of(node.op)
            read = read_by(node)
            parts = {tensor for tensor in read if self._is_part(device, tensor)}
            joins = rule is not None and (rule.sums or rule.moves)
            if not parts:
                continue
            known = all(self.env[device].get(tensor) is not None for tensor in read - parts)
            if joins or (len(parts) == 1 and known):
                made = (t for t in node.outputs if t != ABSENT and self.env[device].get(t) is None)
                beside = any(prod(self.shapes[part]) == 1 for part in parts - set(_scaling(node)))
                alike = joins or not beside
                self._parts.update((device, tensor) for tensor in made if alike or prod(self.shapes[tensor]) == 1)

    def _is_part(self, device: int, tensor: int) -> bool:
        value = self.env[device].get(tensor)
        return any(share.part for share in value) if value else (device, tensor) in self._parts

    def _times(self, device: int, tensor: int) -> Times:
        """How often a tensor seems to hold what it must."""
        value = self.env[device].get(tensor)
        return value[0].times if value else self._scales.get((device, tensor), ONCE)

    def _due(self, device: int, node: Node, values: tuple[Value | None, ...]) -> Iterator[tuple[Bases, ...]]:
        """What single-device nodes read that may be the counterpart of a node. One addend says nothing of the other."""
        for counterpart in in_turn(self.grounds.counterparts.get((device, node.outputs), NONE)):
            if len(counterpart.inputs) == len(values):
                yield tuple(self.reference.values.get(t, ()) if t != ABSENT else () for t in counterpart.inputs)
        if FACTS.is_sum(node.op):
            return
        alike: set[int] | None = None
        for position, value in enumerate(values):
            if value is not None:
                found = set(self.grounds.by_read.get((node.op, position, tuple(share.base for share in value)), ()))
                alike = found if alike is None else alike & found
        if alike is not None and len(alike) == 1:
            partner = self.reference.partners[alike.pop()]
            if len(partner.inputs) == len(values):
                yield partner.inputs

    def _addends(
        self, device: int, node: Node, values: tuple[Value | None, ...], due: tuple[Bases, ...]
    ) -> tuple[Value, ...] | None:
        """What is due of the addends that are unknown, in the region of those that are known."""
        beside = self._cut(values)
        found: list[Value] = []
        for tensor, known, bases in zip(node.inputs, values, due, strict=True):
            if known is not None:
                found.append(known)
                continue
            if not bases or not self._may_be_cut(device, tensor, bases):
                return None
            shares = next(self._choices_of(device, tensor, bases, beside), None)
            if shares is None:
                return None
            found.append(shares)
        return tuple(found)

    def _fitting(
        self, device: int, node: Node, values: tuple[Value | None, ...], due: tuple[Bases, ...]
    ) -> tuple[Value, ...] | None:
        """Regions of what is due in place of what is unknown, such that a single-device node can be computed so."""
        if any(known is not None and tuple(s.base for s in known) != d for known, d in zip(values, due, strict=True)):
            return None
        partners = self.reference.by_inputs.get((node.op, due), ())
        unknown = [position for position, known in enumerate(values) if known is None]
        if not partners or not all(due[k] and self._may_be_cut(device, node.inputs[k], due[k]) for k in unknown):
            return None
        meaning = self.reference.partners[partners[0]].meaning
        wanted = tuple(tensor != ABSENT for tensor in node.outputs)
        beside = self._cut(values)
        choices = [
            [known] if known is not None else list(self._choices_of(device, node.inputs[k], due[k], beside))
            for k, known in enumerate(values)
        ]
        for found in product(*choices):
            regions = tuple(value[0].region if value else None for value in found)
            if not isinstance(self.transfer(meaning, node.attrs, regions, wanted), Misfit):
                return found
        return None

    def _choices_of(self, device: int, tensor: int, bases: Bases, beside: Sequence[Piece]) -> Iterator[Value]:
        """The guesses that a tensor is a region of a sum, where numbers do not refute that."""
        for region in self._regions(device, tensor, bases[0], beside):
            shares = tuple(Share(base, region) for base in bases)
            if self.grounds.times is not None:
                times = self.grounds.times(device, tensor, shares)
            else:
                times = self.learned.factors.get((device, tensor, bases)) or self._times(device, tensor)
            if times is not None:
                yield tuple(share._replace(times=times) for share in shares)

    def _cut(self, values: Iterable[Value | None]) -> list[Piece]:
        """The pieces of axes that are read, with the sizes of these axes: of what is not the same everywhere."""
        shares = [share for value in values for share in value or () if share.base not in self.alike]
        return [
            piece
            for share in shares
            for piece in zip(share.region, self.reference.column_shape(share.base), strict=True)
        ]

    def _regions(self, device: int, tensor: int, of: int, beside: Sequence[Piece]) -> list[Region]:
        """Which regions of a single-device value a tensor may be: of intervals that something known has, first."""
        shape, full = self.shapes[tensor], self.reference.column_shape(of)
        if len(shape) != len(full):
            return []
        choices = [self._choices(device, size, most, beside) for size, most in zip(shape, full, strict=True)]
        return [tuple(region) for region in islice(product(*choices), MOST_REGIONS)]

    def _choices(self, device: int, size: int, full: int, beside: Sequence[Piece]) -> list[Interval]:
        """Which piece of an axis a device may have: one that is read beside it, that it has of another value, its own
        among neighbours, or by blocks.
        """
        if size == full:
            return [(0, full)]
        if not size or not full or full % size:
            return []
        count, devices = full // size, self.plan.devices
        read = (interval for interval, of in beside if of == full and interval[1] - interval[0] == size)
        elsewhere = self._pieces[device].get((full, size))
        own = ((place * size, (place + 1) * size) for place in (device % count, device * count // devices % count))
        return list(dict.fromkeys((*read, *((elsewhere,) if elsewhere else ()), *own)))

    def _may_be_cut(self, device: int, tensor: int, due: Bases) -> bool:
        """Whether values of real numbers are due, and this guess is neither refused nor one of a part of a sum."""
        bases = [self.reference.bases[base] for base in due]
        numbers = all(kind(base.dtype) == FLOAT and base.column != UNDECIDED for base in bases)
        other = (device, tensor) in self.learned.others or (device, tensor) in self._parts
        if not numbers or other or (device, tensor, due) in self.learned.guesses or not self.infinite.isdisjoint(due):
            return False
        return not self.learned.forms or self.grounds.form(tensor, due) not in self.learned.forms


def _scaling(node: Node) -> tuple[int, ...]:
    """The tensors that a node reads of which a multiple makes that multiple of what it makes: those in which it is
    linear; of a gradient all gradients; all that it moves or adds.
    """
    rule = FACTS.of(node.op)
    if rule is None:
        return ()
    if node.op.endswith(GRAD):
        return node.inputs[: len(node.inputs) - len(node.outputs)]
    if rule.moves or rule.additive or rule.sums:
        return node.inputs
    arity = len(node.inputs)
    return tuple(node.inputs[k] for k in sorted(rule.linear_in(arity, dict(node.attrs)) | rule.linear_together(arity)))


def _is_one_value_each(node: Node, values: tuple[Value, ...]) -> bool:
    """Whether a tensor that a node reads several times has one value."""
    return len(set(zip(node.inputs, values, strict=True))) == len(set(node.inputs))
