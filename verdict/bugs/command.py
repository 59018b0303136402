"""`verdict bugs`: run the suite of real bugs and print a table."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from verdict.bugs.judge import Bug, Judged, judge
from verdict.completing import among
from verdict.errors import UsageError
from verdict.options import Options, SolverOptions
from verdict.report.lines import counted
from verdict.seconds import SECONDS
from verdict.words import near_text, ranks_text

Load = Callable[[Path, str], Bug]
Names = Callable[[Path], list[str]]

SUITE = (Path(__file__).parent / "suite").resolve()
"""Where the suite is: data of this package, in a checkout a link to tests/bugs."""
ALL_AS_EXPECTED, SOME_NOT = 0, 1
HEAD = (
    "bug", "category", "right plan", "with the bug", "found", "place", "findings", "repaired", "seconds", "source"
)  # fmt: skip
WIDTHS = (31, 26, 10, 12, 20, 5, 8, 8, 7, 0)


def bugs_command(names: Names, load: Load) -> click.Command:
    """The command; `names` and `load` read the suite's files."""

    @click.command("bugs", epilog="Exit status: 0 all as expected, 1 some not, 2 the suite cannot be read.")
    @click.argument("wanted", nargs=-1, metavar="[NAME]...", shell_complete=among(lambda: names(SUITE)))
    @click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text",
                  help="Form of the table.")  # fmt: skip
    @click.option("--suite", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Where the files of the bugs are (default: the suite that comes with verdict).")  # fmt: skip
    @click.option("--timeout", type=SECONDS, default=30.0, show_default=True,
                  metavar="SECONDS", help="For one obligation; what takes longer is unknown.")  # fmt: skip
    @click.pass_context
    def command(context: click.Context, wanted: tuple[str, ...], form: str, suite: Path | None, timeout: float) -> None:
        """Look at real bugs: the right plan of each must be proved, the one with the bug refuted with its code.

        The place is that of the first finding; what is known not to be reached stands in the file of the bug.
        """
        folder = suite or SUITE
        known = names(folder)
        missing = [name for name in wanted if name not in known]
        if missing or not known:
            problem = f"there is no bug {missing[0]}" if missing else "there are no bugs here"
            near = near_text(missing[0], known) if missing else ""
            raise UsageError(str(folder), problem, f"{near}verdict bugs lists all of them")
        options = Options(workers=0, attempts=None, solver=SolverOptions(timeout=timeout))
        judged = (judge(load(folder, name), options) for name in wanted or known)
        told = {"text": _tell, "json": _tell_json, "markdown": _tell_markdown}[form](judged)
        context.exit(ALL_AS_EXPECTED if all(one.as_expected for one in told) else SOME_NOT)

    return command


def _tell(judged: Iterator[Judged]) -> list[Judged]:
    """A line for each bug as soon as it is known, then the sums."""
    click.echo(_line(HEAD))
    told = []
    for one in judged:
        click.echo(_line(_row(one)))
        if one.missed:
            known = " (known)" if one.as_expected else ""
            click.echo(f"  missed{known}: {', '.join(one.missed)}; expected: {_expected(one.bug)}")
        told.append(one)
    click.echo(_sentence(told))
    right = sum(one.as_expected for one in told)
    slow = sum(one.seconds > 1 for one in told)
    click.echo(f"{right} of {len(told)} as expected, {len(told) - slow} in less than a second")
    return told


def _expected(bug: Bug) -> str:
    ranks = f" on {ranks_text(bug.ranks)}" if bug.ranks else ""
    return f"{', '.join(bug.expected)} at {' or '.join(bug.place)}{ranks}"


def _sums(told: Sequence[Judged]) -> dict[str, int]:
    """How many bugs there are, and of how many each question is answered with yes."""
    return {
        "bugs": len(told),
        "recorded_programs": sum(one.bug.recorded for one in told),
        "refuted": sum(one.refuted for one in told),
        "right_plans_proved": sum(one.proved for one in told),
        "codes": sum(one.code for one in told),
        "places_first": sum(one.place for one in told),
        "single_findings": sum(one.single for one in told),
        "repaired_with_proof": sum(one.repaired for one in told),
    }


def _sentence(told: Sequence[Judged]) -> str:
    """The sums in one line."""
    (_, bugs), (_, programs), *others = _sums(told).items()
    counts = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in others)
    seconds = sum(one.seconds for one in told)
    return f"{counted(bugs, 'bug')}, {programs} of them as recorded programs: {counts}; {seconds:.1f} seconds"


def _line(words: Sequence[str]) -> str:
    return "  ".join(word.ljust(width) for word, width in zip(words, WIDTHS, strict=True)).rstrip()


def _row(one: Judged) -> Sequence[str]:
    return (
        one.bug.name, one.bug.category, one.twin.verdict, one.found.verdict, ", ".join(one.found.codes),
        _yes(one.place), str(len(one.found.findings)), _yes(one.repaired), f"{one.seconds:.2f}",
        one.bug.sources[0] if one.bug.sources else "",
    )  # fmt: skip


def _yes(answer: bool) -> str:
    return "yes" if answer else "-"


def _tell_markdown(judged: Iterator[Judged]) -> list[Judged]:
    """The table of docs/bugs.md, by category, and the sums."""
    told = sorted(judged, key=lambda one: (one.bug.category, one.bug.name))
    head = ("bug", "what went wrong", "where", "right plan", "with the bug", "found", "place", "findings", "repaired")
    click.echo(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for one in told:
        links = " ".join(f"[{k}]({source})" for k, source in enumerate(one.bug.sources, 1))
        codes = ", ".join(f"`{code}`" for code in one.found.codes)
        click.echo(
            f"| `{one.bug.name}` {links} | {one.bug.title} | {one.bug.parallelism} "
            f"| {one.twin.verdict} | {one.found.verdict} | {codes} "
            f"| {_yes(one.place)} | {len(one.found.findings)} | {_yes(one.repaired)} |"
        )
    click.echo(f"\n{_sentence(told)}")
    return told


def _tell_json(judged: Iterator[Judged]) -> list[Judged]:
    told = list(judged)
    data = {"sums": _sums(told), "bugs": [_as_data(one) for one in told]}
    click.echo(json.dumps(data, indent=2))
    return told


def _as_data(one: Judged) -> dict[str, Any]:
    return {
        "bug": one.bug.name,
        "title": one.bug.title,
        "sources": list(one.bug.sources),
        "category": one.bug.category,
        "parallelism": one.bug.parallelism,
        "expected": list(one.bug.expected),
        "expected_place": {"names": list(one.bug.place), "ranks": list(one.bug.ranks)},
        "right_plan": {"verdict": one.twin.verdict, "codes": list(one.twin.codes)},
        "plan_with_the_bug": {"verdict": one.found.verdict, "codes": list(one.found.codes)},
        "first": one.found.findings[0].where if one.found.findings else "",
        "findings": len(one.found.findings),
        "reached": {
            "refuted": one.refuted,
            "right_plan_proved": one.proved,
            "code": one.code,
            "place": one.place,
            "single_finding": one.single,
            "repaired": one.repaired,
        },
        "seconds": round(one.seconds, 3),
        "as_expected": one.as_expected,
    }
