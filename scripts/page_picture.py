"""Make docs/page.png, a picture of the HTML page of the README's fault: python scripts/page_picture.py.

Needs chromium (Debian: apt-get install chromium).
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "page.png"
NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = (960, 1910)
"""Pixels: of the window, so that the page fits down to what is folded."""


def main() -> None:
    """Mutate the plan of the README, ask, and let a browser show the page."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        sys.exit("no chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        _run([*_verdict(), "mutate", _data("parallel"), "--seed", "3", "--count", "1", "--kinds", "skip-node",
              "-o", "faulty"], folder, (0,))  # fmt: skip
        _run([*_verdict(), "--sm", _data("single"), "--pm", "faulty/skip-node-0.plan", "-q",
              "--output", "html:report.html"], folder, (1,))  # fmt: skip
        width, height = SIZE
        _run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}",
              f"--window-size={width},{height}", f"--screenshot={PICTURE}", Path(folder, "report.html").as_uri()],
             folder, (0,))  # fmt: skip
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1024} KiB")


def _verdict() -> list[str]:
    return [sys.executable, "-m", "verdict"]


def _data(name: str) -> str:
    return str(ROOT / "data" / "llama3" / f"{name}.plan")


def _run(command: list[str], folder: str, statuses: tuple[int, ...]) -> None:
    """A command in a folder; what went wrong is told, and ends the program."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=600)
    if done.returncode not in statuses:
        sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main()
