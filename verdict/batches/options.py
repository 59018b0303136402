"""The options that `verdict check` and `verdict batch` share."""

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeVar

import click

from verdict.report.many import FORMS_OF_MANY

Command = TypeVar("Command", bound=Callable[..., Any])


class _Part(click.ParamType[tuple[int, int]]):
    """PART/OF, both from 1."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """The two numbers."""
        if isinstance(value, tuple):
            return value
        part, _, of = str(value).partition("/")
        if not (part.isdecimal() and of.isdecimal() and 1 <= int(part) <= int(of)):
            self.fail(f"{value} is not PART/OF, as 1/4 to 4/4 for four shards", param, ctx)
        return int(part), int(of)


_FORMAT = click.option("--format", "form", type=click.Choice(list(FORMS_OF_MANY)), default="text", show_default=True,
                       help="Form of the report.")  # fmt: skip
_OUTPUT = click.option("--output", "outputs", multiple=True, metavar="[FORMAT:]FILE",
                       help="Write one report of all in FORMAT to FILE, too (repeatable); without FORMAT, in that of "
                            "--format and instead of the terminal.")  # fmt: skip
_SHARD = click.option("--shard", "part", type=_Part(), default="1/1", metavar="PART/OF",
                      help="Only this part of the list; `verdict merge` puts the JSON reports together.")  # fmt: skip
_JOBS = click.option("--jobs", type=click.IntRange(1), metavar="N",
                     help="Pairs that are decided side by side (default: the cores).")  # fmt: skip
_MEMORY = click.option("--memory-limit", type=click.IntRange(64), metavar="MIB",
                       help="For each (default: an even share of what is free); more is unknown.")  # fmt: skip
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Tell of each as soon as it is decided.")
_QUIET = click.option("-q", "--quiet", is_flag=True, help="Only how many there are of each verdict.")
_ENGINE = click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True,
                       help="Where pairs are decided: in processes here, or as tasks of a Ray cluster.")  # fmt: skip
_ADDRESS = click.option("--ray-address", metavar="ADDRESS",
                        help="The cluster (default: the one that runs, or a new one).")  # fmt: skip
_CACHE = click.option("--cache", metavar="DIR", help="Keep proofs in DIR, and take over those that are there.")
_NO_CACHE = click.option("--no-cache", is_flag=True, help="Prove everything anew, and keep nothing.")
_SAMPLE = click.option("--sample-seed", type=int, metavar="N",
                       help="Chooses which proofs of the cache are made again (default: by the day).")  # fmt: skip
_ALL = (_FORMAT, _OUTPUT, _SHARD, _JOBS, _MEMORY, _VERBOSE, _QUIET, _ENGINE, _ADDRESS, _CACHE, _NO_CACHE, _SAMPLE)


def shared(command: Command) -> Command:
    """The command with all of these options, in their order."""
    return reduce(lambda so_far, option: option(so_far), reversed(_ALL), command)
