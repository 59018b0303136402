"""Faults of what a plan states: constants, axes, types, shapes, regions, parts, identities of weights."""

from collections.abc import Hashable
from dataclasses import replace
from random import Random

from verdict.graph import ACCUMULATOR, ACTIVATION, BUFFER, GRADIENT, INPUT, WEIGHT, Node, Plan, Tensor, extent
from verdict.mutate.sites import Change, Site, change_each, computes, named, node_at, pick, spread, with_attrs

AXES = ("dim", "dim0", "dim1")
HELD = (WEIGHT, BUFFER, INPUT)


def change_constant(plan: Plan, random: Random) -> Change | None:
    """A number among the attributes is another number: doubled, negated, one more, off by a thousandth."""
    site = pick(plan, random, lambda node: computes(node) and bool(_numbers(node)))
    if site is None:
        return None
    node = node_at(plan, site)
    name = random.choice(_numbers(node))
    value = dict(node.attrs)[name]
    assert isinstance(value, (int, float))
    if isinstance(value, int):
        other: Hashable = random.choice((value + 1, value * 2, -value, value - 1, 1))
    else:
        other = random.choice((value * 2, value / 2, -value, value * 1.001, value + 1, 1.0))
    return _set(plan, random, site, name, other)


def change_axis(plan: Plan, random: Random) -> Change | None:
    """An operator works along another axis."""
    site = pick(plan, random, lambda node: computes(node) and any(name in AXES for name, _ in node.attrs))
    if site is None:
        return None
    node = node_at(plan, site)
    name = random.choice([name for name, _ in node.attrs if name in AXES])
    value = dict(node.attrs)[name]
    dims = len(plan.tensors[next(t for t in reversed(node.inputs) if t >= 0)].region)
    other: Hashable = random.randrange(-dims, dims)
    return _set(plan, random, site, name, (other,) if isinstance(value, tuple) else other)


def change_interval(plan: Plan, random: Random) -> Change | None:
    """An operator that holds an interval (of a vocabulary, of experts) says that it holds another one."""
    pairs = (("start", "stop"), ("local_expert_start", "local_expert_end"))
    site = pick(plan, random, lambda node: any(pair <= {n for n, _ in node.attrs} for pair in map(set, pairs)))
    if site is None:
        return None
    node = node_at(plan, site)
    attrs = dict(node.attrs)
    first, last = next(pair for pair in pairs if set(pair) <= set(attrs))
    size = int(str(attrs[last])) - int(str(attrs[first]))
    start = random.choice([int(str(attrs[first])) + size, max(int(str(attrs[first])) - size, 0), 0])
    where = spread(plan, random, site)
    changed = change_each(plan, where, lambda node: with_attrs(node, **{first: start, last: start + size}))
    return changed, f"{first}={start} in {named(plan, site)} on {len(where)} devices"


def change_flag(plan: Plan, random: Random) -> Change | None:
    """A truth value, a rounding mode or a missing value among the attributes is another."""
    site = pick(plan, random, lambda node: any(v is None or isinstance(v, bool) for _, v in node.attrs))
    if site is None:
        return None
    node = node_at(plan, site)
    name, value = random.choice([(n, v) for n, v in node.attrs if v is None or isinstance(v, bool)])
    other: Hashable = not value if isinstance(value, bool) else random.choice((0, 1, "floor"))
    return _set(plan, random, site, name, other)


def drop_attribute(plan: Plan, random: Random) -> Change | None:
    """An attribute is not there."""
    site = pick(plan, random, lambda node: bool(node.attrs))
    if site is None:
        return None
    name = random.choice([name for name, _ in node_at(plan, site).attrs])
    where = spread(plan, random, site)
    changed = change_each(
        plan, where, lambda node: node._replace(attrs=tuple(pair for pair in node.attrs if pair[0] != name))
    )
    return changed, f"no {name} in {named(plan, site)} on {len(where)} devices"


def change_dtype(plan: Plan, random: Random) -> Change | None:
    """A tensor is said to be of another type, or a cast goes to another one."""
    k = random.randrange(len(plan.logicals))
    other = random.choice([dtype for dtype in ("float16", "int64", "complex64") if dtype != plan.logicals[k].dtype])
    logicals = (*plan.logicals[:k], plan.logicals[k]._replace(dtype=other), *plan.logicals[k + 1 :])
    return replace(plan, logicals=logicals), f"{plan.logicals[k].name} is {other}"


def change_shape(plan: Plan, random: Random) -> Change | None:
    """A logical tensor and its shares are one element longer or shorter, or a share alone is."""
    k = random.randrange(len(plan.tensors))
    logical, region, part = plan.tensors[k]
    if not region:
        return None
    dim, step = random.randrange(len(region)), random.choice((-1, 1))
    shape = plan.logicals[logical].shape
    grown = (*region[:dim], (region[dim][0], region[dim][1] + step), *region[dim + 1 :])
    logicals = plan.logicals
    if random.random() < 0.5:
        longer = (*shape[:dim], shape[dim] + step, *shape[dim + 1 :])
        logicals = (*logicals[:logical], logicals[logical]._replace(shape=longer), *logicals[logical + 1 :])
    tensors = (*plan.tensors[:k], Tensor(logical, grown, part), *plan.tensors[k + 1 :])
    name = plan.logicals[logical].name
    return replace(plan, tensors=tensors, logicals=logicals), f"axis {dim} of {name} is {step:+} long"


def change_region(plan: Plan, random: Random) -> Change | None:
    """What a device computes is said to be another region of the same extent."""
    return _move(plan, random, [k for k in range(len(plan.tensors)) if plan.kind(k) not in HELD])


def change_slice(plan: Plan, random: Random) -> Change | None:
    """A device holds another slice of a weight, buffer or input than it should."""
    return _move(plan, random, [k for k in range(len(plan.tensors)) if plan.kind(k) in HELD])


def _move(plan: Plan, random: Random, among: list[int]) -> Change | None:
    movable = [
        (k, dim)
        for k in among
        for dim, (start, stop) in enumerate(plan.tensors[k].region)
        if stop - start < plan.logicals[plan.tensors[k].logical].shape[dim]
    ]
    if not movable:
        return None
    k, dim = random.choice(movable)
    logical, region, part = plan.tensors[k]
    start, stop = region[dim]
    size, length = plan.logicals[logical].shape[dim], stop - start
    starts = [at for at in {0, size - length, start + length, start - length} if 0 <= at <= size - length]
    at = random.choice(sorted(starts))
    moved = (*region[:dim], (at, at + length), *region[dim + 1 :])
    tensors = (*plan.tensors[:k], Tensor(logical, moved, part), *plan.tensors[k + 1 :])
    return replace(plan, tensors=tensors), f"tensor {k} of {plan.logicals[logical].name} holds {list(moved)}"


def exchange_weights(plan: Plan, random: Random) -> Change | None:
    """Two weights of one shape are bound to each other's partner in the single-device plan."""
    weights = [k for k, logical in enumerate(plan.logicals) if logical.kind in HELD]
    random.shuffle(weights)
    for one in weights:
        for other in weights:
            a, b = plan.logicals[one], plan.logicals[other]
            if one != other and (a.shape, a.kind) == (b.shape, b.kind):
                logicals = list(plan.logicals)
                logicals[one] = a._replace(name=b.name, origin=b.origin)
                logicals[other] = b._replace(name=a.name, origin=a.origin)
                return replace(plan, logicals=tuple(logicals)), f"{a.name} and {b.name} exchanged"
    return None


def exchange_slices(plan: Plan, random: Random) -> Change | None:
    """Two devices hold each other's slice of a weight, of its gradient too or not."""
    slices = [k for k in range(len(plan.tensors)) if plan.kind(k) in HELD]
    random.shuffle(slices)
    for one in slices:
        for other in slices:
            a, b = plan.tensors[one], plan.tensors[other]
            if a.logical == b.logical and a.region != b.region and extent(a.region) == extent(b.region):
                tensors = list(plan.tensors)
                tensors[one], tensors[other] = a._replace(region=b.region), b._replace(region=a.region)
                name = plan.logicals[a.logical].name
                return replace(plan, tensors=tuple(tensors)), f"tensors {one} and {other} of {name} exchange regions"
    return None


def exchange_holdings(plan: Plan, random: Random) -> Change | None:
    """Two devices of a stage hold each other's slices: of all weights of one shape, and of their gradients too."""
    held: dict[int, dict[int, Tensor]] = {}
    for found in plan.gradients:
        held.setdefault(found.device, {})[found.weight] = plan.tensors[found.weight]
    pairs = [
        (mine, theirs)
        for a in held
        for b in held
        if a < b
        for mine in held[a]
        for theirs in held[b]
        if held[a][mine].logical == held[b][theirs].logical
        and held[a][mine].region != held[b][theirs].region
        and extent(held[a][mine].region) == extent(held[b][theirs].region)
    ]
    if not pairs:
        return None
    one, other = random.choice(pairs)
    gradients = {found.weight: found.tensor for found in plan.gradients}
    tensors = list(plan.tensors)
    for mine, theirs in ((one, other), (gradients[one], gradients[other])):
        left, right = tensors[mine], tensors[theirs]
        tensors[mine], tensors[theirs] = left._replace(region=right.region), right._replace(region=left.region)
    name = plan.logicals[plan.tensors[one].logical].name
    return replace(plan, tensors=tuple(tensors)), f"slices {one} and {other} of {name} and its gradient exchanged"


def exchange_tensors(plan: Plan, random: Random) -> Change | None:
    """Two tensors of one kind and shape are said to be each other: other logical tensors, other regions."""
    one = random.randrange(len(plan.tensors))
    mine = plan.tensors[one]
    others = [
        k
        for k, tensor in enumerate(plan.tensors)
        if tensor != mine and extent(tensor.region) == extent(mine.region) and plan.kind(k) == plan.kind(one)
    ]
    if not others:
        return None
    other = random.choice(others)
    tensors = list(plan.tensors)
    tensors[one], tensors[other] = tensors[other], mine
    names = [plan.logicals[plan.tensors[k].logical].name for k in (one, other)]
    return replace(plan, tensors=tuple(tensors)), f"tensors {one} ({names[0]}) and {other} ({names[1]}) exchanged"


def change_kind(plan: Plan, random: Random) -> Change | None:
    """A logical tensor is said to be of another kind."""
    k = random.randrange(len(plan.logicals))
    kinds = (INPUT, WEIGHT, BUFFER, ACTIVATION, GRADIENT, ACCUMULATOR)
    kind = random.choice([other for other in kinds if other != plan.logicals[k].kind])
    logicals = (*plan.logicals[:k], plan.logicals[k]._replace(kind=kind), *plan.logicals[k + 1 :])
    return replace(plan, logicals=logicals), f"{plan.logicals[k].name} is a tensor of kind {kind}"


def change_seed(plan: Plan, random: Random) -> Change | None:
    """A tensor is said to be the gradient of the loss, in place of the right one or besides it."""
    k = random.randrange(len(plan.tensors))
    seeds = (*plan.seeds, k) if random.random() < 0.7 else (*plan.seeds[1:], k)
    return replace(plan, seeds=seeds), f"tensor {k} of {plan.logicals[plan.tensors[k].logical].name} is a seed"


def change_part(plan: Plan, random: Random) -> Change | None:
    """A tensor is said to be another part of a sum, or a part where it is whole."""
    k = random.randrange(len(plan.tensors))
    logical, region, part = plan.tensors[k]
    other = random.choice([p for p in ((0, 1), (0, 2), (1, 2), (1, 4)) if p != part])
    tensors = (*plan.tensors[:k], Tensor(logical, region, other), *plan.tensors[k + 1 :])
    return replace(plan, tensors=tensors), f"tensor {k} of {plan.logicals[logical].name} is part {other}"


def change_replicas(plan: Plan, random: Random) -> Change | None:
    """The plan is run by another number of replicas."""
    other = random.choice([count for count in (1, 2, plan.replicas * 2) if count != plan.replicas])
    return replace(plan, replicas=other), f"{other} replicas"


def _numbers(node: Node) -> list[str]:
    return [
        name
        for name, value in node.attrs
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in AXES
    ]


def _set(plan: Plan, random: Random, site: Site, name: str, value: Hashable) -> Change:
    """Set an attribute on one device or on all that have such a node."""
    where = spread(plan, random, site)
    changed = change_each(plan, where, lambda node: with_attrs(node, **{name: value}))
    return changed, f"{name}={value} in {named(plan, site)} on {len(where)} devices"
