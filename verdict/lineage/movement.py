"""What the walk knows of tensors that are no region of one value: whose elements they are made of, and were moved.

As soon as a tensor is a region of one value again, or of one sum of values, it holds that. Integers are moved only, as
sums of them may wrap around.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from math import prod

import numpy as np

from verdict.graph import ABSENT, ACCUMULATOR, PER_STEP, Node, Place
from verdict.graph.lockstep import COMMUNICATION, Step, attribute
from verdict.lineage.boxes import NOTHING, Origins, Pieces
from verdict.lineage.exchange import asked, place_of
from verdict.lineage.holdings import Holdings
from verdict.lineage.lineages import Elements
from verdict.lineage.origins import Numbering
from verdict.lineage.places import MOST_MOVED
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.values import ONCE, Times, Value, scaled
from verdict.ops import FACTS
from verdict.ops.types import COMPLEX, FLOAT, kind

AVERAGES = frozenset({"avg", "mean"})


class Movement:
    """Of each device the tensors whose elements are known one by one. One column of the batch is all there is.

    infinite: single-device values of which elements may be infinite; nothing is said of multiples of these. pieces: of
    each device.
    """

    def __init__(self, holdings: Holdings, infinite: Set[int], pieces: Sequence[Pieces]) -> None:
        self.holdings, self.infinite, self.pieces = holdings, infinite, pieces
        self.numbering = Numbering(holdings.reference, holdings.trust)
        dtypes = [logical.dtype for logical in holdings.plan.logicals]
        self._dtypes = [kind(dtype) if kind(dtype) in (FLOAT, COMPLEX) else dtype for dtype in dtypes]
        self.multiples = _multiples(holdings.reference)
        self._known: list[dict[int, Origins]] = [{} for _ in range(holdings.plan.devices)]

    def moves(self, device: int, step: Step) -> bool:
        """Whether a step only moves elements that are known."""
        known = (self.of(device, tensor) is not None for tensor in step.node.inputs)
        return self._are_alike([step]) and FACTS.moves(step.node.op, len(step.node.inputs)) and all(known)

    def follow(self, steps: Mapping[int, Step]) -> Iterator[tuple[int, int, Value, Place]]:
        """Steps that devices take together: what each output holds that is a region of a value, by device and tensor;
        of all others the elements are noted.
        """
        found = self._made(steps) if self._may(steps) else None
        for device, made in (found or {}).items():
            step = steps[device]
            for tensor, origins in zip(step.node.outputs, made, strict=True):
                if tensor == ABSENT or origins.shape != self.holdings.shapes[tensor]:
                    continue
                value = self.numbering.value(origins, step.node, self.pieces[device])
                if value is None and self.numbering.keep(origins):
                    self._known[device][tensor] = origins
                elif value is not None:
                    yield device, tensor, value, place_of(device, step)

    def elements(self) -> tuple[Mapping[int, Elements], ...]:
        """Of each device the tensors that are no region of one value."""
        return tuple({t: self.numbering.told(found) for t, found in known.items()} for known in self._known)

    def of(self, device: int, tensor: int) -> Origins | None:
        """The elements of a tensor, where they are known."""
        if tensor == ABSENT or self._dtype(tensor) == COMPLEX:
            return None
        if tensor in self._known[device]:
            return self._known[device][tensor]
        value = self.holdings.read(device, tensor)
        return None if value is None else self.numbering.of(value, self.holdings.shapes[tensor])

    def _may(self, steps: Mapping[int, Step]) -> bool:
        """Whether outputs of steps are what is made once, of not too many numbers of one type, for all of the batch."""
        if self.holdings.plan.columns > 1 or any(attribute(step.node, "replicas") for step in steps.values()):
            return False
        outputs = [tensor for step in steps.values() for tensor in step.node.outputs if tensor != ABSENT]
        changing = {ACCUMULATOR, *PER_STEP}
        if any(prod(self.holdings.shapes[tensor]) > MOST_MOVED for tensor in outputs):
            return False
        return self._are_alike(steps.values()) and all(self.holdings.kinds[t] not in changing for t in outputs)

    def _are_alike(self, steps: Iterable[Step]) -> bool:
        """Whether all that some steps read and make is of real numbers, or of integers of one type."""
        tensors = (tensor for step in steps for tensor in (*step.node.inputs, *step.node.outputs) if tensor != ABSENT)
        found = {self._dtype(tensor) for tensor in tensors}
        return len(found) == 1 and COMPLEX not in found

    def _dtype(self, tensor: int) -> str:
        """The type of a tensor's elements, one for all of real numbers, and one for complex ones."""
        return self._dtypes[self.holdings.plan.tensors[tensor].logical]

    def _made(self, steps: Mapping[int, Step]) -> Mapping[int, Sequence[Origins]] | None:
        ((device, step), *others) = steps.items()
        real = all(self._dtype(tensor) == FLOAT for tensor in step.node.outputs if tensor != ABSENT)
        if not others and FACTS.makes_zeros(step.node.op, len(step.node.inputs), dict(step.node.attrs)):
            return {device: [_zeros(self.holdings, tensor) for tensor in step.node.outputs]}
        read = {device: [self.of(device, t) for t in step.node.inputs] for device, step in steps.items()}
        known = {device: [o for o in found if o is not None] for device, found in read.items()}
        if step.node.op == "broadcast":
            root = known.get(attribute(step.node, "root"), [])
            return dict.fromkeys(steps, root) if len(root) == 1 and self._is_one_meeting(steps) else None
        if any(len(known[device]) < len(read[device]) for device in read):
            return None
        if step.node.op in COMMUNICATION:
            return self._exchanged(steps, known, real)
        if others or not known[device]:
            return None
        made = (self._computed if real else self.numbering.moved)(step.node, known[device])
        return None if made is None else {device: made}

    def _computed(self, node: Node, read: Sequence[Origins]) -> Sequence[Origins] | None:
        """What a node makes of elements: a multiple of them, a sum, the same elements elsewhere."""
        factor = FACTS.factor(node.op, len(read), dict(node.attrs))
        adds = FACTS.is_plain_sum(node.op, node.attrs) and len({origins.shape for origins in read}) == 1
        if factor is None and not adds:
            return self.numbering.moved(node, read)
        total = self.numbering.added(read, self._add(ONCE) if factor is None else self._multiply(factor))
        return None if total is None else [total]

    def _exchanged(
        self, steps: Mapping[int, Step], read: Mapping[int, Sequence[Origins]], real: bool
    ) -> Mapping[int, Sequence[Origins]] | None:
        """What the members of a group get of the elements that each puts in. real: whether these are real numbers."""
        node = next(iter(steps.values())).node
        ranks, dim = tuple(attribute(node, "ranks") or ()), attribute(node, "dim")
        if not self._is_one_meeting(steps):
            return None
        if any(len(read[rank]) != 1 for rank in ranks):
            return None
        put_in = [read[rank][0] for rank in ranks]
        if len({origins.shape for origins in put_in}) > 1:
            return None
        if node.op == "all_gather":
            whole = np.concatenate(put_in, axis=dim)
            return {rank: [whole] for rank in ranks}
        if not real or node.op not in ("all_reduce", "reduce_scatter"):
            return None
        reduce = attribute(node, "reduce")
        if reduce not in (None, "sum", *AVERAGES):
            return None
        times = Fraction(1, len(ranks)) if reduce in AVERAGES else ONCE
        total = self.numbering.added(put_in, self._add(times))
        if total is None or node.op == "all_reduce":
            return None if total is None else {rank: [total] for rank in ranks}
        if total.shape[dim] % len(ranks):
            return None
        return {rank: [piece] for rank, piece in zip(ranks, np.split(total, len(ranks), axis=dim), strict=True)}

    def _is_one_meeting(self, steps: Mapping[int, Step]) -> bool:
        """Whether all members of one group meet, and ask for the same."""
        ranks = attribute(next(iter(steps.values())).node, "ranks") or ()
        return set(ranks) == set(steps) and len({asked(step) for step in steps.values()}) == 1

    def _add(self, times: Times) -> Callable[[Sequence[Value]], Value | None]:
        def add(values: Sequence[Value]) -> Value | None:
            if times != 1 and any(share.base in self.infinite for value in values for share in value):
                return None
            return self.holdings.reference.regrouped(scaled(self.holdings.sum(values), times))

        return add

    def _multiply(self, factor: Fraction) -> Callable[[Sequence[Value]], Value | None]:
        """A number times a value: of a mean over other numbers of rows, say, a multiple of the single-device mean."""
        add = self._add(factor)

        def multiply(values: Sequence[Value]) -> Value | None:
            total = add(values)
            of = self.multiples.get(tuple(share.base for share in total or ()))
            if total is None or of is None or len({share[1:] for share in total}) > 1:
                return total
            base, times = of
            return (total[0]._replace(base=base, times=Fraction(total[0].times) / times),)

        return multiply


def _multiples(reference: Reference) -> Mapping[Bases, tuple[int, Fraction]]:
    """Of sums of real numbers that the single-device plan multiplies by a number, the first such product, and that
    number. Products of integers may wrap around.
    """
    found: dict[Bases, tuple[int, Fraction]] = {}
    for partner in reference.partners:
        factor = FACTS.factor(partner.node.op, len(partner.inputs), dict(partner.node.attrs))
        if not factor or not partner.inputs[0] or partner.outputs[0] == ABSENT:
            continue
        if all(kind(reference.bases[base].dtype) == FLOAT for base in (*partner.inputs[0], partner.outputs[0])):
            found.setdefault(partner.inputs[0], (partner.outputs[0], factor))
    return found


def _zeros(holdings: Holdings, tensor: int) -> Origins:
    return np.full(holdings.shapes[tensor] if tensor != ABSENT else (), NOTHING, dtype=np.int64)
