"""The devices of a plan as a mesh of named axes, the slowest first."""

from functools import cache
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
        return _place(self, device, axes)

    def group(self, device: int, axes: tuple[str, ...]) -> tuple[int, ...]:
        """The devices that differ from `device` along these axes alone, in the order of `place`."""
        return _group(self, device, axes)

    def step(self, device: int, axis: str, by: int) -> int:
        """The device `by` steps further along an axis, round its end."""
        ring = self.group(device, (axis,))
        return ring[(self.at(device, axis) + by) % len(ring)]


@cache
def _place(mesh: Mesh, device: int, axes: tuple[str, ...]) -> tuple[int, int]:
    place = 0
    for axis in axes:
        place = place * mesh.size(axis) + mesh.at(device, axis)
    return place, mesh.size(*axes)


@cache
def _group(mesh: Mesh, device: int, axes: tuple[str, ...]) -> tuple[int, ...]:
    fixed = [axis for axis, _ in mesh.axes if axis not in axes]
    found = (d for d in range(mesh.devices) if all(mesh.at(d, axis) == mesh.at(device, axis) for axis in fixed))
    return tuple(sorted(found, key=lambda d: mesh.place(d, axes)))
