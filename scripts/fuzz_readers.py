"""Fuzz the readers of plan files: damaged and hostile files must give a plan or one sentence, and run nothing.

    python scripts/fuzz_readers.py [--count 20000] [--seed 0] [--plans ../shared/plans] [--verify 0.1] -o DIR

Seeds are generated plans as text, plain-data pickles and, where they are there, nnScaler pickles. Each input is one
seed, mutated a few times: bits, cuts and splices of bytes, opcodes of pickles, tokens and lines of text, packings.
Inputs are read in batches in child processes with limits of memory and time; an audit hook and a file that hostile
pickles try to make (the canary) tell whether anything was run. A share of what is still a plan is verified, too.

A find (another exception, code that was run, an input that takes too long) is written to DIR with its traceback. An
input that kills its process by memory or a deep nesting is read again through `load`, which must make it a sentence.
The exit status is 1 where there are finds.
"""

import ast
import faulthandler
import gzip
import lzma
import os
import pickletools
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import zstandard

from verdict.backends import READER_BYTES, load, read_here
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import write
from verdict.backends.text.plain import write_plain
from verdict.errors import PlanFileError, VerdictError
from verdict.graph import Plan
from verdict.options import Options, SolverOptions
from verdict.pipeline import verify

ROOT = Path(__file__).resolve().parents[1]
BATCH = 200
MEMORY = READER_BYTES
SECONDS = 20
"""Of the processor, for one input."""
SIZES = Sizes(layers=1, hidden=8, heads=4, seq=4, batch=8, dp=2, tp=2, pp=1, microbatches=2, vocab=16, ffn=12)
NNSCALER = ("mlp/mlp_mgener_dp1_pp1_tp1_nm1_gbs16_dim1024_ly2", "mlp/mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly2")
FORBIDDEN = ("os.", "subprocess.", "socket.", "shutil.", "ctypes.", "pickle.find_class", "exec", "compile", "import")
ALLOWED = ("os.listdir", "os.scandir")
OPTIONS = Options(solver=SolverOptions(z3=False, timeout=5))

Mutator = Callable[[random.Random, bytes, list[bytes], str], bytes]


class Seed(NamedTuple):
    """A file, and the plans (single, parallel) that it is one of: `side` is its place there."""

    data: bytes
    pair: tuple[Plan, Plan]
    side: int


class TooSlowError(Exception):
    """One input took more than its time."""


class RanError(Exception):
    """Something of the file was run."""


def seeds(plans: Path) -> list[Seed]:
    """Generated plans in both of our forms, and nnScaler's where there are some."""
    found = []
    for model in ("mlp", "llama3"):
        pair = generate(model, SIZES)
        for side, plan in enumerate(pair):
            found += [Seed(write(plan).encode(), pair, side), Seed(write_plain(plan), pair, side)]
    files = [plans / f"{name}.pkl.xz" for name in NNSCALER]
    if all(file.is_file() for file in files):
        real = (load(str(files[0])), load(str(files[1])))
        found += [Seed(lzma.decompress(file.read_bytes()), real, side) for side, file in enumerate(files)] * 3
    return found


def flip(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """A few bits, or bytes, changed."""
    damaged = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        damaged[draw.randrange(len(data))] = draw.choice((draw.randrange(256), 0, 255))
    return bytes(damaged)


def cut(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """An end, or a piece, left out."""
    start = draw.randrange(len(data))
    return data[:start] + (data[start + draw.randrange(64) :] if draw.random() < 0.7 else b"")


def splice(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """A piece of another file, or of this one, put in."""
    other = draw.choice(others)
    start, at = draw.randrange(len(other)), draw.randrange(len(data))
    return data[:at] + other[start : start + draw.choice((4, 40, 400))] + data[at + draw.choice((0, 4, 40)) :]


def opcodes(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """Opcodes of a pickle dropped, doubled, exchanged, moved, or hostile ones put in."""
    try:
        starts = [position for _, _, position in pickletools.genops(data)]
    except Exception:
        return flip(draw, data, others, canary)
    ops = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    for _ in range(draw.choice((1, 1, 2, 4))):
        at, other = draw.randrange(len(ops)), draw.randrange(len(ops))
        kind = draw.randrange(6)
        if kind == 0:
            ops[at] = b""
        elif kind == 1:
            ops[at] += ops[other]
        elif kind == 2:
            ops[at], ops[other] = ops[other], ops[at]
        elif kind == 3:
            ops[at] = ops[other]
        else:
            ops[at] = draw.choice(hostile(canary)) + ops[at] * (kind == 4)
    return b"".join(ops)


def hostile(canary: str) -> list[bytes]:
    """Opcodes that an ordinary unpickler would do harm with, or that name odd values."""
    command = f"touch {canary}".encode()
    code = f"open({canary!r}, 'w')".encode()
    return [
        b"cos\nsystem\n(S'" + command + b"'\ntR",
        b"cbuiltins\nexec\n(S" + repr(code.decode()).encode() + b"\ntR",
        b"(S" + repr(code.decode()).encode() + b"\nibuiltins\neval\n",
        b"cbuiltins\ngetattr\n(c__main__\n__builtins__\nS'eval'\ntR",
        b"cbuiltins\ngetattr\n", b"ccollections\nOrderedDict\n", b"cnnscaler.ir.tensor\nIRSubTensor\n",
        b"R", b"b", b"o", b"\x81", b"\x92", b"0", b"1", b"2", b"(", b"t", b"s", b"u", b"a", b"e", b"\x94", b"Q", b".",
        b"N", b"\x88", b"]", b"}", b")", b"\x8f", b"K\xff", b"J\xff\xff\xff\xff", b"\x8a\x09" + b"\xff" * 8 + b"\x7f",
        b"G\x7f\xf8" + b"\0" * 6, b"G\x7f\xf0" + b"\0" * 6, b"I99999999999999999999\n", b"F1e999\n",
        b"\x8e" + (1 << 40).to_bytes(8, "little"), b"r\xff\xff\xff\x7f", b"j\xff\xff\xff\x7f", b"\x8c\x02\xff\xfe",
        b"(" * 2000, b"]" * 300 + b"a" * 299, b"\x85" * 20000,
    ]  # fmt: skip


TOKENS = (
    *("0", "-1", "1", "2", "9223372036854775808", "-9223372036854775808", "1" * 400, "1e999", "nan", "inf", "0.5"),
    *("()", "(", ")", "[", "]", "{", "}", "=", "->", ":", ",", "#", '"', '"\\x00"', "'", "\\", "None", "True", "%0"),
    *("linear", "all_reduce", "recv", "ranks=(0,)", "ranks=(0, 0)", "peer=99", "region", "*", "\t", "\u2028", "\ufeff"),
)


def tokens(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """Words and numbers of a text exchanged, doubled, left out or odd."""
    words = re.split(r"(\W)", data.decode("utf-8", "replace"))
    for _ in range(draw.choice((1, 1, 2, 5))):
        at, kind = draw.randrange(len(words)), draw.randrange(4)
        words[at] = (draw.choice(words), draw.choice(TOKENS), "", words[at] * draw.choice((2, 3, 5000)))[kind]
    return "".join(words).encode("utf-8", "replace")


def lines(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """Lines of a text left out, doubled, moved or taken from elsewhere."""
    rows = data.split(b"\n")
    for _ in range(draw.choice((1, 1, 3))):
        at, kind = draw.randrange(len(rows)), draw.randrange(4)
        row = rows.pop(at) if kind in (0, 2) and len(rows) > 1 else rows[at % len(rows)]
        if kind in (1, 2):
            rows.insert(draw.randrange(len(rows) + 1), row)
        elif kind == 3:
            rows.insert(at, draw.choice(draw.choice(others).split(b"\n"))[:4000])
    return b"\n".join(rows)


def packed(draw: random.Random, data: bytes, others: list[bytes], canary: str) -> bytes:
    """Compressed, and then perhaps damaged."""
    pack = draw.choice((gzip.compress, lambda x: lzma.compress(x, preset=0), zstandard.compress))
    result: bytes = pack(data)
    return draw.choice((flip, cut, splice))(draw, result, others, canary) if draw.random() < 0.7 else result


FOR_TEXT: tuple[Mutator, ...] = (tokens, tokens, tokens, lines, lines, flip, cut, splice)
FOR_PICKLES: tuple[Mutator, ...] = (opcodes, opcodes, opcodes, flip, flip, cut, splice)


def mutated(number: int, seed: int, sources: list[Seed], canary: str) -> tuple[bytes, Seed]:
    """The input of this number, and the seed it was made from."""
    draw = random.Random(f"{seed}/{number}")
    source = draw.choice(sources)
    others = [other.data for other in sources]
    data = source.data
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        text = data.startswith(b"verdict-plan")
        data = draw.choice(FOR_TEXT if text else FOR_PICKLES)(draw, data, others, canary) or b"\x80"
    return (packed(draw, data, others, canary) if draw.random() < 0.05 else data), source


def read_one(data: bytes, source: Seed, folder: Path, check: bool) -> str:
    """How one input ends: `refused`, `plan`, or the verdict on it."""
    path = folder / "input"
    path.write_bytes(data)
    try:
        plan = read_here(str(path))
    except PlanFileError as error:
        if "\n" in str(error) or len(str(error)) > 2000:
            raise ValueError(f"not a sentence: {str(error)[:300]!r}") from None
        return "refused"
    if not check:
        return "plan"
    pair = (plan, source.pair[1]) if source.side == 0 else (source.pair[0], plan)
    try:
        return verify(*pair, OPTIONS).verdict.name
    except VerdictError as error:
        return type(error).__name__


def batch(numbers: range, seed: int, share: float, sources: list[Seed], folder: Path, out: int) -> None:
    """In a child: read the inputs, and write one line about each to `out`, its number before it is read."""
    canary = str(folder / "canary")
    watching = [False]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if not watching[0] or event in ALLOWED:
            return
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or event.startswith(FORBIDDEN):
            watching[0] = False
            raise RanError(f"{event} {arguments!r}"[:300])

    faulthandler.disable()
    sys.addaudithook(hook)
    signal.signal(signal.SIGPROF, _too_slow)
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        data, source = mutated(number, seed, sources, canary)
        check = random.Random(f"{number}").random() < share
        os.write(out, f"{number} ".encode())
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            end = read_watched(data, source, folder, check, watching)
        except MemoryError:
            end = "memory"
        except Exception:
            end = "find " + repr(traceback.format_exc())
        signal.setitimer(signal.ITIMER_PROF, 0)
        watching[0] = False
        if Path(canary).exists():
            end = "find 'the canary was made'"
        os.write(out, f"{end}\n".encode("utf-8", "replace"))


def read_watched(data: bytes, source: Seed, folder: Path, check: bool, watching: list[bool]) -> str:
    """`read_one`, with the audit hook on while the file itself is read."""
    (folder / "input").write_bytes(data)
    watching[0] = True
    try:
        read_here(str(folder / "input"))
    except PlanFileError:
        pass
    finally:
        watching[0] = False
    return read_one(data, source, folder, check)


def _too_slow(number: int, frame: object) -> None:
    raise TooSlowError(f"more than {SECONDS} seconds of the processor")


def run_batch(numbers: range, seed: int, share: float, sources: list[Seed], folder: Path) -> list[tuple[int, str]]:
    """How each input of a batch ends; one that killed the child is `killed`, and the rest goes on without it."""
    results: list[tuple[int, str]] = []
    while numbers:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            batch(numbers, seed, share, sources, folder, writing)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            rows = pipe.read().decode("utf-8", "replace").split("\n")
        os.waitpid(child, 0)
        results += [(int(row.split(" ", 1)[0]), row.split(" ", 1)[1]) for row in rows[:-1]]
        if rows[-1].strip():
            results.append((int(rows[-1].split()[0]), "killed"))
        done = len(results) and results[-1][0] + 1
        numbers = range(max(done, numbers.start + (not rows[-1] and len(rows) == 1)), numbers.stop)
    return results


@click.command()
@click.option("--count", default=20_000, show_default=True)
@click.option("--start", default=0, show_default=True, help="The number of the first input.")
@click.option("--seed", default=0, show_default=True)
@click.option("--verify", "share", default=0.1, show_default=True, help="The share of inputs that are verified, too.")
@click.option("--plans", type=click.Path(path_type=Path), default=ROOT.parent / "shared" / "plans")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Where finds are written.")
def main(count: int, start: int, seed: int, share: float, plans: Path, output: Path) -> None:
    """Read COUNT mutated plan files."""
    output.mkdir(parents=True, exist_ok=True)
    sources = seeds(plans)
    totals: Counter[str] = Counter()
    finds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm_up(sources, folder)
        for first in range(start, start + count, BATCH):
            numbers = range(first, min(first + BATCH, start + count))
            for number, first_end in run_batch(numbers, seed, share, sources, folder):
                data, _ = mutated(number, seed, sources, str(folder / "canary"))
                end = confined(data, folder) if first_end in ("killed", "memory") else first_end
                totals[end.split(" ")[0]] += 1
                if end.startswith("find"):
                    text = str(ast.literal_eval(end[5:]))
                    finds[text.strip().splitlines()[-1][:160]] += 1
                    (output / f"{seed}-{number}.bin").write_bytes(data)
                    (output / f"{seed}-{number}.txt").write_text(text)
            click.echo(f"{first + len(numbers) - start:7d} {dict(totals)}")
    for text, times in finds.most_common():
        click.echo(f"{times:5d}  {text}")
    sys.exit(1 if finds else 0)


def warm_up(sources: list[Seed], folder: Path) -> None:
    """Read every kind of file once, so that no module of ours is imported while the audit hook listens."""
    for source in sources:
        for pack in (bytes, gzip.compress, lzma.compress, zstandard.compress):
            read_one(pack(source.data), source, folder, pack is bytes)


def confined(data: bytes, folder: Path) -> str:
    """Whether `load`, which reads in a child of its own, makes a sentence of what killed our child."""
    (folder / "input").write_bytes(data)
    try:
        load(str(folder / "input"))
    except PlanFileError:
        return "confined"
    except Exception:
        return "find " + repr(traceback.format_exc())
    return "plan"


if __name__ == "__main__":
    main()
