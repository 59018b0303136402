"""Two modules -> the single-device plan of the first, and the parallel plan of the second on all of its devices.

The modules have the same parameters and results, in the same order. Which part of each a device holds is what the
shardings of the first one's parameters and root say.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from verdict.backends.hlo.devices import regions_of
from verdict.backends.hlo.induction import LOOP, Induction, Share
from verdict.backends.hlo.infinities import infinite
from verdict.backends.hlo.loops import loops_of
from verdict.backends.hlo.lower import Device
from verdict.backends.hlo.text import DTYPES, Array, Instruction, Module, Tuple, split
from verdict.backends.hlo.values import Found, Known, Made
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.trace import UNMODELLED, Bound, Step, Trace, Value, living, shared
from verdict.errors import PlanFileError
from verdict.graph import INPUT, Plan, Region, whole
from verdict.ops.domain import of_type
from verdict.outcome import Assumption

FORMAT = "HLO module"
AS_WRITTEN = Assumption(
    "module-as-written",
    "the plan is the module as its text has it: layouts, aliases of buffers, what is compiled of it are not looked at",
)
MOST_DEVICES = 4096
"""The most devices whose programs are made, each by evaluating the module."""
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')


Ranges = Mapping[str, tuple[int, int]]
NO_RANGES: Ranges = MappingProxyType({})


class Guesses(NamedTuple):
    """What is guessed of the loops of a module, for `Induction`."""

    of_loops: Sequence[Sequence[Share | None]] | None


def guessed(stating: Sequence[Module], devices: int) -> Sequence[Sequence[Share | None]]:
    """Of each loop of the module before the partitioner which part of its state each device holds."""
    return [_guess(loop, devices) for module in stating[:1] for loop in loops_of(module)]


def _guess(loop: Instruction, devices: int) -> Sequence[Share | None]:
    parts = loop.shape.parts if isinstance(loop.shape, Tuple) else ()
    text = loop.attrs.get("sharding", "")
    texts = split(text[1:-1]) if text.startswith("{{") else [text] * len(parts)

    def of(part: Array | Tuple, stated: str) -> Share | None:
        shape = _array(part).dims
        try:
            return Share("", shape, regions_of(stated, shape, devices)) if isinstance(part, Array) else None
        except ValueError:
            return None

    return [of(part, stated) for part, stated in zip(parts, texts, strict=False)]


def cut_alike(single: Plan, parallel: Plan) -> bool:
    """Whether two plans whose loops are cut have the same inputs and outputs for them, so that all conditions of an
    induction stand in both, and each of their nodes has a meaning.
    """

    def named(plan: Plan) -> set[tuple[str, tuple[int, ...], str, bool]]:
        due = {plan.tensors[held.tensor].logical for held in plan.outputs}
        return {
            (each.name, each.shape, each.dtype, number in due)
            for number, each in enumerate(plan.logicals)
            if each.kind == INPUT or number in due
        }

    nodes = (node for plan in (single, parallel) for segment in plan.segments for node in segment.nodes)
    return named(single) == named(parallel) and all(node.op != UNMODELLED for node in nodes)


def pair_of(before: Module, after: Module) -> tuple[Plan, Plan]:
    """Both plans. Raises PlanFileError where no question can be put."""
    return single_of(before, after), parallel_of(before, after)


def single_of(before: Module, after: Module, ranges: Ranges = NO_RANGES, cut: bool = False) -> Plan:
    """What `before` computes, whatever its shardings say. ranges: what parameters of integers lie between, by name.
    cut: with its loops cut, for an induction.
    """
    _require_alike(before, after)
    _require_known(before, ranges)
    wholes = [(whole(_array(each.shape).dims),) for each in before.parameters]
    results = [(whole(shape.dims),) for shape in _results(before)]
    guesses = Guesses(None) if cut else None
    plan = _plan([_trace(before, before, 0, wholes, results, ranges, guesses)], before.path, cut)
    return replace(plan, ranges=tuple((name, *span) for name, span in sorted(ranges.items())))


def parallel_of(
    before: Module, after: Module, stating: Sequence[Module] = (), ranges: Ranges = NO_RANGES, cut: bool = False
) -> Plan:
    """What `after` computes, on all of its devices. stating: further modules that say how it is sharded.
    cut: with its loops cut, for an induction.
    """
    devices = partitions(after)
    _require_alike(before, after)
    for each in stating:
        _require_alike(before, each)
    told = (before, after, *stating)
    inputs = [_regions(told, k, devices) for k in range(len(before.parameters))]
    results = _result_regions(told, devices)
    guesses = Guesses(guessed(stating, devices)) if cut else None
    traces = [_trace(before, after, rank, inputs, results, ranges, guesses) for rank in range(devices)]
    return _plan(traces, after.path, cut)


def partitions(module: Module) -> int:
    """How many devices a module is for."""
    replicas = module.attrs.get("replica_count", "1")
    found = module.attrs.get("num_partitions", "1")
    if replicas != "1" or not found.isdecimal() or not 1 <= int(found) <= MOST_DEVICES:
        problem = f"it has {replicas} replicas and {found} partitions"
        raise PlanFileError(module.path, problem, f"known are one replica and up to {MOST_DEVICES} partitions")
    return int(found)


def _plan(traces: Sequence[Trace], path: str, cut: bool) -> Plan:
    plan = plan_of(traces, path)
    mesh = (("replicas", 1), ("partition", len(traces))) if len(traces) > 1 else ()
    return replace(plan, format=FORMAT + cut * ", loops by induction", mesh=mesh, assumptions=(AS_WRITTEN,))


def _trace(
    before: Module,
    module: Module,
    rank: int,
    inputs: Sequence[Sequence[Region]],
    results: Sequence[Sequence[Region]],
    ranges: Ranges,
    guesses: Guesses | None,
) -> Trace:
    """What one device of `module` does.

    inputs, results: for each parameter and result of `before` which part of it each device holds. guesses: where its
    loops are to be cut.
    """
    world = 1 if module is before else partitions(module)
    device = Device(module, rank, world)
    tape = device.recording.tape
    if guesses is not None:
        device.loops = Induction(device.recording, rank, world, guesses.of_loops)
    bound: list[Bound] = []
    arguments: list[Found] = []
    rows = zip(names_of(before.parameters), before.parameters, module.parameters, inputs, strict=True)
    if guesses is not None and any(name.startswith(LOOP) for name in names_of(before.parameters)):
        raise PlanFileError(before.path, f"a parameter is called as what is cut of loops is: {LOOP}")
    for name, of, parameter, regions in rows:
        shape = _array(parameter.shape)
        value = Value(shape.dims, DTYPES[shape.dtype])
        number = tape.value(value)
        given = device.recording.given(Made(number, *value), ranges.get(name))
        if device.loops is not None:
            device.loops.know(given, Share(name, _array(of.shape).dims, tuple(regions)))
        arguments.append(given)
        bound.append(Bound("input", name, number, _array(of.shape).dims, regions[rank]))
    made = device.run(arguments)
    found = made if isinstance(made, tuple) and not isinstance(made, Known | Made) else (made,)
    for number, (result, shape, regions) in enumerate(zip(found, _results(before), results, strict=True)):
        if not isinstance(result, Known | Made):
            raise PlanFileError(module.path, f"result {number} is a tuple", "give a module whose results are arrays")
        at = device.recording.number(result)
        bound.append(Bound("output", f"result {number}", at, shape.dims, regions[rank]))
    if device.loops is not None:
        _require_real(device.loops, tape.steps, module)
        bound += device.loops.bound
    trace = Trace(rank, world, tuple(tape.values), tuple(tape.steps), tuple(bound))
    return shared(living(trace))


def _require_real(loops: Induction, steps: Sequence[Step], module: Module) -> None:
    """Cut loops must be of use, and hold real numbers alone. Raises PlanFileError."""
    beside = infinite(steps)
    due = {bound.value: bound.name for bound in loops.bound if bound.kind == "output"}
    named = [name for value, name in due.items() if beside is None or value in beside]
    problem = loops.problem or (f"{named[0]} may be infinite" if named else "")
    if problem or not due:
        raise PlanFileError(module.path, f"its loops are not cut: {problem or 'there are none'}")


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
