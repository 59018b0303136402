"""Every fault of a kind, one at a time, in the golden texts of partitioned modules: what Verdict and the oracle say.

    python scripts/hlo_mutants.py [FOLDER]

Prints a line a mutant and a table. Exit status 1 where one that differs was proved, or one that agrees refuted.
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.campaigns.hlo_texts import AGREES, DIFFERS, ask, mutants  # noqa: E402
from verdict.backends.hlo.pair import partitions  # noqa: E402
from verdict.backends.hlo.text import read_module  # noqa: E402

WRONG = {(DIFFERS, "PROVED"), (AGREES, "REFUTED")}


def main() -> int:
    """Ask of every mutant of every text."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests" / "backends" / "hlo" / "texts"
    counted: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.glob("*.after.hlo")):
        text, before = path.read_text(), Path(str(path).replace(".after.", ".before.")).read_text()
        for mutant in mutants(text, partitions(read_module(text, str(path)))):
            answer = ask(before, mutant.text)
            if answer is None:
                counted["no module", "not asked"] += 1
                continue
            counted[tuple(answer)] += 1
            mark = "  WRONG" if tuple(answer) in WRONG else ""
            print(f"{path.stem} {mutant.kind} {mutant.place}: {answer.truth}, {answer.verdict}{mark}", flush=True)
    print("\n| the oracle | Verdict | mutants |\n|---|---|---|")
    for (truth, said), count in sorted(counted.items()):
        print(f"| {truth} | {said} | {count} |")
    return int(any(key in WRONG for key in counted))


if __name__ == "__main__":
    sys.exit(main())
