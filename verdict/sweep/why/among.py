"""Among which matching steps a kind of correction is looked for."""

from collections.abc import Callable, Iterator, Sequence, Set

from verdict.graph import ABSENT
from verdict.sweep.flow import REDUCTIONS
from verdict.sweep.why.cone import cone_of
from verdict.sweep.why.mend import State
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Siblings


def astray(scene: Scene, state: State) -> Callable[[Sequence[Siblings]], Sequence[Siblings]]:
    """Those of matching steps of which one makes what the single-device plan has nowhere, of what it has."""

    def chosen(classes: Sequence[Siblings]) -> Sequence[Siblings]:
        each = concerned(scene, state, classes)
        return [at for at in each if any(is_astray(scene, state, number) for number in at.steps.values())]

    return chosen


def next_to_astray(scene: Scene, state: State, classes: Sequence[Siblings]) -> Sequence[Siblings]:
    """Those of matching steps of which one reads what a step makes that goes astray."""

    def reads_one(number: int) -> bool:
        makers = (scene.maker.get(value) for value in scene.step(number).inputs)
        return any(maker is not None and is_astray(scene, state, maker) for maker in makers)

    return [at for at in concerned(scene, state, classes) if any(map(reads_one, at.steps.values()))]


def beside_sums(scene: Scene, classes: Sequence[Siblings]) -> Sequence[Siblings]:
    """Those of matching steps of which one reads what ranks sum, too, and is no sum over ranks itself."""
    summing = REDUCTIONS.values()

    def reads_one(number: int) -> bool:
        step = scene.step(number)
        readers = (scene.step(reader) for value in step.inputs for reader in scene.readers.get(value, ()))
        return step.op not in summing and any(reader.op in summing for reader in readers)

    return [at for at in classes if any(map(reads_one, at.steps.values()))]


def of_constants(
    scene: Scene, state: State, classes: Sequence[Siblings], unlike: bool = False
) -> Sequence[Siblings]:  # fmt: skip
    """Those of matching steps of which one reads numbers that nobody gives: positions, a mask.

    unlike: but for one number everywhere, which is a factor.
    """

    def reads_some(number: int) -> bool:
        read = [state.look(scene, value) for value in scene.step(number).inputs]
        found = [ids for ids in read if ids is not None and ids.size > 1 and scene.elements.constants(ids) is not None]
        return any(not unlike or bool((ids != ids.flat[0]).any()) for ids in found)

    return [at for at in concerned(scene, state, classes) if any(map(reads_some, at.steps.values()))]


def is_astray(scene: Scene, state: State, number: int) -> bool:
    """Whether a step makes what the single-device plan has nowhere, of what it has."""
    step = scene.step(number)
    outputs = [value for value in step.outputs if value != ABSENT]
    return any(state.look(scene, value) is None for value in outputs) and all(
        state.look(scene, value) is not None for value in step.inputs
    )


def concerned(scene: Scene, state: State, classes: Sequence[Siblings]) -> Iterator[Siblings]:
    """Those of matching steps that outputs that differ depend on."""
    cone = before_wrong(scene, state)
    return (at for at in classes if any(number in cone for number in at.steps.values()))


def before_wrong(scene: Scene, state: State) -> Set[int]:
    """The steps that outputs that differ depend on."""
    if before_wrong not in state.asked:
        state.asked[before_wrong] = cone_of(scene, [item.result.value for item in state.different])
    found: Set[int] = state.asked[before_wrong]
    return found
