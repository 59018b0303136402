"""The process that runs a user's file: `python worker.py FOLDER` compiles what its functions build.

It is run by the Python that has jax, which may be another than Verdict's, so it imports nothing of Verdict. FOLDER
holds job.json; reply.json is written there: the paths of XLA's texts, or why there are none.
"""

import gc
import importlib.util
import json
import resource
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

TESTED = ("0.10",)
"""Minor versions of jax whose texts the tests hold."""
PARTITIONER = "spmd-partitioning"
INSTALL = "python -m pip install 'jax>=0.10,<0.11'"


class Refused(Exception):
    """Why there are no texts: where, the problem, what to do."""


def main(folder: Path) -> None:
    """Do the job in `folder`."""
    job = json.loads((folder / "job.json").read_text())
    try:
        reply = _compiled(folder, job)
    except Refused as refused:
        reply = {"refused": list(refused.args)}
    (folder / "reply.json").write_text(json.dumps(reply))


def _compiled(folder: Path, job: dict[str, Any]) -> dict[str, Any]:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = job["mebibytes"] << 20
    size = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    gc.disable()  # what is imported stays
    jax = _jax(job["devices"])
    file, function, single = job["file"], job["function"], job["single"]
    module = _run(file, lambda: _loaded(file))
    gc.freeze()
    gc.enable()
    if job["door"] == "jaxpr":
        return _traced(folder, module, jax, job)
    lowered, ranges = _lowered(module, file, function)
    alone, of_alone = _lowered(module, file, single) if hasattr(module, single) else (lowered, ranges)
    dump = _compile(lowered, folder / "dump", file, ".*" if job["passes"] else PARTITIONER)
    whole = dump if alone is lowered else _compile(alone, folder / "single", file, PARTITIONER)
    return {
        "jax": jax.__version__,
        "alone": alone is not lowered,
        "ranges": {**of_alone, **ranges},
        "before": str(_dumped(whole, ".before_optimizations.", file, function)),
        "shardings": str(_dumped(dump, f".before_{PARTITIONER}.", file, function)),
        "after": str(_dumped(dump, f".after_{PARTITIONER}.", file, function)),
    }


def _traced(folder: Path, module: Any, jax: Any, job: dict[str, Any]) -> dict[str, Any]:
    """The texts of what jax traced of both programs; nothing is compiled."""
    file, function, single = job["file"], job["function"], job["single"]
    traced = _beside()
    paths: list[Path] = []
    stated: dict[str, list[int]] = {}
    for name in (single, function):
        jitted, arguments, ranges = _built(module, file, name)
        closed = _run(file, lambda: jax.make_jaxpr(jitted)(*arguments))  # noqa: B023
        paths.append(folder / f"{name}.jaxpr.hlo")
        try:
            paths[-1].write_text(traced.text_of(jax, closed, name))
        except traced.Refused as refused:
            raise Refused(f"{file}:{name}", str(refused), "leave --door jaxpr away") from None
        stated |= ranges
    before, after = map(str, paths)
    return {"jax": jax.__version__, "alone": True, "ranges": stated, "before": before, "shardings": after,
            "after": after}  # fmt: skip


def _beside() -> Any:
    """The package beside this file, which is found without the rest of Verdict."""
    empty = {name: ModuleType(name) for name in ("verdict", "verdict.backends", "verdict.backends.jax")}
    before = {name: sys.modules.get(name) for name in empty}
    empty["verdict.backends.jax"].__path__ = [str(Path(__file__).parent)]
    sys.modules.update(empty)
    found = importlib.import_module("verdict.backends.jax.traced")
    for name in empty:
        del sys.modules[name]
    sys.modules.update({name: module for name, module in before.items() if module is not None})
    return found


def _compile(lowered: Any, folder: Path, file: str, passes: str) -> Path:
    """The folder of XLA's texts of a program. passes: a regular expression."""
    options = {
        "xla_dump_to": str(folder),
        "xla_dump_hlo_as_text": True,
        "xla_dump_large_constants": True,
        "xla_dump_hlo_pass_re": passes,
        "xla_backend_optimization_level": 0,
        "xla_llvm_disable_expensive_passes": True,
    }
    _run(file, lambda: lowered.compile(compiler_options=options))
    return folder


def _jax(devices: int) -> Any:
    try:
        import jax  # noqa: PLC0415  (the limit of memory comes first, and its absence is a sentence)
    except ImportError as error:
        raise Refused(sys.executable, f"jax cannot be imported: {error}", f"{INSTALL}, or name --python") from None
    if ".".join(jax.__version__.split(".")[:2]) not in TESTED:
        problem = f"jax {jax.__version__} is not among the versions that were tested: {', '.join(TESTED)}"
        raise Refused(sys.executable, problem, f"{INSTALL}; texts of any version: verdict hlo BEFORE AFTER")
    if len(jax.devices()) != devices:
        raise Refused("--devices", f"jax made {len(jax.devices())} devices of {devices}", "is JAX_PLATFORMS set?")
    return jax


def _loaded(file: str) -> Any:
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Refused(file, "it is no Python file", "give FILE.py or FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _lowered(module: Any, file: str, function: str) -> tuple[Any, dict[str, list[int]]]:
    """The lowered program that a function of the file builds, and the ranges that it states of its arguments."""
    jitted, arguments, ranges = _built(module, file, function)
    return _run(file, lambda: _with_all(jitted, arguments)), ranges


def _with_all(jitted: Any, arguments: tuple[Any, ...]) -> Any:
    """The lowered program with all of its arguments. jax leaves out what a program does not use; of two programs the
    same number of arguments, but not the same ones, may be left.
    """
    traced = jitted.trace(*arguments)
    if "keep_unused" not in traced._params:
        raise Refused(sys.executable, "this jax leaves out arguments that are not used", INSTALL)
    traced._params["keep_unused"] = True
    return traced.lower()


def _built(module: Any, file: str, function: str) -> tuple[Any, tuple[Any, ...], dict[str, list[int]]]:
    """What a function of the file returns: a jitted function, its arguments, the ranges that it states of them."""
    build, where = getattr(module, function, None), f"{file}:{function}"
    if not callable(build):
        raise Refused(file, f"it has no function {function}", "give FILE.py:FUNCTION")
    built = _run(file, build)
    if not isinstance(built, tuple) or len(built) not in (2, 3) or not hasattr(built[0], "lower"):
        due = "return jax.jit(step, in_shardings=..., out_shardings=...), arguments"
        raise Refused(where, "it returns no pair of a jitted function and its arguments", due)
    jitted, arguments, *more = built
    if not hasattr(jitted, "trace"):
        due = "return jax.jit(step, ...), arguments, of what is wrapped (pmap, filter_jit, nnx.jit)"
        raise Refused(where, "what it returns first is not what jax.jit makes", due)
    if not isinstance(arguments, tuple):
        raise Refused(where, "the arguments are no tuple", "return jitted, (weights, x)")
    ranges: dict[str, Any] = dict(*more)
    if not all(isinstance(name, str) and _are_ends(ends) for name, ends in ranges.items()):
        raise Refused(where, "the ranges are none", 'return jitted, (weights, ids), {"ids": (0, 15)}')
    return jitted, arguments, {name: list(ends) for name, ends in ranges.items()}


def _are_ends(ends: Any) -> bool:
    return isinstance(ends, tuple) and len(ends) == 2 and all(type(end) is int for end in ends)


def _run(file: str, what: Any) -> Any:
    """What the user's code, or jax on its behalf, returns. Raises Refused with its place in the file."""
    try:
        return what()
    except Refused:
        raise
    except MemoryError:
        raise Refused(file, "it needs more memory than --compile-memory", "raise it, or take smaller arrays") from None
    except BaseException as error:  # a user's file may raise anything, also SystemExit
        name = Path(file).name
        frames = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).name == name]
        lines = str(error).strip().splitlines()
        where = f"{file}:{frames[-1].lineno}" if frames else file
        problem = f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
        raise Refused(where, problem, "does the file run by itself?") from None


def _dumped(dump: Path, part: str, file: str, function: str) -> Path:
    found = sorted(path for path in dump.glob("*.txt") if part in path.name)
    if not found:
        problem = "XLA did not partition what it builds"
        raise Refused(f"{file}:{function}", problem, "give jax.jit in_shardings of a mesh of several devices")
    return found[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
