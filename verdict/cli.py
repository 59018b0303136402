"""The command line: read options, load plans, verify, render, exit. The only place that prints and exits."""

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import click
from rich.console import Console

from verdict import __version__
from verdict.api import MAY_ASSUME, require_known
from verdict.backends import load_all, pairs, save
from verdict.backends.generator.command import generate_command
from verdict.backends.hlo.command import hlo_command
from verdict.backends.jax.command import jax_command
from verdict.backends.torch.command import capture_command, torch_command
from verdict.backends.torch.engine import torch_engine
from verdict.batches.command import batch_command, check_command, merge_command
from verdict.bugs.command import bugs_command
from verdict.completing import among
from verdict.concrete.alone import outputs_of
from verdict.concrete.command import run_command
from verdict.counting import Progress
from verdict.dump import dump_lineages, dump_nodes, dump_obligations, dump_stages
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.group import MainJob, path_of, use_utf8
from verdict.limits import Limits, OutOfTime, begin, limited
from verdict.measure import Stopwatch, append_row, require_rows
from verdict.mutate.command import mutate_command
from verdict.observer import Phase
from verdict.options import Options, SolverOptions
from verdict.phases import Query, known_assumptions, script_of
from verdict.pipeline import Interrupted, verify
from verdict.progress import Bar
from verdict.repair import ALL_ATTEMPTS
from verdict.report import Measured, Report, show
from verdict.report.diff import diff_command
from verdict.report.explain import explain_command
from verdict.report.outputs import FORMS, Output, output_of, rendered, require_writable, write_whole
from verdict.report.readable import readable
from verdict.seconds import SECONDS
from verdict.solver import installed
from verdict.stdout import to_stderr, to_stdout
from verdict.watching import Dumps, Watching

QUESTION_NOT_PUT, UNDECIDED, INTERNAL_ERROR = 2, 3, 4
COLORS: dict[str, dict[str, Any]] = {"auto": {}, "always": {"force_terminal": True}, "never": {"color_system": None}}
SOLVERS = {"z3": ("z3",), "cvc5": ("cvc5",), "both": ("z3", "cvc5")}
DUMPS: Dumps = {
    "nodes": (Phase.CHECK, dump_nodes),
    "lineages": (Phase.STAGE, dump_lineages),
    "stages": (Phase.PROVE, dump_stages),
    "obligations": (Phase.PROVE, dump_obligations),
}

EPILOG = "Exit status: 0 proved, 1 refuted, 2 the question could not be put, 3 unknown, 4 a bug in verdict."


@click.group(cls=MainJob, invoke_without_command=True, epilog=EPILOG)
@click.option("--sm", "single", metavar="FILE", help="The single-device plan; - is standard input.")
@click.option("--pm", "parallel", metavar="FILE", help="The parallel plan; - is standard input.")
@click.option("--format", "form", type=click.Choice(list(FORMS)), default="text", help="Form of the report.")
@click.option("--output", "outputs", multiple=True, metavar="[FORMAT:]FILE",
              help="Write the report in FORMAT to FILE, too (repeatable); without FORMAT, "
                   "in that of --format and instead of the terminal.")  # fmt: skip
@click.option(
    "--workers", "--max_ser_proc", "--max_vrf_proc", type=click.IntRange(1), metavar="N",
    help="Processes that prove side by side (default: the cores). The other spellings are aliases.",
)  # fmt: skip
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, metavar="SECONDS",
              help="For one obligation; what takes longer is unknown.")  # fmt: skip
@click.option("--memory", type=click.IntRange(64), default=4096, show_default=True, metavar="MIB",
              help="For one worker; what takes more is unknown.")  # fmt: skip
@click.option("--time-limit", type=SECONDS, default=1800.0, show_default=True,
              metavar="SECONDS", help="For the whole run; what is not decided then is unknown.")  # fmt: skip
@click.option("--memory-limit", type=click.IntRange(64), metavar="MIB",
              help="For the main process (default: all that is free); what takes more is unknown.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random points that are tried.")
@click.option("--solver", type=click.Choice(sorted(SOLVERS)), default="z3", show_default=True,
              help="Who is asked about each distinct obligation; cvc5 needs verdict-parallel[cvc5].")  # fmt: skip
@click.option("--exhaustive", is_flag=True, help="Prove every stage and every column by itself (slow).")
@click.option("--assume", multiple=True, metavar="NAME", shell_complete=among(lambda: MAY_ASSUME),
              help=f"Take NAME for granted (repeatable): {', '.join(sorted(MAY_ASSUME))}.")  # fmt: skip
@click.option("--deny-assumption", "denied", multiple=True, metavar="NAME",
              shell_complete=among(lambda: known_assumptions(())),
              help="Refuse a proof that rests on NAME (repeatable).")  # fmt: skip
@click.option("--repair", metavar="FILE",
              help="Write the repaired plan to FILE, in Verdict's plan format, if a repair is proved.")  # fmt: skip
@click.option("--no-repair", "unrepaired", is_flag=True, help="Look for no repair.")
@click.option("--repro", metavar="FILE.py", help="Write a numpy script that shows what differs to FILE.py.")
@click.option("--stats", metavar="FILE.csv", help="Append one row about this run to FILE.csv.")
@click.option("--dump", type=click.Choice(sorted(DUMPS)), multiple=True, help="Print this before the report.")
@click.option("--color", type=click.Choice(list(COLORS)), default="auto", show_default=True,
              help="Of the report on the terminal; auto heeds NO_COLOR and FORCE_COLOR.")  # fmt: skip
@click.option("-v", "--verbose", count=True, help="More: the phases, and all that is open.")
@click.option("-q", "--quiet", is_flag=True, help="Only the verdict.")
@click.option("--loglevel", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
              help="Alias: DEBUG is -v, ERROR is -q.")  # fmt: skip
@click.option("--time", "_time", is_flag=True, help="Alias without effect: times are always reported.")
@click.option("--called", nargs=2, hidden=True, help="What reports call the plans, whose files do not stay.")
@click.option("--no_cache_nodes", is_flag=True, help="Alias without effect: nothing is cached on disk.")
@click.option("--no_cache_stages", is_flag=True, help="Alias without effect: nothing is cached on disk.")
@click.version_option(__version__, prog_name="verdict")
@click.pass_context
def cli(context: click.Context, /, single: str | None, parallel: str | None, **given: Any) -> None:
    """Prove, or refute with numbers, that a parallel training plan computes what the single-device plan does."""
    if context.invoked_subcommand is not None:
        return
    if not single or not parallel:
        missing = "--sm (the single-device plan)" if not single else "--pm (the parallel plan)"
        raise UsageError("usage", f"{missing} is missing", "verdict single.plan parallel.plan")
    context.exit(_main_job(path_of(single), path_of(parallel), given))


def _status(arguments: list[str]) -> int:
    """The exit status of the main job on these arguments."""
    return int(cli.main(arguments, standalone_mode=False) or 0)


def _named(paths: Sequence[str]) -> list[Plan]:
    """The plans in files as the command line names them."""
    return load_all([path_of(path) for path in paths])


cli.add_command(generate_command)
cli.add_command(diff_command)
cli.add_command(explain_command)
cli.add_command(run_command(_named, torch_engine))
cli.add_command(mutate_command(_named, save))
cli.add_command(bugs_command(pairs.names_of_bugs, pairs.load_bug))
cli.add_command(check_command)
cli.add_command(batch_command)
cli.add_command(merge_command)
cli.add_command(capture_command)
cli.add_command(torch_command(_status))
cli.add_command(hlo_command(_status, outputs_of))
cli.add_command(jax_command(_status, outputs_of))


def main() -> None:
    """The console script: any failure becomes one sentence and an exit status."""
    use_utf8()
    with to_stderr():
        status = _status_of_all()
    sys.exit(status)


def _status_of_all() -> int:
    complain = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with to_stdout():
            status: int = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = QUESTION_NOT_PUT
    except (click.Abort, KeyboardInterrupt):
        complain.print("verdict: interrupted; nothing was decided")
        status = QUESTION_NOT_PUT
    except VerdictError as error:
        complain.print(readable(f"verdict: {error}"), markup=False)
        status = QUESTION_NOT_PUT
    except MemoryError:
        complain.print("verdict: there was no memory left; nothing was decided")
        status = UNDECIDED
    except Exception:
        complain.print(traceback.format_exc(), markup=False)
        complain.print("verdict: this is a bug in verdict, not a verdict on the plans")
        status = INTERNAL_ERROR
    return status


def _interrupt(*_: object) -> None:
    """A wish from outside to end is heeded as one from the terminal is."""
    raise KeyboardInterrupt


def _main_job(single: str, parallel: str, given: dict[str, Any]) -> int:
    require_known("--assume", given["assume"], MAY_ASSUME)
    if given["repair"] and given["unrepaired"]:
        raise UsageError("--repair", "it contradicts --no-repair", "give one of them")
    outputs = _outputs(single, parallel, given)
    gc.disable()
    options = _options(given, begin(given["time_limit"], given["memory_limit"]))
    watch = Stopwatch()
    with Bar() as bar:
        dumps = {name: DUMPS[name] for name in given["dump"]}
        observer = Watching(watch, bar, dumps, given["verbose"] > 0 and not sys.stderr.isatty())
        observer.begin(Phase.LOAD)
        plans = _loaded((single, parallel), options.limits, given["called"], partial(observer.advance, Phase.LOAD))
        require_known("--deny-assumption", given["denied"], known_assumptions(plans))
        try:
            report = verify(*plans, options, observer)
        except Interrupted as interrupt:
            report = interrupt.report
        observer.end()
    measured = watch.measured(options.workers)
    _tell(report, measured, outputs, given)
    if given["repair"]:
        _write_repaired(given["repair"], report)
    if given["repro"]:
        _write_repro(given["repro"], script_of(Query(*plans, options), report))
    if given["stats"]:
        append_row(given["stats"], report, measured)
    return report.verdict.value


def _outputs(single: str, parallel: str, given: dict[str, Any]) -> tuple[Output, ...]:
    """The reports that are asked for. Raises UsageError where a file is given twice or cannot be written."""
    if os.path.realpath(single) == os.path.realpath(parallel) and os.path.exists(single):
        raise UsageError(single, "it is given as both plans", "give the single-device plan and the parallel plan")
    outputs = tuple(output_of(text, given["form"]) for text in given["outputs"])
    others = {"the repaired plan": given["repair"], "the script": given["repro"], "the statistics": given["stats"]}
    files = [("the report", output.path) for output in outputs]
    files += [(what, path) for what, path in others.items() if path]
    require_writable((single, parallel), files)
    if given["stats"]:
        require_rows(given["stats"])
    return outputs


def _loaded(
    paths: tuple[str, str], limits: Limits, called: tuple[str, str] | None, progress: Progress
) -> tuple[Plan, Plan]:
    try:
        with limited(limits):
            one, other = load_all(paths, progress)
    except (OutOfTime, MemoryError) as error:
        raise UsageError("the plans", f"they were not read: {limits.in_words(error)}", "give it more") from None
    if called is not None:
        return replace(one, source=called[0], lines=()), replace(other, source=called[1], lines=())
    return one, other


def _write_repaired(path: str, report: Report) -> None:
    if report.repairs and report.repairs[0].proved:
        save(report.repairs[0].plan, path)
    else:
        click.echo(f"{path} is not written: there is no repair that is proved", err=True)


def _write_repro(path: str, script: str) -> None:
    if not script:
        click.echo(f"{path} is not written: there are no numbers to show", err=True)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
    except OSError as error:
        raise UsageError(path, f"the script cannot be written: {error.strerror}", "give a writable file") from None


def _options(given: dict[str, Any], limits: Limits) -> Options:
    return Options(
        workers=given["workers"] or os.cpu_count() or 1,
        memory_mib=given["memory"],
        exhaustive=given["exhaustive"],
        assume=frozenset(given["assume"]),
        denied=frozenset(given["denied"]),
        solver=SolverOptions(timeout=given["timeout"], seed=given["seed"], solvers=_solvers(given["solver"])),
        limits=limits,
        attempts=0 if given["unrepaired"] else ALL_ATTEMPTS if given["repair"] else None,
    )


def _solvers(choice: str) -> tuple[str, ...]:
    missing = [solver for solver in SOLVERS[choice] if not installed(solver)]
    if missing:
        extra = f"verdict-parallel[{missing[0]}]"
        raise UsageError("--solver", f"{missing[0]} is not installed", f"python -m pip install '{extra}'")
    return SOLVERS[choice]


def _tell(report: Report, measured: Measured, outputs: tuple[Output, ...], given: dict[str, Any]) -> None:
    level = (given["loglevel"] or "").upper()
    verbose = -1 if given["quiet"] or level == "ERROR" else max(given["verbose"], int(level == "DEBUG"))
    for output in outputs:
        write_whole(output.path, rendered(output.form, report, measured, verbose))
    if any(output.instead for output in outputs):
        return
    if given["form"] == "text":
        plain: dict[str, Any] = {"soft_wrap": True, "highlight": False, "markup": False, "emoji": False}
        show(report, measured, Console(**plain, **COLORS[given["color"]]), verbose)
    else:
        sys.stdout.write(rendered(given["form"], report, measured, verbose))
