"""What parameters hold when the step begins, without numbers: how each rank computes it, from which draws.

Ranks that hold the same part of a weight must begin with the same values. Where a program is not run, that is told
from how they came about: the same operators on the same draws of generators with the same seeds, or the result of a
communication that gives all members the same.
"""

import hashlib
from collections import Counter
from typing import Any

from verdict.backends.torch.trace import COMMUNICATION, SEEDED, Tape
from verdict.graph import ABSENT

NO_SEED = "no seed"
FIRST_SEED = 67280421310721
"""The seed of torch's own generator until the program sets one."""
_ALIKE = frozenset({"all_reduce", "all_gather", "broadcast"})
"""Communication that gives the same to all members."""


def ways(tape: Tape, rank: int) -> dict[int, str]:
    """For each value of a tape so far, a word for how it was made; of values that no step made there is none."""
    words: dict[int, str] = {}
    met: Counter[Any] = Counter()
    for step in tape.steps:
        inputs: Any = [words.get(value, "") for value in step.inputs]
        seeded = all(word.endswith(SEEDED) for word in inputs)
        if step.op in COMMUNICATION:
            ranks = dict(step.attrs).get("ranks")
            met[step.op, ranks] += 1
            inputs = (met[step.op, ranks], 0 if step.op in _ALIKE else rank)
            seeded = True
        seeded = seeded and NO_SEED not in str(dict(step.attrs).get("reason", ""))
        shapes = [tape.values[out] for out in step.outputs if out != ABSENT]
        made = hashlib.blake2b(repr((step.op, step.attrs, inputs, shapes)).encode(), digest_size=8).hexdigest()
        words |= {out: f"{made}.{at}{SEEDED * seeded}" for at, out in enumerate(step.outputs) if out != ABSENT}
    return words
