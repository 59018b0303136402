"""Shards over replicas: what the walk says of steps in which replicas divide gradients, states and weights."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import FAST, answer, codes, rewrite_where, walked, with_attrs
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import read, write
from verdict.concrete import AGREE, DIFFER, compare
from verdict.errors import VerdictError
from verdict.mutate import mutate
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.sweep import sweep

SMALL = Sizes(
    layers=1, hidden=8, heads=4, seq=4, batch=8, dp=2, tp=1, pp=1, microbatches=2, vocab=16, ffn=16,
    optimizer="adamw", clip=0.5, zero=1,
)  # fmt: skip


def pair(model="mlp", **more):
    return generate(model, replace(SMALL, **more))


def chunked(node):
    """The piece of its own sum instead of the piece of the sum of all replicas."""
    return node._replace(op="chunk", attrs=tuple(item for item in node.attrs if item[0] != "reduce"))


def undivided(plan, *names):
    """A plan in which each replica has the first of the pieces of these tensors."""
    return replace(plan, shard_axes=tuple((n, axis) for n, axis in plan.shard_axes if not n.endswith(names)))


def alone(node):
    return with_attrs(node, replicas=False) if node.name == "gradients.total" else node


def everywhere(node):
    return with_attrs(node, replicas=True) if node.name == "gradients.total" else node


FAULTS = {
    "own sums are divided": ({}, lambda p: rewrite_where(p, "reduce_scatter", chunked), "missing-reduction"),
    "the norm of a replica's own pieces": ({}, lambda p: rewrite_where(p, "all_reduce", alone), "missing-reduction"),
    "the norm of what replicas have alike is added up over them": (
        {"zero": 0, "tp": 2}, lambda p: rewrite_where(p, "all_reduce", everywhere), "reduced-twice",
    ),
    "all replicas have the first piece of a state": ({}, lambda p: undivided(p, ".exp_avg"), "wrong-slice"),
    "pieces side by side along another axis": (
        {"zero": 3}, lambda p: rewrite_where(p, "all_gather", lambda n: with_attrs(n, dim=1)), "wrong-group",
    ),
    "the new weight is not gathered": (
        {}, lambda p: replace(p, outputs=tuple(h for h in p.outputs if p.kind(h.weight) != "weight")), "output-missing",
    ),
    "a scattered gradient is scattered in the last microbatch only": (
        {"zero": 2}, lambda p: rewrite_where(p, "reduce_scatter", chunked), "missing-reduction",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_among_replicas_is_found(name):
    more, change, code = FAULTS[name]
    single, parallel = pair(**more)
    assert walked(single, parallel).verdict.name == "PROVED"
    assert code in codes(walked(single, change(parallel)))


@pytest.mark.parametrize("more", [{"dp": 8, "batch": 16, "zero": 2}, {"tp": 2, "zero": 3}])
def test_the_replicas_that_stand_for_all_say_what_all_say(more):
    single, parallel = pair(**more)
    for exhaustive in (False, True):
        report = walk(Query(single, parallel, Options(exhaustive=exhaustive, solver=FAST))).report
        assert report.verdict.name == "PROVED", report.open


@pytest.mark.parametrize("more", [{}, {"zero": 2, "tp": 2}, {"zero": 3, "dp": 4, "microbatches": 1}])
def test_no_mutant_that_differs_on_numbers_is_proved(more):
    single, parallel = pair(**more)
    said, known = Counter(), {}
    for mutant in mutate(parallel, seed=11, count=34):
        try:
            options = Options(solver=FAST)
            examined = walk(Query(single, mutant.plan, options), known.get(mutant.plan.columns))
            known.setdefault(mutant.plan.columns, {}).update(examined.outcomes)
            verdict = examined.report.verdict.name
        except VerdictError:
            verdict = "REFUSED"
        said[verdict] += 1
        if verdict == "PROVED":
            assert compare(single, mutant.plan).outcome == AGREE, (mutant.kind, mutant.description)
    assert said["REFUTED"] >= 20


REDUCED = 'layers.0.weight.grad.reduced = all_reduce({}) ranks=(self,) reduce="sum" replicas=True'
PIECES = [
    "piece = chunk({}) dim=0 ranks=(self,) replicas=True",
    "layers.0.weight.grad.joined = all_gather(piece) dim=0 ranks=(self,) replicas=True",
]
TABLE = [
    "  piece gradient float32 [8, 8] origin name",
    "  layers.0.weight.grad.joined gradient float32 [16, 8] origin name",
]


def with_pieces(plan, before):
    """Pieces of the gradient, joined again: of each replica's own sum before it is reduced, or of the reduced one."""
    lines = write(plan).split("\n")
    own, name = REDUCED.format("layers.0.weight.grad"), "layers.0.weight.grad"
    at, table = lines.index(f"  {own}"), lines.index("tensors")
    if before:
        new = [PIECES[0].format(name), PIECES[1], REDUCED.format("layers.0.weight.grad.joined")]
    else:
        new = [own, PIECES[0].format(f"{name}.reduced"), PIECES[1]]
        lines = [line.replace(f"gradient {name}.reduced of", f"gradient {name}.joined of") for line in lines]
    lines[at : at + 1] = [f"  {line}" for line in new]
    lines[table + 1 : table + 1] = TABLE
    lines.insert(table, "shard piece 0")
    return read("\n".join(lines).encode(), "pieces")


def test_pieces_of_own_sums_side_by_side_are_no_sum():
    single, parallel = pair(zero=0, optimizer="none", clip=0.0)
    assert walked(single, with_pieces(parallel, before=False)).verdict.name == "PROVED"
    wrong = with_pieces(parallel, before=True)
    assert (walked(single, wrong).verdict.name, compare(single, wrong).outcome) == ("UNKNOWN", DIFFER)
    assert answer(single, wrong) == "REFUTED"


@pytest.mark.parametrize("more", [{}, {"zero": 2}, {"zero": 3, "dp": 4, "microbatches": 1}])
def test_the_sweep_says_the_same_of_every_replica(more):
    single, parallel = pair(**more)
    options = Options(solver=FAST)
    wrong = rewrite_where(parallel, "adamw", lambda n: n._replace(inputs=(*n.inputs[:2], *n.inputs[:1:-1])), nth=0)
    for plan, verdict, open_or_apart in ((parallel, "PROVED", False), (wrong, "REFUTED", True)):
        swept = sweep(single, plan, options)
        assert (swept.fault, bool(swept.open or swept.different)) == (None, open_or_apart)
        assert walked(single, plan).verdict.name == verdict


def test_what_is_proved_does_not_grow_with_the_replicas():
    few, many = (
        walked(*pair(dp=dp, hidden=4 * dp, ffn=4 * dp, batch=2 * dp)) for dp in (16, 256)
    )  # fmt: skip
    assert few.verdict.name == many.verdict.name == "PROVED"
    assert (few.proofs.distinct, few.proofs.laws) == (many.proofs.distinct, many.proofs.laws)
    assert many.proofs.obligations <= 2 * few.proofs.obligations
