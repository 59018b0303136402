"""What is installed: one package, from a tree and from an sdist the same, with all that its commands need."""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

import verdict

ROOT = Path(__file__).resolve().parents[1]
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "*.egg-info", ".hypothesis")
PLANS = ("single.plan", "parallel.plan")


def build(kind: str, tree: Path, out: Path) -> Path:
    """The wheel or sdist of a tree, built with what is installed."""
    command = [sys.executable, "-c", BUILD, kind, str(out)]
    ran = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return out / ran.stdout.splitlines()[-1]


def contents(wheel: Path) -> dict[str, str]:
    """The files of a wheel and their hashes; RECORD repeats them."""
    with ZipFile(wheel) as files:
        names = [name for name in files.namelist() if not name.endswith("/RECORD")]
        return {name: hashlib.sha256(files.read(name)).hexdigest() for name in names}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheel and sdist of a copy of the repository, and the wheel that the sdist builds."""
    setuptools = pytest.importorskip("setuptools", minversion="77", reason="setuptools 77 or later builds the package")
    assert setuptools
    room = tmp_path_factory.mktemp("built")
    tree = room / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=NOT_COPIED)
    sdist = build("build_sdist", tree, room)
    with tarfile.open(sdist) as archive:
        archive.extractall(room / "unpacked", filter="data")
    (unpacked,) = (room / "unpacked").iterdir()
    (room / "again").mkdir()
    again = build("build_wheel", unpacked, room / "again")
    return {"sdist": sdist, "unpacked": unpacked, "again": again, "wheel": build("build_wheel", tree, room)}


@pytest.mark.slow
def test_a_wheel_holds_one_package_and_its_data(built: dict[str, Path]) -> None:
    names = set(contents(built["wheel"]))
    metadata = f"verdict_parallel-{verdict.__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"verdict", metadata}
    data = {f"verdict/bugs/suite/{path.name}" for path in (ROOT / "tests" / "bugs").glob("*.pair")}
    data |= {f"verdict/bugs/suite/programs/{path.name}" for path in (ROOT / "tests/bugs/programs").glob("*.py")}
    assert {name for name in names if name.startswith("verdict/bugs/suite/")} == data
    assert {"verdict/py.typed", "verdict/backends/__init__.py", f"{metadata}/licenses/LICENSE"} <= names


@pytest.mark.slow
def test_every_module_of_the_repository_is_in_the_wheel(built: dict[str, Path]) -> None:
    names = set(contents(built["wheel"]))
    for room, place in (("verdict", "verdict"), ("backends", "verdict/backends")):
        for path in (ROOT / room).rglob("*.py"):
            if "suite" not in path.parts:
                assert f"{place}/{path.relative_to(ROOT / room)}" in names


@pytest.mark.slow
def test_an_sdist_builds_the_same_wheel_and_has_the_tests(built: dict[str, Path]) -> None:
    assert contents(built["again"]) == contents(built["wheel"])
    for name in ("tests/test_install.py", "docs/soundness.md", "data/llama3/single.plan", "LICENSE", "CHANGELOG.md"):
        assert (built["unpacked"] / name).is_file(), name
    assert not (built["unpacked"] / "backends").exists()
    assert not list(built["unpacked"].rglob("*.pyc"))


@pytest.mark.slow
def test_commands_of_an_installed_wheel_run_in_another_folder(built: dict[str, Path], tmp_path: Path) -> None:
    site, folder = tmp_path / "site", tmp_path / "elsewhere"
    folder.mkdir()
    with ZipFile(built["wheel"]) as files:
        files.extractall(site)
    for name in PLANS:
        shutil.copy(ROOT / "data" / "llama3" / name, folder)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(site), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
        return subprocess.run(
            [sys.executable, "-S", *arguments], cwd=folder, env={**os.environ, "PYTHONPATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    where = run("-c", "import verdict.backends; print(verdict.backends.__file__)")
    assert where.stdout.strip() == str(site / "verdict" / "backends" / "__init__.py")
    assert run("-m", "verdict", "--version").stdout == f"verdict, version {verdict.__version__}\n"
    assert run("-m", "verdict", "--sm", PLANS[0], "--pm", PLANS[1], "-q").stdout.startswith("PROVED")
    bugs = run("-m", "verdict", "bugs", "picotron-5")
    assert bugs.returncode == 0, bugs.stdout + bugs.stderr
    assert "missing-reduction" in bugs.stdout
