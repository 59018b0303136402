"""Inert records: what the objects of an nnScaler plan file become. They hold data and can do nothing.

A record is a list that adopts the pickled state as its only element, so the C unpickler fills it without one
call of Python code. Hash and equality are those of identity, since sets and dicts of the file are filled
before their members have a state. Every class has a `__setstate__`: an unpickler that is told to "build" the
class itself then fails instead of changing it.
"""

from typing import Any


class MalformedError(Exception):
    """Something in the file is not as nnScaler writes it. One clause; `load.read` adds the file's name."""


class Record(list[Any]):
    """An object of the file. `record[0]` is its attribute dict."""

    __slots__ = ()
    __setstate__ = list.append
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def __init__(self, *_: object, **__: object) -> None:
        """Take any arguments and keep none of them."""


class Ignored(Record):
    """An object whose state is of no interest: closures, example values, modules. Calling it gives another."""

    __slots__ = ()
    __setstate__ = list.count  # type: ignore[assignment]

    def __setitem__(self, key: object, value: object) -> None:
        """Keep nothing: some ignored objects are dicts."""

    def append(self, value: object) -> None:
        """Keep nothing: some are lists."""

    extend = add = append

    def __call__(self, *_: object, **__: object) -> "Ignored":
        """Give another ignored object."""
        return Ignored()


class ModuleCodeGen(Record):
    """The root: `execplan`, `devices`, `runtime_ndevs`, `enable_dp`."""

    __slots__ = ()


class ExecutionPlan(Record):
    """`_seq`: for each plan device the cells that it runs, in order."""

    __slots__ = ()


class ExeReuseCell(Record):
    """One run of `_cell` for one microbatch, with the boundary tensors of that microbatch."""

    __slots__ = ()


class IRSegment(Record):
    """A straight line of nodes, all forward or all backward."""

    __slots__ = ()


class IRDataOperation(Record):
    """Takes the next share of the batch."""

    __slots__ = ()


class IRDimops(Record):
    """A forward operator."""

    __slots__ = ()


class IRBpOperation(Record):
    """The gradient of the operator that is its `_mirror`."""

    __slots__ = ()


class IRAdapter(Record):
    """Communication: a list of primitives, as one device runs them."""

    __slots__ = ()


class IRWeightReducer(Record):
    """Sums the gradients of its weights over its devices and over the replicas, in place."""

    __slots__ = ()


class IRFullTensor(Record):
    """A logical tensor."""

    __slots__ = ()


class IRSubTensor(Record):
    """A share of a logical tensor."""

    __slots__ = ()


class IndexMap(Record):
    """The region of a share: `_indices`."""

    __slots__ = ()


class ValueMap(Record):
    """The part of a sum that a share is: `_weight`."""

    __slots__ = ()


class Prim(Record):
    """A communication primitive; one subclass for each name, made in `unpickle`."""

    __slots__ = ()


class NumpyType(Record):
    """A numpy dtype: its code, then its state."""

    __slots__ = ()

    def __init__(self, code: object, *_: object) -> None:
        """Keep the type code, such as 'i8'."""
        self.append(code)


class NumpyScalar(Record):
    """A numpy integer. Building one gives a plain int."""

    __slots__ = ()

    def __new__(cls, dtype: object, raw: object) -> int:  # type: ignore[misc]
        """Decode a little-endian integer; ValueError for anything else."""
        known = isinstance(dtype, NumpyType) and len(dtype) == 2 and dtype[0] in {"i8", "i4"}
        if not known or dtype[1][1] != "<" or not isinstance(raw, bytes) or len(raw) > 8:  # type: ignore[index]
            raise ValueError("a numpy scalar that is not a little-endian integer")
        return int.from_bytes(raw, "little", signed=True)


State = dict[str, Any]


def state(record: object, *kinds: type[Record]) -> State:
    """The attributes of `record`, which must be of one of `kinds`; MalformedError otherwise."""
    if type(record) in kinds and len(record) == 1 and type(record[0]) is dict:  # type: ignore[arg-type,index]
        return record[0]  # type: ignore[index]
    wanted = " or ".join(kind.__name__ for kind in kinds)
    raise MalformedError(f"expected {wanted} with attributes, found {type(record).__name__}")


def integer(value: object, what: str) -> int:
    """`value` as a plain int that is not negative; MalformedError otherwise."""
    if type(value) is not int or value < 0:
        raise MalformedError(f"{what} should be a number, found {type(value).__name__}")
    return value


def integers(value: object, what: str) -> tuple[int, ...]:
    """`value`, a list or tuple, as a tuple of ints that are not negative; MalformedError otherwise."""
    if type(value) not in {list, tuple}:
        raise MalformedError(f"{what} should be a list of numbers, found {type(value).__name__}")
    return tuple(integer(element, what) for element in value)  # type: ignore[attr-defined]
