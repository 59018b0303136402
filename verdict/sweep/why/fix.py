"""A correction that may be the cause: what to change, what it means, and how it is told."""

from collections.abc import Callable
from typing import NamedTuple

from verdict.graph.fault import Edit
from verdict.sweep.why.mend import Change
from verdict.sweep.why.siblings import Instance, Siblings


class Fix(NamedTuple):
    """code, title, notes, help: as in a finding. at: the steps that are to blame, and which of them.

    change: what mends it. single: names or lines of single-device nodes that stand there. kin: what findings of one
    kind have in common, besides code and operator. edits: makes the change, said of the plan's nodes, where it can be.
    """

    code: str
    title: str
    at: Siblings
    instances: tuple[Instance, ...]
    change: Change
    notes: tuple[str, ...] = ()
    help: str = ""
    single: tuple[str, ...] = ()
    kin: tuple[str, ...] = ()
    edits: Callable[[], tuple[Edit, ...]] = tuple
