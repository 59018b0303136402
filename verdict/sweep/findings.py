"""What a sweep found to differ, as findings."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from verdict.outcome import Finding
from verdict.sweep.compare import Different
from verdict.sweep.results import GRADIENT, LOSS

SHOWN = 8


def findings(different: Sequence[Different], missing: Sequence[str]) -> Iterator[Finding]:
    """One finding for each output that differs, wherever it does, and for each that nobody holds."""
    grouped: dict[str, list[Different]] = defaultdict(list)
    for item in different:
        grouped[item.result.what].append(item)
    for what, items in grouped.items():
        worst = max(items, key=lambda item: item.error)
        places = [item.result.where for item in items]
        shown = "; ".join(places[:SHOWN]) + ("; ..." if len(places) > SHOWN else "")
        note = f"off by up to {worst.error:.3g}, where the greatest element is {worst.size:.3g}"
        title = f"{what} is not what the single-device plan computes"
        yield Finding("not-equivalent", title, what, (note, shown), extent=len(items))
    for what in missing:
        code = {LOSS: "loss-missing", GRADIENT: "gradient-missing"}.get(what.split()[0], "output-missing")
        yield Finding(code, f"no rank holds all of {what}", what)
