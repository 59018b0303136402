"""Sphinx's settings for the pages of docs/: `make site` builds them into build/site, with search."""

import re
from itertools import groupby
from typing import Any

import verdict

project = "Verdict"
copyright = "the authors of Verdict"
version = release = verdict.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"Verdict {release}"
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"

_FIELD = re.compile(r"(?=[a-z_0-9]+(, [a-z_0-9]+)*: )")


def setup(app: Any) -> None:
    """Read docstrings as they are written here."""
    app.connect("autodoc-process-docstring", _with_fields)


def _with_fields(app: Any, what: str, name: str, given: Any, options: Any, lines: list[str]) -> None:
    """A paragraph whose lines are `name: what it is`, or indented, becomes a list of fields."""
    paragraphs = [list(group) for is_text, group in groupby(lines, bool) if is_text]
    lines[:] = [line for paragraph in paragraphs for line in (*_listed(paragraph), "")]


def _listed(paragraph: list[str]) -> list[str]:
    if not all(_FIELD.match(line) or line.startswith(" ") for line in paragraph) or paragraph[0].startswith(" "):
        return paragraph
    return [_FIELD.sub(":", line, count=1) if _FIELD.match(line) else line for line in paragraph]
