"""What is done again to a sum of which one summand has it done already: an accumulator that is reduced or scaled anew.

Only parts are accumulated. Where the summand that was reduced before is a value of the single-device plan, that it was
reduced by itself is as likely the mistake.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from verdict.graph.fault import Edit
from verdict.sweep.flow import SUM, Step
from verdict.sweep.trace import frozen
from verdict.sweep.why.edits import dropped, handed_on
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import total
from verdict.sweep.why.scene import Arrays, Scene
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.stated import multiplies
from verdict.sweep.why.steps import outputs_with
from verdict.sweep.why.summands import adds
from verdict.sweep.why.words import entered, node_text, operator_text, ranks_text

REDUCED = ("all_reduce",)


def done_again(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """The summand that has it done already, as it is, and what the steps make of the others."""
    first = scene.step(at.first)
    reduces = at.op == SUM and operator_text(scene, first) in REDUCED
    if not reduces and not multiplies(scene, state, at):
        return
    values: dict[int, Arrays] = {}
    before: list[int] = []
    for number in sorted(at.steps.values()):
        found = _apart(scene, scene.step(number))
        if found is None:
            continue
        done, others = found
        made = _of_others(scene, state, number, others)
        held = values.get(done) or state.arrays(done)
        if made is None or held is None or held[0].shape != made[0].shape or state.look(scene, done) is not None:
            return
        values[scene.step(number).outputs[0]] = total([held, made])
        before.append(scene.maker[done])
    if not before:
        return
    node, earlier = node_text(scene, first), node_text(scene, scene.step(before[0]))
    ranks = ranks_text(entered(scene, first))
    title = f"{node} scales the whole sum, of which {earlier} has scaled a summand already"
    help_text = "scale what is added, and not the sum"
    if reduces:
        title = f"{node} sums over {ranks} what {earlier} has summed over them already, with more added to it"
        help_text = "reduce what is added, and not the sum"
    code = "reduced-twice" if reduces else "wrong-scale"
    edits = partial(_not_before, scene, before)
    yield Fix(code, title, at, tuple(at.steps), Change(values), help=help_text, edits=edits)


def _not_before(scene: Scene, numbers: Sequence[int]) -> tuple[Edit, ...]:
    """Nothing done to the summands: once to the sum is enough."""
    return dropped(scene, numbers) or handed_on(scene, numbers)


def _apart(scene: Scene, step: Step) -> tuple[int, Sequence[int]] | None:
    """The summand that has been through a step of the same kind, and the others, of each rank in turn; None where what
    the step reads is no such sum.
    """
    dones: dict[int, None] = {}
    others: list[int] = []
    for value in step.inputs:
        adding = scene.step(scene.maker[value]) if value in scene.maker else None
        if adding is None or not adds(scene, adding):
            return None
        done = [summand for summand in adding.inputs if _is_same(scene, step, summand)]
        if len(done) != 1:
            return None
        dones[done[0]] = None
        others.extend(summand for summand in adding.inputs if summand != done[0])
    return (next(iter(dones)), others) if len(dones) == 1 else None


def _is_same(scene: Scene, step: Step, value: int) -> bool:
    """Whether a value is made as the step makes its own: over the same ranks, with the same numbers."""
    maker = scene.maker.get(value)
    other = scene.step(maker) if maker is not None else None
    if other is None or other.op != step.op or frozen(other.attrs) != frozen(step.attrs):
        return False
    return step.op != SUM or entered(scene, other) == entered(scene, step)


def _of_others(scene: Scene, state: State, number: int, others: Sequence[int]) -> Arrays | None:
    """What a step would make of the sum of these alone."""
    step = scene.step(number)
    arrays = [state.arrays(value) for value in others]
    known = [own for own in arrays if own is not None]
    if len(known) < len(arrays) or not known or len({own[0].shape for own in known}) != 1:
        return None
    whole = total(known)
    if step.op == SUM:
        return whole
    made = outputs_with(state, step, {0: whole})
    return made.get(step.outputs[0]) if made is not None else None
