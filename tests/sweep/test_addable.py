"""Ranks of unlike stages hold tensors of unlike shapes in one sum by its name: no group of them adds these."""

from types import SimpleNamespace

import numpy as np

from verdict.sweep.why.sums import addable

PAIRS, ALL = (((0, 0), (1, 0)), ((2, 0), (3, 0))), (((0, 0), (1, 0), (2, 0), (3, 0)),)


def test_groups_of_tensors_of_one_shape_alone():
    scene = SimpleNamespace(partitions=[ALL, PAIRS])
    stages = {rank: (np.zeros(3 if rank < 2 else 5),) for rank in range(4)}
    assert list(addable(scene, stages, 0)) == [PAIRS]
    alike = {rank: (np.zeros(3),) for rank in range(4)}
    assert list(addable(scene, alike, 0)) == [ALL, PAIRS]
