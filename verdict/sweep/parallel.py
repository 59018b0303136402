"""Following the parallel flow, with guesses: what a step makes may be what the single-device plan has already."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verdict.counting import Progress, uncounted
from verdict.graph import ABSENT
from verdict.ops import Array
from verdict.sweep.claim import Claim
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import Flow, Step
from verdict.sweep.follow import Follower, present, take_given
from verdict.sweep.guesses import Guess, Guesses, Maker, beside, by_reads, by_scaled_reads, is_steady
from verdict.sweep.noise import is_flat, is_noise, rounded
from verdict.sweep.parts import Parts, by_parts, is_part
from verdict.sweep.trace import Trace, above

Outputs = tuple[Ids | None, ...]


def first_of(flow: Flow, refused: Sequence[Claim], taken: Mapping[int, int]) -> list[Claim]:
    """The claims that no other refused claim stands before: theirs are the wrong guesses.

    taken: of steps that make what an earlier one made of the same elements, which one that is. A claim about that
    stands before what reads theirs, too.
    """
    outputs = {(claim.step, claim.output): claim for claim in refused}
    tainted: set[int] = set()
    found = []
    for number, step in enumerate(flow.steps):
        before = flow.steps[taken[number]].outputs if number in taken else ()
        behind = not tainted.isdisjoint((*step.inputs, *before))
        for position, value in enumerate(step.outputs):
            claim = outputs.get((number, position))
            if claim is not None and not behind:
                found.append(claim)
            if value != ABSENT and (claim is not None or behind):
                tainted.add(value)
    return found


class Followed(NamedTuple):
    """The elements of the parallel flow, and the claims under which they are so.

    fresh: those of the claims that are not known from the time before. taken: of steps that make what an earlier one
    made of the same elements, which one that is.
    """

    trace: Trace
    claims: list[Claim]
    fresh: list[Claim]
    taken: dict[int, int]


@dataclass(frozen=True, slots=True)
class Before:
    """What was followed before, and the claims that were refused of it: `wrong`, whose steps are followed anew, and all
    others. A step that reads the same makes the same, under claims that are proved.
    """

    followed: Followed
    wrong: frozenset[int]
    refused: frozenset[tuple[int, int]]
    claims: Mapping[int, list[Claim]]

    @staticmethod
    def of(followed: Followed, wrong: Sequence[Claim], refused: Sequence[Claim]) -> "Before":
        """Of some claims that were refused, and those of them whose guesses are wrong."""
        claims = defaultdict[int, list[Claim]](list)
        for claim in followed.claims:
            claims[claim.step].append(claim)
        steps = frozenset(claim.step for claim in wrong)
        return Before(followed, steps, frozenset((claim.step, claim.output) for claim in refused), claims)

    def made(self, number: int, reads: tuple[Ids, ...]) -> tuple[Ids | None, ...] | None:
        """What a step computed, if it would compute the same again; None where it would not, or computed nothing."""
        made = self.followed.trace.made[number]
        if number in self.wrong or all(ids is None for ids in made):
            return None
        alike = zip(self.followed.trace.reads[number], reads, strict=True)
        return made if all(own.shape == ids.shape and np.array_equal(own, ids) for own, ids in alike) else None


def follow_parallel(
    flow: Flow, given: Mapping[int, Ids], values: list[list[Array | None]], single: Trace, follower: Follower,
    guesses: Guesses, progress: Progress = uncounted, before: Before | None = None,
) -> Followed:  # fmt: skip
    """The elements of the parallel flow. progress: of its steps. before: what was followed with guesses of which some
    were refused since.
    """
    trace = Trace(flow, [None] * flow.values)
    take_given(trace, given)
    found = Followed(trace, [], [], {})
    met: dict[tuple[int, bytes], Outputs] = {}
    makers: dict[tuple[int, bytes], int] = {}
    sources: dict[int, int] = {}
    alike = defaultdict[str, list[int]](list)
    for number, step in enumerate(single.flow.steps):
        alike[step.op].append(number)
        known = tuple(single.ids[value] if value != ABSENT else None for value in step.outputs)
        met.setdefault(key_of_reads(follower, step, single.reads[number]), known)
    parts = Parts(trace, single, follower.elements, follower.keys, alike)
    for number, step in enumerate(flow.steps):
        progress(number, len(flow.steps), "steps")
        reads = tuple(present(trace, value) for value in step.inputs)
        trace.reads.append(reads)
        key = key_of_reads(follower, step, reads)
        outputs: Outputs | None = _same(met.get(key), step)
        if outputs is not None and key in makers:
            found.taken[number] = makers[key]
        outputs = outputs or follower.outputs(step, reads)
        made: Outputs = (None,) * len(step.outputs)
        if outputs is None:
            sources[number] = _above(sources, reads, parts)
            again = before and before.made(number, reads)
            if before and again:
                made, claims = again, before.claims.get(number, [])
                found.fresh.extend(claim for claim in claims if (number, claim.output) in before.refused)
            else:
                maker = Maker(step.op, reads, sources[number])
                made, claims = _guessed(number, step, maker, values, follower, guesses, parts)
                found.fresh.extend(claims)
            found.claims.extend(claims)
            outputs, makers[key] = _resolved(made, claims), number
            met[key] = outputs
        trace.made.append(made)
        follower.orders.note(step, reads, list(made))
        for value, ids in zip(step.outputs, outputs, strict=False):
            if value != ABSENT:
                trace.ids[value] = ids
    progress(len(flow.steps), len(flow.steps), "steps")
    return found


def _above(known: Mapping[int, int], reads: tuple[Ids, ...], parts: Parts) -> int:
    """The single-device steps from which some elements of the parallel flow are computed, as bits. known: of steps that
    made something which the single-device plan does not have as it is.
    """
    found = above(parts.single, reads, parts.elements)
    for block in (block for ids in reads for block in parts.elements.blocks_of(ids)):
        found |= known.get(block.owner, 0) if block.kind is Kind.PARALLEL else 0
    return found


def _guessed(
    number: int, step: Step, maker: Maker, values: list[list[Array | None]], follower: Follower, guesses: Guesses,
    parts: Parts,
) -> tuple[Outputs, list[Claim]]:  # fmt: skip
    """The elements that a step makes, and what they are claimed to be."""
    single, alike, reads = parts.single, parts.alike[step.op], maker.reads
    made: list[Ids | None] = [None] * len(step.outputs)
    claims: list[Claim] = []
    for position, value in enumerate(step.outputs):
        arrays = [array for seed in values if value != ABSENT and (array := seed[value]) is not None]
        if not arrays:
            continue
        ids = made[position] = follower.elements.block(Kind.PARALLEL, number, position, arrays[0].shape)
        guess = None
        if is_noise(arrays):
            guess = beside(claims, number, position, ids, single, follower)
            guess = guess or by_scaled_reads(alike, reads, position, ids, single, follower.elements)
            guess = guess if guesses.may_be_noise(guess) else None
        elif is_steady(arrays) or is_flat(arrays):
            guess = by_reads(alike, reads, position, ids, single)
        if guess is None or (number, position, guess[1].tobytes()) in guesses.refused:
            noise, guess = rounded(arrays), None
            if not ids.size or noise.size < ids.size:
                guess = guesses.of(number, position, arrays, follower, maker)
            told = _told(guess, step.op, reads, noise, parts)
            if told and (number, position, told[1].tobytes()) not in guesses.refused:
                guess = told
            if guess is None and not is_part(step, reads, position, parts):
                guess = guesses.nothing(number, position, arrays, follower)
        if guess is not None:
            claims.append(Claim(ids.ravel()[guess[0]], guess[1], number, position))
    return tuple(made), claims


def _told(guess: Guess | None, op: str, reads: Sequence[Ids], noise: Ids, parts: Parts) -> Guess | None:
    """A guess, or none, in which what is zero but for rounding is told by its parts; None where nothing is told."""
    found = by_parts(op, reads, noise, parts)
    told = dict(zip(noise[found >= 0].tolist(), found[found >= 0].tolist(), strict=True))
    if not told:
        return None
    every = (dict(zip(guess[0].tolist(), guess[1].tolist(), strict=True)) if guess else {}) | told
    return np.array(sorted(every)), np.array([every[place] for place in sorted(every)])


def _resolved(made: Outputs, claims: Sequence[Claim]) -> Outputs:
    """The elements that a step makes, in the place of each that is claimed to be a single-device one that one."""
    resolved = list(made)
    for claim in claims:
        ids = resolved[claim.output]
        if ids is not None and ids.size:
            own = ids.copy()
            own.ravel()[claim.left - ids.flat[0]] = claim.right
            resolved[claim.output] = own
    return tuple(resolved)


def key_of_reads(follower: Follower, step: Step, reads: tuple[Ids, ...]) -> tuple[int, bytes]:
    """What is the same for steps of one operator that read the same elements."""
    return follower.keys.of(step), b"|".join(repr(ids.shape).encode() + ids.tobytes() for ids in reads)


def _same(outputs: Outputs | None, step: Step) -> Outputs | None:
    """What a step that was met before made, where that is all that is wanted here."""
    if outputs is None or len(outputs) != len(step.outputs):
        return None
    lacks = any(value != ABSENT and found is None for value, found in zip(step.outputs, outputs, strict=True))
    return None if lacks else outputs
