"""Places in memory as runs: held against sets of places, over random geometries."""

import itertools
import random

from verdict.backends.torch.runs import Runs, meet, runs_of, without


def places(runs: Runs) -> set[int]:
    return {place for start, stop in runs for place in range(start, stop)}


def test_runs_are_the_places_of_the_elements() -> None:
    draw = random.Random(5)
    for _ in range(400):
        size = [draw.randint(1, 4) for _ in range(draw.randint(0, 3))]
        stride = [0 if n == 1 else draw.choice([0, 1, 2, 4, 12]) for n in size]
        offset = draw.randint(0, 5)
        elements = {
            offset + sum(k * step for k, step in zip(at, stride, strict=True))
            for at in itertools.product(*map(range, size))
        }
        runs = runs_of(size, stride, offset)
        assert places(runs) == elements
        assert all(one[1] < other[0] for one, other in itertools.pairwise(runs))


def test_large_tensors_in_one_piece_are_one_run() -> None:
    assert runs_of((128256, 4096), (4096, 1), 7) == ((7, 7 + 128256 * 4096),)
    assert runs_of((4096, 128256), (1, 4096), 0) == ((0, 128256 * 4096),)


def test_what_is_left_and_what_meets() -> None:
    draw = random.Random(6)
    for _ in range(400):
        one, two = (
            runs_of((draw.randint(1, 3), draw.randint(1, 4)), (draw.randint(1, 6), 1), draw.randint(0, 6))
            for _ in range(2)
        )
        assert places(without(one, two)) == places(one) - places(two)
        assert meet(one, two) == bool(places(one) & places(two))
