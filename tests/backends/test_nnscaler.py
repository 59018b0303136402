"""Every shared nnScaler plan is read, is in SSA form, and has the numbers that its makers state."""

import csv
import lzma
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from verdict.backends import nnscaler
from verdict.backends.nnscaler import operators
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    BUFFER,
    INPUT,
    ONCE_A_STEP,
    WEIGHT,
    Node,
    Plan,
    extent,
)

SHARED = Path(__file__).parents[3] / "shared" / "plans"
NUMBERS_IN_NAME = re.compile(r"dp(\d+)_pp(\d+)_tp(\d+)_nm(\d+)")
LARGE = {
    "large/llama3_default_dp512_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128.pkl.xz",
    "large/llama3_default_dp1_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128.pkl.xz",
}
BASE = "bugs/llama3_{}_dp2_pp2_tp2_nm2_gbs32_ly32_h32_hi128_sq8192.pkl.xz"
SMALL = "llama3/llama3_default_dp2_pp2_tp2_nm2_gbs512_ly2_h32_hi4096_sq128.pkl.xz"
L3 = "large/llama3_default_dp64_pp16_tp8_nm16_gbs2048_ly126_h128_hi1024_sq128.pkl.xz"

COMMUNICATION = {
    *("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "chunk"),
    *("send", "recv"),
}
ASIDE = COMMUNICATION | {"dataloader", "multiref", "accumulate", "identity", "identity.grad"}

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared plans are not here (../shared/plans)")


def listed() -> list[str]:
    """The files of the index, without most of the large ones."""
    if not SHARED.is_dir():
        return []
    with (SHARED / "index.csv").open() as index:
        names = {row[side] for row in csv.DictReader(index) for side in ("single", "parallel")}
    return sorted(name for name in names if not name.startswith("large/") or name in LARGE)


@lru_cache(maxsize=4)
def read(name: str) -> Plan:
    return nnscaler.read(lzma.decompress((SHARED / name).read_bytes()), name)


@pytest.fixture(scope="module", params=listed())
def plan(request: pytest.FixtureRequest) -> Plan:
    return read(request.param)


def nodes(plan: Plan) -> list[Node]:
    return [node for segment in plan.segments for node in segment.nodes]


def ran(plan: Plan) -> Counter[tuple[object, ...]]:
    """What every device does in every microbatch, by what the file says of it and not by numbers of ours."""

    def parents(tensors: tuple[int, ...]) -> tuple[object, ...]:
        return tuple(None if t == ABSENT else plan.logicals[plan.tensors[t].logical].origin for t in tensors)

    return Counter(
        (
            *(device, call.microbatch, node.op, node.name, dict(node.attrs).get("ranks"), parents(node.inputs)),
            *(pair for pair in node.attrs if pair[0] in {"other", "exponent", "peer", "dim"}),
        )
        for device, program in enumerate(plan.programs)
        for call in program
        for node in plan.segments[call.segment].nodes
    )


def faults(plan: Plan) -> list[str]:
    """Where the plan is not in SSA form: made twice, read before it is made, added to after it was read."""
    found = []
    for device, program in enumerate(plan.programs):
        made: dict[int, set[int]] = {}
        sums: set[int] = set()
        closed: set[int] = set()
        for call in program:
            own, crossed = made.setdefault(call.microbatch, set()), dict(call.crossed)
            for node in plan.segments[call.segment].nodes:
                where = f"device {device}, microbatch {call.microbatch}, {node.op} {node.name}"
                for tensor in node.inputs:
                    kind = None if tensor == ABSENT else plan.kind(tensor)
                    if kind == ACCUMULATOR:
                        closed.add(tensor)
                        found += [] if tensor in sums else [f"{where}: sum {tensor} is empty"]
                    elif kind not in {None, WEIGHT, BUFFER} and tensor not in plan.seeds:
                        source = made.get(crossed.get(tensor, call.microbatch), set())
                        found += [] if tensor in source else [f"{where}: {tensor} is not made"]
                for tensor in node.outputs:
                    kind = None if tensor == ABSENT else plan.kind(tensor)
                    if kind == ACCUMULATOR:
                        sums.add(tensor)
                        found += [f"{where}: sum {tensor} is closed"] if tensor in closed else []
                    elif kind is not None:
                        given = kind in {WEIGHT, BUFFER} or (kind == INPUT and node.op != "dataloader")
                        found += [f"{where}: {tensor} is made twice"] if given or tensor in own else []
                        own.add(tensor)
    return found


def test_every_plan_is_read_in_ssa_form(plan: Plan) -> None:
    broken = faults(plan)
    if "_br2_" in plan.source:
        assert {fault.split(": ")[0].split(", ", 2)[2] for fault in broken} == {"add add_3", "add.grad add_3.grad"}
    else:
        assert broken == []


def test_mesh_and_microbatches_come_from_the_content(plan: Plan) -> None:
    dp, pp, tp, microbatches = map(int, NUMBERS_IN_NAME.search(plan.source).groups())  # type: ignore[union-attr]
    assert plan.mesh == (("dp", dp), ("pp", pp), ("tp", tp))
    assert (plan.replicas, plan.devices, plan.microbatches) == (dp, pp * tp, microbatches)
    assert plan.ranks == dp * pp * tp


def test_wiring_is_regular(plan: Plan) -> None:
    assert all(call.crossed == () for program in plan.programs for call in program)
    assert len({(segment.device, segment.name) for segment in plan.segments}) == len(plan.segments)
    for device, program in enumerate(plan.programs):
        assert all(plan.segments[call.segment].device == device for call in program)
        runs = Counter((call.segment, call.microbatch) for call in program)
        assert set(runs.values()) == {1}
        if "_br14_" not in plan.source:
            microbatches = Counter(call.segment for call in program if call.microbatch != ONCE_A_STEP)
            assert set(microbatches.values()) == {plan.microbatches}


def test_what_is_held_is_made_and_claims_to_be_whole(plan: Plan) -> None:
    made = [
        {tensor for call in program for node in plan.segments[call.segment].nodes for tensor in node.outputs}
        for program in plan.programs
    ]
    for held in plan.losses + plan.gradients:
        assert held.tensor in made[held.device]
    for held in plan.gradients:
        assert plan.kind(held.weight) == WEIGHT
        assert plan.tensors[held.tensor].region == plan.tensors[held.weight].region
        assert plan.tensors[held.tensor].part == (0, 1)
    used = {
        (device, tensor)
        for device, program in enumerate(plan.programs)
        for call in program
        for node in plan.segments[call.segment].nodes
        for tensor in node.inputs
        if tensor != ABSENT and plan.kind(tensor) == WEIGHT
    }
    assert {(held.device, held.weight) for held in plan.gradients} == used
    assert {held.device for held in plan.losses} == set(range(plan.devices))
    assert len(plan.seeds) == 1


@pytest.mark.parametrize(
    ("name", "operators", "sums"),
    [
        (SMALL, 410, 4),
        ("llama3/llama3_default_dp16_pp4_tp2_nm8_gbs512_ly2_h32_hi4096_sq128.pkl.xz", 410, 6),
        ("llama3/llama3_default_dp64_pp4_tp8_nm8_gbs512_ly2_h32_hi4096_sq128.pkl.xz", 1640, 24),
        (BASE.format("default"), 5810, 4),
        ("large/llama3_default_dp512_pp1_tp1_nm1_gbs512_ly32_h32_hi4096_sq128.pkl.xz", 2905, 0),
        ("llama3-adpt/llama3adpt_mgener_dp1_pp1_tp2_nm1_gbs64_ly1_h32_hi4096_sq128.pkl.xz", 230, 0),
        ("policies/llama3_tp_dp2_pp1_tp4_nm1_gbs16_ly4_h8_hi256_sq128.pkl.xz", 1540, 0),
        ("moe/moe_default_dp2_pp2_tp2_nm2_gbs1024_ly2_h16_hi512_sq128_a2_r16.pkl.xz", 430, 0),
        ("moe/moe_default_dp16_pp2_tp4_nm16_gbs1024_ly2_h16_hi512_sq128_a6_r64.pkl.xz", 860, 0),
    ],
)
def test_counts_of_operators_and_gradient_sums(name: str, operators: int, sums: int) -> None:
    plan = read(name)
    assert sum(node.op not in ASIDE for node in nodes(plan)) == operators
    assert sum(node.op == "accumulate" and node.name.endswith(".sum") for node in nodes(plan)) == sums


@pytest.mark.slow
def test_the_plan_for_8192_ranks() -> None:
    plan = read(L3)
    read.cache_clear()
    assert (plan.ranks, plan.mesh, plan.microbatches) == (8192, (("dp", 64), ("pp", 16), ("tp", 8)), 16)
    assert sum(node.op not in ASIDE for node in nodes(plan)) == 90_920
    assert sum(node.op == "accumulate" and node.name.endswith(".sum") for node in nodes(plan)) == 128
    assert sum(node.op == "send" for node in nodes(plan)) == 744
    assert faults(plan) == []


def test_llama_mlp_and_adapted_llama_use_known_operators_only() -> None:
    for name in listed():
        if name.startswith(("llama3/", "llama3-adpt/", "mlp/")):
            assert [node.op for node in nodes(read(name)) if node.op.startswith("unknown:")] == []


def test_operators_without_a_meaning_are_kept_by_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    silus = sum(node.op == "silu" for node in nodes(read(SMALL)))
    monkeypatch.delitem(operators.FORMS, "torch.nn.functional.silu")
    plan = read.__wrapped__(SMALL)
    unknown = Counter(node.op for node in nodes(plan) if node.op.startswith("unknown:"))
    assert silus > 0
    assert unknown == {
        "unknown:torch.nn.functional.silu": silus,
        "unknown:torch.nn.functional.silu.grad": silus,
    }
    assert faults(plan) == []


def test_a_gradient_reads_what_its_operator_read() -> None:
    plan = read(SMALL)
    for device, program in enumerate(plan.programs):
        forward = {
            (node.name, node.op): node
            for call in program
            if call.microbatch == 0
            for node in plan.segments[call.segment].nodes
        }
        for (name, op), node in forward.items():
            if op.endswith(".grad"):
                mirror = forward[name.removesuffix(".grad"), op.removesuffix(".grad")]
                assert node.inputs[len(mirror.outputs) :] == mirror.inputs, (device, name)
                assert len(node.outputs) == len(mirror.inputs)
                assert node.attrs is mirror.attrs


def test_shapes_of_shares_are_those_of_their_operators() -> None:
    plan = read(SMALL)
    linears = [node for node in nodes(plan) if node.op == "linear"]
    assert linears
    for node in linears:
        x, weight, y = (extent(plan.tensors[t].region) for t in (*node.inputs, *node.outputs))
        assert y == (*x[:-1], weight[0])


def test_chunks_keep_the_order_of_ranks_and_the_region_that_the_file_claims() -> None:
    """The permuted chunks of the default policies: position in the group and claimed region disagree."""
    plan = read("llama3/llama3_default_dp2_pp4_tp8_nm8_gbs512_ly2_h32_hi4096_sq128.pkl.xz")
    (move,) = {segment.name for segment in plan.segments if segment.name == "adapter 1184 forward"}
    claimed = {}
    for segment in plan.segments:
        if segment.name == move and segment.nodes[0].op == "chunk":
            attrs = dict(segment.nodes[0].attrs)
            assert attrs["ranks"] == tuple(range(8))
            start, stop = plan.tensors[segment.nodes[0].outputs[0]].region[attrs["dim"]]
            claimed[segment.device] = start // (stop - start)
    assert claimed == {0: 0, 1: 2, 2: 4, 3: 6, 4: 1, 5: 3, 6: 5, 7: 7}


def test_reducers_run_once_a_step_over_all_replicas_and_end_the_accumulators() -> None:
    plan = read(SMALL)
    reducers = [
        node
        for program in plan.programs
        for call in program
        if call.microbatch == ONCE_A_STEP
        for node in plan.segments[call.segment].nodes
    ]
    assert len(reducers) == len(plan.gradients)
    assert all(node.op == "all_reduce" and dict(node.attrs)["replicas"] is True for node in reducers)
    assert all(plan.kind(node.inputs[0]) == ACCUMULATOR for node in reducers)
    assert {node.outputs[0] for node in reducers} == {held.tensor for held in plan.gradients}


def test_a_gradient_that_nobody_makes_is_zero_where_the_copy_has_no_gradient() -> None:
    plan = read("policies/llama3_megatron_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128.pkl.xz")
    zero = [node for node in nodes(plan) if node.op == "accumulate" and ABSENT in node.inputs]
    assert len(zero) == 2
    assert all(set(node.inputs) != {ABSENT} for node in zero)


ALL_REDUCE, IDENTITY = "all_reduce", "identity"


@pytest.mark.parametrize(
    ("bug", "gone", "new"),
    [
        ("br1", {(ALL_REDUCE, (0, 1)), (IDENTITY, None)}, {(IDENTITY, None), (ALL_REDUCE, (0,)), (ALL_REDUCE, (1,))}),
        ("br2", {(ALL_REDUCE, (0, 1))}, set()),
        ("br3", {(ALL_REDUCE, (0, 1)), (IDENTITY, None)}, {("all_gather", (0,)), ("all_gather", (1,))}),
        ("br4", {("all_gather", (2, 3))}, {(ALL_REDUCE, (2,)), (ALL_REDUCE, (3,))}),
        ("br5", {(ALL_REDUCE, (2, 3)), (IDENTITY, None)}, {(IDENTITY, None), (ALL_REDUCE, (2,)), (ALL_REDUCE, (3,))}),
        ("br6", {("send", None), ("recv", None)}, {("send", None), ("recv", None)}),
        ("br7", {("add", None), ("add.grad", None)}, {("add", None), ("add.grad", None)}),
        ("br8", {("pow", None), ("pow.grad", None)}, {("pow", None), ("pow.grad", None)}),
        ("br9", {("add", None), ("add.grad", None)}, {("add", None), ("add.grad", None)}),
        ("br10", {("accumulate", None)}, {("accumulate", None)}),
        ("br11", {("apply_rotary_emb.grad", None)}, {("apply_rotary_emb.grad", None)}),
        ("br12", {("div", None), ("div.grad", None)}, {("div", None), ("div.grad", None)}),
        ("br13", {("div", None), ("div.grad", None)}, {("div", None), ("div.grad", None)}),
    ],
)
def test_a_fault_of_a_plan_survives_reading(bug: str, gone: set[object], new: set[object]) -> None:
    right, wrong = ran(read(BASE.format("default"))), ran(read(BASE.format(bug)))
    assert {(entry[2], entry[4]) for entry in right - wrong} == gone
    assert {(entry[2], entry[4]) for entry in wrong - right} == new
    assert sum((right - wrong).values()) <= 8


def test_a_contribution_twice_and_a_missing_backward_survive_reading() -> None:
    right = ran(read(BASE.format("default")))
    twice = [entry for entry in ran(read(BASE.format("br10"))) - right if entry[2] == "accumulate"]
    assert all(len(entry[5]) == 4 and len(set(entry[5])) == 3 for entry in twice)  # type: ignore[arg-type]
    missing = right - ran(read(BASE.format("br14")))
    assert {entry[1] for entry in missing} == {1}
    assert {str(entry[2]).rpartition(".")[2] for entry in missing} >= {"grad", "accumulate"}
