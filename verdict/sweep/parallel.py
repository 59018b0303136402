"""Following the parallel flow, with guesses: what a step makes may be what the single-device plan has already."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from verdict.counting import Progress, uncounted
from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.sweep.claim import Claim
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import Flow, Step
from verdict.sweep.follow import Follower, present, take_given
from verdict.sweep.guesses import Guesses, beside, by_reads, by_scaled_reads, is_noise, is_steady
from verdict.sweep.trace import Trace

Outputs = tuple[Ids | None, ...]


def first_of(flow: Flow, refused: Sequence[Claim]) -> list[Claim]:
    """The claims that no other refused claim stands before: theirs are the wrong guesses."""
    outputs = {(claim.step, claim.output): claim for claim in refused}
    tainted: set[int] = set()
    found = []
    for number, step in enumerate(flow.steps):
        behind = not tainted.isdisjoint(step.inputs)
        for position, value in enumerate(step.outputs):
            claim = outputs.get((number, position))
            if claim is not None and not behind:
                found.append(claim)
            if value != ABSENT and (claim is not None or behind):
                tainted.add(value)
    return found


def follow_parallel(
    flow: Flow, given: Mapping[int, Ids], values: list[list[Array | None]], single: Trace, follower: Follower,
    guesses: Guesses, progress: Progress = uncounted,
) -> tuple[Trace, list[Claim]]:  # fmt: skip
    """The elements of the parallel flow, and the claims under which they are so. progress: of its steps."""
    trace = Trace(flow, [None] * flow.values)
    take_given(trace, given)
    claims: list[Claim] = []
    met: dict[tuple[int, bytes], Outputs] = {}
    alike = defaultdict[str, list[int]](list)
    for number, step in enumerate(single.flow.steps):
        alike[step.op].append(number)
        known = tuple(single.ids[value] if value != ABSENT else None for value in step.outputs)
        met.setdefault(key_of_reads(follower, step, single.reads[number]), known)
    for number, step in enumerate(flow.steps):
        progress(number, len(flow.steps), "steps")
        reads = tuple(present(trace, value) for value in step.inputs)
        trace.reads.append(reads)
        key = key_of_reads(follower, step, reads)
        outputs: Outputs | None = _same(met.get(key), step) or follower.outputs(step, reads)
        made: list[Ids | None] = [None] * len(step.outputs)
        if outputs is None:
            resolved: list[Ids | None] = []
            for position, value in enumerate(step.outputs):
                arrays = [seed[value] for seed in values] if value != ABSENT else []
                present_arrays = [array for array in arrays if array is not None]
                if not present_arrays:
                    resolved.append(None)
                    continue
                ids = follower.elements.block(Kind.PARALLEL, number, position, present_arrays[0].shape)
                made[position] = ids
                guess = None
                if is_noise(present_arrays):
                    guess = beside(claims, number, position, ids, single, follower)
                    guess = guess or by_scaled_reads(alike[step.op], reads, position, ids, single, follower.elements)
                elif is_steady(present_arrays):
                    guess = by_reads(alike[step.op], reads, position, ids, single)
                if guess is None or (number, position, guess[1].tobytes()) in guesses.refused:
                    guess = guesses.of(number, position, present_arrays, follower, step.op, reads)
                if guess is not None:
                    positions, right = guess
                    claims.append(Claim(ids.ravel()[positions], right, number, position))
                    ids = ids.copy()
                    ids.ravel()[positions] = right
                resolved.append(ids)
            outputs = tuple(resolved)
            met[key] = outputs
        trace.made.append(tuple(made))
        follower.orders.note(step, reads, made)
        for value, found in zip(step.outputs, outputs, strict=False):
            if value != ABSENT:
                trace.ids[value] = found
    progress(len(flow.steps), len(flow.steps), "steps")
    return trace, claims


def key_of_reads(follower: Follower, step: Step, reads: tuple[Ids, ...]) -> tuple[int, bytes]:
    """What is the same for steps of one operator that read the same elements."""
    return follower.keys.of(step), b"|".join(repr(ids.shape).encode() + ids.tobytes() for ids in reads)


def _same(outputs: Outputs | None, step: Step) -> Outputs | None:
    """What a step that was met before made, where that is all that is wanted here."""
    if outputs is None or len(outputs) != len(step.outputs):
        return None
    lacks = any(value != ABSENT and found is None for value, found in zip(step.outputs, outputs, strict=True))
    return None if lacks else outputs
