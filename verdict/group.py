"""The command line as a group: `verdict S P` is the main job, `verdict COMMAND` another."""

import os
import sys

import click

from verdict.errors import UsageError
from verdict.words import known_text

STANDARD_INPUT = "/dev/stdin"


class MainJob(click.Group):
    """A group whose own options are the main job: `verdict S P`, or `verdict --sm S --pm P`, needs no command name.

    Without any argument it shows its help; the exit status is that of a question that was not put, as 0 means PROVED.
    """

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show all ways of calling."""
        formatter.write_usage(ctx.command_path, "SINGLE PARALLEL [OPTIONS]")
        formatter.write_usage(ctx.command_path, "--sm SINGLE --pm PARALLEL [OPTIONS]")
        formatter.write_usage(ctx.command_path, "COMMAND [ARGS]...")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take two files for the options --sm and --pm."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        _, rest, _ = self.make_parser(ctx).parse_args(list(args))
        if rest and rest[0] not in self.commands and _is_file(rest[0]):
            before = args[: len(args) - len(rest)]
            both = len(rest) > 1 and (rest[1] == "-" or not rest[1].startswith("-"))
            plans = ["--sm", rest[0], *(["--pm", rest[1]] if both else [])]
            args = [*(arg for arg in before if arg != "--"), *plans, *rest[len(plans) // 2 :]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say what a command that there is not may have meant."""
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            help = known_text(args[0], sorted(self.commands))
            raise UsageError(args[0], "there is no such command or file", help)
        return super().resolve_command(ctx, args)


def _is_file(word: str) -> bool:
    return word == "-" or os.path.exists(word) or bool({os.sep, "."} & set(word))


def path_of(word: str) -> str:
    """The path that a plan is read from: `-` is standard input."""
    return STANDARD_INPUT if word == "-" else word


def use_utf8() -> None:
    """Write UTF-8, whatever the locale says: reports quote files and names that are."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
