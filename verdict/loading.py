"""Read both plans side by side, each in a process of its own with a limit of memory.

Files are hostile until read: what a reader allocates, or how it dies, is its process's affair alone. The
pickle that comes back is made by our own process, from the plan that it read.
"""

import gc
import pickle
import resource
from collections.abc import Callable
from typing import Any

import multiprocess

from verdict.errors import PlanFileError, VerdictError
from verdict.graph import Plan

READER_MIB = 8192
"""The most memory that reading one file may take, in MiB. The largest real plan takes 1 GiB."""


def load_all(paths: tuple[str, ...], load: Callable[[str], Plan]) -> list[Plan]:
    """The plans in `paths`, in their order. Raises the PlanFileError of the first that cannot be read."""
    context = multiprocess.get_context("fork")
    readers = []
    for path in paths:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_read, args=(there, path, load), daemon=True)
        process.start()
        there.close()
        readers.append((path, process, here))
    answers = [(path, _answer(pipe)) for path, _, pipe in readers]
    for _, process, _ in readers:
        process.kill()
        process.join()
    plans = []
    for path, answer in answers:
        if answer is None:
            raise PlanFileError(path, "reading it ended without a result", "the file is damaged or hostile")
        if isinstance(answer, BaseException):
            raise answer
        plans.append(answer)
    return plans


def _answer(pipe: Any) -> Plan | BaseException | None:
    try:
        answer: Plan | BaseException = pickle.loads(pipe.recv_bytes())
    except EOFError:
        return None
    return answer


def _read(pipe: Any, path: str, load: Callable[[str], Plan]) -> None:
    limit = READER_MIB * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    gc.disable()
    try:
        answer: Plan | BaseException = load(path)
    except MemoryError:
        answer = PlanFileError(path, f"reading it takes more than {READER_MIB} MiB", "the file is damaged or hostile")
    except VerdictError as error:
        answer = error
    except Exception as error:
        answer = error
    pipe.send_bytes(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    pipe.close()
