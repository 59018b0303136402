"""What nnScaler's runtime goes by besides nodes: each is changed in a right file, which is not proved any more."""

import lzma
from functools import partial
from pathlib import Path

import pytest

from tests.builders import FAST
from verdict.backends.content import Content
from verdict.backends.nnscaler import load, unpickle
from verdict.backends.nnscaler.microbatches import template
from verdict.backends.nnscaler.records import (
    IRAdapter,
    IRDataOperation,
    IRDimops,
    IRSegment,
    IRSubTensor,
    IRWeightReducer,
)
from verdict.backends.text import canonical, read, write
from verdict.backends.text.plain import read_plain, write_plain
from verdict.errors import PlanFileError
from verdict.options import Options
from verdict.pipeline import verify

SHARED = Path(__file__).parents[3] / "shared" / "plans"
MLP = "mlp/mlp_mgener_dp{}_gbs16_dim1024_ly2"
GPT = "gpt/gpt_mgener_dp{}_gbs16_dim1024_ly2_h16_hi1024_sq1024"
LLAMA = "policies/llama3_default_dp{}_gbs16_ly4_h8_hi256_sq128"
ONE, FOUR = "1_pp1_tp1_nm1", "2_pp2_tp2_nm2"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared plans are not here (../shared/plans)")


def plan_of(name, *edits):
    """The plan in a shared file, whose records are changed before they are looked at."""
    root = unpickle.load(Content.of(lzma.decompress((SHARED / f"{name}.pkl.xz").read_bytes())), name)
    module = root[0]
    for edit in edits:
        edit(module, module["execplan"][0])
    try:
        return load._plan(root, name)
    except load.MalformedError as error:
        raise PlanFileError(name, str(error)) from None


def answer(name, *edits):
    return verify(plan_of(name.format(ONE)), plan_of(name.format(FOUR), *edits), Options(solver=FAST))


def cells(plan, device, kind, backward=None):
    """The places of the cells of a kind in the program of a device."""
    sequence = plan["_seq"][device]
    return [
        place
        for place, cell in enumerate(sequence)
        if type(template(cell)) is kind and (backward is None or is_backward(template(cell)) is backward)
    ]


def is_backward(segment):
    return "IRBpOperation" in {type(node).__name__ for node in segment[0]["_nodes"]}


def primitives(plan, device, name):
    """The primitives of that name that a device runs in its adapters, those in forward segments included."""
    for cell in {id(inner): inner for inner in map(template, plan["_seq"][device])}.values():
        inside = cell[0]["_nodes"] if type(cell) is IRSegment else (cell,)
        for adapter in inside:
            for prim in adapter[0]["_prims"] if type(adapter) is IRAdapter else ():
                if type(prim).__name__ == name:
                    yield prim[0]


def swap(sequence, one, other):
    sequence[one], sequence[other] = sequence[other], sequence[one]


def batches_exchanged(module, plan, devices=(0,)):
    for device in devices:
        swap(plan["_seq"][device], *cells(plan, device, IRDataOperation)[:2])


def return_nothing_of_one(module, plan):
    plan["_outputs"].pop()


def return_one_twice(module, plan):
    plan["_outputs"][1] = plan["_outputs"][0]


def return_another_order(module, plan):
    plan["_outputs"].reverse()


def return_something_else(module, plan):
    segment = template(plan["_seq"][3][cells(plan, 3, IRSegment, backward=False)[0]])
    plan["_outputs"][0] = next(
        tensor for node in segment[0]["_nodes"] for tensor in node[0]["_outputs"] if type(tensor) is IRSubTensor
    )


def leave_out_group(module, plan, group):
    module["comm_groups"] = [ranks for ranks in module["comm_groups"] if tuple(ranks) != group]


def receive_into(module, plan, key, value):
    for device in (2, 3):
        for fields in primitives(plan, device, "MovePrim"):
            if fields["_outputs"]:
                shape = fields["kwargs"]["shape"]
                fields["kwargs"] = {**fields["kwargs"], key: shape[::-1] if value is None else value}
                return


def backward_in_another_order(module, plan):
    for device in range(len(plan["_seq"])):
        swap(plan["_seq"][device], *cells(plan, device, IRSegment, backward=True)[:2])


def losses_handed_on(module, plan, devices):
    """What hands on a loss under its own name takes that of the other microbatch, which it overwrites so."""
    for device in devices:
        one, other = (plan["_seq"][device][place][0] for place in cells(plan, device, IRAdapter)[-2:])
        one["_inputs"], other["_inputs"] = other["_inputs"], one["_inputs"]


def losses_taken_from_one(module, plan):
    """Both microbatches hand on the loss of the second one."""
    one, other = (plan["_seq"][3][place][0] for place in cells(plan, 3, IRAdapter)[-2:])
    one["_inputs"] = other["_inputs"]


def groups_in_another_order(module, plan):
    for device in plan["_seq"]:
        for name in ("ChunkPrim", "AllGatherPrim", "SplitAllGatherPrim", "AllGatherSplitPrim", "AllReduceIdentityPrim"):
            for fields in primitives(plan, device, name):
                fields["kwargs"] = {**fields["kwargs"], "ranks": sorted(fields["kwargs"]["ranks"], reverse=True)}


def backward_passes(plan, device):
    """The backward runs of segments of a device, of the microbatches in their order."""
    return [plan["_seq"][device][place][0] for place in cells(plan, device, IRSegment, backward=True)]


def another_forward_run_mirrored(module, plan):
    one, other = backward_passes(plan, 0)[:2]
    one["_mirror"] = other["_mirror"]


def seed_of_another_microbatch(module, plan):
    one, other = backward_passes(plan, 3)[:2]
    one["_inputs"] = other["_inputs"]


def changed(record, **fields):
    """Another record with some fields of its own."""
    made = type(record)()
    made.append({**record[0], **fields})
    return made


def outputs_of_forward_runs(module, plan, **fields):
    for backward in backward_passes(plan, 0):
        forward = backward["_mirror"][0]
        forward["_outputs"] = [changed(record, **fields) for record in forward["_outputs"]]


def no_gradient_of_the_loss(module, plan):
    for device in (2, 3):
        for backward in backward_passes(plan, device):
            backward["_inputs"][0][0]["_full_tensor"][0]["_is_loss"] = False


def weights_in_another_order(module, plan):
    """Rank 1 uses two weights of one reducer, and of one shape, the other way round."""
    inner = template(plan["_seq"][1][cells(plan, 1, IRSegment, backward=False)[0]])[0]
    named = {node[0]["_inputs"][1][0]["_full_tensor"][0]["name"]: place for place, node in enumerate(inner["_nodes"])
             if type(node) is IRDimops and node[0]["signature"].endswith(".linear")}  # fmt: skip
    swap(inner["_nodes"], *(named[f"layers.0.attention.w{letter}.weight"] for letter in "qk"))


FAULTS = {
    "a backward pass mirrors another forward run": (another_forward_run_mirrored, "gradient-missing"),
    "a backward pass is given the seed of another microbatch": (seed_of_another_microbatch, "gradient-missing"),
    "what forward runs make has no gradient": (partial(outputs_of_forward_runs, _grad=None), "gradient-missing"),
    "what forward runs make needs no gradient": (
        partial(outputs_of_forward_runs, _requires_grad=False),
        "gradient-missing",
    ),
    "the gradient of the loss is not marked": (no_gradient_of_the_loss, "broken-data-flow"),
    "batches taken in another order": (batches_exchanged, "wrong-input"),
    "the loss of one microbatch is not returned": (return_nothing_of_one, "loss-missing"),
    "one loss is returned twice": (return_one_twice, "loss-missing"),
    "losses are returned in another order": (return_another_order, "loss-missing"),
    "losses of two microbatches are handed on in each other's place": (
        partial(losses_handed_on, devices=(2, 3)),
        "loss-missing",
    ),
    "one rank hands on a loss in the place of another": (losses_taken_from_one, "loss-missing"),
    "something else is returned": (return_something_else, "loss-missing"),
    "a group of two is never made": (partial(leave_out_group, group=(2, 3)), "wrong-group"),
    "the group of another replica is never made": (partial(leave_out_group, group=(4, 5)), "wrong-group"),
    "the group of a reducer is never made": (partial(leave_out_group, group=(0, 1, 4, 5)), "wrong-group"),
    "room for another shape": (partial(receive_into, key="shape", value=None), "shape-mismatch"),
    "room for another format": (partial(receive_into, key="dtype", value="torch.float16"), "dtype-differs"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_file_that_the_runtime_would_take_otherwise_is_refuted(name):
    edit, code = FAULTS[name]
    report = answer(MLP, edit)
    assert report.verdict.name == "REFUTED"
    assert code in {finding.code for finding in report.findings}, report.findings


@pytest.mark.parametrize("name", [MLP, GPT])
def test_the_right_files_are_proved(name):
    report = answer(name)
    assert (report.verdict.name, plan_of(name.format(FOUR)).faults) == ("PROVED", ())


def test_the_order_of_ranks_in_a_file_says_nothing():
    """torch.distributed.new_group sorts the ranks that it is given."""
    assert plan_of(MLP.format(FOUR), groups_in_another_order) == plan_of(MLP.format(FOUR))


def test_weights_of_a_reducer_lie_in_the_order_of_their_first_use():
    name = "policies/llama3_flex_dp2_pp2_tp2_nm2_gbs16_ly4_h8_hi256_sq128"
    assert plan_of(name).faults == ()
    assert {fault.code for fault in plan_of(name, weights_in_another_order).faults} == {"wrong-order"}


def test_a_weight_that_a_reducer_lists_twice_is_reduced_once():
    def listed_twice(module, plan):
        for device in range(4):
            for place in cells(plan, device, IRWeightReducer):
                weights = template(plan["_seq"][device][place])[0]["_inputs"]
                weights.append(weights[0])

    assert answer(MLP, listed_twice).verdict.name == "PROVED"


def test_backward_passes_take_what_the_oldest_forward_pass_kept():
    name = "llama3/llama3_default_dp2_pp1_tp2_nm2_gbs512_ly2_h32_hi4096_sq128"
    assert plan_of(name).faults == ()
    assert {fault.code for fault in plan_of(name, backward_in_another_order).faults} == {"wrong-order"}


def test_batches_that_all_take_in_another_order_are_read_as_they_are_taken():
    everywhere = partial(batches_exchanged, devices=range(4))
    crossed = {call.crossed for program in plan_of(MLP.format(FOUR), everywhere).programs for call in program}
    assert crossed != {()}


def test_what_cannot_be_meant_is_refused():
    def loads_twice(module, plan):
        places = cells(plan, 0, IRDataOperation)
        plan["_seq"][0][places[1]] = plan["_seq"][0][places[0]]

    def loads_in_another_order(module, plan):
        template(plan["_seq"][1][cells(plan, 1, IRDataOperation)[0]])[0]["_outputs"].reverse()

    def gives_what_it_has_not(module, plan):
        sequence = plan["_seq"][2]
        adapters = [template(sequence[place])[0] for place in cells(plan, 2, IRAdapter)]
        segment = template(sequence[cells(plan, 2, IRSegment, backward=False)[0]])[0]
        next(adapter for adapter in adapters if adapter["_outputs"])["_outputs"] = segment["_outputs"]

    def replicas_off(module, plan):
        module["enable_dp"] = False

    refused = {
        "takes one share of the batch twice": (MLP, loads_twice),
        "devices take different tensors from the batch": (GPT, loads_in_another_order),
        "replicas are switched off, with 8 ranks for 4 devices": (MLP, replicas_off),
        "40{30} ranks, at most 1048576": (MLP, lambda module, plan: module.update(runtime_ndevs=4 * 10**30)),
        "adapter [0-9]+ gives .*, which it never has": (MLP, gives_what_it_has_not),
        "only losses can be compared": (MLP, lambda module, plan: plan["_outputs"].append("loss")),
        "a group with a rank beyond the 8": (MLP, lambda module, plan: module["comm_groups"].append((0, 8))),
        "the groups that are made should be a list": (MLP, lambda module, plan: module.update(comm_groups=None)),
    }
    for sentence, (name, edit) in refused.items():
        with pytest.raises(PlanFileError, match=sentence):
            plan_of(name.format(FOUR), edit)


def test_faults_are_written_and_read_back():
    plan = plan_of(MLP.format(FOUR), return_one_twice)
    assert len(plan.faults) == 1
    assert read(write(plan).encode(), plan.source) == canonical(plan) == read_plain(write_plain(plan), plan.source)
