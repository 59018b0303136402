"""Whole pages at three widths, on a terminal and piped, as kept in pages/; their colours can be read on any ground.

To renew the files after a change that is meant: VERDICT_GOLDEN=write pytest tests/report/test_pages.py
"""

import importlib.util
import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.style import Style

from tests.builders import ask, mlp, rewrite_where
from tests.report.reports import MEASURED, right, wrong
from verdict.report import show
from verdict.report.lines import WIDTH

pytestmark = pytest.mark.usefixtures("shared_proofs")
PAGES = Path(__file__).resolve().parent / "pages"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "torch"
WRITE = os.environ.get("VERDICT_GOLDEN") == "write"
WIDTHS = (80, 100, 160)
ESCAPE, SHOWN = "\x1b", "␛"
STYLES = re.compile(r"\x1b\[([0-9;]*)m")
READABLE = 3.0
"""The least ratio of brightnesses between large letters and their ground (WCAG 2.1)."""


def recorded():
    """A program whose ranks never average."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    from tests.torch.verdicts import answers  # noqa: PLC0415

    found = answers(EXAMPLES / "linear_ddp.py", (("build_sum", "build_single"),))
    return found["build_sum"].report


def unknown():
    def mystery(node):
        return node._replace(op="mystery")

    return ask(*(rewrite_where(plan, "relu", mystery) for plan in (mlp(), mlp(tp=2))))


@pytest.fixture(autouse=True)
def fresh_styles():
    """rich keeps the codes of a style as they were first asked for, whatever colours a terminal has."""
    forget_styles()
    yield
    forget_styles()


def forget_styles():
    for kept in (Style.parse, Style._add):
        kept.cache_clear()


REPORTS = {
    "pair": wrong,
    "recorded": recorded,
    "unknown": unknown,
    "proved": right,
    "deadlock": lambda: wrong("deadlock"),
}


def page(report, width=None):
    """The page of a terminal so many columns wide, with colours; what a pipe gets where no width is said."""
    file = io.StringIO()
    plain = {"soft_wrap": True, "highlight": False, "markup": False, "emoji": False}
    terminal = {"width": width, "force_terminal": True, "color_system": "256", "legacy_windows": False}
    show(report, MEASURED, Console(file=file, **plain, **(terminal if width else {})))
    return file.getvalue()


def without_colours(text):
    return STYLES.sub("", text)


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_reads_as_kept(name):
    report = REPORTS[name]()
    texts = {f"{name}.{width}": page(report, width).replace(ESCAPE, SHOWN) for width in WIDTHS}
    texts[f"{name}.piped"] = page(report)
    for stem, text in texts.items():
        path = PAGES / f"{stem}.txt"
        if WRITE:
            path.write_text(text)
        assert text == path.read_text(), stem


@pytest.mark.parametrize("name", REPORTS)
def test_no_line_is_wider_than_the_page_and_no_word_is_broken(name):
    report = REPORTS[name]()
    words = set(without_colours(page(report, WIDTHS[-1])).split())
    for width in (*WIDTHS, None):
        text = without_colours(page(report, width))
        assert all(len(line) <= (width or WIDTH) for line in text.splitlines()), width
        assert set(text.split()) == words, width


def test_a_pipe_gets_no_colours_and_a_terminal_some():
    assert ESCAPE not in page(wrong())
    assert ESCAPE in page(wrong(), 80)


def test_no_file_is_left_over():
    kept = sorted(path.stem for path in PAGES.glob("*.txt"))
    assert kept == sorted(f"{name}.{width}" for name in REPORTS for width in (*WIDTHS, "piped"))


def brightness(colour):
    """The relative luminance of a colour of the palette of 256, of its cube or its greys."""
    number = colour - 16
    steps = (0, 95, 135, 175, 215, 255)
    cube = (steps[number // 36], steps[number // 6 % 6], steps[number % 6])
    levels = [c / 255 for c in (cube if colour < 232 else (8 + 10 * (colour - 232),) * 3)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in levels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_readable(style):
    """Whether letters of a style can be read on white and on black, whatever a terminal's theme says."""
    match [int(code) for code in style.split(";") if code]:
        case [] | [0] | [1]:
            return True
        case [1, 38, 5, colour] if colour >= 16:
            seen = brightness(colour) + 0.05
            return min(1.05 / seen, seen / 0.05) >= READABLE
    return False


@pytest.mark.parametrize("name", REPORTS)
def test_every_colour_can_be_read_on_light_and_dark_ground(name):
    styles = set(STYLES.findall(page(REPORTS[name](), 100)))
    assert len(styles) > 1
    assert [style for style in styles if not is_readable(style)] == []


def test_what_cannot_be_read_is_seen():
    assert not any(map(is_readable, ("1;33", "36", "2", "1;38;5;226", "1;38;5;231", "1;38;5;16")))
