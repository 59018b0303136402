"""The command line in a copy of this process: what it prints and its exit status, without importing it anew."""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO

import networkx  # noqa: F401  (imported where the command needs it: once here, not in each copy)

from tests.copies import leave
from verdict.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
SMALL = tuple(str(ROOT / "tests" / "small" / f"{name}.plan") for name in ("single", "parallel"))
"""What the generator makes of two layers on 8 ranks, for tests of what the command does with any pair of plans."""


def verdict(
    *arguments: str, cwd: Path = ROOT, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `verdict ARGUMENTS` does, without a terminal. given: on standard input. environment: variables
    that the interpreter itself does not look at.
    """
    with _file(given) as given_file, _file() as out, _file() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            leave(partial(_run, arguments, cwd, environment, (given_file.fileno(), out.fileno(), err.fileno())))
        _, status = os.waitpid(child, 0)
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(arguments, os.waitstatus_to_exitcode(status), out.read(), err.read())


def _file(text: str = "") -> IO[str]:
    file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
    file.write(text)
    file.seek(0)
    return file


def _run(arguments: tuple[str, ...], cwd: Path, environment: dict[str, str], streams: tuple[int, ...]) -> None:
    for target, source in enumerate(streams):
        os.dup2(source, target)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8") for number, mode in enumerate("rww")  # noqa: SIM115
    )
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = ["verdict", *arguments]
    sys.modules["__main__"] = ModuleType("__main__")
    main()
