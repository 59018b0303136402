"""The steps that values depend on, and those that depend on values."""

from collections.abc import Callable, Iterable

from verdict.sweep.why.scene import Scene


def cone_of(scene: Scene, values: Iterable[int]) -> set[int]:
    """All steps of the parallel flow on the way to some values."""
    makers = (scene.maker[value] for value in values if value in scene.maker)
    return _reached(makers, scene.before.__getitem__)


def readers_of(scene: Scene, values: Iterable[int]) -> set[int]:
    """All steps of the parallel flow that depend on some values."""
    readers = (reader for value in values for reader in scene.readers.get(value, ()))
    return _reached(readers, scene.behind.__getitem__)


def _reached(steps: Iterable[int], further: Callable[[int], Iterable[int]]) -> set[int]:
    """These steps, and those to which they lead."""
    found = set(steps)
    waiting = list(found)
    while waiting:
        for number in further(waiting.pop()):
            if number not in found:
                found.add(number)
                waiting.append(number)
    return found
