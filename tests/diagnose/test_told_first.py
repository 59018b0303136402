"""What the predecessor accepted or could not tell, one change of a published plan each: the cause is told first."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest

from tests.builders import rewrite_where, with_attrs
from tests.lineage import test_blind_spots as blind
from tests.sampled import sampled
from tests.shared import HERE, PLANS, REASON
from verdict.backends import load
from verdict.graph import Plan
from verdict.options import Options, SolverOptions
from verdict.pipeline import verify

pytestmark = [pytest.mark.skipif(not HERE, reason=REASON), pytest.mark.usefixtures("shared_proofs")]

OPTIONS = Options(solver=SolverOptions(z3=False))
MOE = (
    "moe/moe_default_dp1_pp1_tp1_nm1_gbs1024_ly2_h16_hi512_sq128_a2_r16.pkl.xz",
    "moe/moe_default_dp2_pp2_tp2_nm2_gbs1024_ly2_h16_hi512_sq128_a2_r16.pkl.xz",
)
FORWARD, BACKWARD = "segment 270 forward", "segment 269 backward"


class Told(NamedTuple):
    """A change, and the only finding: its code, where it is, on which ranks, and what its first sentence says."""

    change: Callable[[Plan], Plan]
    code: str
    where: str
    ranks: tuple[int, ...]
    said: str


def given(op: str, device: int, nth: int | None = None, **attrs: object) -> Callable[[Plan], Plan]:
    """Nodes of an operator on a device, all or one of them, with other attributes."""
    return lambda plan: rewrite_where(plan, op, lambda node: with_attrs(node, **attrs), device=device, nth=nth)


def one_gradient_not_reduced(plan: Plan) -> Plan:
    """Of the reducers of rank 0, one is left out."""
    name = "glayers_0_attention_wq_weight"
    (gone,) = (n for s in plan.segments if s.device == 0 for n in s.nodes if (n.op, n.name) == ("all_reduce", name))
    left = rewrite_where(plan, "all_reduce", lambda node: None if node == gone else node, device=0)
    (read,), (made,) = gone.inputs, gone.outputs
    gradients = (h._replace(tensor=read) if (h.device, h.tensor) == (0, made) else h for h in plan.gradients)
    return replace(left, gradients=tuple(gradients))


def forward_in_another_order(plan: Plan) -> Plan:
    """Rank 3 runs its forward segment for the other microbatch, and all else as it should."""
    calls = (
        call._replace(microbatch=1 - call.microbatch) if plan.segments[call.segment].name == FORWARD else call
        for call in plan.programs[3]
    )
    return blind.with_program(plan, 3, tuple(calls))


def fed_with_another_microbatch(plan: Plan) -> Plan:
    """A stage reads all that was received for microbatch 0 for microbatch 1, too."""
    number = next(k for k, one in enumerate(plan.segments) if one.device == 2 and one.name == FORWARD)
    nodes = [node for one in plan.segments if one.device == 2 and "forward" in one.name for node in one.nodes]
    received = {tensor for node in nodes if node.op in ("recv", "all_gather") for tensor in node.outputs}
    read = {tensor for node in plan.segments[number].nodes for tensor in node.inputs} & received
    calls = (
        call._replace(crossed=tuple((tensor, 0) for tensor in sorted(read)))
        if (call.segment, call.microbatch) == (number, 1)
        else call
        for call in plan.programs[2]
    )
    return blind.with_program(plan, 2, tuple(calls))


def experts_shifted(plan: Plan) -> Plan:
    moved = {"local_expert_start": 1, "local_expert_end": 9}
    return given("moe_gmm.grad", 2, **moved)(given("moe_gmm", 2, **moved)(plan))


TOLD = {
    "one rank reduces with itself": Told(
        blind.narrowed_on_one_rank,
        "wrong-group", "all_reduce linear_6 on rank 0", (0,), "the parts of linear_6 are on ranks 0, 1",
    ),
    "every rank reduces with itself": Told(
        blind.narrowed_everywhere,
        "wrong-group", "all_reduce linear_6 on rank 0", (0, 1, 2, 3), "sums over rank 0; the parts of linear_6",
    ),
    "pieces gathered by ranks of another stage": Told(
        blind.gathered_from_foreign_ranks,
        "wrong-group", "all_gather gfloat_4 on rank 0", (0,), "rank 0 is not a member of the group [2, 3]",
    ),
    "the other piece is cut": Told(
        given("chunk", 0, 2, ranks=(1, 0)), "wrong-order", "chunk add_3 on rank 0", (0, 2, 3), "its position",
    ),
    "gradients reduced by another rank": Told(
        given("all_reduce", 0, 2, ranks=(1,)),
        "wrong-group", "all_reduce gtok_embeddings_weight on rank 0", (0,), "the group [1]",
    ),
    "one gradient is not reduced": Told(
        one_gradient_not_reduced,
        "missing-reduction", "the gradient of layers.0.attention.wq.weight on rank 0", (0,), "over the replicas",
    ),
    "no gradient of one rank is reduced": Told(
        blind.without_reducers_of_device_0,
        "missing-reduction", "the gradient of layers.0.feed_forward.w2.weight on rank 0", (0,), "over the replicas",
    ),
    "no gradient is reduced": Told(
        blind.without_reducers,
        "missing-reduction", "the gradient of output.weight on rank 2", (0, 1, 2, 3), "over the replicas",
    ),
    "other words are looked up": Told(
        given("embedding", 0, start=100, stop=200),
        "shape-mismatch", "embedding embedding on rank 0", (0,), "start is 100, expected 0, stop is 200",
    ),
    "other axes are exchanged": Told(
        blind.transposed_other_shape,
        "shape-mismatch", "transpose transpose on rank 0", (0,), "dim0 is 2, expected 1, dim1 is 3, expected 2",
    ),
    "receives in another order": Told(
        blind.receives_of_other_shapes_swapped,
        "wrong-order", "recv rsqrt_2 on rank 2, microbatch 0", (2,), "receives create_mask from rank 0",
    ),
    "a segment runs for another microbatch": Told(
        forward_in_another_order, "broken-data-flow", f"segment {FORWARD} on rank 3, microbatch 1", (3,),
        f"{FORWARD} runs for microbatch 1 before adapter 397 forward",
    ),
    "a backward pass is left out": Told(
        blind.last_backward_missing, "microbatch-missing", f"segment {BACKWARD} on rank 0", (0,),
        "does not run for microbatch 1 on rank 0",
    ),
    "a node runs twice": Told(
        blind.duplicate_node, "broken-data-flow", "pow pow_4 on rank 2", (2,), "pow_4 is produced twice"
    ),
    "a stage reads another microbatch": Told(
        fed_with_another_microbatch, "wrong-input", f"segment {FORWARD} on rank 2, microbatch 1", (2,),
        "it reads add_3, float_4, rsqrt_2 of microbatch 0 in microbatch 1",
    ),
    "the loss of something else": Told(
        blind.loss_of_another_activation, "wrong-input", "sum sum_1 on rank 2", (2, 3), "expected float_8"
    ),
    "a mean for a sum": Told(
        blind.loss_is_a_mean, "mean-instead-of-sum", "mean sum_1 on rank 2", (2, 3), "where the single device has sum"
    ),
}  # fmt: skip
OF_EXPERTS = {
    "one group of experts": Told(
        given("gate", 2, topk_groups=1), "wrong-constant", "gate gate_fw on rank 2", (2,), "topk_groups is 1,"
    ),
    "weights of experts unscaled": Told(
        given("gate", 2, route_scale=1.0), "wrong-constant", "gate gate_fw on rank 2", (2,), "route_scale is 1.0"
    ),
    "other experts": Told(
        experts_shifted, "wrong-constant", "moe_gmm nnscaler_moe_gmm on rank 2", (2,), "local_expert_start is 1,"
    ),
    "every rank reduces with itself": Told(
        blind.narrowed_everywhere,
        "wrong-group", "all_reduce linear_6 on rank 0", (0, 1), "sums over rank 0; the parts of linear_6",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def llama() -> tuple[Plan, ...]:
    return blind.plan(blind.SINGLE), blind.plan(blind.PARALLEL)


@pytest.fixture(scope="module")
def experts() -> tuple[Plan, ...]:
    return tuple(load(str(PLANS / name)) for name in MOE)


def is_told_first(plans: tuple[Plan, ...], told: Told) -> None:
    report = verify(plans[0], told.change(plans[1]), OPTIONS)
    assert report.verdict.name == "REFUTED"
    (finding,) = report.findings
    assert (finding.code, finding.where, finding.ranks) == (told.code, told.where, told.ranks)
    assert told.said in finding.title


@pytest.mark.parametrize("name", TOLD)
def test_the_cause_is_told_first(llama: tuple[Plan, ...], name: str) -> None:
    is_told_first(llama, TOLD[name])


@pytest.mark.parametrize("name", sampled(OF_EXPERTS, 2))
def test_the_cause_is_told_first_of_experts(experts: tuple[Plan, ...], name: str) -> None:
    is_told_first(experts, OF_EXPERTS[name])


@pytest.mark.parametrize(("op", "name"), [("to", "type_as"), ("softmax", "softmax")])
def test_a_type_on_one_rank_is_noted_and_refuted_where_casts_are_no_identity(
    llama: tuple[Plan, ...], op: str, name: str
) -> None:
    wrong = given(op, 0, 0, dtype="float16")(llama[1])
    report = verify(llama[0], wrong, OPTIONS)
    assert report.verdict.name == "PROVED"
    assert [(note.code, note.where, note.ranks) for note in report.notes] == [
        ("dtype-differs", f"{op} {name} on rank 0", (0,))
    ]
    denied = verify(llama[0], wrong, replace(OPTIONS, denied=frozenset({"casts-are-identity"})))
    assert denied.verdict.name == "REFUTED"


def test_groups_of_experts_that_decide_nothing_change_nothing(experts: tuple[Plan, ...]) -> None:
    """The two best experts are among the four groups whose best expert is best."""
    same = given("gate", 2, n_groups=1, topk_groups=1)(experts[1])
    assert verify(experts[0], same, OPTIONS).verdict.name == "PROVED"


def test_the_published_plan_of_experts_is_proved(experts: tuple[Plan, ...]) -> None:
    assert verify(*experts, OPTIONS).verdict.name == "PROVED"
