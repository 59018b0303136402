"""Report -> terminal: the verdict first, then the findings, then what it rests on. Plain where not a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from verdict.report.finding import finding_lines
from verdict.report.lines import wrapped
from verdict.report.report import Asked, Measured, Report, Side, Verdict

COLOURS = {Verdict.PROVED: "bold green", Verdict.REFUTED: "bold red", Verdict.UNKNOWN: "bold yellow"}
UNKNOWN = "unknown"
SHOWN_OPEN = 10
"""How many open questions are listed unless -v asks for all; the rest is counted."""


def show(report: Report, measured: Measured, console: Console, verbose: int = 0) -> None:
    """Print the report. verbose: -1 only the verdict, 0 the usual, 1 also the phases and all that is open."""
    console.print(_headline(report))
    if verbose < 0:
        return
    for kind, findings in (("error", report.findings), ("note", report.notes)):
        for finding in findings:
            console.print()
            for line in finding_lines(finding, report.parallel.replicas, kind):
                console.print(line)
    _open(report, verbose, console)
    console.print()
    console.print(_sizes("single", report.single))
    console.print(_sizes("parallel", report.parallel))
    _swept(report, console)
    _proofs(report, console)
    if report.assumptions:
        console.print("taken on trust (--deny-assumption NAME turns one into a failure)")
        for assumption in report.assumptions:
            console.print(Text.assemble("  ", (assumption.name, "bold"), f": {assumption.text}"))
    console.print(f"{measured.total:.1f} s, {measured.peak_memory_mib:.0f} MiB")
    if verbose:
        console.print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in measured.seconds))


def _open(report: Report, verbose: int, console: Console) -> None:
    """The questions that are left open; how many, where there is a fault to look at first."""
    if report.findings and report.unanswered and not verbose:
        count = len(report.unanswered)
        console.print(f"{count} question{'s' if count > 1 else ''} left open behind that (-v shows all)")
        return
    limit = len(report.unanswered) if verbose else SHOWN_OPEN
    for item in report.unanswered[:limit]:
        lines = wrapped(f"{UNKNOWN}: {item.where}: {item.reason}", "", "  ")
        console.print(Text.assemble((UNKNOWN, "bold yellow"), lines[0][len(UNKNOWN) :]))
        for line in lines[1:]:
            console.print(line)
    if len(report.unanswered) > limit:
        console.print(f"... and {len(report.unanswered) - limit} more (-v shows all)")


def _headline(report: Report) -> Text:
    verdict = report.verdict
    ranks = report.parallel.ranks
    if verdict is Verdict.PROVED:
        rest = f"on {ranks} ranks the plan computes {_declared(report)} of the single-device plan"
    elif verdict is Verdict.REFUTED:
        count = len(report.findings)
        rest = f"the parallel plan computes something else ({count} finding{'s' if count > 1 else ''})"
    else:
        rest = f"{len(report.unanswered)} question{'s' if len(report.unanswered) > 1 else ''} left open"
    return Text.assemble((verdict.name, COLOURS[verdict]), f"  {rest}")


def _declared(report: Report) -> str:
    """What was proved, in words."""
    outputs = f"{report.outputs} further output{'s' if report.outputs > 1 else ''}"
    if not report.losses and not report.gradients:
        return outputs
    rest = f", and {outputs}" if report.outputs else ""
    return f"the loss and all {report.gradients} gradients{rest}"


def _sizes(name: str, side: Side) -> str:
    mesh = " ".join(f"{axis}={size}" for axis, size in side.mesh)
    return (
        f"{name:<9} {side.source}: {side.ranks} ranks ({mesh}), {side.microbatches} microbatches, "
        f"{side.nodes} nodes, {side.weights} weights"
    )


def _swept(report: Report, console: Console) -> None:
    sweep = report.swept
    if sweep is None:
        return
    if sweep.islands:
        what = f"{sweep.islands} islands between {sweep.outputs} cut points of the walk, {sweep.steps} distinct steps"
    else:
        what = f"{sweep.steps} steps of all ranks, {sweep.outputs} declared outputs"
    console.print(f"swept: {what}, {sweep.claims} claims, {sweep.distinct} distinct ones proved, at {sweep.shapes}")
    if sweep.larger:
        console.print(f"both plans agree on random numbers at {sweep.larger}")
    if sweep.replicas > 1:
        console.print(f"one of {sweep.replicas} replicas was swept; that they add up to the whole is proved by stages:")
    _asked(sweep.solvers, console)
    if sweep.methods:
        closed = ", ".join(f"{count} by {name}" for name, count in sweep.methods)
        console.print(f"{sum(count for _, count in sweep.methods)} scalar equalities closed: {closed}")


def _proofs(report: Report, console: Console) -> None:
    proofs = report.proofs
    if not proofs.stages:
        return
    console.print(
        f"{proofs.stages} stages, {proofs.distinct} distinct, and {proofs.laws} axis laws: "
        f"{proofs.identical} are one term on both sides"
    )
    _asked(proofs.solvers, console)
    if proofs.methods:
        closed = ", ".join(f"{count} by {name}" for name, count in proofs.methods)
        console.print(f"{proofs.obligations} scalar equalities closed: {closed}")
    if proofs.full or proofs.larger:
        console.print(f"run on numbers besides: {proofs.full} at full shapes, {proofs.larger} at larger ones")


def _asked(solvers: Sequence[Asked], console: Console) -> None:
    for asked in solvers:
        notes = [
            f"{asked.sampled} on a sample of their elements" * (asked.sampled > 0),
            f"gave up on {asked.unknown}" * (asked.unknown > 0),
            f"{asked.too_large} too large to ask" * (asked.too_large > 0),
        ]
        console.print(
            f"{asked.solver}, asked anew of the plain arithmetic, confirmed {asked.unsat} of {asked.obligations}"
            + "".join(f", {note}" for note in notes if note)
        )
