"""The steps that values depend on."""

from collections.abc import Iterable

from verdict.sweep.why.scene import Scene


def cone_of(scene: Scene, values: Iterable[int]) -> set[int]:
    """All steps of the parallel flow on the way to some values."""
    stack, cone = list(values), set[int]()
    while stack:
        number = scene.maker.get(stack.pop())
        if number is not None and number not in cone:
            cone.add(number)
            stack.extend(scene.step(number).inputs)
    return cone
