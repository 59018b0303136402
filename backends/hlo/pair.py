"""Two modules -> the single-device plan of the first, and the parallel plan of the second on all of its devices.

The modules have the same parameters and results, in the same order. Which part of each a device holds is what the
shardings of the first one's parameters and root say.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from verdict.backends.hlo.devices import regions_of
from verdict.backends.hlo.guesses import Cut, guessed, needed, require_real
from verdict.backends.hlo.induction import LOOP, Guesses, Induction
from verdict.backends.hlo.lower import Device
from verdict.backends.hlo.probe import Probe
from verdict.backends.hlo.ranges import NO_RANGES, Ranges
from verdict.backends.hlo.rows import Share, Shares
from verdict.backends.hlo.text import DTYPES, Array, Instruction, Module, Tuple, split
from verdict.backends.hlo.values import Found, Known, Made, Refused
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.trace import Bound, Tape, Trace, Value, living, shared
from verdict.errors import PlanFileError
from verdict.graph import Plan, Region, whole
from verdict.ops.domain import of_type
from verdict.ops.types import FLOAT, kind
from verdict.outcome import Assumption

FORMAT = "HLO module"
AS_WRITTEN = Assumption(
    "module-as-written",
    "the plan is the module as its text has it: layouts, aliases of buffers, what is compiled of it are not looked at",
)
MOST_DEVICES = 4096
"""The most devices whose programs are made, each by evaluating the module."""
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')


def pair_of(before: Module, after: Module) -> tuple[Plan, Plan]:
    """Both plans. Raises PlanFileError where no question can be put."""
    return single_of(before, after), parallel_of(before, after)


def single_of(before: Module, after: Module, ranges: Ranges = NO_RANGES, cut: Cut = Cut.UNROLLED,
              pairs: Shares | None = None) -> Plan:  # fmt: skip
    """What `before` computes, whatever its shardings say. ranges: what parameters of integers lie between, by name.
    cut: what becomes of its loops. pairs: their elements, where these have names.
    """
    _require_alike(before, after)
    _require_known(before, ranges)
    wholes = [(whole(_array(each.shape).dims),) for each in before.parameters]
    results = [(whole(shape.dims),) for shape in _results(before)]
    guesses = Guesses(pairs, cut is Cut.ROWS, pairs is not None)
    plan = _plan([_trace(before, before, 0, wholes, results, ranges, cut, guesses)], before.path, cut)
    return replace(plan, ranges=tuple((name, *span) for name, span in sorted(ranges.items())))


def parallel_of(
    before: Module, after: Module, stating: Sequence[Module] = (), ranges: Ranges = NO_RANGES,
    cut: Cut = Cut.UNROLLED, pairs: Shares | None = None,
) -> Plan:  # fmt: skip
    """What `after` computes, on all of its devices. stating: further modules that say how it is sharded.
    cut: what becomes of its loops. pairs: their elements, where these are not as the first of `stating` says.
    """
    devices = partitions(after)
    _require_alike(before, after)
    for each in stating:
        _require_alike(before, each)
    told = (before, after, *stating)
    inputs = [_regions(told, k, devices) for k in range(len(before.parameters))]
    results = _result_regions(told, devices)
    shares = guessed(stating, devices) if pairs is None else pairs
    guesses = Guesses(shares, cut is Cut.ROWS, pairs is not None)
    traces = [_trace(before, after, rank, inputs, results, ranges, cut, guesses) for rank in range(devices)]
    return _plan(traces, after.path, cut)


def partitions(module: Module) -> int:
    """How many devices a module is for."""
    replicas = module.attrs.get("replica_count", "1")
    found = module.attrs.get("num_partitions", "1")
    if replicas != "1" or not found.isdecimal() or not 1 <= int(found) <= MOST_DEVICES:
        problem = f"it has {replicas} replicas and {found} partitions"
        raise PlanFileError(module.path, problem, f"known are one replica and up to {MOST_DEVICES} partitions")
    return int(found)


def _plan(traces: Sequence[Trace], path: str, cut: Cut) -> Plan:
    plan = plan_of(traces, path)
    mesh = (("replicas", 1), ("partition", len(traces))) if len(traces) > 1 else ()
    named = FORMAT if cut is Cut.UNROLLED else f"{FORMAT}, loops by induction"
    cuts = (logical.name for logical in plan.logicals if logical.name.startswith(LOOP) and kind(logical.dtype) == FLOAT)
    return replace(plan, format=named, mesh=mesh, assumptions=(AS_WRITTEN,), doubtful=tuple(dict.fromkeys(cuts)))


def _trace(
    before: Module,
    module: Module,
    rank: int,
    inputs: Sequence[Sequence[Region]],
    results: Sequence[Sequence[Region]],
    ranges: Ranges,
    cut: Cut,
    guesses: Guesses,
) -> Trace:
    """What one device of `module` does.

    inputs, results: for each parameter and result of `before` which part of it each device holds. cut: what becomes of
    its loops; guesses: of these, where they are cut.
    """
    world = 1 if module is before else partitions(module)
    device = Device(module, rank, world)
    tape = device.recording.tape
    loops = Induction(device.recording, rank, world, guesses) if cut in (Cut.ROWS, Cut.ARRAYS) else None
    probe = Probe(device.recording, rank) if cut is Cut.PROBED else None
    device.loops = loops or probe
    bound: list[Bound] = []
    arguments: list[Found] = []
    rows = zip(names_of(before.parameters), before.parameters, module.parameters, inputs, strict=True)
    if loops is not None and any(name.startswith(LOOP) for name in names_of(before.parameters)):
        raise PlanFileError(before.path, f"a parameter is called as what is cut of loops is: {LOOP}")
    for name, of, parameter, regions in rows:
        shape = _array(parameter.shape)
        value = Value(shape.dims, DTYPES[shape.dtype])
        number = tape.value(value)
        given = device.recording.given(Made(number, *value), ranges.get(name))
        if loops is not None:
            loops.know(given, Share(name, _array(of.shape).dims, tuple(regions)))
        arguments.append(given)
        bound.append(Bound("input", name, number, _array(of.shape).dims, regions[rank]))
    made = device.run(arguments)
    if probe is not None:
        return _trace_of(rank, world, tape, [*bound, *probe.bound], ranges)
    found = made if isinstance(made, tuple) and not isinstance(made, Known | Made) else (made,)
    for number, (result, shape, regions) in enumerate(zip(found, _results(before), results, strict=True)):
        if not isinstance(result, Known | Made):
            raise PlanFileError(module.path, f"result {number} is a tuple", "give a module whose results are arrays")
        if loops is not None:
            _due(loops, f"result {number}", result, Share("", shape.dims, tuple(regions)), module)
            continue
        at = device.recording.number(result)
        bound.append(Bound("output", f"result {number}", at, shape.dims, regions[rank]))
    if loops is not None:
        require_real(loops, tape.steps, module)
        bound += loops.bound
    return _trace_of(rank, world, tape, bound, ranges if cut is Cut.ROWS else None)


def _trace_of(rank: int, world: int, tape: Tape, bound: Sequence[Bound], ranges: Ranges | None) -> Trace:
    """What a device needs for its outputs. ranges: where inputs that nothing reads are left out, but for those of which
    one is stated.
    """
    trace = living(Trace(rank, world, tuple(tape.values), tuple(tape.steps), tuple(bound)))
    return shared(trace if ranges is None else needed(trace, ranges))


def _due(loops: Induction, name: str, result: Found, share: Share, module: Module) -> None:
    try:
        loops.due(name, result, share)
    except Refused as refused:
        raise PlanFileError(module.path, f"{name}: {refused}") from None


def _array(shape: Array | Tuple) -> Array:
    return shape if isinstance(shape, Array) else Array("", ())


def _results(module: Module) -> tuple[Array, ...]:
    shape = module.entry.root.shape
    return tuple(map(_array, shape.parts)) if isinstance(shape, Tuple) else (shape,)


def names_of(parameters: Sequence[Instruction]) -> list[str]:
    """What the program calls its arguments, where it says so and no two are alike."""
    found = [_OP_NAME.search(each.attrs.get("metadata", "")) for each in parameters]
    names = [match.group(1).replace("\\'", "'") if match else "" for match in found]
    if len(set(names)) < len(names) or not all(names):
        return [f"parameter {number}" for number in range(len(names))]
    return names


def _require_alike(before: Module, after: Module) -> None:
    """Both have the same arguments and results, but for sizes."""
    pairs = (
        ("parameters", [_array(p.shape) for p in before.parameters], [_array(p.shape) for p in after.parameters]),
        ("results", list(_results(before)), list(_results(after))),
    )
    for word, one, other in pairs:
        if len(one) != len(other):
            problem = f"one has {len(one)} {word}, the other {len(other)}"
            raise PlanFileError(f"{before.path} and {after.path}", problem, "give two modules of one program")
        for number, (mine, its) in enumerate(zip(one, other, strict=True)):
            for module, shape in ((before, mine), (after, its)):
                if shape.dtype not in DTYPES:
                    problem = f"{word[:-1]} {number} is of type {shape.dtype or 'tuple'}, which has no meaning here"
                    raise PlanFileError(module.path, problem, "give a module of arrays of numbers")
            if mine.dtype != its.dtype or len(mine.dims) != len(its.dims):
                problem = f"{word[:-1]} {number} is {mine.dtype}{list(mine.dims)} and {its.dtype}{list(its.dims)}"
                raise PlanFileError(f"{before.path} and {after.path}", problem, "give two modules of one program")


def _require_known(before: Module, ranges: Ranges) -> None:
    """Ranges are of parameters of integers, and within their types."""
    dtypes = {
        name: DTYPES[_array(each.shape).dtype]
        for name, each in zip(names_of(before.parameters), before.parameters, strict=True)
    }
    for name, (low, high) in ranges.items():
        own = of_type(dtypes.get(name, ""))
        if own is None:
            named = ", ".join(each for each, dtype in dtypes.items() if of_type(dtype) is not None) or "none"
            problem = f"a range is stated of {name}, which is no parameter of integers"
            raise PlanFileError(before.path, problem, f"these are: {named}")
        if low > high or (own.low is not None and low < own.low) or (own.high is not None and high > own.high):
            problem = f"the range {low} to {high} of {name} is no range of {dtypes[name]}"
            raise PlanFileError(before.path, problem, "give the least and the greatest integer")


def _regions(told: Sequence[Module], number: int, devices: int) -> tuple[Region, ...]:
    """Which part of a parameter each device holds. told: before, after, others that state shardings."""
    before, after = told[:2]
    found = [module.parameters[number] for module in told]
    stated = [text for each in found if (text := each.attrs.get("sharding", ""))]
    mine, its = (_array(each.shape) for each in found[:2])
    return _held(before, after, f"parameter {number}", mine, its, stated, devices)


def _result_regions(told: Sequence[Module], devices: int) -> list[tuple[Region, ...]]:
    """Which part of each result each device holds."""
    before, after = told[:2]
    shapes = zip(_results(before), _results(after), strict=True)
    stated = [_root_shardings(module) for module in told]
    return [
        _held(before, after, f"result {k}", mine, its, [texts[k] for texts in stated if texts[k]], devices)
        for k, (mine, its) in enumerate(shapes)
    ]


def _root_shardings(module: Module) -> list[str]:
    """What the root says of each result; empty where it says nothing."""
    text, count = module.entry.root.attrs.get("sharding", ""), len(_results(module))
    if not isinstance(module.entry.root.shape, Tuple) or not text:
        return [text] * count
    parts = split(text[1:-1])
    if text.startswith("{{") and len(parts) == count:
        return parts
    return [text] * count


def _held(
    before: Module, after: Module, what: str, mine: Array, its: Array, stated: Sequence[str], devices: int
) -> tuple[Region, ...]:
    """The regions that the shardings state, all of which must be one, and fit the shape on a device."""
    try:
        found = {regions_of(text, mine.dims, devices) for text in stated}
    except ValueError as error:
        raise PlanFileError(before.path, f"{what}: {error}") from None
    if len(found) > 1:
        problem = f"{what} is sharded as {stated[0]} in one and as {stated[1]} in the other"
        raise PlanFileError(f"{before.path} and {after.path}", problem, "give two modules of one compilation")
    if not found and mine.dims != its.dims:
        problem = f"{what} is {list(mine.dims)}, on a device {list(its.dims)}, and no sharding says which part that is"
        raise PlanFileError(before.path, problem, "state out_shardings, or name --shardings")
    regions = found.pop() if found else (whole(mine.dims),) * devices
    sizes = {tuple(stop - start for start, stop in region) for region in regions}
    if sizes != {its.dims}:
        due = " and ".join(str(list(size)) for size in sorted(sizes))
        problem = f"{what} is {list(its.dims)} on a device where its sharding makes {due}"
        raise PlanFileError(f"{before.path} and {after.path}", problem, "give two modules of one compilation")
    return regions
