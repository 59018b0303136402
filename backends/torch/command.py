"""`verdict capture` and `verdict torch`: record PyTorch programs, and verify what was recorded."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import click

from verdict.backends.text import write
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.confirmation import AGREES, NOT_RUN, Confirmation, confirmed
from verdict.backends.torch.job import AUTO, LIVE
from verdict.backends.torch.launch import Limits, Recorded, Recording, Target, record_all, record_each, record_either
from verdict.backends.torch.parts import Part, part_of, together, write_part
from verdict.backends.torch.stated import ranks_of, step_of
from verdict.backends.torch.trace import BY_PYTHON, BY_SHAPE, UNMODELLED, WAITS, Trace, decides
from verdict.child import lasting
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.progress import Bar
from verdict.seconds import SECONDS

BUILD, BUILD_SINGLE = "build", "build_single"
LIMITS = Limits()
_WITHOUT = "recorded on real tensors; without data"

_WORLD = click.option("--world", type=click.IntRange(1), metavar="N",
                      help="How many ranks there are (default: those of a Step's mesh).")  # fmt: skip
_TENSORS = click.option("--tensors", type=click.Choice([AUTO, "fake", "real"]), default=AUTO, show_default=True,
                        help="Record on tensors without data, or on real ones; auto tries both in turn.")  # fmt: skip
_LIVE = click.option("--live", is_flag=True,
                     help="Record all ranks together, as processes that talk by gloo, on real numbers: choices that "
                     "data makes are recorded, too.")  # fmt: skip
_CORES = click.option("--cores", type=click.IntRange(1), metavar="N",
                      help="Ranks that are recorded side by side (default: the cores).")  # fmt: skip
_SECONDS = click.option("--record-timeout", "seconds", type=SECONDS, default=LIMITS.seconds,
                        show_default=True, metavar="SECONDS", help="For the recording of one rank.")  # fmt: skip
_MEMORY = click.option("--record-memory", "mebibytes", type=click.IntRange(256), default=LIMITS.mebibytes,
                       show_default=True, metavar="MIB",
                       help="For each process that records or runs a rank.")  # fmt: skip
_CONFIRM = click.option("--confirm/--no-confirm", default=True, show_default=True,
                        help="Run the program, too, and hold its recording against the runs.")  # fmt: skip
_CONFIRM_SECONDS = click.option("--confirm-timeout", type=SECONDS, default=LIMITS.confirm,
                                show_default=True, metavar="SECONDS", help="For the runs of one program.")  # fmt: skip


def _say(text: str) -> None:
    click.echo(text, err=True)


def _nothing(*_: object) -> None:
    return None


def capture(
    programs: Sequence[tuple[Target, int]], tensors: str = AUTO, cores: int = 0, limits: Limits = LIMITS,
    say: Callable[[str], None] = _say, progress: Recording | None = None,
) -> list[Plan]:  # fmt: skip
    """The plan of each (program, number of ranks).

    tensors: "fake" for tensors without data, "real", "auto": real ones where programs cannot be recorded without, or
    "live": all ranks together, on real numbers, the single-device program first. say: told
    of each program in words. progress: of counts, which a terminal shows where it is None.
    Raises UsageError where one cannot be recorded, or is run and does something else.
    """
    begun, without = time.monotonic(), None
    try:
        with Bar(progress is None) as bar:
            how = cores or os.cpu_count() or 1, limits, progress or bar.advance
            if tensors == AUTO:
                recorded, without = record_either(programs, *how)
            else:
                recorded = record_all(programs, tensors, *how, meanwhile=_prepared if tensors == LIVE else _nothing)
        if isinstance(recorded, UsageError):
            raise recorded
        recorded = behind_choices(recorded)
        plans = [
            confirmed(plan_of(found.traces, ":".join(target)), found.confirmation, found.traces)
            for (target, _), found in zip(programs, recorded, strict=True)
        ]
    except UsageError as error:
        if tensors != AUTO or without is not None:
            raise
        plans = capture(programs, "real", cores, limits, say, progress)
        say(f"{_WITHOUT}: {error}")
        return plans
    for plan, found in zip(plans, recorded, strict=True):
        nodes = [node for segment in plan.segments for node in segment.nodes]
        unknown = sum(node.op == UNMODELLED for node in nodes)
        say(
            f"recorded {plan.source}: {plan.devices} rank{'s' * (plan.devices > 1)}, {len(nodes)} nodes"
            f"{f', {unknown} of them not modelled' if unknown else ''}; {_told(found.confirmation)}"
        )
    notes = {note for each in recorded for trace in each.traces for note in trace.notes}
    for text in sorted(text for name, text in notes if name == WAITS):
        say(text)
    if tensors != LIVE and any(_is_data_asked(trace) for each in recorded for trace in each.traces):
        say("what data holds decides what the program does: with --live, choices that data makes are recorded")
    say(f"recorded in {time.monotonic() - begun:.1f} s")
    if without is not None:
        say(f"{_WITHOUT}: {without}")
    return plans


def _is_data_asked(trace: Trace) -> bool:
    """Whether a recording lacks what follows from a value that Python reads, or from one that decides about a shape."""
    reasons = [str(dict(step.attrs)["reason"]) for step in trace.steps if step.op == UNMODELLED]
    if any(step.op == "aten.index.Tensor" and "masks" in dict(step.attrs) for step in trace.steps):
        return True
    return any(why in reason for reason in (*reasons, *trace.doubts) for why in (BY_PYTHON, BY_SHAPE))


def recorded_each(
    programs: Sequence[tuple[Target, int]], tensors: str, confirm: bool, progress: Recording, watched: bool,
    cores: int = 0, ranks: Sequence[int] = (),
) -> list[Recorded | VerdictError | RuntimeError]:  # fmt: skip
    """What is recorded of each (program, number of ranks), by processes that import torch once, or why nothing is:
    RuntimeError where that is no fault of the program. watched: whether what it depends on is told. cores: ranks side
    by side, 0 for all cores. ranks: those of each that are recorded, which is not run then; none are all.

    A program that such a process does not survive is found by recording each by itself.
    """
    runs, most = confirm and not ranks, cores or os.cpu_count() or 1
    limits = LIMITS if runs else LIMITS._replace(confirm=0.0)
    try:
        return list(record_each(programs, tensors, most, limits, progress, watched, ranks))
    except (VerdictError, RuntimeError) as error:
        if len(programs) == 1:
            return [error]
        how = tensors, confirm, progress, watched, cores, ranks
        return [each for one in programs for each in recorded_each([one], *how)]


def behind_choices(found: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """What was recorded, behind the choices that data makes: of a single-device program and a parallel one together,
    where there are two, and of each program alone otherwise.
    """
    if not any(decides(trace) for each in found for trace in each.traces):
        return tuple(found)
    pinned = _pinned()
    if len(found) != 2 or len(found[0].traces) != 1:
        return tuple(each._replace(traces=pinned.alone(each.traces)) for each in found)
    single, parallel = pinned.paired(found[0].traces[0], found[1].traces)
    return found[0]._replace(traces=(single,)), found[1]._replace(traces=parallel)


def _pinned() -> ModuleType:
    """What goes on behind choices. It computes by torch, which is imported while those who record do so, too."""
    with lasting():
        return import_module("verdict.backends.torch.pinned")


def _prepared() -> None:
    with suppress(ImportError):  # who records will say it
        _pinned()


def plan_or_error(target: Target, found: Recorded | VerdictError | RuntimeError) -> Plan | VerdictError | RuntimeError:
    """The plan of what was recorded, or why there is none."""
    if isinstance(found, Exception):
        return found
    try:
        return confirmed(plan_of(found.traces, ":".join(target)), found.confirmation, found.traces)
    except VerdictError as error:
        return error


def _told(found: Confirmation) -> str:
    if found.how == AGREES:
        return f"{'one run agrees' if found.why else 'two runs agree'} with it"
    return f"not run: {found.why}" if found.how == NOT_RUN else f"when it is run, it {found.how}"


def _write(plan: Plan, folder: Path, name: str) -> str:
    path = folder / f"{name}.plan"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(write(plan))
    except OSError as error:
        raise UsageError(str(path), f"the plan cannot be written: {error.strerror}", "give a writable folder") from None
    return str(path)


def _write_part(part: Part, folder: Path, ranks: range) -> str:
    path = folder / f"ranks-{ranks.start}-{ranks.stop}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_part(path, part)
    except OSError as error:
        raise UsageError(str(path), f"it cannot be written: {error.strerror}", "give a writable folder") from None
    return str(path)


class _Ranks(click.ParamType[range]):
    """A:B, from A to B-1."""

    name = "ranks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """The ranks."""
        first, _, last = str(value).partition(":")
        if not (first.isdecimal() and last.isdecimal() and int(first) < int(last)):
            self.fail(f"{value} is not A:B, as 0:4 for the first four", param, ctx)
        return range(int(first), int(last))


@click.command("capture")
@click.argument("program", required=False, metavar="[FILE.py:BUILD]")
@click.option("--single", metavar="FILE.py:BUILD", help="The single-device program, which is recorded too.")
@click.option("--world", type=click.IntRange(1), metavar="N", help="How many ranks PROGRAM has.")
@click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR")
@click.option("--ranks", type=_Ranks(), metavar="A:B",
              help="Only ranks A to B-1, as on one of several machines; --part puts them together.")  # fmt: skip
@click.option("--part", "parts", multiple=True, metavar="FILE", help="What --ranks wrote (repeatable, for all ranks).")
@_TENSORS
@_LIVE
@_CORES
@_SECONDS
@_MEMORY
@_CONFIRM
@_CONFIRM_SECONDS
def capture_command(
    program: str | None, single: str | None, world: int | None, out: Path, ranks: range | None,
    parts: tuple[str, ...], tensors: str, live: bool, cores: int | None, seconds: float, mebibytes: int, confirm: bool,
    confirm_timeout: float,
) -> None:  # fmt: skip
    """Record the PyTorch program that FILE.py:BUILD builds, all ranks, and write its plan to DIR."""
    if parts:
        if program or single or ranks:
            raise UsageError("--part", "parts are put together by themselves", "record before, with --ranks")
        click.echo(f"wrote {_write(together(parts), out, 'parallel')}")
        return
    if not program and not single:
        raise UsageError("usage", "there is no program", "verdict capture FILE.py:build --world 8 -o DIR")
    if program and not world:
        raise UsageError("--world", "it is missing", "say how many ranks the program has")
    if ranks is not None:
        if live or single or not program or ranks.stop > (world or 0):
            raise UsageError("--ranks", "it is of the ranks of one PROGRAM below --world", "as 0:4 of --world 8")
        target, how = Target.of(program, BUILD), "fake" if tensors == AUTO else tensors
        limits = Limits(seconds, mebibytes, 0.0)
        (found,) = record_all([(target, world or 0)], how, cores or os.cpu_count() or 1, limits, ranks=ranks)
        click.echo(f"wrote {_write_part(part_of(target, world or 0, how, found.traces), out, ranks)}")
        return
    wanted = [("single", Target.of(single, BUILD_SINGLE), 1)] if single else []
    wanted += [("parallel", Target.of(program, BUILD), world or 1)] if program else []
    limits = Limits(seconds, mebibytes, confirm_timeout if confirm else 0.0)
    plans = capture([(target, ranks) for _, target, ranks in wanted], LIVE if live else tensors, cores or 0, limits)
    written = [_write(plan, out, name) for plan, (name, _, _) in zip(plans, wanted, strict=True)]
    click.echo("wrote " + " and ".join(written))


def torch_command(run: Callable[[list[str]], int]) -> click.Command:
    """The command; `run` is the command line that verifies a pair of plans, and returns its exit status."""

    @click.command("torch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
    @click.argument("program", metavar="FILE.py[:BUILD]")
    @_WORLD
    @click.option("--single", metavar="[FILE.py:]BUILD", help=f"The single-device program (default: {BUILD_SINGLE}).")
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Keep the two plans in DIR.")  # fmt: skip
    @_TENSORS
    @_LIVE
    @_CORES
    @_SECONDS
    @_MEMORY
    @_CONFIRM
    @_CONFIRM_SECONDS
    @click.argument("options", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(
        context: click.Context, program: str, world: int | None, single: str | None, out: Path | None, tensors: str,
        live: bool, cores: int | None, seconds: float, mebibytes: int, confirm: bool, confirm_timeout: float,
        options: tuple[str, ...],
    ) -> None:  # fmt: skip
        """Record the single-device program and the parallel one, and verify that they compute the same.

        FILE.py holds build_single(ctx) and build(ctx), or BUILD is a Step. Further OPTIONS are those of verdict itself.
        """
        with TemporaryDirectory(prefix="verdict-torch-") as name:
            folder, target = out or Path(name), Target.of(program, BUILD)
            step = step_of(target)
            ranks = world or (ranks_of(step) if step else None)
            if ranks is None:
                raise UsageError("--world", "it is missing", "say how many ranks the program has")
            alone = Target.of(single or target.file, target.function if step else BUILD_SINGLE, target.file)
            limits = Limits(seconds, mebibytes, confirm_timeout if confirm else 0.0)
            say = _nothing if {"-q", "--quiet"} & {*options} else _say
            plans = capture([(alone, 1), (target, ranks)], LIVE if live else tensors, cores or 0, limits, say)
            files = [_write(plan, folder, side) for plan, side in zip(plans, ("single", "parallel"), strict=True)]
            called = () if out else ("--called", str(alone), str(target))
            context.exit(run(["--sm", files[0], "--pm", files[1], *called, *options]))

    return command
