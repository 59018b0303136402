"""The pages of docs/: what the tutorial shows is what happens, links lead somewhere, and Sphinx builds the site."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process import verdict

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks() -> Iterator[tuple[str, str]]:
    """Language and text of each block of the tutorial, in order."""
    yield from re.findall(r"```(\w+)\n(.*?)```", TUTORIAL, re.DOTALL)


def ran(commands: str, folder: Path) -> str:
    """What the commands of a block print, one after the other."""
    environment = {"VERDICT_CACHE": str(folder / "cache"), "VERDICT_CACHE_KEY": str(folder / "key")}
    told = []
    for line in commands.splitlines():
        assert line.startswith("verdict ")
        done = verdict(*line.split()[1:], cwd=folder, **environment)
        assert done.returncode in (0, 1), done.stderr
        told.append(done.stdout)
    return "".join(told)


@pytest.mark.slow
def test_the_tutorial_shows_what_happens(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the tutorial's second part records a PyTorch program")
    told, shown = "", 0
    for language, text in blocks():
        if language == "sh":
            told = ran(text, tmp_path)
        elif language == "text":
            for part in text.split("  ...\n"):
                assert part.rstrip("\n") in told
                shown += 1
        else:
            (tmp_path / {"python": "train.py", "toml": "pyproject.toml"}[language]).write_text(text, encoding="utf-8")
    assert shown == 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    here = [link for link in links if "://" not in link and not link.startswith("mailto:")]
    missing = [link for link in here if not (page.parent / link).exists()]
    assert not missing


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#{1,6} (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    missing = [f"{file}#{anchor}" for file, anchor in links
               if anchor not in anchors(page.parent / file if file else page)]  # fmt: skip
    assert not missing


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason=f"{name} builds the site: pip install 'verdict-parallel[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / f"{page.stem}.html").exists()
    assert "missing-reduction" in (tmp_path / "searchindex.js").read_text(encoding="utf-8")
