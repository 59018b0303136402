"""Report -> JSON. All but `timings` and `peak_memory_mib`, which stand last, is the same from run to run."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from verdict.outcome import Block, Counterexample, Finding, Source
from verdict.report.report import VERSION, Asked, Measured, Report, Side, Sweep


def to_json(report: Report, measured: Measured) -> str:
    """The report as JSON text with a final newline."""
    return json.dumps({**as_data(report), **measured_data(measured)}, indent=2) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The part of the JSON that is the same from run to run."""
    proofs = report.proofs
    return {
        "version": VERSION,
        "verdict": report.verdict.name,
        "findings": [_finding(finding) for finding in report.findings],
        "notes": [_finding(finding) for finding in report.notes],
        "unknown": [{"code": item.code, "where": item.where, "reason": item.reason} for item in report.unanswered],
        "assumptions": [{"name": a.name, "text": a.text} for a in report.assumptions],
        "stages": {"total": proofs.stages, "distinct": proofs.distinct, "laws": proofs.laws},
        "obligations": {"total": proofs.obligations, **dict(proofs.methods)},
        "z3": {"identical_stages": proofs.identical, "confirmed_stages": proofs.confirmed},
        "solvers": _solvers(proofs.solvers),
        "run_on_numbers": {"full_shapes": proofs.full, "larger_shapes": proofs.larger},
        "evidence": {
            "due": len(report.due.outputs),
            "established": len(report.evidence.outputs),
            "by": report.evidence.by,
        },
        "outputs": {"losses": report.losses, "gradients": report.gradients, "further": report.outputs},
        "sweep": _sweep(report.swept),
        "single": _side(report.single),
        "parallel": _side(report.parallel),
    }


def _sweep(sweep: Sweep | None) -> dict[str, Any] | None:
    if sweep is None:
        return None
    return {
        "steps": sweep.steps,
        "claims": sweep.claims,
        "distinct": sweep.distinct,
        "equalities": dict(sweep.methods),
        "outputs": sweep.outputs,
        "shapes": sweep.shapes,
        "run_on_numbers_at": sweep.larger,
        "replicas": sweep.replicas,
        "islands": sweep.islands,
        "solvers": _solvers(sweep.solvers),
    }


def _solvers(solvers: Sequence[Asked]) -> dict[str, dict[str, int]]:
    return {
        asked.solver: {
            "obligations": asked.obligations,
            "unsat": asked.unsat,
            "sampled": asked.sampled,
            "unknown": asked.unknown,
            "too_large": asked.too_large,
        }
        for asked in solvers
    }


def measured_data(measured: Measured) -> dict[str, Any]:
    """What differs from run to run, as plain data."""
    return {
        "timings": {
            **{name: round(seconds, 3) for name, seconds in measured.seconds},
            "total": round(measured.total, 3),
            "workers": measured.workers,
        },
        "peak_memory_mib": round(measured.peak_memory_mib, 1),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "title": finding.title,
        "where": finding.where,
        "source": _source(finding.source),
        "extent": finding.extent,
        "notes": list(finding.notes),
        "help": finding.help,
        "values": [
            {
                "goal": str(value.goal),
                "index": list(value.index),
                "single": _number(value.single),
                "parallel": _number(value.parallel),
            }
            for value in finding.values
        ],
        "ranks": list(finding.ranks),
        "modules": list(finding.modules),
        "single": list(finding.single),
        "parallel": list(finding.parallel),
        "counterexample": _counterexample(finding.counterexample),
    }


def _source(source: Source | None) -> dict[str, Any] | None:
    return None if source is None else source._asdict()


def _counterexample(found: Counterexample | None) -> dict[str, Any] | None:
    if found is None:
        return None
    sides = (("inputs", found.inputs), ("single", found.single), ("parallel", found.parallel))
    blocks_of = {name: [_block(block) for block in blocks] for name, blocks in sides}
    return {"at": found.at, "replayed": bool(found.recipes), **blocks_of}


def _block(block: Block) -> dict[str, Any]:
    return {
        "label": block.label,
        "shape": list(block.shape),
        "values": [_number(value) for value in block.values],
        "wrong": list(block.wrong),
    }


def _number(value: Fraction | float) -> str:
    return str(value) if isinstance(value, Fraction | int) else repr(value)


def _side(side: Side) -> dict[str, Any]:
    return {
        "source": side.source,
        "format": side.format,
        "mesh": dict(side.mesh),
        "ranks": side.ranks,
        "microbatches": side.microbatches,
        "nodes": side.nodes,
        "weights": side.weights,
        "replicas": side.replicas,
    }
