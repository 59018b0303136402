"""Pairs of plans in outline, a few lines each, and what Verdict says of them."""

from tests.builders import EXPLAINED, ask
from tests.sampled import one_of
from verdict.backends.pairs.outline import Outline, complete
from verdict.report import Report


def plans(single: str, parallel: str, **mesh: int):
    """Both plans; one device where no mesh is named."""
    first = complete(Outline((), tuple(single.splitlines())), "single")
    return first, complete(Outline(tuple(mesh.items()), tuple(parallel.splitlines())), "parallel", first)


def report(single: str, parallel: str, **mesh: int) -> Report:
    """The report on a pair."""
    return ask(*plans(single, parallel, **mesh))


def verdict(single: str, parallel: str, **mesh: int) -> str:
    """The name of the verdict on a pair; of wrong plans a fifth are explained, too."""
    return ask(*plans(single, parallel, **mesh), causes=one_of(EXPLAINED)).verdict.name
