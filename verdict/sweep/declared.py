"""Weights of which the parallel plan declares too little, in words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from verdict.graph import Plan
from verdict.semantics import Small
from verdict.semantics import undeclared as missing
from verdict.sweep.flow import Flow
from verdict.sweep.results import GRADIENT, OUTPUT, Missing


def undeclared(single: Flow, parallel: Plan, small: Small, logical: Mapping[int, int]) -> Iterator[Missing]:
    """What is missing, once for each weight, of those that the single-device plan declares something of."""
    trained = {result.key[1] for result in single.results if result.key[0] in (GRADIENT, OUTPUT)}
    updated = {result.key[1] for result in single.results if result.key[0] == OUTPUT}
    lacking: dict[str, list[int]] = defaultdict(list)
    for found in missing(parallel, small, logical, trained, updated):
        lacking[parallel.logicals[found.logical].name].append(found.device)
    for name, devices in lacking.items():
        where = f"on device{'s' * (len(devices) > 1)} {', '.join(map(str, devices))}"
        yield Missing(GRADIENT, f"gradient of {name} {where}")
