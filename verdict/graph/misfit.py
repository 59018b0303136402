"""Something in a plan that makes no sense, and where it stands: no question can be put about such a plan."""

from typing import NamedTuple

from verdict.graph.plan import Plan

LOGICAL, TENSOR, NODE = "logical", "tensor", "node"
LOSS, GRADIENT_OF, OUTPUT, SEED, CALL, STORAGE = "loss", "gradient", "output", "seed", "call", "storage"
MESH, DEVICES, REPLICAS, MICROBATCHES = "mesh", "devices", "replicas", "microbatches"
BATCH, SHARD, GROUP, RANGE = "batch", "shard", "group", "range"


class At(NamedTuple):
    """What a misfit is about: the kind of thing, its number in the plan's table of that kind, and its place in that.

    A node is (NODE, segment, place in the segment), a call (CALL, device, place in its program); of MESH, DEVICES,
    REPLICAS and MICROBATCHES there is one.
    """

    kind: str
    number: int = 0
    place: int = 0


class Misfit(NamedTuple):
    """at: what it is about. problem: a sentence that names it, and what was expected. help: what to do about it."""

    at: At
    problem: str
    help: str = "the plan is malformed"


def name_of(plan: Plan, tensor: int) -> str:
    """The name of the logical tensor that a tensor is a share of."""
    return plan.logicals[plan.tensors[tensor].logical].name
