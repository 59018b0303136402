"""`verdict mutate`: write mutants of a plan, with a manifest that says what each one is."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from verdict.completing import among
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.mutate.mutate import KINDS, mutate

LoadAll = Callable[[tuple[str, ...]], Sequence[Plan]]
Save = Callable[[Plan, str], None]


def mutate_command(load_all: LoadAll, save: Save) -> click.Command:
    """The command; `load_all` reads plan files, `save` writes one."""

    @click.command("mutate", epilog=f"Kinds: {', '.join(KINDS)}.")
    @click.argument("plan")
    @click.option("--seed", type=int, default=0, show_default=True, help="Equal seeds give equal mutants.")
    @click.option("--count", type=click.IntRange(1), default=10, show_default=True, help="How many mutants.")
    @click.option("--kinds", metavar="NAME,...", shell_complete=among(lambda: KINDS),
                  help="Only these kinds of faults (default: all in turn).")  # fmt: skip
    @click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR")
    def command(plan: str, seed: int, count: int, kinds: str | None, out: Path) -> None:
        """Put single faults into PLAN: each mutant is a plan file in DIR, and manifest.json tells what it is."""
        (loaded,) = load_all((plan,))
        wanted = tuple(kind.strip() for kind in kinds.split(",")) if kinds else ()
        mutants = mutate(loaded, seed, count, wanted)
        manifest = []
        try:
            out.mkdir(parents=True, exist_ok=True)
            for mutant in mutants:
                file = f"{mutant.kind}-{mutant.number}.plan"
                save(mutant.plan, str(out / file))
                manifest.append(
                    {"file": file, "kind": mutant.kind, "number": mutant.number, "fault": mutant.description}
                )
            told = {"plan": plan, "seed": seed, "mutants": manifest}
            (out / "manifest.json").write_text(json.dumps(told, indent=2) + "\n")
        except OSError as error:
            raise UsageError(str(out), f"the folder cannot be written: {error.strerror}") from None
        click.echo(f"wrote {len(mutants)} mutants and manifest.json to {out}")

    return command
