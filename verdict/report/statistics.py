"""What was proved and how, in lines: the same for the terminal and for the page."""

from collections.abc import Iterator, Sequence

from verdict.report.lines import counted
from verdict.report.report import Asked, Report, Verdict


def statistics(report: Report) -> Iterator[str]:
    """Of how much of the plans, then the sweep's, then those of the walk's stages."""
    few, layers = report.evidence.layers
    if layers:
        yield f"{few} of {layers} equal layers were looked at: what is proved of one is the same from layer to layer"
    yield from _swept(report)
    yield from _proofs(report)


def _swept(report: Report) -> Iterator[str]:
    sweep = report.swept
    if sweep is None:
        return
    if sweep.islands:
        islands, points = counted(sweep.islands, "island"), counted(sweep.outputs, "cut point")
        what = f"{islands} between {points} of the walk, {counted(sweep.steps, 'distinct step')}"
    else:
        what = f"{counted(sweep.steps, 'step')} of all ranks, {counted(sweep.outputs, 'declared output')}"
    yield f"swept: {what}, {counted(sweep.claims, 'claim')}, {sweep.distinct} distinct ones proved, at {sweep.shapes}"
    if sweep.larger and report.verdict is not Verdict.REFUTED:
        yield f"both plans agree on random numbers at {sweep.larger}"
    if sweep.replicas > 1:
        yield f"one of {sweep.replicas} replicas was swept; that they add up to the whole is proved by stages:"
    yield from _asked(sweep.solvers)
    if sweep.methods:
        yield _closed(sum(count for _, count in sweep.methods), sweep.methods)


def _proofs(report: Report) -> Iterator[str]:
    proofs = report.proofs
    if not proofs.stages:
        return
    yield (
        f"{counted(proofs.stages, 'stage')}, {proofs.distinct} distinct, and {counted(proofs.laws, 'axis law')}: "
        f"{proofs.identical} are one term on both sides"
    )
    yield from _asked(proofs.solvers)
    if proofs.methods:
        yield _closed(proofs.obligations, proofs.methods)
    if proofs.full or proofs.larger:
        yield f"run on numbers besides: {proofs.full} at full shapes, {proofs.larger} at larger ones"


def _closed(total: int, methods: Sequence[tuple[str, int]]) -> str:
    noun = "scalar equality" if total == 1 else "scalar equalities"
    return f"{total} {noun} closed: " + ", ".join(f"{count} by {name}" for name, count in methods)


def _asked(solvers: Sequence[Asked]) -> Iterator[str]:
    for asked in solvers:
        notes = [
            f"{asked.sampled} on a sample of their elements" * (asked.sampled > 0),
            f"gave up on {asked.unknown}" * (asked.unknown > 0),
            f"{asked.too_large} too large to ask" * (asked.too_large > 0),
        ]
        yield (
            f"{asked.solver}, asked anew of the plain arithmetic, confirmed {asked.unsat} of {asked.obligations}"
            + "".join(f", {note}" for note in notes if note)
        )
