"""The door: what is no plan, or has nothing in common with the other, is refused; what is malformed is found."""

from typing import NamedTuple

from verdict.errors import PlanMismatchError
from verdict.graph import Plan, without_effects
from verdict.graph.check import check_plan
from verdict.graph.complexes import without_complex as _without_complex
from verdict.graph.form import require_form, require_whole
from verdict.graph.memory import check_effects
from verdict.graph.types import check_types
from verdict.lineage import Binding, bind
from verdict.ops import RULES
from verdict.ops.types import GRADIENTS, OF_COMPLEX, beyond, is_complex, kind
from verdict.outcome import Finding
from verdict.phases.query import Query


class Admitted(NamedTuple):
    """binding: what is the same in both plans. structural: what is wrong with the form of the parallel one."""

    binding: Binding
    structural: tuple[Finding, ...]


def without_complex(plan: Plan) -> Plan:
    """`plan`, in which operators have no rule where they meet complex numbers and their rules speak of real ones."""
    return _without_complex(plan, RULES, is_complex, OF_COMPLEX)


def admit(query: Query, sound: bool) -> Admitted:
    """Both plans, if the question can be put. sound: whether the single-device plan is known to be well-formed.

    Raises PlanFileError where a plan is malformed, PlanMismatchError where the two have nothing in common.
    """
    for plan in (query.parallel,) if sound else (query.single, query.parallel):
        require_form(plan, RULES)
    binding = bind(*query.values)
    if not sound:
        _require_sound(query.single)
    return Admitted(binding, _structural(query.parallel))


def _require_sound(single: Plan) -> None:
    require_whole(single)
    wrong = _structural(single)
    if wrong:
        raise PlanMismatchError(
            single.source,
            f"the single-device plan itself is not well-formed: {wrong[0].where}: {wrong[0].title}",
            "repair it first; nothing can be compared with it",
        )


def _structural(plan: Plan) -> tuple[Finding, ...]:
    plain = without_effects(plan)
    types = check_types(plain, RULES, kind, GRADIENTS, beyond)
    return (*check_effects(plan, RULES), *check_plan(plain, RULES), *types)
