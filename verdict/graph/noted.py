"""What is found on the way through a schedule: one finding for each cause, with the places at which it shows."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

from verdict.graph.fault import Fault, Place
from verdict.graph.lockstep import Step
from verdict.graph.plan import Plan
from verdict.outcome import Finding


class Noted:
    """Findings, one for each cause, with the places at which it shows."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.found: dict[tuple[object, ...], Finding] = {}
        self.places: dict[tuple[object, ...], list[Place]] = defaultdict(list)

    def add(
        self, code: str, root: tuple[object, ...], kind: Hashable, title: str, device: int, step: Step,
        help_: str = "", notes: tuple[str, ...] = (), always: bool = False,
    ) -> None:  # fmt: skip
        """Note what is wrong at a step. root: what has one cause. kind: what is wrong, whatever ranks and sizes.
        always: in whatever microbatch.
        """
        place = Place(device, step.microbatch, step.node.name, step.node.op)
        where = place.spelled if always else f"{place.spelled}, {step.when}"
        self.found.setdefault((code, *root), Finding(code, title, where, notes, help_, kind=kind))
        self.places[code, *root].append(place)

    def all(self) -> tuple[Finding, ...]:
        """The findings, in the order in which they were noted first."""
        return tuple(
            replace(finding, extent=len(self.places[key]), evidence=Fault(tuple(self.places[key])))
            for key, finding in self.found.items()
        )
