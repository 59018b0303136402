"""`verdict hlo`: whether what XLA made of a module computes, on all devices, what the module computes."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from verdict.backends.apart import abandon, begin, finish
from verdict.backends.hlo.guesses import Cut, cut_alike
from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.probe import Outputs, paired
from verdict.backends.hlo.ranges import NO_RANGES, Ranges
from verdict.backends.hlo.rows import Shares
from verdict.backends.hlo.text import Module, read_module
from verdict.backends.text import write
from verdict.errors import PlanFileError, UsageError
from verdict.graph import Plan

PROVED, REFUTED, UNDECIDED = 0, 1, 3
"""Exit statuses of a run."""
_LOOP = re.compile(rb"\bwhile\(")
"""What a text has that has a loop. Only the processes that make plans read more of a file than that."""
_DUMP = re.compile(r"(module_\d+\..*?)\.(\d{4,})\..*\.txt")
ranged = click.option("--range", "ranges", type=(str, int, int), multiple=True, metavar="NAME LEAST GREATEST",
                      help="What a parameter of integers lies between: an assumption of the report.")  # fmt: skip
unrolled = click.option("--unroll", is_flag=True, help="Unroll all loops: prove none by induction.")
_STATED = re.compile(rb"\bwhile\(.*sharding=(?!\{+manual\})")
"""What a text has that says which part of the states of its loops devices hold."""
Pairs = tuple[Shares | None, Shares | None]
UNPAIRED: Pairs = (None, None)
OnNumbers = Callable[[Plan, Plan], tuple[Outputs, Outputs] | None]
READER_BYTES = 4 << 30
"""The most memory that making one plan of two modules may take."""
MOST_BYTES = 1 << 28
"""The most bytes of one module; the text of a whole model has some megabytes."""


class Question(NamedTuple):
    """Two files of HLO text. shardings: a third one, of which only what it says of parameters, results and loops is
    looked at. ranges: what parameters of integers lie between, by name. on_numbers: what runs two plans on the same
    numbers, and returns their outputs by name, None where it cannot: without it no parts of loops' states are guessed.
    """

    before: str
    after: str
    shardings: str | None = None
    ranges: Ranges = NO_RANGES
    on_numbers: OnNumbers | None = None


def load_pair(asked: Question, cut: Cut = Cut.UNROLLED, pairs: Pairs = UNPAIRED) -> tuple[Plan, Plan]:
    """The two plans of a question. Raises VerdictError where it cannot be put.

    cut: what becomes of their loops: of cut ones, only that they are equal says something of the question. pairs: which
    elements of these are one.
    Each plan is made in a process of its own, both at once, which may take READER_BYTES of memory each.
    """
    before, after, shardings, ranges, _ = asked
    stating = [shardings] if shardings else []

    def of_one(_: object) -> Plan:
        return single_of(_module(before), _module(after), ranges, cut, pairs[0])

    def of_all(_: object) -> Plan:
        return parallel_of(_module(before), _module(after), list(map(_module, stating)), ranges, cut, pairs[1])

    first, second = begin(of_one, before, READER_BYTES), begin(of_all, after, READER_BYTES)
    try:
        single = finish(first)
    except BaseException:
        abandon(second)
        raise
    return single, finish(second)


def induction(asked: Question) -> tuple[Plan, Plan] | None:
    """The two plans with their loops cut; None where there are no loops, or they are not alike."""
    if _LOOP.search(_read(asked.before)) is None:
        return None
    stated = asked.shardings is not None and _STATED.search(_read(asked.shardings)) is not None
    return (_cut(asked, UNPAIRED) if stated else None) or _cut_as_probed(asked)


def _cut(asked: Question, pairs: Pairs) -> tuple[Plan, Plan] | None:
    """The plans with their loops cut; None where they are not alike."""
    for cut in (Cut.ROWS, Cut.ARRAYS):
        try:
            single, parallel = load_pair(asked, cut, pairs)
        except PlanFileError:
            return None
        if cut_alike(single, parallel):
            return single, parallel
    return None


def _cut_as_probed(asked: Question) -> tuple[Plan, Plan] | None:
    """The same, where nobody says which part of their states devices hold: as their first turns make believe."""
    if asked.on_numbers is None:
        return None
    try:
        single, parallel = load_pair(asked, Cut.PROBED)
    except PlanFileError:
        return None
    made = asked.on_numbers(single, parallel)
    return None if made is None else _cut(asked, paired(*made, parallel.devices))


def pairs_of(asked: Question) -> Iterator[tuple[Plan, Plan]]:
    """What answers a question: where a pair is PROVED, so is the question; the last one is the question itself."""
    quick = induction(asked)
    if quick is not None:
        yield quick
    yield load_pair(asked)


def stated(rows: Sequence[tuple[str, int, int]]) -> Ranges:
    """The ranges that --range names. Raises UsageError where one name has two."""
    found = {name: (low, high) for name, low, high in rows}
    if len(found) < len(rows):
        raise UsageError("--range", "it states two ranges of one parameter", "state one")
    return found


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlanFileError(path, f"the file cannot be read: {error.strerror}", "is the path right?") from None
    if len(data) > MOST_BYTES:
        raise PlanFileError(path, f"the file has more than {MOST_BYTES} bytes")
    return data


def _module(path: str) -> Module:
    try:
        return read_module(_read(path).decode(), path)
    except UnicodeDecodeError:
        raise PlanFileError(path, "it is no text", "give XLA's HLO text, not the binary module") from None


def hlo_command(run: Callable[[list[str]], int], on_numbers: OnNumbers) -> click.Command:
    """The command; `run` is the command line that verifies a pair of plans, and returns its exit status.

    on_numbers: see `Question`.
    """

    @click.command("hlo", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
    @click.argument("before", metavar="BEFORE")
    @click.argument("after", metavar="AFTER")
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Keep the two plans in DIR.")  # fmt: skip
    @click.option("--passes", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
                  help="Verify AFTER and each later dump in DIR, until one computes something else.")  # fmt: skip
    @click.option("--shardings", metavar="FILE",
                  help="The module right before the partitioner: what it says of parameters and results.")  # fmt: skip
    @ranged
    @unrolled
    @click.argument("options", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(
        context: click.Context, before: str, after: str, out: Path | None, passes: Path | None, shardings: str | None,
        ranges: Sequence[tuple[str, int, int]], unroll: bool, options: tuple[str, ...],
    ) -> None:  # fmt: skip
        """Verify that the partitioned module AFTER computes on all devices what the module BEFORE computes.

        Both are HLO text, as XLA dumps it. Further OPTIONS are those of verdict itself.
        """

        def of(module: str) -> int:
            called = () if out else ("--called", before, module)
            with TemporaryDirectory(prefix="verdict-hlo-") as name:
                asked = Question(before, module, shardings, stated(ranges), on_numbers)
                return answered(asked, out or Path(name), [*called, *options], unroll, run)

        context.exit(of(after) if passes is None else through(Path(after), passes, of))

    return command


def answered(
    asked: Question, folder: Path, options: Sequence[str], unroll: bool, run: Callable[[list[str]], int]
) -> int:
    """The exit status of `run` on a question; its report is that of an induction where this proves it."""
    quick = None if unroll else induction(asked)
    if quick is not None:
        with TemporaryDirectory(prefix="verdict-loops-") as name:
            report = Path(name) / "report"
            if verified(quick, folder, [*options, "--output", str(report)], run) == PROVED:
                click.echo(report.read_text(), nl=False)
                click.echo("By induction: where loops begin, and one turn of each, are further outputs", err=True)
                return PROVED
    return verified(load_pair(asked), folder, options, run)


def verified(plans: tuple[Plan, Plan], folder: Path, options: Sequence[str], run: Callable[[list[str]], int]) -> int:
    """The exit status of `run` on two plans, which are written to `folder`."""
    files = [_written(plan, folder / f"{side}.plan") for plan, side in zip(plans, ("single", "parallel"), strict=True)]
    return run(["--sm", files[0], "--pm", files[1], *options])


def passes_of(after: Path, folder: Path) -> list[Path]:
    """`after` and the dumps of the same module behind it, in the order of their numbers, without repetitions."""
    first = _DUMP.fullmatch(after.name)
    if first is None:
        raise UsageError(str(after), "its name has no number", "give a dump of XLA: module_0001.name.0007.pass.txt")
    found = ((_DUMP.fullmatch(path.name), path) for path in folder.iterdir())
    alike = [(int(match[2]), path) for match, path in found if match and match[1] == first[1]]
    later = [path for number, path in sorted(alike) if number > int(first[2])]
    kept, last = [after], _read(str(after))
    for path in later:
        data = _read(str(path))
        if data != last:
            kept.append(path)
        last = data
    return kept


def through(after: Path, folder: Path, verified: Callable[[str], int]) -> int:
    """The exit status of `after` and the dumps behind it in `folder`, one after the other, until one is refuted; what
    cannot be decided is passed over.
    """
    modules, undecided = passes_of(after, folder), 0
    for module in modules:
        click.echo(f"\n{module.name}")
        try:
            status = verified(str(module))
        except PlanFileError as error:
            click.echo(f"not read: {error}")
            status = UNDECIDED
        if status == REFUTED:
            click.echo(f"\nThe first module that computes something else is {module.name}")
            return REFUTED
        undecided += status != 0
    click.echo(f"\n{len(modules)} modules, none of them refuted, {undecided} not decided")
    return UNDECIDED if undecided else 0


def _written(plan: Plan, path: Path) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(write(plan))
    except OSError as error:
        raise UsageError(str(path), f"the plan cannot be written: {error.strerror}", "give a writable folder") from None
    return str(path)
