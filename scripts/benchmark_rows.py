"""The pieces of work that `scripts/benchmark.py` measures, each with what it should take on two idle cores."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from scripts import pairs, processes, run_parallelisms, run_torch_examples
from scripts.runs import FAULTY, LARGE, Run

EXAMPLES = processes.ROOT / "examples" / "torch"


class Place(NamedTuple):
    """Where work is measured: a checkout of the project, the shared plans, and the seconds that a process may take."""

    checkout: Path
    plans: Path
    timeout: float


class Took(NamedTuple):
    """What a part of a piece of work took. said: its verdict, or what else came of it.

    seconds: None where it gave no answer. ended: after how many seconds it was ended, at the limit of time.
    """

    said: str
    seconds: float | None = None
    memory: float = 0.0
    ended: float | None = None


Work = Callable[[Place], Iterator[Took]]
"""Measures each part of a piece of work in turn; what a part that failed leads to is left out."""


class Part(NamedTuple):
    """One part of a piece of work, and its target: seconds, MiB, or a multiple of the part before."""

    name: str = ""
    seconds: float | None = None
    memory: float | None = None
    multiple: float | None = None

    @property
    def target(self) -> str:
        """The target in words."""
        words = {"{:g} s": self.seconds, "{:,.0f} MiB": self.memory, "{:g} times the part before": self.multiple}
        return ", ".join(text.format(number) for text, number in words.items() if number is not None)


class Row(NamedTuple):
    """A piece of work in parts; of several alike, by their names, the slowest counts."""

    name: str
    parts: tuple[Part, ...]
    works: dict[str, Work]


def took(done: processes.Done, place: Place, said: str, answers: tuple[int, ...]) -> Took:
    """What a process took that has ended with one of these statuses, or how else it ended."""
    if done.status is None:
        return Took(f"ended at {place.timeout:g} s", None, done.memory, done.seconds)
    if done.status not in answers:
        return Took(f"exit {done.status}: {''.join(done.errors.strip().splitlines()[-1:])}")
    return Took(said, done.seconds, done.memory)


def asked(place: Place, single: Path, parallel: Path, *options: str) -> Took:
    """What a verdict on a pair takes."""
    done = processes.ask(single, parallel, *options, checkout=place.checkout, timeout=place.timeout)
    return took(done, place, done.verdict, (0, 1, 3))


def program(file: str, builder: str, one: str, ranks: int, *options: str, **settings: str) -> Work:
    """A PyTorch program: its recording, and the verdict on what was recorded."""

    def work(place: Place) -> Iterator[Took]:
        with TemporaryDirectory() as folder:
            done, *plans = processes.record(
                *(EXAMPLES / f"{file}.py", builder, one, ranks, Path(folder), *options),
                **{"checkout": place.checkout, "timeout": place.timeout, "settings": settings},
            )
            yield took(done, place, "recorded", (0,))
            if done.status == 0:
                yield asked(place, *plans, "--no-repair")

    return work


def where_there(library: str, work: Work) -> Work:
    """This work where the library is installed; it is not measured where that is absent."""
    return work if find_spec(library) else lambda place: iter((Took(f"not measured: {library} is not installed"),))


def together(work: Work, place: Place) -> Iterator[Took]:
    """All parts of a piece of work as one."""
    parts = list(work(place))
    total, last = sum(part.seconds or part.ended or 0.0 for part in parts), parts[-1]
    whole = Took(last.said, total, max(part.memory for part in parts))
    yield whole if last.seconds else whole._replace(seconds=None, ended=last.ended and total)


def generated(model: str, sizes: dict[str, int], flags: str, place: Place) -> Iterator[Took]:
    """The verdict on a pair that this checkout generates, whichever is measured."""
    with TemporaryDirectory() as folder:
        try:
            pair = processes.generate(model, sizes, Path(folder), *flags.split(), timeout=place.timeout)
        except click.ClickException as error:
            yield Took(error.message)
            return
        yield asked(place, *pair, "--no-repair")


def shared(run: Run, place: Place) -> Iterator[Took]:
    """The verdict on a pair of the shared plans."""
    pair = [place.plans / name for name in run.pair]
    there = all(file.exists() for file in pair)
    yield asked(place, *pair, "--assume", run.assumed, "--no-repair") if there else Took("not there")


def repaired(run: Run, place: Place) -> Iterator[Took]:
    """The proof of a right plan; then the verdict on it with a fault, and a repair that is proved."""
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        proof = asked(place, *_files(run._replace(change=None), place, first))
        yield proof
        repair = Path(second) / "repaired.plan"
        answer = asked(place, *_files(run, place, second), "--repair", str(repair))
        said = f"{answer.said}, {'a' if repair.exists() else 'no'} repair proved"
        if proof.seconds and answer.seconds:
            said += f", {answer.seconds / proof.seconds:.1f} times the part before"
        yield answer._replace(said=said) if answer.seconds else answer


def _files(run: Run, place: Place, folder: str) -> tuple[Path, Path]:
    """The files of a run, written apart: a process that is begun counts as its own the memory of who begins it."""
    with ProcessPoolExecutor(1) as apart:
        return apart.submit(pairs.files, run, place.plans, Path(folder)).result()


def suite(place: Place) -> Iterator[Took]:
    """All tests, as README.md has it."""
    done = processes.run("-n", "2", module="pytest", checkout=place.checkout, timeout=place.timeout)
    yield took(done, place, "".join(done.output.strip().splitlines()[-1:]), (0, 1))


def gpt(what: str, builder: str, one: str = "build_single") -> Row:
    """One of the ways in which the block of examples/torch/gpt_tokens.py is parallelized."""
    return Row(f"GPT block by hand, {what}", RECORDED, {builder: program("gpt_tokens", builder, one, 2)})


def transformers(name: str, builder: str, tensors: str) -> Row:
    """A model of examples/torch/from_transformers.py."""
    work = program("from_transformers", builder, f"{builder}_single", 2, "--tensors", tensors)
    parts = (Part("recording"), Part("proof", 10))
    return Row(f"transformers {name}, one layer", parts, {builder: where_there("transformers", work)})


def llama(name: str, recording: Part, proof: Part, **settings: str) -> Row:
    """examples/torch/llama_8b.py at these settings."""
    work = program("llama_8b", "build", "build_single", 8, "--no-confirm", **settings)
    return Row(f"{name}, TP 8 + SP + AdamW", (recording, proof), {name: work})


def by_region(name: str, seconds: float) -> Row:
    """One of the large shared plans under the assumption that proves it."""
    run = next(run for run in LARGE if run.assumed and run.name.startswith(name))
    return Row(run.name, (Part("", seconds, 1024),), {run.name: partial(shared, run)})


def parallelism(name: str, seconds: float) -> Row:
    """A row of docs/parallelisms.md."""
    row = next(row for row in run_parallelisms.ROWS if row.name == name)
    work = partial(generated, row.model, run_parallelisms.COMMON, row.flags)
    return Row(f"{name} (docs/parallelisms.md)", (Part("", seconds),), {name: work})


RECORDED = (Part("recording"), Part("proof", 8))
CONTEXT = (
    f"{run_parallelisms.LARGE} --microbatches 1 --pp 1 --dp 512 --tp 8 --cp 2 --sp --batch 512 --vocab 128256 "
    "--zero 1 --optimizer adamw --clip 1.0"
)
ROWS = (
    gpt("mean over all ranks' tokens, 2 microbatches", "build"),
    gpt("two stages, tied embedding", "build_pipeline", "build_tied_single"),
    gpt("vocabulary parallel", "build_vocabulary"),
    transformers("GPT-2 under FSDP2", "build_gpt2", "fake"),
    transformers("Llama, mean loss, DDP", "build_llama", "real"),
    Row(
        "every example of examples/torch",
        (Part("recording and proof", 6),),
        {
            f"{e.file}.py:{e.builder}": partial(together, program(e.file, e.builder, e.one, e.ranks, *e.options))
            for e in run_torch_examples.EXAMPLES
            if e.right == "PROVED"
        },
    ),
    llama("Llama 8B widths, 16 layers", Part("recording"), Part("proof"), LAYERS="16"),
    llama("Llama 8B widths, 32 layers", Part("recording"), Part("proof", 30, 1229), LAYERS="32"),
    llama("Llama 405B widths, 126 layers", Part("recording", 180), Part("proof", 90, 4096), WIDTHS="405B"),
    parallelism("all of it", 10),
    Row("CP + TP at 8,192 ranks, ZeRO 1", (Part("", 20),), {"llama3": partial(generated, "llama3", {}, CONTEXT)}),
    *(by_region(name, seconds) for name, seconds in (("L2", 3.5), ("L3", 5), ("D2", 4), ("D3", 4.5))),
    Row(
        "one fault at 8,192 ranks",
        (Part("proof of the right plan"), Part("refuted and repaired", multiple=1.5)),
        {FAULTY[0].name: partial(repaired, FAULTY[0])},
    ),
    Row("the suite", (Part("", 300),), {"pytest -n 2": suite}),
)
