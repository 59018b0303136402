"""`verdict check`, `verdict batch` and `verdict merge`: whole lists, in one pool of processes or in shards."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from verdict.api import MAY_ASSUME, require_known
from verdict.backends import load_all, read_here
from verdict.backends.text import write
from verdict.backends.torch.kept import KEPT
from verdict.batches.cache import Cache, opened
from verdict.batches.cluster import on_ray
from verdict.batches.executor import Executor, local
from verdict.batches.listing import questions_of
from verdict.batches.merging import merged
from verdict.batches.options import shared
from verdict.batches.project import project_of
from verdict.batches.question import Pair, Program, Question, Settings, fingerprint, shard
from verdict.batches.recording import OnDisk, Tasks, tasks_of
from verdict.batches.reuse import Run, run_or_reuse
from verdict.batches.run import Found, Task, run_tasks
from verdict.batches.version import PACKAGE, version_of
from verdict.completing import among
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.limits import free_mib
from verdict.phases import known_assumptions
from verdict.progress import Bar
from verdict.report.many import FORMS_OF_MANY, Case, Header, counts_line, many_data, table, to_text, worst
from verdict.report.outputs import Output, output_of, require_writable, write_whole
from verdict.report.readable import readable
from verdict.seconds import SECONDS

EPILOG = ("Exit status: that of the worst, in this order: 4 a bug in verdict, 2 a question that could not be put, "
          "1 refuted, 3 unknown, 0 all proved.")  # fmt: skip
DAY = 24 * 3600
"""Seconds after which another sample of the cache is proved again."""


@click.command("check", epilog=EPILOG)
@click.option("--config", metavar="FILE", help="The project's file (default: the nearest pyproject.toml).")
@shared
@click.pass_context
def check_command(context: click.Context, /, config: str | None, outputs: tuple[str, ...], **given: Any) -> None:
    """Decide all pairs and programs that [tool.verdict] of the project's pyproject.toml lists."""
    project = project_of(config)
    given["cache"] = given["cache"] or ""
    context.exit(_run(project.questions, (*project.outputs, *outputs), given))


@click.command("batch", epilog=EPILOG)
@click.argument("list_file", metavar="LIST")
@click.option("--assume", multiple=True, metavar="NAME", shell_complete=among(lambda: MAY_ASSUME),
              help="Take NAME for granted (repeatable).")  # fmt: skip
@click.option("--deny-assumption", "denied", multiple=True, metavar="NAME",
              shell_complete=among(lambda: known_assumptions(())),
              help="Refuse a proof that rests on NAME (repeatable).")  # fmt: skip
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, metavar="SECONDS",
              help="For one obligation; what takes longer is unknown.")  # fmt: skip
@click.option("--time-limit", type=SECONDS, default=1800.0, show_default=True,
              metavar="SECONDS", help="For one pair; what is not decided then is unknown.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random points that are tried.")
@click.option("--exhaustive", is_flag=True, help="Prove every stage and every column by itself (slow).")
@shared
@click.pass_context
def batch_command(
    context: click.Context, /, list_file: str, assume: tuple[str, ...], denied: tuple[str, ...], timeout: float,
    time_limit: float, seed: int, exhaustive: bool, outputs: tuple[str, ...], **given: Any,
) -> None:  # fmt: skip
    """Decide all pairs and programs that the file LIST holds, one a line (- for standard input).

    A line is SINGLE.plan PARALLEL.plan, or FILE.py:BUILD WORLD [FILE.py:BUILD_SINGLE]; what follows # is a comment.
    """
    settings = Settings(tuple(sorted({*assume})), tuple(sorted({*denied})), timeout, time_limit, seed, exhaustive)
    context.exit(_run(questions_of(list_file, settings), outputs, given))


@click.command("merge", epilog=EPILOG)
@click.argument("results", nargs=-1, required=True, metavar="RESULT.json...")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="Form of the report.")  # fmt: skip
@click.option("--output", metavar="FILE", help="Write the JSON report of the whole list to FILE, too.")
@click.pass_context
def merge_command(context: click.Context, results: tuple[str, ...], form: str, output: str | None) -> None:
    """Put together the JSON results of all shards of one list."""
    data = merged(results)
    if output:
        require_writable(results, [("the report", output)])
        write_whole(output, to_text(data))
    _warn(data["unused_assumptions"])
    click.echo(to_text(data) if form == "json" else table(data), nl=False)
    context.exit(worst(entry["verdict"] for entry in data["cases"]))


def _run(questions: Sequence[Question], texts: Sequence[str], given: dict[str, Any]) -> int:
    """Decide one part of a list, tell of it, and return the exit status."""
    if given["cache"] and given["engine"] == "ray":
        raise UsageError("--cache", "what other machines prove is not kept: this one cannot vouch for it", "omit it")
    require_known("--assume", {name for question in questions for name in question.settings.assume}, MAY_ASSUME)
    outputs = tuple(output_of(text, given["form"], FORMS_OF_MANY) for text in texts)
    require_writable(_inputs(questions), [("the report", output.path) for output in outputs])
    part, of = given["part"]
    mine = shard(questions, part, of)
    version = version_of(PACKAGE)
    seed = int(time.time()) // DAY if given["sample_seed"] is None else given["sample_seed"]
    cache = _cache(given)
    begun = time.monotonic()
    remote = on_ray(given["ray_address"]) if given["engine"] == "ray" else None
    made = tasks_of(mine, None if cache is None else OnDisk(cache, seed, keeps=remote is None), version, remote)
    _tell_recorded(made, seed, given["verbose"], time.monotonic() - begun)
    proofs = cache if remote is None else None
    with Bar(not given["quiet"]) as bar:
        told = _teller(len(mine), bar, given["verbose"] or (sys.stderr.isatty() and not given["quiet"]))
        run = partial(_runner(given, len(mine), remote), told=told)
        found = run(made.tasks) if proofs is None else _reusing(made.tasks, run, proofs, seed, version, told)
    denied = {name for question in questions for name in question.settings.denied} - {KEPT}
    header = Header(fingerprint(questions, version), len(questions), (part, of), _unused(denied, found))
    if of == 1:
        _warn(header.unused)
    cases = [each.case._replace(depends=tuple(made.depends.get(each.case.number, ()))) for each in found]
    _tell(header, cases, outputs, given)
    return worst(each.case.standing.name for each in found) if found else 0


def _runner(given: dict[str, Any], count: int, remote: Executor | None) -> Callable[..., list[Found]]:
    """What runs so many tasks, with the limits of the place where it does. A worker of Ray reads plans by itself, as it
    has threads and cannot be copied.
    """
    if remote is not None:
        return partial(run_tasks, executor=remote, load=_read_here, memory_mib=given["memory_limit"])
    jobs, free = given["jobs"] or os.cpu_count() or 1, free_mib()
    memory = given["memory_limit"] or (free and free // min(jobs, max(count, 1)))
    return partial(run_tasks, executor=local(jobs), load=load_all, memory_mib=memory)


def _read_here(paths: Sequence[str]) -> list[Plan]:
    return [read_here(path) for path in paths]


def _inputs(questions: Sequence[Question]) -> list[str]:
    pairs = [question.asked for question in questions if isinstance(question.asked, Pair)]
    programs = [question.asked for question in questions if isinstance(question.asked, Program)]
    return [path for pair in pairs for path in pair] + [program.program.partition(":")[0] for program in programs]


def _cache(given: dict[str, Any]) -> Cache | None:
    """The cache of this run, if it is to have one and there can be one."""
    if given["no_cache"] or given["cache"] is None:
        return None
    try:
        return opened(given["cache"] or None)
    except UsageError as error:
        if given["cache"]:
            raise
        click.echo(f"note: nothing is kept: {error}", err=True)
        return None


def _tell_recorded(made: Tasks, seed: int, verbose: bool, seconds: float) -> None:
    """Where recordings were used that were kept, and why others are not."""
    programs = sum(isinstance(task.question.asked, Program) for task in made.tasks)
    if verbose and programs:
        click.echo(f"recording: {seconds:.1f} s, {programs} of {programs} programs", err=True)
    if made.used:
        again = f", {made.again} of them recorded again (--sample-seed {seed})" if made.again else ""
        click.echo(f"note: {made.used} programs recorded before{again}", err=True)
    if made.otherwise:
        click.echo(f"note: {made.otherwise} recorded otherwise than before; no kept recording was used", err=True)
    for what, why in made.always.items() if verbose else ():
        click.echo(readable(f"note: {what} is recorded every time: {why}"), err=True)


def _reusing(
    tasks: Sequence[Task], run: Run, cache: Cache, seed: int, version: str, told: Callable[[Case], None]
) -> list[Found]:
    """What is found, with the proofs of the cache; of these nothing is said but where they were used."""
    reuse = run_or_reuse(tasks, run, cache, seed, version, write, told)
    if reuse.used:
        again = f", {reuse.again} of them proved again (--sample-seed {seed})" if reuse.again else ""
        click.echo(f"note: {reuse.used} of {len(tasks)} proved before{again}", err=True)
    if reuse.unkept:
        click.echo(f"note: nothing is kept: {reuse.unkept}", err=True)
    if reuse.otherwise:
        click.echo(f"note: {reuse.otherwise} came out otherwise than in the cache; nothing of it was used", err=True)
    return reuse.found


def _teller(total: int, bar: Bar, shown: bool) -> Callable[[Case], None]:
    """What draws how many cases are decided, and tells of each as soon as it is where they are `shown`."""
    done: list[Case] = []
    bar.advance("deciding", 0, total, "questions")

    def told(case: Case) -> None:
        done.append(case)
        if shown:
            seconds = f"{case.measured.total:.1f} s"
            click.echo(readable(f"{len(done)} of {total}: {case.standing.name} {case.name}, {seconds}"), err=True)
        bar.advance("deciding", len(done), total, "questions")

    return told


def _unused(denied: set[str], found: Sequence[Found]) -> tuple[str, ...]:
    """The denied assumptions that no plan knows; none can be told where a pair has no report."""
    if any(each.case.report is None for each in found):
        return ()
    return tuple(sorted(denied - {name for each in found for name in each.known}))


def _warn(unused: Sequence[str]) -> None:
    """A denied assumption that no plan knows may be one that is spelled wrongly, or of a trust that nobody needed."""
    for name in unused:
        click.echo(f"note: {readable(name)} is denied, and no plan of the list names it", err=True)


def _tell(header: Header, cases: Sequence[Case], outputs: Sequence[Output], given: dict[str, Any]) -> None:
    for output in outputs:
        write_whole(output.path, FORMS_OF_MANY[output.form](header, cases))
    if given["quiet"]:
        click.echo(counts_line(many_data(header, [case.data for case in cases])))
    elif not any(output.instead for output in outputs):
        click.echo(FORMS_OF_MANY[given["form"]](header, cases), nl=False)
