"""A traced program as HLO text, without XLA's partitioner or any of its passes: `text_of`.

Inside `shard_map` all is per device: collectives are written as such, over groups of devices; everything else is what
jax itself lowers one primitive to. Outside, values are whole, or each device holds the part that a spec says; what is
not element by element is gathered first. Devices are numbered as in `mesh.devices.flat`. It is loaded by the process
that has jax (../worker.py), and imports nothing of Verdict.
"""

import importlib
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from verdict.backends.jax.traced.equations import Walk, specs
from verdict.backends.jax.traced.text import CALLS, Refused, Spec, Text, Value, dtype_of

__all__ = ["Refused", "text_of"]

_NOT_OWN = ("/site-packages/", "/dist-packages/", sysconfig.get_paths()["stdlib"], str(Path(__file__).parents[1]), "<")
"""What is in the names of files that are not the program's: installed packages, Python, and the process that traces."""


def text_of(jax: Any, traced: Any, name: str) -> str:
    """The module of a closed jaxpr, with the lines of the program that its equations are of. Raises Refused."""
    jaxpr, literal = traced.jaxpr, importlib.import_module("jax.extend.core").Literal
    text = Text(_lowering(jax), _where)
    names = jaxpr.debug_info.arg_names
    given, shardings = [], []
    for number, var in enumerate(jaxpr.invars):
        shape, dtype = tuple(var.aval.shape), dtype_of(var.aval.dtype)
        spec, mesh = _stated(jaxpr, var)
        if mesh is not None:
            text.use(dict(mesh.shape))
        sizes = [text.mesh.size(axes) for axes in spec]
        local = tuple(n // parts for n, parts in zip(shape, sizes, strict=True)) if spec else shape
        given.append(Value(f"given.{number}", local, dtype, spec))
        shardings.append(spec)
    made = Walk(text, literal).made(jaxpr, traced.consts, given)

    def stated(spec: Spec) -> str:
        return f", sharding={text.mesh.sharding(spec)}" if text.mesh.count > 1 else ""

    lines = [
        f"  %{value.name} = {value.type} parameter({number}){stated(spec)}, "
        f'metadata={{op_name="{_escaped(word)}"}}'
        for number, (value, spec, word) in enumerate(zip(given, shardings, names, strict=True))
    ]
    return text.whole(name, lines, made)


def _escaped(word: Any) -> str:
    return str(word or "").replace('"', "'").replace("'", "\\'")


def _stated(jaxpr: Any, var: Any) -> tuple[Spec, Any]:
    """How the first shard_map, or a jit that says so, wants an argument to lie, and on which mesh."""
    for equation in jaxpr.eqns:
        for k, atom in enumerate(equation.invars):
            if atom is not var:
                continue
            name, params = equation.primitive.name, equation.params
            rank = len(var.aval.shape)
            if name == "shard_map":
                return specs(params["in_specs"][k], rank), params["mesh"]
            said: Any = params["in_shardings"][k] if "in_shardings" in params else None
            if hasattr(said, "spec"):
                return specs(said.spec, rank), said.mesh
            body = params.get("jaxpr", params.get("call_jaxpr"))
            if name in CALLS and body is not None:
                inner = getattr(body, "jaxpr", body)
                found = _stated(inner, inner.invars[k])
                if found[1] is not None:
                    return found
    return (), None


def _where(equation: Any) -> str:
    """The innermost line of an equation that is of the program, whose files may be several, as metadata."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback is not None else ():
        if not any(part in frame.file_name for part in _NOT_OWN):
            file, function = Path(frame.file_name).name, frame.function_name.replace('"', "")
            return f' source_file="{file}" source_line={frame.line_num} source_function="{function}"'
    return ""


def _lowering(jax: Any) -> Callable[[Any, Sequence[Any]], tuple[str, Sequence[Any]]]:
    """What jax lowers one equation to, on operands of shapes: its module, and the shapes that it makes."""
    known: dict[Any, tuple[str, Sequence[Any]]] = {}

    def lower(equation: Any, shapes: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        primitive = equation.primitive
        params = {key: _plain(value) for key, value in equation.params.items()}
        key = (primitive.name, str(sorted(params.items(), key=lambda pair: pair[0])), str(shapes))
        if key not in known:

            def called(*operands: Any) -> Any:
                return primitive.bind(*operands, **params)

            given = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
            lowered = jax.jit(called, keep_unused=True).lower(*given)
            known[key] = lowered.as_text("hlo"), jax.tree.leaves(lowered.out_info)
        return known[key]

    return lower


def _plain(value: Any) -> Any:
    """A parameter without where its result lies, which is known here."""
    return None if hasattr(value, "mesh") and hasattr(value, "spec") else value

