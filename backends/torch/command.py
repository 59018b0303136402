"""`verdict capture` and `verdict torch`: record PyTorch programs, and verify what was recorded."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from backends.text import write
from backends.torch.assemble import plan_of
from backends.torch.launch import Target, record_all
from backends.torch.trace import UNMODELLED
from verdict.errors import UsageError
from verdict.graph import Plan

BUILD, BUILD_SINGLE = "build", "build_single"

_WORLD = click.option("--world", type=click.IntRange(1), required=True, metavar="N", help="How many ranks there are.")
_TENSORS = click.option("--tensors", type=click.Choice(["fake", "real"]), default="fake", show_default=True,
                        help="Record on tensors without data, or on real ones.")  # fmt: skip
_CORES = click.option("--cores", type=click.IntRange(1), metavar="N",
                      help="Ranks that are recorded side by side (default: the cores).")  # fmt: skip
_SECONDS = click.option("--record-timeout", "seconds", type=click.FloatRange(0, min_open=True), default=600.0,
                        show_default=True, metavar="SECONDS", help="For the recording of one rank.")  # fmt: skip


def capture(
    programs: Sequence[tuple[Target, int]], tensors: str = "fake", cores: int = 0, seconds: float = 600.0
) -> list[Plan]:
    """The plan of each (program, number of ranks). Raises UsageError where one cannot be recorded."""
    begun, shown = time.monotonic(), sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if shown:
            click.echo(f"\rrecording: {done} of {total} ranks", nl=done == total, err=True)

    recorded = record_all(programs, tensors, cores or os.cpu_count() or 1, seconds, progress)
    plans = [plan_of(traces, ":".join(target)) for (target, _), traces in zip(programs, recorded, strict=True)]
    for plan in plans:
        nodes = [node for segment in plan.segments for node in segment.nodes]
        unknown = sum(node.op == UNMODELLED for node in nodes)
        click.echo(
            f"recorded {plan.source}: {plan.devices} rank{'s' * (plan.devices > 1)}, {len(nodes)} nodes"
            f"{f', {unknown} of them not modelled' if unknown else ''}",
            err=True,
        )
    click.echo(f"recorded in {time.monotonic() - begun:.1f} s", err=True)
    return plans


def _write(plan: Plan, folder: Path, name: str) -> str:
    path = folder / f"{name}.plan"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(write(plan))
    except OSError as error:
        raise UsageError(str(path), f"the plan cannot be written: {error.strerror}", "give a writable folder") from None
    return str(path)


@click.command("capture")
@click.argument("program", required=False, metavar="[FILE.py:BUILD]")
@click.option("--single", metavar="FILE.py:BUILD", help="The single-device program, which is recorded too.")
@click.option("--world", type=click.IntRange(1), metavar="N", help="How many ranks PROGRAM has.")
@click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR")
@_TENSORS
@_CORES
@_SECONDS
def capture_command(
    program: str | None, single: str | None, world: int | None, out: Path, tensors: str, cores: int | None,
    seconds: float,
) -> None:  # fmt: skip
    """Record the PyTorch program that FILE.py:BUILD builds, all ranks, and write its plan to DIR."""
    if not program and not single:
        raise UsageError("usage", "there is no program", "verdict capture FILE.py:build --world 8 -o DIR")
    if program and not world:
        raise UsageError("--world", "it is missing", "say how many ranks the program has")
    wanted = [("single", Target.of(single, BUILD_SINGLE), 1)] if single else []
    wanted += [("parallel", Target.of(program, BUILD), world or 1)] if program else []
    plans = capture([(target, ranks) for _, target, ranks in wanted], tensors, cores or 0, seconds)
    written = [_write(plan, out, name) for plan, (name, _, _) in zip(plans, wanted, strict=True)]
    click.echo("wrote " + " and ".join(written))


def torch_command(run: Callable[[list[str]], int]) -> click.Command:
    """The command; `run` is the command line that verifies a pair of plans, and returns its exit status."""

    @click.command("torch", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
    @click.argument("program", metavar="FILE.py[:BUILD]")
    @_WORLD
    @click.option("--single", metavar="FILE.py:BUILD", help=f"The single-device program (default: {BUILD_SINGLE}).")
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Keep the two plans in DIR.")  # fmt: skip
    @_TENSORS
    @_CORES
    @_SECONDS
    @click.argument("options", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(
        context: click.Context, program: str, world: int, single: str | None, out: Path | None, tensors: str,
        cores: int | None, seconds: float, options: tuple[str, ...],
    ) -> None:  # fmt: skip
        """Record the single-device program and the parallel one, and verify that they compute the same.

        FILE.py holds build_single(ctx) and build(ctx). Further OPTIONS are those of verdict itself.
        """
        with TemporaryDirectory(prefix="verdict-torch-") as name:
            folder, target = out or Path(name), Target.of(program, BUILD)
            alone = Target.of(single or target.file, BUILD_SINGLE)
            plans = capture([(alone, 1), (target, world)], tensors, cores or 0, seconds)
            files = [_write(plan, folder, side) for plan, side in zip(plans, ("single", "parallel"), strict=True)]
            context.exit(run(["--sm", files[0], "--pm", files[1], *options]))

    return command
