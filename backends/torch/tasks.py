"""Tasks in copies of this process, each of which leaves what it found in a file."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from verdict.backends.torch.processes import WAIT, copy
from verdict.child import Child, ended, kill


def side_by_side(
    folder: Path,
    tasks: Mapping[str, Callable[[], Any]],
    cores: int,
    seconds: float,
    mebibytes: int,
    told: Callable[[str], bool] = lambda name: False,
) -> None:
    """Write what each task returns, or why it returns nothing, to the file of its name; each task in a copy of this
    process, `cores` at once. told: called with the name when the file is there, and says whether that is enough: then
    what still runs is ended, and what waits is not begun.
    """
    waiting, running = list(tasks.items()), dict[str, Child]()
    while waiting or running:
        while waiting and len(running) < cores:
            name, task = waiting.pop(0)
            running[name] = copy(partial(_write_found, folder / name, task), mebibytes)
        time.sleep(WAIT)
        for name, each in list(running.items()):
            status, late = ended(each), time.monotonic() - each.begun > seconds
            if status is None and not late:
                continue
            if status is None:
                kill(each)
            del running[name]
            why = f"its process ended with {status}" if status is not None else f"it does not end within {seconds:g} s"
            if not (folder / name).is_file():
                write(folder / name, {"error": ["its process", why, ""]})
            if told(name):
                for left in running.values():
                    kill(left)
                return


def _write_found(out: Path, task: Callable[[], Any]) -> None:
    write(out, task())


def read(file: Path) -> Any:
    """What `write` wrote."""
    return json.loads(file.read_text())


def write(out: Path, found: Any) -> None:
    """Write a file that is there only when it is complete."""
    part = out.with_name(f"{out.name}.part")
    part.write_text(json.dumps(found))
    part.rename(out)
