"""The steps that values depend on, and those that depend on values."""

from collections.abc import Iterable
from itertools import chain

import networkx

from verdict.sweep.why.scene import Scene


def cone_of(scene: Scene, values: Iterable[int]) -> set[int]:
    """All steps of the parallel flow on the way to some values."""
    makers = {scene.maker[value] for value in values if value in scene.maker}
    return set(chain.from_iterable(networkx.bfs_layers(scene.graph.reverse(copy=False), makers)))


def readers_of(scene: Scene, values: Iterable[int]) -> set[int]:
    """All steps of the parallel flow that depend on some values."""
    readers = {reader for value in values for reader in scene.readers.get(value, ())}
    return set(chain.from_iterable(networkx.bfs_layers(scene.graph, readers)))
