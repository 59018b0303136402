"""What the tensors of a parallel plan are said to be: by the binding, and by hints of where they come from."""

from verdict.graph import Plan
from verdict.lineage.binding import Binding
from verdict.lineage.reference import Bases, Reference


def claims_of(reference: Reference, plan: Plan, binding: Binding) -> dict[int, Bases]:
    """For each logical tensor of the parallel plan, the single-device bases that hints say it is."""
    single = reference.plan
    by_hint: dict[tuple[object, ...], Bases] = {}
    for tensor, bases in reference.values.items():
        logical = single.logicals[single.tensors[tensor].logical]
        if logical.origin is not None:
            by_hint.setdefault((logical.kind, logical.origin, logical.name), bases)
    claims: dict[int, Bases] = {}
    for index, logical in enumerate(plan.logicals):
        if index in binding.logical:
            given = reference.given.get(binding.logical[index])
            if given is not None:
                claims[index] = (given,)
            continue
        hinted = by_hint.get((logical.kind, logical.origin, logical.name))
        if hinted is not None:
            claims[index] = hinted
    known = [own for own in single.seeds if own in reference.values]
    for seed in plan.seeds if known else ():
        index = plan.tensors[seed].logical
        shape = plan.logicals[index].shape
        alike = [own for own in known if single.logicals[single.tensors[own].logical].shape == shape]
        claims[index] = reference.values[(alike or known)[-1]]
    return claims
