"""Two plan texts on the same numbers: what is declared, on every rank, as docs/plan-format.md says it is compared."""

from math import prod

import torch

from tests.interpreter.run import Stuck, Undefined, run
from tests.interpreter.text import read

TOLERANCE = 1e-10
AGREE, DIFFER, CANNOT = "agree", "differ", "cannot"
GIVEN = ("input", "weight", "buffer")


def compare(single, parallel, seed=0, values=None):
    """`agree`, `differ` (or the parallel plan cannot run), or `cannot` (the single-device plan cannot), and why."""
    one, other = read(single), read(parallel)
    with torch.no_grad():
        try:
            values = values if values is not None else _runnable(one, other, seed)
            right = run(one, giver(one, one, values))
        except (Stuck, Undefined) as error:
            return CANNOT, str(error)
        try:
            _compare(one, other, right, run(other, giver(one, other, values)))
        except Undefined as error:
            return CANNOT, str(error)
        except Stuck as error:
            return DIFFER, str(error)
    return AGREE, ""


def draw(plan, seed, integers, positive=()):
    """Random values by logical key. integers: (low, beyond the highest) of each. positive: kinds that are not negative.

    A root of an optimizer's state has a value where the state is not negative.
    """
    random = torch.Generator().manual_seed(seed)
    found = {}
    for key, logical in plan.tensors.items():
        if logical.kind not in GIVEN:
            continue
        kind = getattr(torch, logical.dtype, torch.float32)
        if kind is torch.bool:
            found[key] = torch.randint(2, logical.shape, generator=random).bool()
        elif kind.is_complex:
            parts = torch.rand((*logical.shape, 2), dtype=torch.float64, generator=random)
            found[key] = torch.view_as_complex(parts * 2 - 1)
        elif not kind.is_floating_point:
            found[key] = torch.randint(*integers[key], logical.shape, generator=random).to(kind)
        else:
            numbers = torch.rand(logical.shape, dtype=torch.float64, generator=random)
            numbers -= 0 if logical.kind in positive else 0.5
            found[key] = numbers * (1 if logical.kind == "weight" else 2)
    return found


def _runnable(one, other, seed):
    """Values on which the single-device plan runs: integers as many as it takes, a little beyond where it takes all."""
    integers = {}
    for key, logical in one.tensors.items():
        kind = getattr(torch, logical.dtype, torch.float32)
        if logical.kind in GIVEN and not kind.is_floating_point and not kind.is_complex and kind is not torch.bool:
            integers[key] = (0, 2)
    sizes = sorted({size for plan in (one, other) for t in plan.tensors.values() for size in t.shape} | {2})
    for key in integers:
        widest = torch.iinfo(getattr(torch, one.tensors[key].dtype))
        for low, high in [(-2, sizes[-1] + 3), *((0, size) for size in reversed(sizes))]:
            if low < widest.min or high > widest.max + 1:
                continue
            trial = draw(one, 0, {**integers, key: (low, high)})
            trial[key].view(-1)[:1] = high - 1
            trial[key].view(-1)[-1:] = low if trial[key].numel() > 1 else high - 1
            try:
                run(one, giver(one, one, trial))
            except Stuck:
                continue
            integers[key] = (low, high)
            break
    for positive in ((), ("buffer",), GIVEN):
        values = draw(one, seed, integers, positive)
        if all(torch.isfinite(v).all() for _, v in _ends(one, run(one, giver(one, one, values)))):
            return values
    raise Stuck("it makes what is no number")


def _ends(plan, ran):
    for device, program in plan.program.items():
        for share, _ in (*program.losses, *program.gradients, *program.outputs):
            for replica in range(plan.replicas):
                for value in ran.end((replica, device), share).values():
                    yield share, value


def bind(one, other, key):
    """The key of the single-device tensor that a given tensor of the other plan is: by origin, then by name."""
    logical = other.tensors[key]
    shape = list(logical.shape)
    if other.replicas > 1 and logical.name in other.shard:
        shape[other.shard[logical.name]] *= other.replicas
    alike = [(k, t) for k, t in one.tensors.items() if t.kind == logical.kind]
    fits = [(k, t) for k, t in alike if (len(t.shape) == len(shape) if t.kind == "input" else list(t.shape) == shape)]
    by_origin = [k for k, t in fits if logical.origin is not None and t.origin == logical.origin]
    return (by_origin or [k for k, t in fits if t.name == logical.name] or [None])[0]


def giver(one, plan, values):
    """(rank, share, column) -> what the rank has of a tensor that is given."""

    def given(rank, share, column):
        key = share.key if one is plan else bind(one, plan, share.key)
        if key is None:
            raise Stuck(f"nobody knows {share.key}")
        logical, value = plan.tensors[share.key], values[key]
        if logical.kind == "input" and plan.replicas * plan.microbatches > 1:
            axis = batch_axis(plan, logical, value.shape)
            value = value.narrow(axis, column * logical.shape[axis], logical.shape[axis])
        region = list(share.region)
        if logical.kind != "input" and logical.name in plan.shard and plan.replicas > 1:
            region = of_replica(plan, logical, region, rank[0])
        return cut(value, region)

    return given


def of_replica(plan, logical, region, replica):
    """Where a device says a:b along the axis, its n replicas together hold na:nb, and replica r piece r of that."""
    axis, region = plan.shard[logical.name], list(region)
    start, stop = region[axis]
    begin = start * plan.replicas + replica * (stop - start)
    region[axis] = (begin, begin + stop - start)
    return region


def cut(value, region):
    if len(region) != value.ndim or any(stop > size for (_, stop), size in zip(region, value.shape, strict=True)):
        raise Stuck(f"{region} is not inside of {tuple(value.shape)}")
    return value[tuple(slice(*interval) for interval in region)]


def batch_axis(plan, logical, whole):
    """The axis along which a column holds one of equal pieces."""
    columns, shape = plan.replicas * plan.microbatches, logical.shape
    for axis in [plan.batch[logical.name]] if logical.name in plan.batch else range(len(shape)):
        if axis < len(shape) and tuple(whole) == (*shape[:axis], shape[axis] * columns, *shape[axis + 1 :]):
            return axis
    raise Stuck(f"{columns} columns of {shape} are not {tuple(whole)}")


class _Held:
    """One declared output of one device."""

    def __init__(self, plan, device, share, of):
        self.plan, self.device, self.share, self.of = plan, device, share, of
        self.logical = plan.tensors[share.key]


def _declared(plan, what):
    return [_Held(plan, d, s, of) for d, program in plan.program.items() for s, of in getattr(program, what)]


def _added(held, values):
    """[(output, the sum of all parts of it)]: other parts from the first device that has them."""
    parts = {}
    for output in held:
        part, count = output.share.part
        parts.setdefault((output.share.key, output.share.region, count), {}).setdefault(part, values[id(output)])
    found = []
    for output in held:
        mine, count = output.share.part
        known = parts[output.share.key, output.share.region, count]
        if set(known) != set(range(count)):
            raise Stuck(f"a part of {output.logical.name} is nowhere")
        if len({value.shape for value in known.values()}) > 1:
            raise Stuck("parts differ in shape")
        others = [value for part, value in known.items() if part != mine]
        found.append((output, sum(others, values[id(output)])))
    return found


def _same(right, found, floor, what):
    if right.shape != found.shape:
        raise Stuck(f"{what} has shape {tuple(found.shape)}, not {tuple(right.shape)}")
    if right.numel():
        one, other = (x if x.is_complex() else x.double() for x in (right, found))
        error = torch.where(one == other, torch.zeros_like(one), one - other).abs().max()
        if not error <= TOLERANCE * one.abs().max() + 1e-13 * floor:
            raise Stuck(f"{what} differs by {float(error):.3g} of {float(one.abs().max()):.3g}")


def _compare(one, other, right, found):
    """Raise Stuck where what `other` declares is not what `one` does."""
    sizes = [v.abs().max() for s, v in _ends(one, right) if v.numel() and s not in [x.share for x in _losses(one)]]
    floor = float(max(sizes, default=0))
    _compare_losses(one, other, right, found)
    trained = _compare_of(one, other, right, found, "gradients", floor)
    updated = _compare_of(one, other, right, found, "outputs", floor)
    _compare_free(one, other, right, found, floor)
    for what, weights in (("outputs", updated), ("gradients", trained)):
        _require_said(one, other, what, weights)


def _losses(plan):
    return _declared(plan, "losses")


def _alone(right, held):
    return next(iter(right.end((0, held.device), held.share).values()))


def _compare_losses(one, other, right, found):
    due = {held.logical.name: _alone(right, held) for held in _losses(one)}
    held = _losses(other)
    totals = {}
    for output in held:
        values = [
            v for r in range(other.replicas) for v in found.end((r, output.device), output.share).values()
        ]  # fmt: skip
        if len({value.shape for value in values}) > 1:
            raise Stuck("the columns' losses differ in shape")
        totals[id(output)] = sum(values[1:], values[0])
    met = set()
    for output, total in _added(held, totals) if due else ():
        logical = output.logical
        by_origin = [h.logical.name for h in _losses(one) if h.logical.origin == logical.origin is not None]
        name = [*by_origin, *(name for name in due if name == logical.name), *due][0]
        met.add(name)
        _same(due[name], total, 0, "the loss")
    if due.keys() - met:
        raise Stuck("a loss is declared nowhere")


def _columns(plan, held, found):
    """(replica, microbatch or None) -> the outputs that are there, and their values by id."""
    columns = {}
    for output in held:
        for replica in range(plan.replicas):
            for when, value in found.end((replica, output.device), output.share).items():
                columns.setdefault((replica, when), {})[id(output)] = (output, value)
    for column, entries in columns.items():
        yield column, [output for output, _ in entries.values()], {k: value for k, (_, value) in entries.items()}


def _compare_of(one, other, right, found, what, floor):
    """Gradients and updates of weights, each against the region of the whole that its holder has."""
    due = {h.of.key: _alone(right, h) for h in _declared(one, what) if h.of is not None}
    seen = {key: torch.zeros(value.shape, dtype=torch.bool) for key, value in due.items()}
    declared = [held for held in _declared(other, what) if held.of is not None]
    for (replica, _), held, values in _columns(other, declared, found):
        for output, value in _added(held, values):
            key = bind(one, other, output.of.key)
            if key not in due:
                if what == "outputs":
                    raise Undefined("there is nothing to compare an output with")
                continue
            region, weight = list(output.of.region), other.tensors[output.of.key]
            divides = other.replicas > 1
            if divides and weight.name in other.shard:
                region = of_replica(other, weight, region, replica)
            elif divides and output.logical.name in other.shard:
                axis = other.shard[output.logical.name]
                start, stop = region[axis]
                size = (stop - start) // other.replicas
                region[axis] = (start + replica * size, start + (replica + 1) * size)
            box = tuple(slice(*interval) for interval in region)
            seen[key][box] = True
            _same(due[key][box], value, floor, f"{what} of {weight.name}")
    for key, mask in seen.items():
        if not mask.all():
            raise Stuck(f"not all {what} of {key} are declared")
    return set(due)


def _compare_free(one, other, right, found, floor):
    due = [(held, _alone(right, held)) for held in _declared(one, "outputs") if held.of is None]
    seen = [torch.zeros(value.shape, dtype=torch.bool) for _, value in due]
    declared = [held for held in _declared(other, "outputs") if held.of is None]
    for (replica, when), held, values in _columns(other, declared, found):
        for output, value in _added(held, values):
            logical = output.logical
            by_origin = [k for k, (h, _) in enumerate(due) if h.logical.origin == logical.origin is not None]
            by_name = [k for k, (h, _) in enumerate(due) if h.logical.name == logical.name]
            if not by_origin and not by_name:
                raise Undefined("there is nothing to compare an output with")
            at = (by_origin or by_name)[0]
            whole, region = due[at][1], list(output.share.region)
            if other.replicas > 1 and logical.name in other.shard:
                region = of_replica(other, logical, region, replica)
            elif tuple(whole.shape) != logical.shape and prod((other.replicas, other.microbatches)) > 1:
                axis = batch_axis(other, logical, whole.shape)
                begin = logical.shape[axis] * (replica * other.microbatches + (when or 0))
                region[axis] = (region[axis][0] + begin, region[axis][1] + begin)
            box = tuple(slice(*interval) for interval in region)
            seen[at][box] = True
            _same(whole[box], value, floor, logical.name)
    if not all(mask.all() for mask in seen):
        raise Stuck("not all of an output is declared")


def _require_said(one, other, what, weights):
    """Every device that computes with its share of a weight declares what becomes of it."""
    for device, program in other.program.items():
        nodes = [node for nodes in program.segments.values() for node in nodes]
        made = {(s.key, s.number) for node in nodes for s in node.outputs if s is not None}
        used = {s for node in nodes for s in node.inputs if s is not None and other.tensors[s.key].kind == "weight"}
        for share in used:
            if (share.key, share.number) in made or bind(one, other, share.key) not in weights:
                continue
            said = [
                of
                for which in ({"outputs", what} if what == "outputs" else ("outputs", "gradients"))
                for s, of in getattr(program, which)
                if of is not None and of.key == share.key and not (which == "outputs" and _by_replica(other, s, of))
            ]
            if not any(
                all(a <= c and d <= b for (a, b), (c, d) in zip(of.region, share.region, strict=True)) for of in said
            ):
                raise Stuck(f"device {device} declares no {what} of {share.key}")


def _by_replica(plan, share, of):
    names = plan.tensors[share.key].name, plan.tensors[of.key].name
    return plan.replicas > 1 and names[0] in plan.shard and names[1] not in plan.shard
