"""Plans as plain data: a pickle that holds only dicts, lists, tuples, strings, numbers, truth values and None.

The fields are those of `Plan`, tuples and lists being the same; docs/plan-format.md lists them. Before anything is
unpickled every opcode is held against a table of those that plain data needs. None of them can name a class or
call anything, and none can make the unpickler allocate more than a fixed multiple of the file.
"""

import io
import pickle
import pickletools
from typing import Any, NoReturn

from verdict.backends.text.canonical import FORMAT, canonical
from verdict.backends.text.fields import plan_of
from verdict.errors import PlanFileError
from verdict.graph import Plan

_NAME, _VERSION = FORMAT.split()

_OPCODES = {opcode.name: opcode for opcode in pickletools.opcodes}
_FIXED = {
    _OPCODES[name].code.encode("latin-1")[0]: size
    for name, size in {
        "PROTO": 1, "FRAME": 8, "STOP": 0, "MARK": 0, "NONE": 0, "NEWTRUE": 0, "NEWFALSE": 0,
        "BININT": 4, "BININT1": 1, "BININT2": 2, "BINFLOAT": 8,
        "EMPTY_LIST": 0, "APPEND": 0, "APPENDS": 0, "EMPTY_DICT": 0, "SETITEM": 0, "SETITEMS": 0,
        "EMPTY_TUPLE": 0, "TUPLE": 0, "TUPLE1": 0, "TUPLE2": 0, "TUPLE3": 0,
        "MEMOIZE": 0, "BINGET": 1, "LONG_BINGET": 4, "BINPUT": 1, "LONG_BINPUT": 4,
    }.items()
}  # fmt: skip
"""Opcodes with arguments of a fixed number of bytes."""
_COUNTED = {
    _OPCODES[name].code.encode("latin-1")[0]: size
    for name, size in {"LONG1": 1, "SHORT_BINUNICODE": 1, "BINUNICODE": 4, "BINUNICODE8": 8}.items()
}
"""Opcodes whose argument begins with its own length, in so many bytes."""
_STOP = ord(".")
_LONG_PUT = ord("r")


def write_plain(plan: Plan) -> bytes:
    """`plan`, made canonical, as a pickle of plain data."""
    plan = canonical(plan)
    data = {
        _NAME: int(_VERSION),
        "mesh": plan.mesh,
        "devices": plan.devices,
        "replicas": plan.replicas,
        "microbatches": plan.microbatches,
        "batch_axes": plan.batch_axes,
        "shard_axes": plan.shard_axes,
        "ranges": plan.ranges,
        "assumptions": [(assumption.name, assumption.text) for assumption in plan.assumptions],
        "logicals": [tuple(logical) for logical in plan.logicals],
        "tensors": [tuple(tensor) for tensor in plan.tensors],
        "segments": [(s.name, s.device, [tuple(node) for node in s.nodes]) for s in plan.segments],
        "programs": [[tuple(call) for call in program] for program in plan.programs],
        "losses": [tuple(held) for held in plan.losses],
        "gradients": [tuple(held) for held in plan.gradients],
        "seeds": plan.seeds,
        "outputs": [tuple(held) for held in plan.outputs],
        "storages": [tuple(storage) for storage in plan.storages],
        "groups": plan.groups,
        "sources": [(source.file, source.line, source.text) for source in plan.sources],
        "faults": [(fault.code, fault.title, fault.where, fault.help) for fault in plan.faults],
    }
    return pickle.dumps(data, protocol=4)


def read_plain(data: bytes, source: str) -> Plan:
    """The plan that plain data describes. Raises PlanFileError for anything else, before it is unpickled."""
    scan(data, source)
    try:
        content = _Inert(io.BytesIO(data)).load()
    except Exception as error:  # the unpickler raises whatever a damaged stream leads it to
        raise PlanFileError(source, f"the pickle is damaged: {error or type(error).__name__}") from None
    return plan_of(content, source)


def scan(data: bytes, source: str) -> None:
    """Refuse every pickle that holds more than plain data, by its opcodes."""
    at, end = 0, len(data)
    while at < end:
        opcode = data[at]
        fixed = _FIXED.get(opcode)
        if fixed is not None:
            if opcode == _STOP:
                return
            if opcode == _LONG_PUT and int.from_bytes(data[at + 1 : at + 5], "little") > end:
                raise PlanFileError(source, f"the pickle is damaged: byte {at} uses a slot beyond its size")
            at += 1 + fixed
            continue
        counted = _COUNTED.get(opcode)
        if counted is None:
            _refuse(data, at, source)
        at += 1 + counted + int.from_bytes(data[at + 1 : at + 1 + counted], "little")
    raise PlanFileError(source, "the pickle ends early", "the file is cut off: copy it again")


def _refuse(data: bytes, at: int, source: str) -> NoReturn:
    name = next((each.name for each in pickletools.opcodes if each.code.encode("latin-1")[0] == data[at]), "")
    if not name:
        raise PlanFileError(source, f"the pickle is damaged: byte {at} is no opcode")
    raise PlanFileError(
        source,
        f"a pickle that is no nnScaler plan may hold plain data only, and byte {at} is the opcode {name}",
        "nothing in the file was run; plain data is dicts, lists, tuples, str, int, float, bool and None, "
        "pickled by protocol 2 or later",
    )


class _Inert(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it names an object outside of the file")
