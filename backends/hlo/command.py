"""`verdict hlo`: whether what XLA made of a module computes, on all devices, what the module computes."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from backends.apart import apart
from backends.hlo.pair import parallel_of, single_of
from backends.hlo.text import Module, read_module
from backends.text import write
from verdict.errors import PlanFileError, UsageError
from verdict.graph import Plan

READER_BYTES = 4 << 30
"""The most memory that making one plan of two modules may take."""
MOST_BYTES = 1 << 28
"""The most bytes of one module; the text of a whole model has some megabytes."""


def load_pair(before: str, after: str) -> tuple[Plan, Plan]:
    """The two plans of two files of HLO text. Raises VerdictError where no question can be put.

    Each is made in a process of its own, which may take READER_BYTES of memory.
    """
    single = apart(lambda: single_of(_module(before), _module(after)), before, READER_BYTES)
    return single, apart(lambda: parallel_of(_module(before), _module(after)), after, READER_BYTES)


def _module(path: str) -> Module:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise PlanFileError(path, f"the file cannot be read: {error.strerror}", "is the path right?") from None
    if len(data) > MOST_BYTES:
        raise PlanFileError(path, f"the file has more than {MOST_BYTES} bytes")
    try:
        return read_module(data.decode(), path)
    except UnicodeDecodeError:
        raise PlanFileError(path, "it is no text", "give XLA's HLO text, not the binary module") from None


def hlo_command(run: Callable[[list[str]], int]) -> click.Command:
    """The command; `run` is the command line that verifies a pair of plans, and returns its exit status."""

    @click.command("hlo", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
    @click.argument("before", metavar="BEFORE")
    @click.argument("after", metavar="AFTER")
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Keep the two plans in DIR.")  # fmt: skip
    @click.argument("options", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(context: click.Context, before: str, after: str, out: Path | None, options: tuple[str, ...]) -> None:
        """Verify that the partitioned module AFTER computes on all devices what the module BEFORE computes.

        Both are HLO text, as XLA dumps it. Further OPTIONS are those of verdict itself.
        """
        plans = load_pair(before, after)
        with TemporaryDirectory(prefix="verdict-hlo-") as name:
            folder = out or Path(name)
            sides = zip(plans, ("single", "parallel"), strict=True)
            files = [_written(plan, folder / f"{side}.plan") for plan, side in sides]
            context.exit(run(["--sm", files[0], "--pm", files[1], *options]))

    return command


def _written(plan: Plan, path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write(plan))
    except OSError as error:
        raise UsageError(str(path), f"the plan cannot be written: {error.strerror}", "give a writable folder") from None
    return str(path)
