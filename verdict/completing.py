"""What a shell offers where a command wants a name."""

from collections.abc import Callable, Iterable

import click

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def among(names: Callable[[], Iterable[str]]) -> Complete:
    """Completion by these names; where several may be given with commas, of the last one."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
        before, comma, last = begun.rpartition(",")
        return [f"{before}{comma}{name}" for name in sorted(names()) if name.startswith(last)]

    return complete
