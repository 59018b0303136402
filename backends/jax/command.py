"""`verdict jax`: whether what XLA makes of a JAX program computes, on all devices, what the program computes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from verdict.backends.hlo.command import OnNumbers, Question, answered, pairs_of, ranged, stated, through, unrolled
from verdict.backends.hlo.ranges import NO_RANGES, Ranges
from verdict.backends.jax.launch import DOORS, HLO, JAXPR, Limits, texts_of
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.seconds import SECONDS

LIMITS = Limits()
DEVICES = 8
"""So many virtual devices there are where nobody says: meshes of 2 x 4 and 2 x 2 x 2 fit."""


def pairs_of_program(
    target: str, devices: int, python: str = "", ranges: Ranges = NO_RANGES, limits: Limits = LIMITS, door: str = HLO,
    on_numbers: OnNumbers | None = None,
) -> Iterator[tuple[Plan, Plan]]:
    """Pairs of plans that answer whether FILE.py[:FUNCTION] is right, see `pairs_of`. Raises VerdictError where no
    question can be put.
    """
    with TemporaryDirectory(prefix="verdict-jax-") as name:
        texts = texts_of(target, devices, Path(name), python, False, limits, door)
        known = {**texts.ranges, **ranges}
        yield from pairs_of(Question(texts.before, texts.after, texts.shardings, known, on_numbers))


def jax_command(run: Callable[[list[str]], int], on_numbers: OnNumbers) -> click.Command:
    """The command; `run` is the command line that verifies a pair of plans, and returns its exit status.

    on_numbers: see `Question`.
    """

    @click.command("jax", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
    @click.argument("program", metavar="FILE.py[:FUNCTION]")
    @click.option("--devices", type=click.IntRange(2), default=DEVICES, show_default=True, metavar="N",
                  help="How many virtual CPU devices there are.")  # fmt: skip
    @click.option("--door", type=click.Choice(DOORS), default=HLO, show_default=True,
                  help="jaxpr: what jax traced of shard_map programs, of which nothing is compiled.")  # fmt: skip
    @click.option("--passes", is_flag=True, help="Verify the module after each pass, until one is refuted.")
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                  help="Keep XLA's texts and the two plans in DIR.")  # fmt: skip
    @click.option("--python", default="", metavar="PATH", help="The Python that has jax (default: Verdict's own).")
    @click.option("--compile-timeout", "seconds", type=SECONDS, default=LIMITS.seconds,
                  show_default=True, metavar="SECONDS", help="For running the file and compiling.")  # fmt: skip
    @click.option("--compile-memory", "mebibytes", type=click.IntRange(2048), default=LIMITS.mebibytes,
                  show_default=True, metavar="MIB", help="For the process that does so.")  # fmt: skip
    @ranged
    @unrolled
    @click.argument("options", nargs=-1, type=click.UNPROCESSED)
    @click.pass_context
    def command(
        context: click.Context, program: str, devices: int, door: str, passes: bool, out: Path | None, python: str,
        seconds: float, mebibytes: int, ranges: Sequence[tuple[str, int, int]], unroll: bool, options: tuple[str, ...],
    ) -> None:  # fmt: skip
        """Compile a JAX program in a process of its own, and verify what XLA's partitioner makes of it.

        FUNCTION (build) returns a jitted function with shardings and its arguments, and may return ranges of integers
        as well. Where FILE.py has a function build_single, what that returns is the program that is compared with.
        Further OPTIONS are those of verdict.
        """
        if passes and door == JAXPR:
            raise UsageError("--passes", "nothing is compiled of what jax traced", "leave one of them away")
        with TemporaryDirectory(prefix="verdict-jax-") as name:
            folder = out or Path(name)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(str(folder), f"the folder cannot be made: {error.strerror}") from None
            texts = texts_of(program, devices, folder, python, passes, Limits(seconds, mebibytes), door)
            made = "traced" if door == JAXPR else "partitioned"
            called = () if out else ("--called", f"{program}, as written", f"{program}, {made}")

            def of(module: str) -> int:
                known = {**texts.ranges, **stated(ranges)}
                asked = Question(texts.before, module, texts.shardings, known, on_numbers)
                return answered(asked, folder, [*called, *options], unroll, run)

            context.exit(through(Path(texts.after), folder / "dump", of) if passes else of(texts.after))

    return command
