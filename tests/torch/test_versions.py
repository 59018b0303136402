"""With which versions of torch programs are recorded: those that were tested, and the package and its pages say so."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("torch")

from packaging.requirements import Requirement

from verdict.backends.torch.versions import INSTALL, TESTED, untested

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "examples" / "torch" / "linear_ddp.py")


@pytest.mark.parametrize("version", ["2.12.0", "2.12.1+cu130", "2.13.0+cpu", "2.14.1"])
def test_a_tested_version_records(version: str) -> None:
    assert untested(version) == ""


@pytest.mark.parametrize("version", ["2.11.0", "2.15.0", "2.1.4", "3.12.0", "2.130.0"])
def test_another_version_is_told(version: str) -> None:
    assert untested(version) == f"torch {version} is not among the versions that were tested: {', '.join(TESTED)}"


def with_torch(version: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Verdict beside a torch that says to be of this version, and has nothing else; "" where it cannot be imported."""
    (folder / "torch").mkdir()
    text = f"__version__ = {version!r}\n" if version else "raise ImportError('there is none')\n"
    (folder / "torch" / "__init__.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    command = [sys.executable, "-m", "verdict", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize(("version", "problem"), [("2.99.0", "torch 2.99.0 is not among"), ("", "there is none")])
@pytest.mark.parametrize(
    "arguments",
    [("torch", PROGRAM, "--world", "2"), ("capture", PROGRAM, "--world", "4", "--ranks", "2:4", "-o", "out")],
    ids=["torch", "capture some ranks"],
)
def test_nothing_is_recorded_with_another_version(
    version: str, problem: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    ran = with_torch(version, tmp_path, *arguments)
    assert ran.returncode == 2 and problem in ran.stderr and "python -m pip install " in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_package_asks_for_tested_versions_alone() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (asked,) = (Requirement(text) for text in extras["torch"])
    told = Requirement(re.search(r"'(.*)'", INSTALL)[1])
    minors = [f"2.{minor}" for minor in range(40)]
    assert [minor for minor in minors if told.specifier.contains(f"{minor}.1")] == list(TESTED)
    assert {minor for minor in minors if asked.specifier.contains(f"{minor}.0")} < set(TESTED)
    assert asked.specifier.contains("2.13.0+cpu"), "what CI installs, which costs no gigabytes"


def test_the_page_tells_what_was_tested() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (2\.\d+)\.\d", page, re.MULTILINE)
    assert sorted(set(rows)) == list(TESTED)
    assert f"`{INSTALL}`" in page
