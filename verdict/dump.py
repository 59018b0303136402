"""What --dump prints: the nodes of both plans, the lineages of the parallel tensors, the stages, the obligations."""

from collections.abc import Iterator, Sequence

from verdict.errors import ShapeError
from verdict.graph import Plan
from verdict.lineage import Lineages, Shard, Share
from verdict.solver import PlainTerms, SolverError, question
from verdict.stage import Cut, Members, goals, on


def dump_nodes(plans: Sequence[Plan]) -> Iterator[str]:
    """One line a node, segment by segment."""
    for plan in plans:
        yield f"# {plan.source}"
        for segment in plan.segments:
            yield f"segment {segment.name} on device {segment.device}"
            for node in segment.nodes:
                inputs = ", ".join(_tensor(plan, tensor) for tensor in node.inputs)
                outputs = ", ".join(_tensor(plan, tensor) for tensor in node.outputs)
                attrs = " ".join(f"{name}={value!r}" for name, value in node.attrs)
                yield f"  {outputs} = {node.op}({inputs}) {attrs}".rstrip()


def dump_lineages(walks: Sequence[Lineages]) -> Iterator[str]:
    """One line a tensor of each walked column: what it holds, in single-device values."""
    for lineages in walks:
        for device, held in enumerate(lineages.held):
            for tensor, value in sorted(held.items()):
                shares = " + ".join(_share(lineages, share) for share in value) if value is not None else "not known"
                yield f"device {device} tensor {tensor}: {shares or 'zero'}"


def dump_stages(stages: Cut) -> Iterator[str]:
    """One line a stage, with the number of the distinct stage that stands for it."""
    number = {stage: k for k, stage in enumerate(stages.questions)}
    for occurrence in stages.occurrences:
        stage = occurrence.stage
        yield (
            f"stage {occurrence.partner}: {stage.signature.op} {stage.signature.spelled}, "
            f"{len(stage.members)} members, proved as {number[stage]}"
        )
    for asked, k in number.items():
        if not isinstance(asked, Members):
            yield f"law {k}: {asked.signature.op} {type(asked).__name__}"


def dump_obligations(stages: Cut) -> Iterator[str]:
    """Each distinct obligation as an SMT-LIB 2 script of its own, as `unsat` as the stage is right."""
    for number, stage in enumerate(dict.fromkeys(stages.questions)):
        yield f"; {number}: {type(stage).__name__} of {stage.signature.op} {stage.signature.spelled}"
        try:
            asked = question(goals(stage, stages.columns, False, on(PlainTerms())), named=True)
        except (ShapeError, SolverError) as error:
            yield f"; not written: {error}"
            continue
        if asked is None:
            yield "; not written: one of its elements is too large"
            continue
        if len(asked.pairs) < asked.total:
            yield f"; a sample of {len(asked.pairs)} of its {asked.total} scalar equalities"
        yield f"{asked.text}(reset)"


def _tensor(plan: Plan, tensor: int) -> str:
    if tensor < 0:
        return "none"
    held = plan.tensors[tensor]
    region = ",".join(f"{start}:{stop}" for start, stop in held.region)
    return f"{plan.logicals[held.logical].name}[{region}]#{tensor}"


def _share(lineages: Lineages, share: Share) -> str:
    region = ",".join(f"{start}:{stop}" for start, stop in share.region)
    part = "".join(f" part {label.atom} {start}:{stop}" for label, (start, stop) in share.part)
    mark = f" {share.shard.stride} further on each replica" if isinstance(share.shard, Shard) else ""
    return f"{lineages.reference.bases[share.base].name}#{share.base}[{region}]{part}{mark}"
