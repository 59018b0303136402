"""Read a pickle without running anything that it names.

Every global of the file is looked up in a closed list and becomes an inert record class (records.py), a plain
string (torch dtypes) or a plain dict. Nothing is imported, no function of the file is called, and a global that
is not in the list is refused by name. What a file can still do is to use up memory or the C stack: run this in
a child process (apart.py).

The list: https://github.com/microsoft/nnscaler, and what its files in the wild hold.
"""

import io
import pickle
from typing import Any

from backends.nnscaler import records
from backends.nnscaler.records import Ignored, MalformedError, NumpyScalar, NumpyType, Prim, Record
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

_IGNORED = (
    *(f"builtins.{name}" for name in ("getattr", "setattr")),
    *(f"dill._dill.{name}" for name in ("_create_function", "_create_code", "_create_cell", "_load_type")),
    "dill._dill",
    "typing.Dict",
    "torch._utils._rebuild_tensor_v2",
    "torch.storage._load_from_bytes",
    "nnscaler.codegen.syntax.symtable.SymbolTable",
    *(f"nnscaler.codegen.frontend_mapping.Sign2EmitRule{name}" for name in ("", ".emit_setattr", ".emit_slice")),
    "nnscaler.graph.gener.utils.DummyInputOuput",
    "nnscaler.graph.graph.IRGraph",
    *(f"nnscaler.graph.schedule.schedplan.{name}" for name in ("Block", "SchedulePlan", "ScheduleDependency")),
    *(
        f"nnscaler.graph.function.dimops.{name}"
        for name in ("DimAnno", "DimAnno.ReduceType", "DimopSplit", "OpAnno", "ShapeAnno", "TransformRule")
    ),
    *(f"nnscaler.ir.cten.{name}" for name in ("IRCell", "IRObject")),
)

_DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "bool"),
)

_GLOBALS: dict[str, Any] = {
    **dict.fromkeys(_IGNORED, Ignored),
    **_KEPT,
    **{
        f"nnscaler.ir.adapter.prim.{name}": type(name, (Prim,), {"__slots__": (), "__module__": __name__})
        for name in _PRIMS
    },
    **{f"torch.{name}": name for name in _DTYPES},
    "collections.OrderedDict": dict,
}

_IGNORED_MODULES = (
    "genmodel.model.",
    "Verdict.gen_model.model.",
    "examples.nlp.blocks.",
    "torch.nn.modules.",
    "nnscaler.graph.function.function",
    "nnscaler.graph.parser.register",
)
"""Modules all of whose names are ignored: classes of models and nnScaler's operator constructors."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        known = _GLOBALS.get(f"{module_name}.{global_name}")
        if known is not None:
            return known
        if not module_name.startswith(_IGNORED_MODULES):
            raise MalformedError(f"it names {module_name}.{global_name}, which no nnScaler plan needs")
        return {} if global_name == "__dict__" else Ignored

    def persistent_load(self, pid: Any) -> Any:
        raise MalformedError("it refers to objects outside of the file")


def load(data: bytes, source: str) -> object:
    """The root record of the pickle `data`. Raises PlanFileError; nothing of the file is ever run."""
    if len(data) > LARGEST_FILE:
        raise PlanFileError(source, f"{len(data)} bytes, more than {LARGEST_FILE}", "raise LARGEST_FILE")
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except MalformedError as error:
        raise PlanFileError(source, f"refused, nothing was run: {error}", "is this an nnScaler plan?") from None
    except MemoryError:
        raise PlanFileError(source, "it asks for far more memory than its size warrants", "nothing was run") from None
    except Exception as error:  # the unpickler raises whatever a damaged stream leads it to
        raise PlanFileError(
            source, f"a damaged pickle ({type(error).__name__}: {error})", "write the plan again with nnScaler"
        ) from None
