"""Which microbatch each cell of a device's program works for, and which cells share their nodes.

A scheduled plan runs each template cell once a microbatch, wrapped in an ExeReuseCell whose id is equal on all
devices and rises with the microbatch. The k-th id of a forward template is microbatch k; a backward run takes the
microbatch of the forward run that it mirrors, whose activations it reads. Of the batch every device has a data loader
of its own, and takes from it in the order of its program: what it takes k-th is microbatch k, whoever reads it. The
number of microbatches is the largest of these plus one, whatever the file's schedule object says. The wiring is
followed separately (programs.py): an input that comes from another microbatch than this numbering says is kept as
crossed.
"""

from collections.abc import Mapping, Sequence

from verdict.backends.nnscaler.records import (
    ExeReuseCell,
    IRAdapter,
    IRBpOperation,
    IRDataOperation,
    IRSegment,
    IRWeightReducer,
    MalformedError,
    Record,
    integer,
    state,
)
from verdict.graph import ONCE_A_STEP


class Numbering:
    """The microbatch of every cell of a plan. `count` is the number of microbatches."""

    def __init__(self, sequences: Mapping[int, Sequence[Record]]) -> None:
        self._of: dict[int, int] = {}
        self._backward: dict[int, bool] = {}
        self._taken = _taken(sequences)
        forward, backward = self._reuse_ids(sequences)
        for ids in forward.values():
            self._of |= {reuse: number for number, reuse in enumerate(sorted(ids))}
        for runs in backward.values():
            for number, (reuse, mirror) in enumerate(sorted(runs.items())):
                self._of[reuse] = self._of.get(mirror, number)
        self.count = max((*self._of.values(), *self._taken.values()), default=0) + 1

    def of(self, cell: Record) -> int:
        """The microbatch of a cell; ONCE_A_STEP for a reducer, 0 for a cell outside of any schedule."""
        if id(cell) in self._taken:
            return self._taken[id(cell)]
        if type(cell) is ExeReuseCell:
            if type(cell[0]["_cell"]) is IRWeightReducer:
                return ONCE_A_STEP
            return self._of[cell[0]["_id"]]
        return ONCE_A_STEP if type(cell) is IRWeightReducer else 0

    def is_backward(self, cell: Record) -> bool:
        """Whether a template computes gradients."""
        known = self._backward.get(id(cell))
        if known is None:
            known = self._backward[id(cell)] = _is_backward(cell)
        return known

    def _reuse_ids(
        self, sequences: Mapping[int, Sequence[Record]]
    ) -> tuple[dict[int, set[int]], dict[int, dict[int, int]]]:
        """For each template, by id: the ids of its forward runs, or its backward runs with the id they mirror."""
        forward: dict[int, set[int]] = {}
        backward: dict[int, dict[int, int]] = {}
        for sequence in sequences.values():
            for cell in sequence:
                if type(cell) is not ExeReuseCell:
                    continue
                fields = state(cell, ExeReuseCell)
                inner, reuse = fields["_cell"], integer(fields["_id"], "the id of a cell")
                if type(inner) in {IRWeightReducer, IRDataOperation}:
                    continue
                name = integer(inner[0]["_id"], "the id of a cell")
                if self.is_backward(inner):
                    mirror = fields["_mirror"]
                    backward.setdefault(name, {})[reuse] = -1 if mirror is None else mirror[0]["_id"]
                else:
                    forward.setdefault(name, set()).add(reuse)
        return forward, backward


def template(cell: Record) -> Record:
    """The cell with the nodes: what an ExeReuseCell wraps, or the cell itself."""
    return state(cell, ExeReuseCell)["_cell"] if type(cell) is ExeReuseCell else cell


def _is_backward(cell: Record) -> bool:
    """Whether a template computes gradients."""
    if type(cell) is IRAdapter:
        return not state(cell, IRAdapter)["_forward"]
    if type(cell) is IRBpOperation:
        return True
    return type(cell) is IRSegment and any(type(node) is IRBpOperation for node in state(cell, IRSegment)["_nodes"])


def _taken(sequences: Mapping[int, Sequence[Record]]) -> dict[int, int]:
    """Which share of the batch each cell takes that takes one, by the identity of the cell."""
    taken: dict[int, int] = {}
    for device, sequence in sequences.items():
        cells = [cell for cell in sequence if type(template(cell)) is IRDataOperation]
        if len({id(template(cell)) for cell in cells}) > 1:
            raise MalformedError(f"device {device} takes its batch from several data loaders")
        for place, cell in enumerate(cells):
            if taken.setdefault(id(cell), place) != place:
                raise MalformedError(f"device {device} takes one share of the batch twice")
    return taken
