"""The verdict in one sentence, as every format says it first."""

from verdict.report.lines import counted
from verdict.report.report import Report, Verdict


def headline(report: Report) -> str:
    """What the verdict says, without its name."""
    if report.verdict is Verdict.PROVED:
        ranks = counted(report.parallel.ranks, "rank")
        return f"on {ranks} the plan computes {_declared(report)} of the single-device plan"
    if report.verdict is Verdict.REFUTED:
        first, more = report.findings[0], len(report.findings) - 1
        others = f" (and {counted(more, 'more finding')})" if more else ""
        return f"{first.code} at {first.source or first.where}: {first.title}{others}"
    return f"{counted(len(report.asked), 'question')} left open"


def _declared(report: Report) -> str:
    """What was proved, in words."""
    outputs = counted(report.outputs, "further output")
    if not report.losses and not report.gradients:
        return outputs
    rest = f", and {outputs}" if report.outputs else ""
    loss = "the loss and " if report.losses else ""
    return f"{loss}all {report.gradients} gradients{rest}"
