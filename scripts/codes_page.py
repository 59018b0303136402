"""Write docs/codes.md from the codes of findings: python scripts/codes_page.py [--check].

With --check nothing is written and the exit status tells whether the page is up to date.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from verdict.report.code import Code
from verdict.report.codes import CODES

PAGE = Path(__file__).parent.parent / "docs" / "codes.md"
HEAD = """# Codes of findings

Generated from the code by `python scripts/codes_page.py`; do not edit. A code is stable: it keeps its meaning, and what
reads the JSON may rely on it. `verdict explain CODE` prints the same.
"""


def page() -> str:
    """The text of docs/codes.md: an index, then a section for each code."""
    index = "\n".join(f"| [`{code.code}`](#{code.code}) | {code.name} |" for code in CODES.values())
    return f"{HEAD}\n| code | in a few words |\n|---|---|\n{index}\n\n" + "\n".join(map(_section, CODES.values()))


def _section(code: Code) -> str:
    return (
        f"## {code.code}\n\n{code.name[0].upper()}{code.name[1:]}. {code.meaning}\n\n```text\n{code.example}\n```\n\n"
        f"Repair: {code.repair}\n\nIn training: {code.training}\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Write the page, or with --check compare it."""
    text = page()
    if "--check" in arguments:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
