"""The published faults get their repair: bugs of each kind, and the plans that permute what crosses a stage."""

import pytest

from tests.sampled import sampled
from tests.shared import HERE, PLANS, REASON, Pair, loaded, pairs
from verdict.backends import load, load_all
from verdict.graph import Plan
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.pipeline import verify
from verdict.repair import repairs, with_repairs

pytestmark = [pytest.mark.skipif(not HERE, reason=REASON), pytest.mark.usefixtures("shared_proofs")]

OPTIONS = Options(attempts=None)
SINGLE = "llama3_default_dp1_pp1_tp1_nm1_gbs32_ly32_h32_hi128_sq8192.pkl.xz"
BUGS = {
    1: "all_reduce(sum) over ranks 0, 1 in place of linear_6 (node identity linear_6)",
    2: "all_reduce(sum) over ranks 0, 1 after linear_6 (node linear linear_6)",
    3: "all_reduce(sum) over ranks 0, 1 in place of linear_6 (node all_gather linear_6)",
    4: "all_gather over ranks 2, 3 in place of all_reduce add_63",
    5: "all_reduce(sum) over ranks 2, 3 in place of gmul_93 (node identity gmul_93)",
    6: "every receive from the rank that sends its region: add_63 from rank 0 to 2, add_63 from rank 1 to 3",
    7: "other 1e-05 instead of 2 in add add on rank 0",
    8: "exponent 2 instead of 1 in pow pow_2 on rank 0",
    9: "other 1e-05 instead of 2 in add add_64 on ranks 0, 1",
    10: "no second gmul_81 (input 3) in the sum accumulate mul_81.grad on rank 2",
    11: "exchange inputs 0 and 1 of apply_rotary_emb.grad apply_rotary_emb_16.grad on rank 2",
    12: "other 2.0 instead of 4 in div truediv_2 on rank 0",
    13: "other 2.0 instead of 4 in div truediv_2 on ranks 0, 1",
    14: "run every segment once for every microbatch on rank 0: segment 3674 backward for microbatch 1 too",
}
RUN = (1, 4, 5, 6, 7, 10, 11, 14)
"""A bug of each kind of repair; scripts/run_bugs.py repairs all of them."""
PERMUTED = [p for p in pairs() if p.expected == "REFUTED" and p.assumed == "PROVED" and p.family != "large"]


@pytest.fixture(scope="module")
def single() -> Plan:
    return loaded(PLANS / "bugs" / SINGLE)


@pytest.mark.parametrize("number", sampled(RUN, 3))
def test_a_published_bug_gets_one_repair_that_is_proved(single: Plan, number: int) -> None:
    wrong = load(str(PLANS / "bugs" / f"llama3_br{number}_dp2_pp2_tp2_nm2_gbs32_ly32_h32_hi128_sq8192.pkl.xz"))
    query = Query(single, wrong, OPTIONS)
    examined = walk(query)
    proposals = repairs(query, examined)
    assert [(proposal.sentence, proposal.proved) for proposal in proposals] == [
        (f"{BUGS[number]}: every obligation holds", True)
    ]
    assert verify(single, proposals[0].plan, OPTIONS).verdict.name == "PROVED"
    helped = with_repairs(examined.report, proposals)
    assert {finding.help for finding in helped.findings} == {proposals[0].sentence}


@pytest.mark.parametrize("pair", sampled(PERMUTED, 2), ids=lambda pair: pair.name)
def test_permuted_activations_are_repaired_by_pieces_in_the_order_of_the_ranks(pair: Pair) -> None:
    """The groups stay as torch.distributed makes them, sorted: other peers get other pieces."""
    one, many = load_all((str(pair.single), str(pair.parallel)))
    query = Query(one, many, OPTIONS)
    proposals = repairs(query, walk(query))
    assert [(proposal.codes, proposal.proved) for proposal in proposals] == [(("wrong-order",), True)]
    assert "every rank cuts the piece of its place and sends it to that place" in proposals[0].sentence
    groups = [
        dict(node.attrs)["ranks"]
        for segment in proposals[0].plan.segments
        for node in segment.nodes
        if node.op in ("chunk", "all_gather")
    ]
    assert groups and all(list(ranks) == sorted(ranks) for ranks in groups)


def test_the_right_plan_of_the_bugs_gets_no_repair(single: Plan) -> None:
    right = load(str(PLANS / "bugs" / SINGLE.replace("dp1_pp1_tp1_nm1", "dp2_pp2_tp2_nm2")))
    query = Query(single, right, OPTIONS)
    examined = walk(query)
    assert examined.report.verdict.name == "PROVED"
    assert repairs(query, examined) == ()
