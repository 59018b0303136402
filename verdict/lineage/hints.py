"""Which tensor of the single-device plan one of the parallel plan may stand for: what origins and names hint at."""

from collections import Counter
from collections.abc import Iterable

from verdict.errors import PlanMismatchError
from verdict.graph import ABSENT, Logical, Plan


class Hints:
    """Some logical tensors of the single-device plan, by origin, and by names that only one of them has."""

    def __init__(self, single: Plan, among: Iterable[int]) -> None:
        self._plan = single
        known = {k: single.logicals[k] for k in among}
        names = Counter(logical.name for logical in known.values())
        self._by_origin = {logical.origin: k for k, logical in known.items() if logical.origin is not None}
        self._by_name = {logical.name: k for k, logical in known.items() if names[logical.name] == 1}

    def of(self, tensor: Logical, source: str) -> int | None:
        """The logical tensor of the single-device plan that `tensor` stands for; None where nothing hints at one.

        Raises PlanMismatchError(source) where its origin is that of one of them, and its name that of another.
        """
        hints = (self._by_origin.get(tensor.origin), self._by_name.get(tensor.name))
        known = list(dict.fromkeys(hint for hint in hints if hint is not None))
        if len(known) > 1:
            origin, name = (self._plan.logicals[hint].name for hint in known)
            raise PlanMismatchError(
                source,
                f"its tensor {tensor.name} has the origin of {origin} in {self._plan.source}, and the name of {name}",
                "give it the origin and the name of one tensor",
            )
        return known[0] if known else None


def losses_of(single: Plan) -> tuple[int, ...]:
    """The logical tensors that the single-device plan declares as losses."""
    return tuple(dict.fromkeys(single.tensors[held.tensor].logical for held in single.losses))


def require_ends(single: Plan, parallel: Plan) -> None:
    """Raise PlanMismatchError where a declared loss or output of the parallel plan hints at two of the single-device
    plan, or where several losses are declared there and a loss hints at none of them.
    """
    outputs = {single.tensors[held.tensor].logical for held in single.outputs if held.weight == ABSENT}
    losses = losses_of(single)
    for among, declared in ((losses, parallel.losses), (outputs, parallel.outputs)):
        hints = Hints(single, among)
        for index in {parallel.tensors[held.tensor].logical for held in declared if held.weight == ABSENT}:
            tensor = parallel.logicals[index]
            if hints.of(tensor, parallel.source) is None and declared is parallel.losses and len(losses) > 1:
                raise PlanMismatchError(
                    parallel.source,
                    f"its loss {tensor.name} is none of the {len(losses)} losses of {single.source}, by origin or name",
                    f"name it as one of these: {', '.join(single.logicals[k].name for k in losses)}",
                )
