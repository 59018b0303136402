"""Record and prove the programs of other people's libraries, and write docs/libraries.md.

python scripts/libraries.py [LIBRARY ...] [--only TEXT] [--python FILE] [--write]

Each library is installed at its stated version into an environment of its own, build/libraries/NAME; --python names one
that is there. Rows that are not run keep what the page says of them.
"""

import re
import subprocess
import sys
import tempfile
import textwrap
import venv
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts import processes  # noqa: E402
from scripts.library_rows import Library, Row  # noqa: E402
from scripts.library_rows.accelerate import ACCELERATE  # noqa: E402
from scripts.library_rows.deepspeed import DEEPSPEED  # noqa: E402
from scripts.library_rows.further import FURTHER  # noqa: E402
from scripts.library_rows.megatron import MEGATRON  # noqa: E402
from scripts.library_rows.peft import PEFT  # noqa: E402
from scripts.library_rows.torch import TORCH  # noqa: E402
from scripts.library_rows.torchtitan import TORCHTITAN  # noqa: E402
from scripts.library_rows.transformers import TRANSFORMERS  # noqa: E402
from scripts.machine import machine  # noqa: E402

LIBRARIES = (TORCH, TRANSFORMERS, TORCHTITAN, MEGATRON, DEEPSPEED, ACCELERATE, PEFT, *FURTHER)
PROGRAMS = ROOT / "examples" / "libraries"
PAGE = ROOT / "docs" / "libraries.md"
HEAD = """# Other people's libraries

Written by `python scripts/libraries.py --write`; only the table is. Each row is a program of
`examples/libraries` that trains a model of the library, its code unchanged, one layer, small widths, random weights,
with AdamW (some of torch's own with SGD): on one device, and on a few ranks, which are recorded, run for real over
gloo, and proved. Beside it stands the same program with a mistake that a user may make, and what is said of that: the
code of the first finding, and the line that it names. Where the library is wrong itself, the verdict says so, and
`examples/libraries/megatron/faults_on_gloo.py` shows it on two processes without Verdict.

What is not there, and why: DeepSpeed's pipeline engine, whose stages tell each other shapes in a buffer of which most
was never written, and is UNKNOWN; a Trainer's own value of the loss, which it hands on as a number of Python's, so that
its updated weights alone are compared; Megatron-Core's context parallelism, as its own attention refuses it and that of
Transformer Engine runs on no CPU; torchtitan's context parallelism, neither form of which runs on a CPU: over its SDPA,
torch's DTensor has no sharding strategy for `aten._scaled_dot_product_flash_attention_for_cpu` (the
ring is registered for the three kernels of GPUs alone), and FlexAttention has no backward there.
DeBERTa, given no mask, asks of its data whether it is padded, and is UNKNOWN; so are LayoutLM and Longformer, told what
fills up, and DETR in training mode, which asks whether numbers are finite.
DINOv2, SigLIP, wav2vec2 and XLNet, called by DDP as they are, have weights that
nothing uses, so that DDP waits for their gradients and reduces no others of their bucket: they are REFUTED
(`missing-reduction`). With `find_unused_parameters` XLNet's unused weights leave it UNKNOWN, as nothing trains them.
peft's LoHa and LoKr draw a number in training mode and ask whether it is above `module_dropout`: they are UNKNOWN,
unless ranks are recorded together (`--live`). Its DoRA divides by norms of weights, which may be zero, and norms of
activations behind that make numbers of infinite ones, so that no cut points are made: right, it has no answer in 200
seconds beside other work; a loss that is divided by the ranks again is REFUTED.
"""
COLUMNS = ("program", "ranks", "nodes", "recording s", "proof s", "verdict", "with a mistake", "what is said")


class Answer(NamedTuple):
    """What became of a program. nodes: of all ranks. recording, proof: seconds. told: code and place, or a reason."""

    verdict: str
    nodes: int = 0
    recording: float = 0.0
    proof: float = 0.0
    told: str = ""


def answer(row: Row, builder: str, python: str, timeout: float) -> Answer:
    """Record and verify one program of a row."""
    with tempfile.TemporaryDirectory() as folder:
        how = ("--live",) if row.tensors == "live" else ("--tensors", row.tensors)
        words = (PROGRAMS / row.file, builder, row.single, row.ranks, Path(folder), *how)
        recorded, *plans = processes.record(*words, python=python, timeout=timeout)
        if recorded.status:
            return Answer("not recorded", recording=recorded.seconds, told=_last(recorded.errors))
        nodes = sum(map(int, re.findall(r"ranks?, (\d+) nodes", recorded.errors.splitlines()[-2])))
        done = processes.ask(*plans, "--no-repair", timeout=timeout)
    return Answer(done.verdict, nodes, recorded.seconds, done.seconds, _told(done))


def _told(done: processes.Done) -> str:
    """Code and place of the first finding, or the first thing that is open."""
    for finding in done.data.get("findings", ()):
        source = finding.get("source") or {}
        place = f" at {source['file']}:{source['line']}" if source else f" at {finding['where']}"
        return f"{finding['code']}{place}"
    listed = done.data.get("unknown") or [{}]
    return str(listed[0].get("reason", ""))


def _last(errors: str) -> str:
    return "".join(errors.strip().splitlines()[-1:])


def line(row: Row, right: Answer, wrong: Answer | None) -> str:
    """The row of the table."""
    verdict = right.verdict if right.verdict == "PROVED" else f"{right.verdict}: {row.reason or right.told}"
    if row.fault:
        verdict = f"{right.verdict} {right.told}: {row.reason}"
    sizes = (str(right.nodes or ""), f"{right.recording:.0f}", f"{right.proof:.0f}")
    said = ("", "") if wrong is None else (row.mistake, f"{wrong.verdict} {wrong.told}")
    cells = (row.what, str(row.ranks), *sizes, verdict, *said)
    return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def unanswered(libraries: tuple[Library, ...]) -> str:
    """What is recorded, and of which nothing is said."""
    told = [f"{each.name}: {', '.join(each.unanswered)}" for each in libraries if each.unanswered]
    if not told:
        return ""
    said = f"Recorded, but without an answer in a minute or more beside other work: {'; '.join(told)}."
    return "\n".join(textwrap.wrap(said, 120, break_long_words=False, break_on_hyphens=False))


def written(page: str, lines: dict[str, str], libraries: tuple[Library, ...], about: str) -> str:
    """The page with these rows, by library and program, in place of its own; those that are not here stay."""
    old, library = dict[str, str](), ""
    for text in page.splitlines():
        library = text[3:].split(" ")[0] if text.startswith("## ") else library
        if text.startswith("| "):
            old[f"{library}: {text.split('|')[1].strip()}"] = text
    sections = list(filter(None, (HEAD, unanswered(libraries), about)))
    for each in libraries:
        rows = [name for row in each.rows if (name := f"{each.name}: {row.what}") in lines or name in old]
        table = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS), *(lines.get(n) or old[n] for n in rows)]
        sections.append("\n".join([f"## {each.name} {each.version}", "", *table]))
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def environment(library: Library) -> str:
    """The Python of the library's environment, which is made where it is not there."""
    folder = ROOT / "build" / "libraries" / library.name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, f"{TORCH.name}=={TORCH.version}"], check=True)
        subprocess.run([*pip, "-e", str(ROOT), *library.packages], check=True)
        if library.bare:
            subprocess.run([*pip, "--no-deps", *library.bare], check=True)
    return str(python)


@click.command()
@click.argument("names", nargs=-1, metavar="[LIBRARY]...")
@click.option("--only", default="", help="Rows whose name contains this.")
@click.option("--python", help="The Python that the libraries are installed in.")
@click.option("--timeout", default=300.0, show_default=True, help="Seconds for one command.")
@click.option("--write", is_flag=True, help="Write the rows into docs/libraries.md.")
def main(names: tuple[str, ...], only: str, python: str | None, timeout: float, write: bool) -> None:
    """Record and prove the programs of other people's libraries."""
    lines, about, wrongly = dict[str, str](), f"Measured: {machine()}, torch 2.13.0.", False
    for library in (each for each in LIBRARIES if not names or each.name in names):
        found = python or environment(library)
        for row in (row for row in library.rows if only in row.what):
            right = answer(row, row.right, found, timeout)
            wrong = answer(row, row.wrong, found, timeout) if row.wrong else None
            false = right.verdict == "REFUTED" and not row.fault
            wrongly = wrongly or false or (wrong is not None and wrong.verdict == "PROVED")
            lines[f"{library.name}: {row.what}"] = line(row, right, wrong)
            click.echo(lines[f"{library.name}: {row.what}"])
            if write:
                before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
                PAGE.write_text(written(before, lines, LIBRARIES, about), encoding="utf-8")
    sys.exit(int(wrongly))


if __name__ == "__main__":
    main()
