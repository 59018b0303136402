"""Islands of ranks that make shares of one value: each is proved on what it knows of it, and equal ones once."""

import pytest

from tests.builders import FAST
from tests.values.outline import plans as outlined
from verdict.backends.generator import Sizes, generate
from verdict.backends.torch.oracle import oracle
from verdict.concrete import AGREE
from verdict.errors import VerdictError
from verdict.lineage import bind, reference
from verdict.lineage.grounds import grounds_of
from verdict.lineage.propagate import guessed
from verdict.lineage.values import Share
from verdict.mutate import mutate
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.report import Verdict
from verdict.residue.islands import Island, column_of, widest
from verdict.residue.pairs import tile_of
from verdict.residue.single import source_of
from verdict.residue.wrong import is_proved
from verdict.sweep import sweep

pytestmark = pytest.mark.usefixtures("shared_proofs")

OPTIONS = Options(workers=0, solver=FAST)
RING = {
    **{"layers": 1, "hidden": 8, "heads": 4, "seq": 8, "batch": 1, "vocab": 4, "ffn": 4, "microbatches": 1},
    **{"dp": 1, "pp": 1, "tp": 2, "cp": 2, "sp": True},
}


def between(single, parallel):
    query = Query(single, parallel, OPTIONS)
    examined = walk(query)
    if examined.report.verdict is not Verdict.UNKNOWN:
        return None
    found = between_cut_points(query, examined)
    return None if found is None else found.report


def test_ring_attention_is_one_pair_of_all_tensor_parallel_ranks():
    report = between(*generate("llama3", Sizes(**RING)))
    assert report.verdict is Verdict.PROVED
    assert report.swept.islands == 2
    claims = report.swept.claims
    wider = between(*generate("llama3", Sizes(**{**RING, "hidden": 16, "heads": 8, "tp": 4})))
    assert wider.verdict is Verdict.PROVED
    assert (wider.swept.islands, wider.swept.claims) == (4, claims)


def test_an_island_ends_where_an_attention_ends():
    """A part of a sum by something unknown is no part for that: exponentials are divided by their sums."""

    def width(**more):
        single, parallel = generate("llama3", Sizes(**{**RING, **more}))
        binding = bind(single, parallel)
        grounds = grounds_of(reference(single, parallel.columns, binding.batch), parallel)
        steps, every = widest(guessed(grounds, parallel, binding), column_of(parallel), grounds)
        assert steps < every / 4
        return steps

    assert width() == width(tp=4, seq=16, hidden=16, heads=8) == width(layers=2)


def test_ring_attention_at_the_widths_of_a_large_model():
    """One layer of 405B's widths with its optimizer on 8,192 ranks: too large to be swept but between cut points."""
    widths = {"hidden": 16384, "heads": 128, "ffn": 53248, "seq": 4096, "vocab": 128256}
    step = {"zero": 1, "optimizer": "adamw", "clip": 1.0}
    report = between(*generate("llama3", Sizes(**{**RING, **widths, **step, "tp": 8, "dp": 512, "batch": 512})))
    assert (report.verdict, report.swept.islands) == (Verdict.PROVED, 8)


def test_experts_by_a_gate_make_numbers_of_numbers():
    """Its weights are divided by a sum that is positive: an attention's gradients before them are numbers."""
    gate = {"experts": 4, "topk": 2, "groups": 2, "topk_groups": 1, "moe_ffn": 8, "dense_layers": 0, "tp": 1}
    report = between(*generate("deepseek", Sizes(**{**RING, **gate, "sp": False})))
    assert (report.verdict, report.swept.islands) == (Verdict.PROVED, 1)


def test_no_fault_is_proved_on_tiles():
    single, parallel = generate("llama3", Sizes(**RING))
    truth, refused = oracle(1, 2), 0
    for mutant in mutate(parallel, 3, 16):
        try:
            report = between(single, mutant.plan)
        except VerdictError:
            continue
        refused += report is None
        if report is not None:
            assert truth(single, mutant.plan)[0] == AGREE, (mutant.kind, mutant.description)
    assert refused > 8


@pytest.mark.parametrize(("factor", "proved"), [("0.5", True), ("<0.5 | 0.25>", False)])
def test_a_piece_of_ones_own_names_ranks_that_take_no_part(factor, proved):
    """What a rank takes its piece of may have no step of the other rank in its island, but the piece names both."""
    given = "x input [4, 8]\nqw buffer [8, 8]\nkw buffer [8, 8]\nw buffer [6, 8]\n"
    single, parallel = outlined(
        f"{given}q = linear(x, qw)\nk = linear(x, kw)\nr = sub(q, k)\nt = mul(r) other=0.5\ny = linear(t, w)\n"
        "l = sum(y)\nloss l",
        f"{given}c = concatenate(qw, kw) dim=0\nf = linear(x, c)\nq, k = split(f) sizes=(8, 8) dim=1\n"
        f"r = sub(q, k)\nt = mul(r) other={factor}\nd = chunk(t) dim=1 ranks=tp\nz = linear(d, w[:, tp])\n"
        'y = all_reduce(z) ranks=tp reduce="sum"\nl = sum(y)\nloss l',
        tp=2,
    )
    report = between(single, parallel)
    assert (report is not None and report.verdict is Verdict.PROVED) == proved


@pytest.mark.parametrize("fill", [1, 2])
def test_a_tile_reads_its_part_of_what_is_made_of_nothing(fill):
    """A rank makes ones of its own size (1 - sigmoid, in a backward): the single-device ones are read in part."""
    single, parallel = outlined(
        'x input [4, 8]\ns = sigmoid(x)\no = aten.full() size=(4, 8) fill_value=1 dtype="float32"\n'
        "d = aten.sub.Tensor(o, s)\noutput d",
        "s[:, tp] = sigmoid(x[:, tp])\n"
        f'o[:, tp] = aten.full() size=(4, 4) fill_value={fill} dtype="float32"\n'
        "d[:, tp] = aten.sub.Tensor(o[:, tp], s[:, tp])\noutput d[:, tp]",
        tp=2,
    )
    table, column = reference(single, 1, {}), column_of(parallel)
    base = {single.logicals[single.tensors[t].logical].name: bases[0] for t, bases in table.values.items()}
    event = {node.op: event for event in column.events for device, node in event.nodes if device == 1}
    made = {op: (1, each.nodes[0][1].outputs[0]) for op, each in event.items()}

    def held(name):
        return (Share(base[name], ((0, 4), (4, 8))),)

    island = Island(
        (event["aten.full"], event["aten.sub.Tensor"]),
        {made["sigmoid"]: held("s")}, {made["aten.sub.Tensor"]: held("d")},
    )  # fmt: skip
    placed = tile_of(island, source_of(table, parallel))
    assert is_proved(sweep(*placed.pair, OPTIONS), island) == (fill == 1)
