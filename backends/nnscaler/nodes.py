"""From the cells of a line to its nodes: operators, their gradients, communication, reducers, the batch."""

from collections.abc import Callable
from typing import Any

from verdict.backends.nnscaler.collectives import Step, steps
from verdict.backends.nnscaler.lines import Forward, Line
from verdict.backends.nnscaler.operators import meaning, plain
from verdict.backends.nnscaler.records import (
    IRAdapter,
    IRBpOperation,
    IRDataOperation,
    IRDimops,
    IRSegment,
    IRSubTensor,
    IRWeightReducer,
    MalformedError,
    Record,
    integers,
    state,
)
from verdict.backends.nnscaler.tensors import REDUCED, Share
from verdict.graph import ABSENT, Attrs, Node

_NONE: Attrs = ()
_ONLY_TENSORS = frozenset({IRSubTensor})


class Writer:
    """Writes the nodes of cells to lines. One for a plan: equal calls and attributes become one object."""

    def __init__(self, replicated: bool) -> None:
        self._replicated = replicated
        self._attrs: dict[Attrs, Attrs] = {}
        self._meanings: dict[Any, tuple[str, Attrs]] = {}
        self._write: dict[type, Callable[[Line, Record], None]] = {
            IRSegment: self._segment,
            IRDimops: self._operator,
            IRBpOperation: self._gradient,
            IRAdapter: self._adapter,
            IRWeightReducer: self._reducer,
            IRDataOperation: self._batch,
        }

    def write(self, line: Line, cell: Record) -> None:
        """Append what `cell` does to `line`. MalformedError for a cell of an unknown class."""
        write = self._write.get(type(cell))
        if write is None:
            raise MalformedError(f"a cell of the class {type(cell).__name__} in the program of a device")
        write(line, cell)

    def _segment(self, line: Line, cell: Record) -> None:
        for node in state(cell, IRSegment)["_nodes"]:
            self.write(line, node)

    def _operator(self, line: Line, cell: Record) -> None:
        fields = cell[0]
        shares = [line.share(record) for record in _tensors(fields["_inputs"])]
        inputs = tuple([line.read(share) for share in shares])
        read = {share.tid for share in shares}
        results = [line.share(record) for record in _tensors(fields["_outputs"])]
        outputs = tuple([line.write(share, read) for share in results])
        op, attrs = self._meaning(fields["signature"], fields["_inputs"], fields["_kwargs"])
        if len(results) != len(fields["_outputs"]):
            op = f"unknown:{fields['signature']}"
        name = results[0].parent.name if results else op
        line.done[id(cell)] = Forward(op, attrs, inputs, name)
        line.add(Node(op, inputs, outputs, attrs, name))

    def _gradient(self, line: Line, cell: Record) -> None:
        """`op.grad`: gradients of the outputs, then what the operator read; multiref's is a sum."""
        fields = cell[0]
        mirror = fields["_mirror"]
        forward = line.forward.get(id(mirror))
        if forward is None:
            raise MalformedError(f"a gradient (cell {fields['_id']}) of an operator that did not run before it")
        operator = mirror[0]
        shares = [line.share(record) for record in _tensors(fields["_inputs"])]
        read = {share.tid for share in shares}
        if forward.op == "multiref":
            name, attrs = "accumulate", _NONE
            inputs = tuple([line.read_or_zero(share) for share in shares])
        else:
            name, attrs = f"{forward.op}.grad", forward.attrs
            inputs = _output_gradients(line, operator["_outputs"], fields["_inputs"], shares) + forward.inputs
        wanted = _input_gradients(line, _tensors(operator["_inputs"]), fields["_outputs"])
        outputs = tuple(
            [
                ABSENT if record is None else line.write_gradient(of, line.share(record), read)
                for of, record in zip(forward.inputs, wanted, strict=True)
            ]
        )
        line.add(Node(name, inputs, outputs, attrs, f"{forward.name}.grad"))

    def _adapter(self, line: Line, cell: Record) -> None:
        """The adapter's steps. Backward, what only passes from one step to the next is no gradient to add to."""
        fields = state(cell, IRAdapter)
        weights = self._weights_behind(line, cell)
        passing: dict[int, int | None] = {}
        made_steps = steps(fields, line.device.number)
        if len(made_steps) > 1 and not fields["_forward"]:
            passing = line.set_aside(
                _tids(line, made_steps[:-1]) - {t.tid for t in map(line.share, fields["_outputs"])}
            )
        for step in made_steps:
            shares = [line.share(record) for record in step.inputs]
            inputs = tuple([line.read(share) for share in shares])
            read = {share.tid for share in shares}
            made = [line.share(record) for record in step.outputs]
            outputs = tuple(
                [
                    line.device.accumulator(weights[share.tid], share)
                    if share.tid in weights
                    else line.write(share, read)
                    for share in made
                ]
            )
            attrs = self._attrs.setdefault(step.attrs, step.attrs)
            name = (made or shares)[0].parent.name if made or shares else step.op
            line.add(Node(step.op, inputs, outputs, attrs, name))
        line.put_back(passing)

    def _weights_behind(self, line: Line, cell: Record) -> dict[int, int]:
        """For a backward adapter: gradient tid -> weight, where the forward adapter read a weight itself."""
        fields = cell[0]
        shares = [line.share(record) for record in fields["_inputs"]]
        if fields["_forward"]:
            if any(share.weight for share in shares):
                inputs = tuple([line.read(share) for share in shares])
                line.done[id(cell)] = Forward("", (), inputs, "")
            return {}
        forward = line.forward.get(id(fields["_mirror"]))
        if forward is None:
            return {}
        return {
            line.share(record).tid: of
            for of, record in zip(forward.inputs, fields["_outputs"], strict=True)
            if line.device.tensors.is_weight(of)
        }

    def _reducer(self, line: Line, cell: Record) -> None:
        """One all-reduce for each weight, on what its accumulator holds; ABSENT if that is nothing. A weight that is
        listed twice is reduced once (nnscaler/runtime/adapter/reducer.py, add_param).
        """
        fields = state(cell, IRWeightReducer)
        device, tensors = line.device, line.device.tensors
        ranks = integers(fields["_device"], "the devices of a reducer")
        for share, record in {line.share(record): record for record in fields["_inputs"]}.items():
            weight, gradient = line.read(share), tensors.gradient(record)
            if not tensors.is_weight(weight) or gradient is None:
                raise MalformedError(f"a reducer of {share.parent.name}, which is no trainable weight")
            held = device.reduced.get(weight, device.accumulators.get(weight, ABSENT))
            result = tensors.tensor(gradient, (REDUCED, (weight, held)))
            if held != ABSENT:
                device.reduced[weight] = result
            attrs: Attrs = (
                ("channel", (fields["_id"], share.tid)),
                ("ranks", ranks),
                ("reduce", "sum"),
                ("replicas", self._replicated),
            )
            line.add(Node("all_reduce", (held,), (result,), attrs, gradient.parent.name))

    def _batch(self, line: Line, cell: Record) -> None:
        records = state(cell, IRDataOperation)["_outputs"]
        shares = [line.share(record) for record in records if type(record) is IRSubTensor]
        line.device.tensors.take(tuple(line.share(r).parent.id if type(r) is IRSubTensor else None for r in records))
        line.add(Node("dataloader", (), tuple([line.load(share) for share in shares]), (), "dataloader"))

    def _meaning(self, signature: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[str, Attrs]:
        """The operator of a call, looked up by all of it but its tensors. 1, 1.0 and True are not equal."""
        constants: tuple[Any, ...] = ()
        if not _ONLY_TENSORS.issuperset(map(type, arguments)):
            constants = tuple([None if type(record) is IRSubTensor else (plain(record),) for record in arguments])
        named = tuple([(name, plain(value)) for name, value in keywords.items()]) if keywords else ()
        key = (signature, len(arguments), repr(constants), repr(named))
        known = self._meanings.get(key)
        if known is None:
            known = self._meanings[key] = meaning(signature, arguments, keywords)
        return known


def _tensors(values: list[Any]) -> list[Record]:
    """The tensor records among the arguments or results of an operator, those in a list of them included."""
    if _ONLY_TENSORS.issuperset(map(type, values)):
        return values
    flat: list[Record] = []
    for value in values:
        if type(value) is IRSubTensor:
            flat.append(value)
        elif type(value) in {list, tuple}:
            flat += [element for element in value if type(element) is IRSubTensor]
    return flat


def _tids(line: Line, made: list[Step]) -> set[int]:
    """The ids of what these steps write."""
    return {line.share(record).tid for step in made for record in step.outputs}


def _output_gradients(line: Line, outputs: list[Record], given: list[Any], shares: list[Share]) -> tuple[int, ...]:
    """For each output of an operator the gradient that is given for it; ABSENT where there is none."""
    if len(shares) == len(outputs):
        return tuple([line.read(share) for share in shares])
    wanting = [len(given) == len(outputs) or record[0]["_grad"] is not None for record in _tensors(outputs)]
    if sum(wanting) != len(given):
        raise MalformedError(f"{len(given)} gradients for an operator with {len(outputs)} outputs")
    in_order = iter(given)
    gradients = [next(in_order) if wants else None for wants in wanting]
    return tuple([line.read(line.share(record)) if type(record) is IRSubTensor else ABSENT for record in gradients])


def _input_gradients(line: Line, arguments: list[Record], made: list[Record]) -> list[Record | None]:
    """For each tensor argument of an operator the gradient that is made of it, or None.

    The file lists gradients in the order of the arguments, leaving out those without; where the counts do
    not fit, an argument that appears twice has its gradient listed once, and is found by its id.
    """
    wanting = [record[0]["_grad"] is not None for record in arguments]
    if sum(wanting) == len(made):
        in_order = iter(made)
        return [next(in_order) if wants else None for wants in wanting]
    by_id = {line.share(record).tid: record for record in made}
    found = [
        by_id.get(line.share(record[0]["_grad"]).tid) if wants else None
        for record, wants in zip(arguments, wanting, strict=True)
    ]
    if not set(map(id, by_id.values())) <= set(map(id, found)):
        raise MalformedError("a gradient of something that its operator did not read")
    return found
