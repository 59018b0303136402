"""What the tensors of a parallel plan are said to be: by the binding, and by hints of where they come from."""

from collections.abc import Callable, Set

from verdict.graph import Interval, Plan
from verdict.lineage.binding import Binding
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.values import Value


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


def given_pieces(
    plan: Plan, device: int, inputs: Set[int], claim: Callable[[int], Value | None], reference: Reference
) -> dict[tuple[int, int], Interval]:
    """The parts that a device has of axes of its inputs, by how many elements the axis has, and the part.

    inputs: the tensors of inputs. claim: what a tensor is said to hold. What a device reads first decides where it has
    several of one size.
    """
    segments = dict.fromkeys(call.segment for call in plan.programs[device])
    read = (tensor for k in segments for node in plan.segments[k].nodes for tensor in node.inputs if tensor in inputs)
    found: dict[tuple[int, int], Interval] = {}
    for value in map(claim, dict.fromkeys(read)):
        shape = reference.column_shape(value[0].base) if value else ()
        for cut, full in zip(value[0].region if value else (), shape, strict=True):
            found.setdefault((full, cut[1] - cut[0]), cut)
    return found
