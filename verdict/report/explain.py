"""`verdict explain`: what the codes of findings mean."""

from collections.abc import Iterator

import click

from verdict.completing import among
from verdict.errors import UsageError
from verdict.report.code import Code
from verdict.report.codes import CODES
from verdict.report.lines import wrapped
from verdict.words import known_text


@click.command("explain")
@click.argument("code", required=False, shell_complete=among(lambda: CODES))
def explain_command(code: str | None) -> None:
    """Say what a finding's CODE means, how to repair it and how it shows in training; without CODE, list all."""
    if code is None:
        width = max(map(len, CODES)) + 2
        for known in CODES.values():
            click.echo(f"{known.code:<{width}}{known.name}")
        return
    if code not in CODES:
        raise UsageError(code, "there is no such code", known_text(code, list(CODES)))
    click.echo("\n".join(explained(CODES[code])))


def explained(code: Code) -> Iterator[str]:
    """One code in full."""
    yield f"{code.code}: {code.name}"
    for title, text in (
        ("", code.meaning),
        ("Example", code.example),
        ("Repair", code.repair),
        ("In training", code.training),
    ):
        yield ""
        if title:
            yield title
        if title == "Example":
            yield from (f"    {line}" for line in text.splitlines())
        else:
            yield from wrapped(text, "  " if title else "", "  " if title else "")
