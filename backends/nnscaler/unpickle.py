"""Read a pickle without running anything that it names.

Every global of the file becomes an inert record class (records.py), a plain string (torch dtypes) or a plain dict:
those of a closed list the record that readers know, any other one, such as the classes of a model's modules, a record
that keeps nothing and is good for nothing. Nothing is imported, and no function of the file is called. Whether the
file is a plan is decided by its content: a record of no use where one that is known is needed is no plan. What a file
can still do is to use up memory or the C stack: run this in a child process (apart.py).

The list: https://github.com/microsoft/nnscaler, and what its files in the wild hold.
"""

import pickle
from typing import Any

from verdict.backends.content import Content
from verdict.backends.nnscaler import records
from verdict.backends.nnscaler.records import Ignored, MalformedError, NumpyScalar, NumpyType, Prim, Record
from verdict.errors import PlanFileError

LARGEST_FILE = 2 << 30
"""Bytes. Larger files are refused before they are read."""

_KEPT: dict[str, type[Record]] = {
    "nnscaler.codegen.module.module.ModuleCodeGen": records.ModuleCodeGen,
    "nnscaler.execplan.execplan.ExecutionPlan": records.ExecutionPlan,
    "nnscaler.execplan.execplan.ExeReuseCell": records.ExeReuseCell,
    "nnscaler.graph.segment.IRSegment": records.IRSegment,
    "nnscaler.graph.function.dimops.IRDimops": records.IRDimops,
    "nnscaler.ir.adapter.adapter.IRAdapter": records.IRAdapter,
    "nnscaler.ir.adapter.adapter.IRWeightReducer": records.IRWeightReducer,
    "nnscaler.ir.operator.IRBpOperation": records.IRBpOperation,
    "nnscaler.ir.operator.IRDataOperation": records.IRDataOperation,
    "nnscaler.ir.tensor.IRFullTensor": records.IRFullTensor,
    "nnscaler.ir.tensor.IRSubTensor": records.IRSubTensor,
    "nnscaler.ir.tensor.IndexMap": records.IndexMap,
    "nnscaler.ir.tensor.ValueMap": records.ValueMap,
    "numpy.dtype": NumpyType,
    "numpy._core.multiarray.scalar": NumpyScalar,
    "numpy.core.multiarray.scalar": NumpyScalar,
}

_PRIMS = (
    *("IdentityPrim", "SelectPrim", "MergeDimPrim", "SumPrim", "MovePrim", "ChunkPrim", "VChunkPrim"),
    *("RDScatterPrim", "RVScatterPrim", "RDGatherPrim", "RVGatherPrim", "BroadcastPrim", "ReducePrim"),
    *("AllReducePrim", "AllGatherPrim", "ReduceScatterPrim", "AllToAllPrim"),
    *("AllReduceIdentityPrim", "IdentityAllreducePrim", "AllReduceAllReducePrim"),
    *("ReduceScatterAllGatherPrim", "AllGatherReduceScatterPrim", "AllGatherSplitPrim"),
    *("SplitAllGatherPrim", "AllToAllAllToAllPrim", "ReduceBroadcastPrim", "BroadcastRedducePrim"),
)

_DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "bool"),
)

_GLOBALS: dict[str, Any] = {
    **_KEPT,
    **{
        f"nnscaler.ir.adapter.prim.{name}": type(name, (Prim,), {"__slots__": (), "__module__": __name__})
        for name in _PRIMS
    },
    **{f"torch.{name}": name for name in _DTYPES},
    "collections.OrderedDict": dict,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        known = _GLOBALS.get(f"{module_name}.{global_name}")
        if known is not None:
            return known
        return {} if global_name == "__dict__" else Ignored

    def persistent_load(self, pid: Any) -> Any:
        raise MalformedError("it refers to objects outside of the file")


def load(content: Content, source: str) -> object:
    """The root record of a pickle. Raises PlanFileError; nothing of the file is ever run."""
    if content.size > LARGEST_FILE:
        raise PlanFileError(source, f"{content.size} bytes, more than {LARGEST_FILE}", "raise LARGEST_FILE")
    try:
        return _Unpickler(content.file).load()
    except MalformedError as error:
        raise PlanFileError(source, f"refused, nothing was run: {error}", "is this an nnScaler plan?") from None
    except MemoryError:
        raise PlanFileError(source, "it asks for far more memory than its size warrants", "nothing was run") from None
    except Exception as error:  # the unpickler raises whatever a damaged stream leads it to
        raise PlanFileError(
            source, f"a damaged pickle ({type(error).__name__}: {error})", "write the plan again with nnScaler"
        ) from None
