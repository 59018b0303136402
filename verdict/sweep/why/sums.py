"""Sums and means over ranks that should be none, or others: what is whole is summed again, or averaged."""

from collections.abc import Iterator, Mapping
from functools import partial, reduce
from itertools import combinations

import numpy as np

from verdict.graph.fault import Edit
from verdict.sweep.flow import REDUCTIONS, SUM
from verdict.sweep.why.edits import dropped, grouped, reducing
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import groupings, members, total
from verdict.sweep.why.scene import Arrays, Scene, close
from verdict.sweep.why.siblings import Partition, Siblings
from verdict.sweep.why.words import REDUCING, called, elements_text, entered, operator_text, owners, ranks_text

KINDS = frozenset(REDUCTIONS.values())
_SAID = {"~mean": "averages", "~max": "takes the maximum", "~min": "takes the minimum"}


def reductions(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What else a reduction over ranks could be: none, a sum of those that are distinct, of another kind or group."""
    if at.op not in KINDS:
        return
    operator = operator_text(scene, scene.step(at.first))
    if at.op == SUM:
        yield from _of_copies(scene, state, at, operator)
    yield from _of_another_kind(scene, state, at, operator)
    if operator in REDUCING:
        yield from _extreme(scene, state, at, operator)
        yield from _elsewhere(scene, state, at, operator)
        yield from _none(scene, state, at, operator)


def copies_summed(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What each rank has whole, counted once by a sum over ranks."""
    operator = operator_text(scene, scene.step(at.first))
    if at.op == SUM and operator in REDUCING:
        yield from _of_copies(scene, state, at, operator)


def _inputs(state: State, scene: Scene, number: int) -> list[Arrays]:
    found = [state.arrays(value, scene.step(number).place.rank) for value in scene.step(number).inputs]
    return [arrays for arrays in found if arrays is not None]


def _of_copies(scene: Scene, state: State, at: Siblings, operator: str) -> Iterator[Fix]:
    """Summands that are equal, each counted once."""
    values: dict[int, Arrays] = {}
    counts: set[tuple[int, int]] = set()
    for number in at.steps.values():
        inputs = _inputs(state, scene, number)
        distinct: list[Arrays] = []
        for arrays in inputs:
            if not any(close(arrays, other) for other in distinct):
                distinct.append(arrays)
        if len(distinct) == len(inputs) or all(not arrays[0].any() for arrays in distinct):
            return
        counts.add((len(inputs), len(distinct)))
        values[scene.step(number).outputs[0]] = total(distinct)
    instances = tuple(at.steps)
    ranks = ranks_text(members(scene, at, instances[:1]))
    ids = state.look(scene, scene.step(at.first).inputs[0])
    what = elements_text(scene, ids) if ids is not None else "what"
    single = owners(scene, ids) if ids is not None else ()
    if len(counts) == 1 and next(iter(counts))[1] == 1:
        count = next(iter(counts))[0]
        whole = f"{what}, which each of them holds whole" if ids is not None else "what each of them holds whole"
        title = f"{called(operator, at.name)} sums over {ranks} {whole}: it is counted {count} times"
        help_text = f"remove the {operator}, or let each rank put in its own part only"
        edits = partial(dropped, scene, at.steps.values())
        yield Fix("reduced-twice", title, at, instances, Change(values), help=help_text, single=single, edits=edits)
    else:
        node = called(operator, at.name)
        title = f"{node} sums over {ranks}, some of which hold the same summand: it is counted twice"
        edits = partial(_each_once, scene, state, at)
        yield Fix("wrong-group", title, at, instances, Change(values), single=single, edits=edits)


def _each_once(scene: Scene, state: State, at: Siblings) -> tuple[Edit, ...]:
    """The same summands in groups in which each is there once."""
    microbatch = next(iter(at.steps))[1]
    held = {rank: arrays for number in at.steps.values() for rank, arrays in put_in(scene, state, number)}
    for groups in addable(scene, held, microbatch):
        own = [[held[rank] for rank, _ in group] for group in groups]
        apart = all(not close(a, b) for arrays in own for a, b in combinations(arrays, 2))
        if apart and scene.look(total(own[0])) is not None:
            return grouped(scene, at.steps.values(), groups)
    return ()


def _of_another_kind(scene: Scene, state: State, at: Siblings, operator: str) -> Iterator[Fix]:
    """A sum in place of a mean, and the other way round."""
    sums = {n: total(_inputs(state, scene, n)) for n in at.steps.values()}
    counts = {n: len(scene.step(n).inputs) for n in at.steps.values()}
    ranks = ranks_text(members(scene, at, tuple(at.steps)[:1]))
    first = counts[at.first]
    if at.op != SUM:
        change = Change({scene.step(n).outputs[0]: arrays for n, arrays in sums.items()})
        said = _SAID[at.op]
        ids = scene.look(sums[at.first])
        of = f" of {elements_text(scene, ids)}" if ids is not None else ""
        factor = f" (off by a factor 1/{first})" if at.op == "~mean" else ""
        title = f"{called(operator, at.name)} {said} over {ranks} where the sum{of} is due{factor}"
        code = "mean-instead-of-sum" if at.op == "~mean" else "wrong-collective"
        single = owners(scene, ids) if ids is not None else ()
        edits = partial(reducing, scene, at.steps.values(), "sum")
        yield Fix(code, title, at, tuple(at.steps), change, help="reduce by the sum", single=single, edits=edits)
        return
    if operator not in REDUCING:
        return
    means = {n: tuple(np.asarray(array / counts[n]) for array in arrays) for n, arrays in sums.items()}
    ids = scene.look(means[at.first])
    if ids is not None:
        change = Change({scene.step(n).outputs[0]: arrays for n, arrays in means.items()})
        title = (
            f"{called(operator, at.name)} sums over {ranks} where the mean, {elements_text(scene, ids)}, is due "
            f"(off by a factor {first})"
        )
        single = owners(scene, ids)
        edits = partial(reducing, scene, at.steps.values(), "avg")
        yield Fix("mean-instead-of-sum", title, at, tuple(at.steps), change, single=single, edits=edits)


def _extreme(scene: Scene, state: State, at: Siblings, operator: str) -> Iterator[Fix]:
    """The greatest or the least of what ranks put in, in place of another reduction: norms that are maxima, say."""
    inputs = {n: _inputs(state, scene, n) for n in at.steps.values()}
    for how, word, reduced in (("max", "greatest", np.maximum), ("min", "least", np.minimum)):
        if at.op == REDUCTIONS[how]:
            continue
        made = {n: tuple(reduce(reduced, each) for each in zip(*arrays, strict=True)) for n, arrays in inputs.items()}
        ids = scene.look(made[at.first])
        if ids is None:
            continue
        change = Change({scene.step(n).outputs[0]: arrays for n, arrays in made.items()})
        ranks = ranks_text(members(scene, at, tuple(at.steps)[:1]))
        does = _SAID.get(at.op, "sums")
        title = f"{called(operator, at.name)} {does} over {ranks} where the {word}, {elements_text(scene, ids)}, is due"
        edits = partial(reducing, scene, at.steps.values(), how)
        yield Fix("wrong-collective", title, at, tuple(at.steps), change, single=owners(scene, ids), edits=edits)


def _elsewhere(scene: Scene, state: State, at: Siblings, operator: str) -> Iterator[Fix]:
    """The same summands in other groups."""
    if at.op != SUM:
        return
    for microbatch in sorted({m for _, m in at.steps}):
        held, numbers = dict[int, Arrays](), dict[int, int]()
        for number in (n for (_, m), n in at.steps.items() if m == microbatch):
            for rank, arrays in put_in(scene, state, number):
                held[rank], numbers[rank] = arrays, number
        for groups in addable(scene, held, microbatch):
            sums = [total([held[rank] for rank, _ in group]) for group in groups]
            reads = {}
            for group, arrays in zip(groups, sums, strict=True):
                for rank, _ in group:
                    reads[scene.step(numbers[rank]).outputs[0], rank] = arrays
            ids = scene.look(sums[0])
            if ids is None:
                continue
            own = ranks_text(members(scene, at, [next(iter(at.steps))]))
            due = ranks_text(rank for rank, _ in groups[0])
            node = called(operator, at.name)
            title = f"{node} sums over {own}; the parts of {elements_text(scene, ids)} are on {due}"
            yield Fix(
                "wrong-group", title, at, tuple(at.steps), Change({}, reads), single=owners(scene, ids),
                help=f"sum over {due}", edits=partial(grouped, scene, at.steps.values(), groups),
            )  # fmt: skip


def addable(scene: Scene, held: Mapping[int, Arrays], microbatch: int) -> Iterator[Partition]:
    """The groups in which ranks could add what they hold, all of a group tensors of one shape."""
    for groups in groupings(scene, [(rank, microbatch) for rank in sorted(held)]):
        if all(len({held[rank][0].shape for rank, _ in group}) == 1 for group in groups):
            yield groups


def put_in(scene: Scene, state: State, number: int) -> Iterator[tuple[int, Arrays]]:
    """What each rank puts into a collective."""
    step = scene.step(number)
    ranks = entered(scene, step)
    for rank, value in zip(ranks, step.inputs, strict=len(ranks) == len(step.inputs)):
        arrays = state.arrays(value, rank)
        if arrays is not None:
            yield rank, arrays


def _none(scene: Scene, state: State, at: Siblings, operator: str) -> Iterator[Fix]:
    """No reduction at all: every rank goes on with what it has put in."""
    reads: dict[tuple[int, int], Arrays] = {}
    for number in at.steps.values():
        for rank, arrays in put_in(scene, state, number):
            reads[scene.step(number).outputs[0], rank] = arrays
    ranks = ranks_text(members(scene, at, tuple(at.steps)[:1]))
    title = f"{called(operator, at.name)} sums over {ranks}, and what it makes is summed over them again later"
    apart = _different(scene, reads)
    if apart:
        title = f"{called(operator, at.name)} sums over {ranks} what are no parts of one sum: {apart}"
    code = "wrong-collective" if apart else "reduced-twice"
    edits, help_text = partial(dropped, scene, at.steps.values()), f"remove the {operator}"
    yield Fix(code, title, at, tuple(at.steps), Change({}, reads), help=help_text, edits=edits)


def _different(scene: Scene, reads: Mapping[tuple[int, int], Arrays]) -> str:
    """The single-device values that ranks put in, where each puts in one and not all the same; else ""."""
    found = [scene.look(arrays) for arrays in reads.values()]
    known = [ids for ids in found if ids is not None]
    if len(known) < len(found) or all(ids.shape == known[0].shape and (ids == known[0]).all() for ids in known):
        return ""
    return " and ".join(dict.fromkeys(elements_text(scene, ids) for ids in known))
