"""`verdict explain`: what the codes of findings and of open questions mean."""

from collections.abc import Iterator

import click

from verdict.completing import among
from verdict.errors import UsageError
from verdict.report.code import Code
from verdict.report.codes import CODES
from verdict.report.lines import wrapped
from verdict.report.questions import QUESTIONS, Question
from verdict.words import known_text


@click.command("explain")
@click.argument("code", required=False, shell_complete=among(lambda: (*CODES, *QUESTIONS)))
def explain_command(code: str | None) -> None:
    """Say what the CODE of a finding or of an open question means, and how to repair it; without CODE, list all."""
    if code is None:
        width = max(map(len, (*CODES, *QUESTIONS))) + 2
        for name, meaning in ((known.code, known.name) for every in (CODES, QUESTIONS) for known in every.values()):
            click.echo(f"{name:<{width}}{meaning}")
    elif code in QUESTIONS:
        click.echo("\n".join(asked(QUESTIONS[code])))
    elif code in CODES:
        click.echo("\n".join(explained(CODES[code])))
    else:
        raise UsageError(code, "there is no such code", known_text(code, [*CODES, *QUESTIONS]))


def asked(question: Question) -> Iterator[str]:
    """One code of open questions in full."""
    yield f"{question.code}: {question.name}"
    for title, text in (("", question.meaning), ("Example", question.example), ("What closes it", question.answer)):
        yield from ("", title) if title else ("",)
        yield from wrapped(text, "  " if title else "", "  " if title else "")


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
