"""The devices of a plan as a mesh of named axes, the slowest first."""

from math import prod
from typing import NamedTuple


class Mesh(NamedTuple):
    """Axes and their sizes. An axis that is not there has size 1."""

    axes: tuple[tuple[str, int], ...]

    @property
    def devices(self) -> int:
        """How many devices there are."""
        return prod(size for _, size in self.axes)

    def size(self, *axes: str) -> int:
        """The product of the sizes of some axes."""
        return prod(size for axis, size in self.axes if axis in axes)

    def at(self, device: int, axis: str) -> int:
        """The coordinate of a device along an axis."""
        for name, size in reversed(self.axes):
            device, place = divmod(device, size)
            if name == axis:
                return place
        return 0

    def place(self, device: int, axes: tuple[str, ...]) -> tuple[int, int]:
        """The coordinate of a device along the product of some axes, the first the slowest, and its size."""
        place = 0
        for axis in axes:
            place = place * self.size(axis) + self.at(device, axis)
        return place, self.size(*axes)

    def group(self, device: int, axes: tuple[str, ...]) -> tuple[int, ...]:
        """The devices that differ from `device` along these axes alone, in the order of `place`."""
        fixed = [axis for axis, _ in self.axes if axis not in axes]
        found = (d for d in range(self.devices) if all(self.at(d, axis) == self.at(device, axis) for axis in fixed))
        return tuple(sorted(found, key=lambda d: self.place(d, axes)))

    def step(self, device: int, axis: str, by: int) -> int:
        """The device `by` steps further along an axis, round its end."""
        ring = self.group(device, (axis,))
        return ring[(self.at(device, axis) + by) % len(ring)]
