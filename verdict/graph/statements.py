"""What a plan states of itself as a whole: its mesh, what is given, what is declared. No two statements may contradict
each other, and none may be ambiguous.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from math import prod

from verdict.graph.misfit import (
    BATCH,
    GRADIENT_OF,
    GROUP,
    LOGICAL,
    LOSS,
    MESH,
    OUTPUT,
    RANGE,
    SEED,
    SHARD,
    STORAGE,
    TENSOR,
    At,
    Misfit,
    name_of,
)
from verdict.graph.plan import ABSENT, ACCUMULATOR, BUFFER, GRADIENT, INPUT, WEIGHT, Held, Plan
from verdict.graph.region import spelled, whole

GIVEN = (INPUT, WEIGHT, BUFFER)
"""The kinds of tensors that a step begins with. Those of two plans are bound to each other by origin and name."""
DTYPES = frozenset(
    {
        *("float64", "float32", "float16", "bfloat16", "complex32", "complex64", "complex128", "bool"),
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    }
)
"""The number formats, by PyTorch's names."""
_CUT = frozenset({"bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"})
"""The number formats to which sums are cut."""
_APART = "give each input, weight, buffer and output an origin, or a name, of its own"


def contradictions(plan: Plan) -> Iterator[Misfit]:
    """What a plan, whose indices all name something, states that cannot be, or cannot be understood."""
    yield from _mesh(plan)
    yield from _logicals(plan)
    yield from _parts(plan)
    yield from _axes(plan)
    yield from _shards(plan)
    yield from _ranges(plan)
    yield from _declared(plan)
    yield from _seeds(plan)
    yield from _storages(plan)
    for number, group in enumerate(plan.groups):
        if not group or len(set(group)) < len(group) or not 0 <= min(group) <= max(group) < plan.ranks:
            problem = f"the group {list(group)} must name ranks from 0 to {plan.ranks - 1}, each once"
            yield Misfit(At(GROUP, number), problem)


def not_single(plan: Plan) -> Iterator[Misfit]:
    """What the single-device plan states of shares, replicas and regions, of which it has none."""
    for number, tensor in enumerate(plan.tensors):
        shape = plan.logicals[tensor.logical].shape
        if tensor.region != whole(shape) or tensor.part != (0, 1):
            part = "" if tensor.part == (0, 1) else f", part {tensor.part[0]} of {tensor.part[1]},"
            problem = f"{name_of(plan, number)} is stated to be {spelled(tensor.region)}{part} of {list(shape)}"
            yield Misfit(At(TENSOR, number), problem, "the single-device plan has whole tensors only")
    for number, (name, _) in enumerate(plan.shard_axes):
        problem = f"it divides {name} over replicas, of which the single-device plan has one"
        yield Misfit(At(SHARD, number), problem, "leave the line out")


def _mesh(plan: Plan) -> Iterator[Misfit]:
    sizes = [size for _, size in plan.mesh]
    if len({axis for axis, _ in plan.mesh}) < len(plan.mesh):
        yield Misfit(At(MESH), "two mesh axes have one name")
    if any(size < 1 for size in sizes):
        yield Misfit(At(MESH), "a mesh axis has no devices", "a size is at least 1")
    if sizes and sizes[0] != plan.replicas:
        axis = plan.mesh[0][0]
        problem = f"the first axis of its mesh, {axis}, is {sizes[0]} long, and it has {plan.replicas} replicas"
        yield Misfit(At(MESH), problem, "the first axis of the mesh is the replicas")
    if sizes and prod(sizes[1:]) != plan.devices:
        problem = f"the axes of its mesh after the first make {prod(sizes[1:])} devices, and it has {plan.devices}"
        yield Misfit(At(MESH), problem, "the axes after the first number the devices of a replica")


def _logicals(plan: Plan) -> Iterator[Misfit]:
    """Tensors of unknown number formats, accumulators of narrow ones, and those of two plans to be compared that nobody
    can tell apart.

    Given tensors may share a name where each has an origin of its own; losses, and outputs, never share one.
    """
    for number, logical in enumerate(plan.logicals):
        if logical.dtype not in DTYPES:
            problem = f"{logical.name} is of {logical.dtype}, which is no number format"
            yield Misfit(At(LOGICAL, number), problem, f"known: {', '.join(sorted(DTYPES))}")
        if logical.kind == ACCUMULATOR and logical.dtype in _CUT:
            problem = f"the accumulator {logical.name} is of {logical.dtype}, sums of which are cut to the type"
            yield Misfit(At(LOGICAL, number), problem, "what adds up over a step is of floats, int64 or uint64")
    roles = {number: logical.kind for number, logical in enumerate(plan.logicals) if logical.kind in GIVEN}
    yield from _alike(plan, roles, named=False)
    yield from _alike(plan, {plan.tensors[held.tensor].logical: LOSS for held in plan.losses}, named=True)
    ends = {plan.tensors[held.tensor].logical: OUTPUT for held in plan.outputs if held.weight == ABSENT}
    yield from _alike(plan, ends, named=True)


def _alike(plan: Plan, roles: Mapping[int, str], named: bool) -> Iterator[Misfit]:
    """Logical tensors of one role with one origin or name. named: whether an origin does not help."""
    origins: set[Hashable] = set()
    names: dict[Hashable, bool] = {}
    for number, role in sorted(roles.items()):
        logical = plan.logicals[number]
        origin, name, apart = (role, logical.origin), (role, logical.name), logical.origin is not None and not named
        if logical.origin is not None and origin in origins:
            problem = f"a second {role}, {logical.name}, has the origin {logical.origin!r}"
            yield Misfit(At(LOGICAL, number), problem, _APART)
        if name in names and not (apart and names[name]):
            problem = f"there are two tensors {logical.name} of the role {role}"
            yield Misfit(At(LOGICAL, number), problem + ("" if named else ", not both with an origin"), _APART)
        origins.add(origin)
        names[name] = names.get(name, True) and apart


def _parts(plan: Plan) -> Iterator[Misfit]:
    for number, tensor in enumerate(plan.tensors):
        part, parts = tensor.part
        kind = plan.logicals[tensor.logical].kind
        if len(tensor.region) != len(plan.logicals[tensor.logical].shape):
            problem = f"a share of {name_of(plan, number)} has {len(tensor.region)} intervals"
            yield Misfit(At(TENSOR, number), problem, "one interval for each axis")
        if not 0 <= part < parts:
            yield Misfit(At(TENSOR, number), f"{name_of(plan, number)} is part {part} of {parts}", "parts count from 0")
        if kind in GIVEN and parts != 1:
            problem = f"the {kind} {name_of(plan, number)} is stated to be part {part} of {parts} of a sum"
            yield Misfit(At(TENSOR, number), problem, f"a {kind} is given whole or by regions, never as addends")


def _axes(plan: Plan) -> Iterator[Misfit]:
    """The axes that split inputs: each names one input and an axis of it, once."""
    inputs: dict[str, int] = {}
    for logical in plan.logicals:
        if logical.kind == INPUT:
            inputs[logical.name] = len(logical.shape)
    seen: set[str] = set()
    for number, (name, axis) in enumerate(plan.batch_axes):
        at = At(BATCH, number)
        if name not in inputs:
            yield Misfit(at, f"it splits the batch of {name}, and has no input of that name", "name an input")
        elif not 0 <= axis < inputs[name]:
            yield Misfit(at, f"it splits {name} along axis {axis}, which has {inputs[name]} dimensions", "count from 0")
        if name in seen:
            yield Misfit(at, f"the axis that splits {name} is said twice", "say it once")
        seen.add(name)


def _shards(plan: Plan) -> Iterator[Misfit]:
    kinds: dict[str, set[str]] = {}
    ranks: dict[str, int] = {}
    for logical in plan.logicals:
        kinds.setdefault(logical.name, set()).add(logical.kind)
        ranks[logical.name] = min(len(logical.shape), ranks.get(logical.name, len(logical.shape)))
    losses = {name_of(plan, held.tensor) for held in plan.losses}
    seen: set[str] = set()
    for number, (name, axis) in enumerate(plan.shard_axes):
        at = At(SHARD, number)
        if name in seen:
            yield Misfit(at, f"the axis along which replicas divide {name} is said twice", "say it once")
        elif name not in kinds:
            yield Misfit(at, f"it divides {name} over replicas, and has no tensor of that name")
        elif name in losses:
            yield Misfit(at, f"it divides the loss {name} over replicas, whose losses add up")
        elif INPUT in kinds[name]:
            yield Misfit(at, f"it divides the input {name} over replicas as no batch", f"say: batch {name} {axis}")
        elif not 0 <= axis < ranks[name]:
            yield Misfit(at, f"it divides {name} along axis {axis}, which has {ranks[name]} dimensions")
        seen.add(name)


def _ranges(plan: Plan) -> Iterator[Misfit]:
    """What given numbers lie between: each names one tensor of integers, or of real numbers that are not negative."""
    dtypes = {logical.name: logical.dtype for logical in plan.logicals if logical.kind in GIVEN}
    seen: set[str] = set()
    for number, (name, low, high) in enumerate(plan.ranges):
        at = At(RANGE, number)
        if name in seen:
            yield Misfit(at, f"it states two ranges of {name}", "state one")
        elif name not in dtypes:
            yield Misfit(at, f"it states a range of {name}, and is given no tensor of that name", "name a given tensor")
        elif dtypes[name].startswith("complex"):
            yield Misfit(at, f"it states a range of {name}, which holds {dtypes[name]} and no integers")
        elif not dtypes[name].startswith(("int", "uint", "bool")) and (low, high) != (0, None):
            yield Misfit(at, f"it states a range of {name}, which holds {dtypes[name]} and no integers", "say: 0 inf")
        elif high is not None and low > high:
            yield Misfit(at, f"it states that {name} lies between {low} and {high}", "the least integer comes first")
        seen.add(name)


def _declared(plan: Plan) -> Iterator[Misfit]:
    """Declared outputs: each loss, one gradient and one new value of each weight, each output once, on every device."""
    for kind, declared in ((LOSS, plan.losses), (GRADIENT_OF, plan.gradients), (OUTPUT, plan.outputs)):
        yield from _of(plan, kind, declared)
        yield from _twice(plan, kind, declared)


def _of(plan: Plan, kind: str, declared: Iterable[Held]) -> Iterator[Misfit]:
    """What declared outputs say that they are of."""
    for number, held in enumerate(declared):
        name = name_of(plan, held.tensor)
        of = "" if held.weight == ABSENT else plan.kind(held.weight)
        if kind == LOSS and of:
            problem = f"the loss {name} is declared of {name_of(plan, held.weight)}"
            yield Misfit(At(kind, number), problem, "leave that out")
        if kind == GRADIENT_OF and of != WEIGHT:
            what = f"of {name_of(plan, held.weight)}, which is no weight" if of else "of no weight"
            yield Misfit(At(kind, number), f"the gradient {name} is declared {what}", "say: gradient g of w")
        if kind == OUTPUT and of not in ("", WEIGHT, BUFFER):
            problem = f"the output {name} is declared of {name_of(plan, held.weight)}, which is no weight and no buffer"
            yield Misfit(At(kind, number), problem, "name the weight or buffer whose new value it is, or none")


def _twice(plan: Plan, kind: str, declared: Iterable[Held]) -> Iterator[Misfit]:
    """What one device declares twice: the same tensor, or two tensors as one and the same output."""
    seen: set[Hashable] = set()
    for number, held in enumerate(declared):
        share = plan.tensors[held.tensor]
        key = (held.device, share.logical, share.region) if held.weight == ABSENT else (held.device, held.weight)
        if key in seen:
            of = f" of {name_of(plan, held.weight)}" if held.weight != ABSENT else ""
            problem = f"rank {held.device} declares a second {kind}{of}, {name_of(plan, held.tensor)}"
            yield Misfit(At(kind, number), problem, "declare it once on each device")
        seen.add(key)


def _seeds(plan: Plan) -> Iterator[Misfit]:
    """Seeds are gradients of the loss, and nothing makes them."""
    made = {tensor for segment in plan.segments for node in segment.nodes for tensor in node.outputs}
    seen: set[int] = set()
    for number, seed in enumerate(plan.seeds):
        name, at = name_of(plan, seed), At(SEED, number)
        if seed in seen:
            yield Misfit(at, f"the seed {name} is named twice", "name it once")
        seen.add(seed)
        if plan.kind(seed) != GRADIENT:
            yield Misfit(at, f"the seed {name} is of the kind {plan.kind(seed)}", "a seed is the gradient of the loss")
        elif seed in made:
            yield Misfit(at, f"the seed {name} is made by a node, too", "a seed is given: it is 1")


def _storages(plan: Plan) -> Iterator[Misfit]:
    named: set[tuple[int, str]] = set()
    for number, storage in enumerate(plan.storages):
        if (storage.device, storage.name) in named:
            problem = f"rank {storage.device} has a second storage {storage.name}"
            yield Misfit(At(STORAGE, number), problem, "name all that lives in one storage in one line")
        named.add((storage.device, storage.name))
