"""The form of nodes: the attributes that each kind may have and must have, and how many tensors it reads and writes.

What communicates, the data loader and the words for streams are written down here; of an operator its rule says which
attributes there are. An operator without a rule may have any: nothing is said of it, whatever they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

from verdict.errors import ShapeError
from verdict.graph.effects import ASYNCHRONOUS, ATTRIBUTES, AWAIT, EVENT, RECORD, STREAM, WAIT
from verdict.graph.lockstep import COMMUNICATION, LOADER, attribute
from verdict.graph.misfit import NODE, At, Misfit
from verdict.graph.plan import ABSENT, GRAD, ONCE_A_STEP, Node, Plan
from verdict.graph.region import Shape

_Ends = tuple[Shape | None, ...]


class _Form(NamedTuple):
    """Of one kind of node: the attributes it must have, how many tensors it reads and writes, what it may have besides.

    writes: empty where any number will do.
    """

    needs: tuple[str, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    may: tuple[str, ...] = ("replicas", "channel")


_FORMS = {
    "all_reduce": _Form(("ranks",), (1,), (1,), ("reduce", "replicas", "channel")),
    "all_gather": _Form(("ranks", "dim"), (1,), (1,)),
    "reduce_scatter": _Form(("ranks", "dim"), (1,), (1,), ("reduce", "replicas", "channel")),
    "all_to_all": _Form(("ranks", "split_dim", "concat_dim"), (1,), (1,)),
    "broadcast": _Form(("ranks", "root"), (0, 1), (0, 1), ("replicas", "channel", "shape", "dtype")),
    "reduce": _Form(("ranks", "root"), (1,), (0, 1), ("reduce", "replicas", "channel")),
    "chunk": _Form(("ranks", "dim"), (1,), (1,)),
    "send": _Form(("peer",), (1,), (0,), ("channel",)),
    "recv": _Form(("peer",), (0,), (1,), ("channel", "shape", "dtype")),
    LOADER: _Form((), (0,), (), ()),
    WAIT: _Form((), (1,), (0, 1), ()),
    RECORD: _Form((EVENT,), (0,), (0,), ()),
    AWAIT: _Form((EVENT,), (0,), (0,), ()),
}

_REDUCING = frozenset(op for op, form in _FORMS.items() if "reduce" in form.may)
_MEANS, _ORDERED = ("avg", "mean"), ("max", "min")
_WHOLE = ("bool", "int", "uint")
"""How the names of types that hold no fractions begin."""
_OVER_REPLICAS = ("reduce_scatter", "all_gather", "chunk")
"""What the replicas of one device may do beside an all_reduce."""
_DIMENSIONS = ("dim", "split_dim", "concat_dim")


class Attributed(Protocol):
    """What the form of a node needs of an operator's rule."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes that the operator has."""

    @property
    def axes(self) -> Callable[[Sequence[Shape], Mapping[str, Any]], Any]:
        """The shape rule: an object with `output_shapes`, or a ShapeError."""


def malformed(plan: Plan, rules: Mapping[str, Attributed]) -> Iterator[Misfit]:
    """The nodes that are not of their form, in their order; of several of one look the first one."""
    shapes = plan.shapes
    problems = dict(_loaded_once(plan))
    for number, place in plan.looks.values():
        node = plan.segments[number].nodes[place]
        ends = tuple([shapes[tensor] if tensor != ABSENT else None for tensor in (*node.inputs, *node.outputs)])
        types = _types(plan, node) if node.op in _REDUCING else ()
        if problem := _wrong(plan, node, ends, rules) or _reduction(node, types):
            problems[number, place] = problem
    for (number, place), problem in sorted(problems.items()):
        segment = plan.segments[number]
        node = segment.nodes[place]
        yield Misfit(At(NODE, number, place), f"{node.op} {node.name} on rank {segment.device}: {problem}")


def _loaded_once(plan: Plan) -> Iterator[tuple[tuple[int, int], str]]:
    """Loaders that are called once a step, where there are several microbatches."""
    once = {call.segment for program in plan.programs for call in program if call.microbatch == ONCE_A_STEP}
    for number in sorted(once) if plan.microbatches > 1 else ():
        for place, node in enumerate(plan.segments[number].nodes):
            if node.op == LOADER:
                why = f"it is called once a step, and there are {plan.microbatches} microbatches to load"
                yield (number, place), why


def _wrong(plan: Plan, node: Node, ends: _Ends, rules: Mapping[str, Attributed]) -> str:
    """How a node departs from its form; empty where it does not. ends: the shapes of what it reads and writes."""
    names = [name for name, _ in node.attrs if name not in ATTRIBUTES]
    form = _FORMS.get(node.op)
    if problem := _effects(node):
        return problem
    if form is not None:
        return _unlike(plan, node, form, ends, names)
    rule = rules.get(node.op.removesuffix(GRAD))
    if rule is None:
        return ""
    return _foreign(names, rule.attributes) or _miscounted(node, ends, rule)


def _miscounted(node: Node, ends: _Ends, rule: Attributed) -> str:
    """Whether a node has other outputs than its operator makes of its inputs, or its gradient other ones than inputs.

    Where no number of outputs fits what it reads, its shapes say what is wrong (verdict/graph/check.py).
    """
    inputs, outputs = ends[: len(node.inputs)], len(node.outputs)
    if not node.op.endswith(GRAD):
        made = _makes(node, inputs, rule)
        return f"it has {outputs} outputs, its operator makes {made}" if made not in (None, outputs) else ""
    if not 0 < outputs < len(inputs):
        return f"it has {outputs} outputs: expected one for each input of its operator, which it reads behind gradients"
    fitting = [len(inputs) - k for k in range(1, len(inputs)) if _makes(node, inputs[k:], rule) == k]
    if fitting and outputs not in fitting:
        return f"it has {outputs} outputs, its operator {fitting[0]} inputs"
    return ""


def _makes(node: Node, inputs: _Ends, rule: Attributed) -> int | None:
    """How many outputs the operator of a node makes of inputs of these shapes; None where they do not fit it."""
    try:
        return len(rule.axes([shape for shape in inputs if shape is not None], dict(node.attrs)).output_shapes)
    except ShapeError:
        return None


def _effects(node: Node) -> str:
    asynchronous, stream = attribute(node, ASYNCHRONOUS), attribute(node, STREAM)
    if any(name == ASYNCHRONOUS for name, _ in node.attrs) and not isinstance(asynchronous, bool):
        return f"its {ASYNCHRONOUS} is {asynchronous!r}: expected True or False"
    if asynchronous and node.op not in COMMUNICATION:
        return "it is asynchronous, which only communication can be"
    if any(name == STREAM for name, _ in node.attrs) and not isinstance(stream, str):
        return f"its {STREAM} is {stream!r}: expected a name"
    return ""


def _foreign(names: list[str], known: tuple[str, ...]) -> str:
    foreign = sorted(set(names) - set(known))
    listed = ", ".join(sorted(known)) or "none"
    return f"it has an attribute {foreign[0]}, which is unknown; known: {listed}" if foreign else ""


def _unlike(plan: Plan, node: Node, form: _Form, ends: _Ends, names: list[str]) -> str:
    if missing := [name for name in form.needs if name not in names]:
        return f"it does not say its {missing[0]}"
    if foreign := _foreign(names, (*form.needs, *form.may)):
        return foreign
    if len(node.inputs) not in form.reads or (form.writes and len(node.outputs) not in form.writes):
        return f"it reads {len(node.inputs)} tensors and writes {len(node.outputs)}"
    if ABSENT in (*node.inputs, *node.outputs):
        return "a tensor is absent: what communicates names none it does not have, as in y = broadcast() or reduce(x)"
    return _group(plan, node, form) or _plain(node) or _dimensions(node, ends)


def _group(plan: Plan, node: Node, form: _Form) -> str:
    """What is wrong with whom it speaks to."""
    ranks, root, peer = (attribute(node, name) for name in ("ranks", "root", "peer"))
    if "peer" in form.needs and not _is_rank(plan, peer):
        return f"its peer is {peer!r}: expected a rank from 0 to {plan.devices - 1}"
    if "ranks" not in form.needs:
        return ""
    if not isinstance(ranks, tuple) or not ranks or not all(_is_rank(plan, rank) for rank in ranks):
        return f"its group is {ranks!r}: expected a tuple of ranks from 0 to {plan.devices - 1}"
    if len(set(ranks)) != len(ranks):
        return f"its group {ranks} must name every member once"
    if "root" in form.needs and not (_is_rank(plan, root) and root in ranks):
        return f"its root {root!r} is not in its group {list(ranks)}"
    return _among_replicas(node.op, ranks) if attribute(node, "replicas") else ""


def _among_replicas(op: str, ranks: tuple[object, ...]) -> str:
    if op == "all_reduce" or (op in _OVER_REPLICAS and len(ranks) == 1):
        return ""
    if op in _OVER_REPLICAS:
        return f"its group of {len(ranks)} devices on every replica has no order: name one device, or all_reduce"
    return f"there is no {op} over replicas: there are all_reduce, {', '.join(_OVER_REPLICAS)}"


def _plain(node: Node) -> str:
    """What is wrong with attributes whose values are of one type."""
    expected = {"replicas": (bool, "True or False"), "reduce": (str, "a name such as sum"), "dtype": (str, "a name")}
    expected[EVENT] = (str, "a name")
    for name, value in node.attrs:
        kind, words = expected.get(name, (object, ""))
        if not isinstance(value, kind):
            return f"its {name} is {value!r}: expected {words}"
    shape = attribute(node, "shape")
    if shape is not None and not (isinstance(shape, tuple) and all(_is_whole(size) and size >= 0 for size in shape)):
        return f"its shape is {shape!r}: expected a tuple of sizes"
    return ""


def _types(plan: Plan, node: Node) -> tuple[str, ...]:
    """The number formats of what a node reads and makes."""
    ends = (*node.inputs, *node.outputs)
    return tuple([plan.logicals[plan.tensors[tensor].logical].dtype for tensor in ends if tensor != ABSENT])


def _reduction(node: Node, types: tuple[str, ...]) -> str:
    """Why what a node reduces has no one meaning: back ends make "one of them is true" of a sum of truth values, cut or
    refuse means of whole numbers, and have no order of complex ones.
    """
    how = attribute(node, "reduce") or "sum"
    for dtype in types:
        if how == "sum" and dtype == "bool":
            return 'it adds up truth values: say reduce="max" where one of them is to be true, or make integers of them'
        if how in _MEANS and dtype.startswith(_WHOLE):
            return f"it takes a mean of {dtype}, which back ends cut or refuse: add up, and divide"
        if how in _ORDERED and dtype.startswith("complex"):
            return f"it takes the {how} of {dtype}, which has no order"
    return ""


def _dimensions(node: Node, ends: _Ends) -> str:
    named = [(name, dim) for name, dim in node.attrs if name in _DIMENSIONS]
    for rank in [len(shape or ()) for shape in ends] if named else ():
        for name, dim in named:
            if not (_is_whole(dim) and 0 <= dim < rank):
                return f"its {name} is {dim!r}, its tensors have {rank} dimensions"
    return ""


def _is_rank(plan: Plan, value: object) -> bool:
    return type(value) is int and 0 <= value < plan.devices


def _is_whole(value: object) -> TypeGuard[int]:
    return type(value) is int
