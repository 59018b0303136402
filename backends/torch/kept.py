"""A recording as it is kept: its name, its bytes, whether it may be kept at all, and what is told of that."""

import json
import os
import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from verdict.backends.torch.confirmation import AGREES, NOT_RUN, read_back
from verdict.backends.torch.evidence import ALL, FILE, MODULE, NAMES, NEVER, THERE, VARIABLE, changed, digest, hash_of
from verdict.backends.torch.launch import Recorded, Target, environment_of
from verdict.backends.torch.trace import from_plain, to_plain
from verdict.graph import Plan
from verdict.outcome import Assumption

KEPT = "recording-kept"
ALWAYS = (
    "ATEN_", "CUDA_", "DNNL_", "GLOO_", "KMP_", "LC_", "LD_", "MALLOC_", "MKL_", "NCCL_", "NUMEXPR_", "OMP_", "ONEDNN_",
    "OPENBLAS_", "PYTHON", "PYTORCH", "TORCH", "LANG", "TZ",
)  # fmt: skip
"""How variables begin that Python, torch and the libraries below them may read where nobody sees it."""
DECLARED = (
    "installed packages do what their versions say",
    "what torch and numpy read for themselves (the machine, the clock) changes no recording",
    "variables that code other than Python's reads are those that begin with " + ", ".join(ALWAYS),
)
"""What is not looked at again, and taken to be as it was."""
_IN_WORDS = {
    FILE: "files", MODULE: "modules", NAMES: "folders", THERE: "paths", VARIABLE: "variables", ALL: "variables",
}  # fmt: skip


class Manner(NamedTuple):
    """How programs are recorded. confirm: whether they are run, too. version: of Verdict."""

    tensors: str
    confirm: bool
    version: str


def name_of(target: Target, world: int, manner: Manner) -> str:
    """The name of a program's recording: of all that it depends on and that is known before it is recorded."""
    environment = environment_of()
    always = sorted((name, value) for name, value in environment.items() if name.startswith(ALWAYS))
    runs_on = [platform.python_version(), platform.machine(), sys.executable, os.getcwd(), *_installed()]
    program = [os.path.realpath(target.file), digest(target.file), target.function, world]
    return hash_of(["recording", *manner, runs_on, always, program])


def _installed() -> list[str]:
    """The distributions on the path, with their versions, and what else Python reads there when it begins."""
    found: list[str] = []
    for folder in sorted({*filter(os.path.isdir, sys.path)}):
        names = [name for name in os.listdir(folder) if name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth"))]
        found += [f"{name} {digest(f'{folder}/{name}')}" for name in sorted(names)]
    return found


def to_bytes(recorded: Recorded) -> bytes:
    """A recording as it is kept."""
    told = {**recorded._asdict(), "traces": [to_plain(trace) for trace in recorded.traces]}
    return json.dumps(told).encode()


def from_bytes(content: bytes) -> Recorded:
    """What `to_bytes` was given."""
    told = json.loads(content)
    traces = tuple(from_plain(trace) for trace in told["traces"])
    seen = tuple((kind, what, was) for kind, what, was in told["seen"])
    return Recorded(traces, read_back(told["confirmation"]), seen, told["processes"])


def same(one: Recorded, other: Recorded) -> bool:
    """Whether two recordings say the same of a program."""
    both = [[replace(trace, seconds=0.0) for trace in each.traces] for each in (one, other)]
    return both[0] == both[1] and one.confirmation == other.confirmation


def unkeepable(recorded: Recorded, world: int, confirm: bool) -> str:
    """Why a recording that was just made cannot be used again, as a clause; "" where it can."""
    never = [what for kind, what, _ in recorded.seen if kind == NEVER]
    if never:
        return never[0]
    if any(trace.doubts for trace in recorded.traces):
        return "there are doubts of it"
    how, unfit = recorded.confirmation.how, recorded.confirmation.how == NOT_RUN and recorded.processes == world
    if confirm and how != AGREES and not unfit:
        return "its runs did not confirm it"
    if recorded.processes < world * (2 if how == AGREES else 1):
        return "not all of its processes told what they read"
    return changed(recorded.seen, environment_of())


def told_of(plan: Plan, recorded: Recorded) -> Plan:
    """A plan whose recording is kept, or was: with what is taken on trust because of that."""
    counts = {kind: sum(line[0] == kind for line in recorded.seen) for kind in _IN_WORDS}
    seen = ", ".join(f"{count} {_IN_WORDS[kind]}" for kind, count in counts.items() if count)
    text = (
        f"the recording of {plan.source} is made anew when it was seen to depend on what is another now ({seen}); "
        f"{'; '.join(DECLARED[:2])}"
    )
    return replace(plan, assumptions=(*plan.assumptions, Assumption(KEPT, text)))


def depends(target: Target, recorded: Recorded) -> dict[str, Any]:
    """What a kept recording depends on, as data: what is looked at at each use, and what is declared."""
    checked: dict[str, list[str]] = {words: [] for words in _IN_WORDS.values()}
    for kind, what, _ in recorded.seen:
        checked[_IN_WORDS[kind]].append(_shown(what) if kind in (FILE, NAMES, THERE) else what or "all of them")
    ranks = len(recorded.traces)
    return {"program": str(target), "ranks": ranks, "checked": checked, "declared": list(DECLARED)}


def _shown(path: str) -> str:
    """A path as it is seen from here, where it is below."""
    here = Path.cwd()
    return os.path.relpath(path, here) if Path(path).is_relative_to(here) else path
