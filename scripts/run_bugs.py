"""The published bugs: what Verdict says of each plan, in one table.

    python scripts/run_bugs.py [--no-repair] [BUG ...]

Bug plans are LLaMA3 with 32 layers on 8 ranks (../shared/plans/bugs); each has one fault in it. The table shows the
code of the first finding, where it is, whether its counterexample replays, whether a repair is proved, and seconds.
Exits 1 if a bug is not refuted with one finding, or the plan without a bug is not proved.
"""

import argparse
import re
import sys
import time
from pathlib import Path

from verdict.backends import load_all
from verdict.diagnose.counter import replays
from verdict.options import Options
from verdict.pipeline import verify
from verdict.repair import ALL_ATTEMPTS
from verdict.report import Report, Verdict

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "plans" / "bugs"
SINGLE = "llama3_default_dp1_pp1_tp1_nm1_gbs32_ly32_h32_hi128_sq8192.pkl.xz"


def plans() -> dict[str, Path]:
    """The parallel plans, by the number of the bug; "0" is the one without."""
    found = {}
    for path in FOLDER.glob("llama3_*dp2_pp2_tp2*.pkl.xz"):
        number = re.search(r"_br(\d+)_", path.name)
        found[number.group(1) if number else "0"] = path
    return dict(sorted(found.items(), key=lambda item: int(item[0])))


def ask(path: Path, repair: bool) -> Report:
    """The report on one plan."""
    single, parallel = load_all((str(FOLDER / SINGLE), str(path)))
    return verify(single, parallel, Options(workers=1, attempts=ALL_ATTEMPTS if repair else 0))


def row(number: str, report: Report, seconds: float) -> tuple[str, ...]:
    """One line of the table."""
    if not report.findings:
        return (number, report.verdict.name, "", "", "", f"{seconds:.1f}")
    first = report.findings[0]
    shown = first.counterexample
    where = f"{first.where}, {', '.join(name for name in first.modules if name)}"
    proved = any(repair.proved for repair in report.repairs)
    replayed = "-" if shown is None else "yes" if replays(shown) else "NO"
    return (number, first.code, where, replayed, "proved" if proved else "-", f"{seconds:.1f}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bugs", nargs="*")
    parser.add_argument("--no-repair", action="store_true")
    given = parser.parse_args()
    if not FOLDER.is_dir():
        print(f"the plans are not here: {FOLDER}", file=sys.stderr)
        return 2
    wrong = 0
    print("| bug | code | where | replayed | repair | seconds |\n|---|---|---|---|---|---|")
    for number, path in plans().items():
        if given.bugs and number not in given.bugs:
            continue
        start = time.perf_counter()
        report = ask(path, not given.no_repair)
        print("| " + " | ".join(row(number, report, time.perf_counter() - start)) + " |", flush=True)
        right = report.verdict is (Verdict.PROVED if number == "0" else Verdict.REFUTED)
        wrong += not right or len(report.findings) != int(number != "0")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
