"""Write docs/codes.md from the codes of findings: python scripts/codes_page.py [--check].

With --check nothing is written and the exit status tells whether the page is up to date.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.page import write_or_check  # noqa: E402
from verdict.report.code import Code  # noqa: E402
from verdict.report.codes import CODES  # noqa: E402
from verdict.report.questions import QUESTIONS, Question  # noqa: E402

PAGE = ROOT / "docs" / "codes.md"
HEAD = """# Codes of findings

Generated from the code by `python scripts/codes_page.py`; do not edit. A code is stable: it keeps its meaning, and what
reads the JSON may rely on it. `verdict explain CODE` prints the same.
"""
OPEN = """
## Codes of open questions

Why a report is UNKNOWN: `unknown` of the JSON, and the lines that begin so.

"""


def page() -> str:
    """The text of docs/codes.md: an index, then a section for each code."""
    index = "\n".join(f"| [`{code.code}`](#{code.code}) | {code.name} |" for code in CODES.values())
    found = f"{HEAD}\n| code | in a few words |\n|---|---|\n{index}\n\n" + "\n".join(map(_section, CODES.values()))
    return found + OPEN + "\n".join(map(_question, QUESTIONS.values()))


def _question(question: Question) -> str:
    return (
        f"### {question.code}\n\n{question.name[0].upper()}{question.name[1:]}. {question.meaning}\n\n"
        f"```text\nunknown[{question.code}]: {question.example}\n```\n\n{question.answer}\n"
    )


def _section(code: Code) -> str:
    return (
        f"## {code.code}\n\n{code.name[0].upper()}{code.name[1:]}. {code.meaning}\n\n```text\n{code.example}\n```\n\n"
        f"Repair: {code.repair}\n\nIn training: {code.training}\n"
    )


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), sys.argv[1:]))
