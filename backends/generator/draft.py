"""A plan while it is made: the tables that all its devices share."""

from collections.abc import Hashable

from verdict.graph import Attrs, Logical, Node, Region, Shape, Tensor, whole


class Draft:
    """The tables of a plan. Logical tensors are told apart by name; regions and attributes are kept once."""

    def __init__(self) -> None:
        self.logicals: list[Logical] = []
        self.tensors: list[Tensor] = []
        self._numbers: dict[str, int] = {}
        self._regions: dict[tuple[Shape, int | None, int, int], Region] = {}
        self._attrs: dict[Attrs, Attrs] = {}

    def tensor(
        self, name: str, shape: Shape, dtype: str, kind: str, region: Region, part: tuple[int, int] = (0, 1),
        origin: str = "",
    ) -> int:  # fmt: skip
        """A new share of the logical tensor `name`, whose origin is its name if no other is given."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.logicals)
            self.logicals.append(Logical(name, shape, dtype, kind, origin or name))
        assert self.logicals[number].shape == shape, f"two tensors are called {name}"
        self.tensors.append(Tensor(number, region, part))
        return len(self.tensors) - 1

    def region(self, shape: Shape, split: int | None, rank: int, ranks: int) -> Region:
        """The whole, or piece number `rank` of `ranks` even pieces along axis `split`."""
        key = (shape, split, rank, ranks)
        found = self._regions.get(key)
        if found is None:
            found = whole(shape)
            if split is not None:
                step = shape[split] // ranks
                found = (*found[:split], (rank * step, (rank + 1) * step), *found[split + 1 :])
            self._regions[key] = found
        return found

    def node(
        self, op: str, inputs: tuple[int, ...], outputs: tuple[int, ...], attrs: dict[str, Hashable], name: str
    ) -> Node:
        """A node; equal attributes are one object."""
        pairs: Attrs = tuple(sorted(attrs.items(), key=lambda pair: pair[0]))
        return Node(op, inputs, outputs, self._attrs.setdefault(pairs, pairs), name)
