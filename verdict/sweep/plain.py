"""Both plans on small whole numbers, for people: what differs is shown in them where a finding says what is due."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from verdict.ops import Array
from verdict.sweep.flow import CANNOT, Flow
from verdict.sweep.values import run

GREATEST = 2
"""Whole numbers are no greater, with either sign, and none is zero."""


class Plain(NamedTuple):
    """given: by single-device logical tensor. single, parallel: what the flows make of it."""

    given: Mapping[int, Array]
    single: list[Array | None]
    parallel: list[Array | None]


def on_small_numbers(flows: tuple[Flow, Flow], like: Mapping[int, Array]) -> Plain | None:
    """Both flows on whole numbers in the place of the real ones of `like`, which keep their signs where all have one;
    None where they cannot be run on these.
    """
    random = np.random.default_rng(0)
    given = {logical: _whole(random, array) for logical, array in like.items()}
    try:
        return Plain(given, run(flows[0], given), run(flows[1], given))
    except CANNOT:
        return None


def _whole(random: np.random.Generator, array: Array) -> Array:
    if array.dtype != np.float64:
        return array
    sizes = random.integers(1, GREATEST + 1, array.shape).astype(np.float64)
    return sizes if bool((array >= 0).all()) else sizes * random.choice((-1.0, 1.0), array.shape)
