"""Install wheel and sdist into empty environments of several Pythons, run every documented command, write a table.

    python scripts/install_table.py [--python ~/.pyenv/versions/3.12.1/bin/python ...] [--extra torch --extra jax]

Needs setuptools 77 or later here, and pip's index there. Every `verdict` command in a block of shell of README.md,
docs/tutorial.md, docs/ci.md and docs/jax.md is run, in the order of its page, in a folder that holds no sources. The
table is written into docs/install.md. Ends with 1 where a command ends otherwise than its page says.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- table -->", "<!-- end -->"
PAGES = ("README.md", "docs/ci.md", "docs/jax.md", "docs/tutorial.md")
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
FILES = {"python": "train.py", "toml": "pyproject.toml"}
"""The files that blocks of these languages are; that of the tutorial's shell blocks."""
LIST = "data/llama3/single.plan data/llama3/parallel.plan\n"
SDIST_TESTS = ("tests/graph", "tests/test_cli.py", "tests/test_words.py", "tests/test_architecture.py")
NEEDS = {"verdict torch": "torch", "verdict check": "torch", "verdict jax": "jax"}
FINE = (0, 1)
"""What a documented command ends with: plans that are proved, or refuted where the page says so."""


class Ran(NamedTuple):
    """A command in an environment. told: the last line that it said, or why it was not run."""

    page: str
    command: str
    status: int | None
    told: str


def documented(page: str) -> Iterator[tuple[str, str]]:
    """Languages and texts of a page's blocks, commands one by one, as the page has them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for language, block in re.findall(r"```(sh|python|toml)\n(.*?)```", text, re.DOTALL):
        if language != "sh":
            yield language, block
            continue
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+", " ", line.partition("#")[0]).strip()
            if command.startswith("verdict "):
                yield language, command


def built(room: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of a copy of the repository."""
    tree = room / "tree"
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "*.egg-info", ".hypothesis")
    shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
    names = []
    for kind in ("build_wheel", "build_sdist"):
        done = subprocess.run([sys.executable, "-c", BUILD, kind, str(room)], cwd=tree, check=True, capture_output=True,
                              text=True)  # fmt: skip
        names.append(room / done.stdout.splitlines()[-1])
    return names[0], names[1]


def environment(python: str, wanted: Sequence[str], folder: Path) -> Path:
    """An empty environment with what is wanted; its programs' folder."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    return folder / "bin"


def commands(programs: Path, extras: Sequence[str], folder: Path) -> Iterator[Ran]:
    """Every documented command, run in folders that hold plans and examples alone."""
    for page in PAGES:
        here = folder / Path(page).stem
        here.mkdir(parents=True)
        for name in ("data", "examples"):
            shutil.copytree(ROOT / name, here / name)
        (here / "LIST").write_text(LIST, encoding="utf-8")
        for language, text in documented(page):
            if language in FILES and page != "README.md":
                (here / FILES[language]).write_text(text, encoding="utf-8")
            if language == "sh":
                yield run(page, text, programs, extras, here)


def run(page: str, command: str, programs: Path, extras: Sequence[str], folder: Path) -> Ran:
    """One command."""
    needed = next((extra for start, extra in NEEDS.items() if command.startswith(start)), None)
    if needed and needed not in extras:
        return Ran(page, command, None, f"not run: without {needed}")
    variables = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder.parent), "LANG": "C"}
    done = subprocess.run(
        [str(programs / "verdict"), *command.split()[1:]], cwd=folder, env=variables, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    said = [line for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    return Ran(page, command, done.returncode, said[0].split("  ")[0] if said else "")


def sdist_tests(programs: Path, sdist: Path, room: Path) -> Ran:
    """Tests of the unpacked sdist, in an environment with what it asks for."""
    with tarfile.open(sdist) as archive:
        archive.extractall(room, filter="data")
    (tree,) = (path for path in room.iterdir() if path.name.startswith("verdict_parallel"))
    command = [str(programs / "python"), "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *SDIST_TESTS]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    said = done.stdout.strip().splitlines()
    return Ran("sdist", f"pytest -m 'not slow' {' '.join(SDIST_TESTS)}", done.returncode, said[-1] if said else "")


def told(ran: Ran) -> str:
    """A cell of the table."""
    if ran.status is None:
        return ran.told.removeprefix("not run: ")
    return f"{ran.told} ({ran.status})" if ran.told else f"({ran.status})"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="repeatable; default: this one")
    parser.add_argument("--extra", action="append", default=[], metavar="[VERSION:]EXTRA",
                        help="repeatable: torch or jax, for all Pythons or for one, as 3.11:torch")  # fmt: skip
    given = parser.parse_args()
    columns: dict[str, list[Ran]] = {}
    with tempfile.TemporaryDirectory(prefix="verdict-install-") as name:
        room = Path(name)
        wheel, sdist = built(room)
        for number, python in enumerate(given.python or [sys.executable]):
            version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], check=True,
                                     capture_output=True, text=True).stdout.strip()  # fmt: skip
            extras = [extra.rpartition(":")[2] for extra in given.extra if version.startswith(extra.rpartition(":")[0])]
            begun, here = time.monotonic(), room / str(number)
            wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
            programs = environment(python, [wanted], here / "env")
            columns[version] = list(commands(programs, extras, here))
            testing = environment(python, [f"{sdist}[dev]"], here / "testing")
            columns[version].append(sdist_tests(testing, sdist, here / "unpacked"))
            print(f"{version}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    rows = [f"| page | command | {' | '.join(columns)} |", f"|---|---|{'---|' * len(columns)}"]
    for cells in zip(*columns.values(), strict=True):
        rows.append(f"| {cells[0].page} | `{cells[0].command}` | {' | '.join(map(told, cells))} |")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    text = f"{before}{BEGIN}\n\n" + "\n".join(rows) + f"\n\n{END}{rest.partition(END)[2]}"
    PAGE.write_text(text, encoding="utf-8")
    print("\n".join(rows))
    return int(any(ran.status not in (None, *FINE) for column in columns.values() for ran in column))


if __name__ == "__main__":
    sys.exit(main())
