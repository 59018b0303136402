"""What is said of tensors, told such that what is said of layers beside each other can be compared."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from verdict.graph import ABSENT
from verdict.layers.moving import Moving
from verdict.lineage.lineages import Elements
from verdict.lineage.values import Label, Shard, Share


class Told:
    """What values are, and which elements of them something is made of."""

    def __init__(self, values: Moving) -> None:
        self.table, self.after = values.table, values.after

    def now(self, value: Iterable[Share] | None) -> Hashable:
        """What a value is."""
        return None if value is None else _counted(self._share(share, {}) for share in value)

    def next(self, value: Iterable[Share] | None) -> Hashable:
        """What a value is, one layer further on."""
        return None if value is None else _counted(self._share(share, self.after) for share in value)

    def moves(self, one: Elements | None, other: Elements | None) -> bool:
        """Whether elements of values are the same elements of the same values one layer further on."""
        if one is None or other is None:
            return one is other
        alike = [*map(self.next, one.values)] == [*map(self.now, other.values)]
        return alike and one.arranged == other.arranged

    def _share(self, share: Share, after: Mapping[int, int]) -> Hashable:
        part = frozenset((self._label(label, after), interval) for label, interval in share.part)
        shard = share.shard
        label = self._label(shard.label, after) if isinstance(shard, Shard) and shard.label is not None else None
        mark = (shard.axis, shard.stride, label) if isinstance(shard, Shard) else ()
        return after.get(share.base, share.base), share.region, part, share.spread, mark, share.times

    def _label(self, label: Label, after: Mapping[int, int]) -> Hashable:
        return frozenset(axis._replace(node=self._node(axis.node, after)) for axis in label.axes)

    def _node(self, node: int, after: Mapping[int, int]) -> int:
        """The single-device node that is the same as this one where values are."""
        made = next(base for base in self.table.partners[node].outputs if base != ABSENT)
        return self.table.bases[after.get(made, made)].node


def _counted(shares: Iterable[Hashable]) -> Hashable:
    """Shares, in whatever order they stand."""
    return frozenset(Counter(shares).items())
