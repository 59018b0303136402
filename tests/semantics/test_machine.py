"""One interpreter of plans: on arrays and as a flow it makes the same values, and names what goes wrong alike."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import ONCE, Builder
from verdict.backends.generator import Sizes, generate
from verdict.comparison import Faulty
from verdict.concrete.execute import execute
from verdict.graph import ACCUMULATOR, ACTIVATION, INPUT, ONCE_A_STEP, WEIGHT, Held
from verdict.inputs import random_values
from verdict.semantics import REDUCTIONS, Rank, bind, full, itself
from verdict.sweep import flow as flows
from verdict.sweep.unroll import unroll
from verdict.sweep.values import run

SMALL = {"layers": 2, "hidden": 8, "heads": 4, "seq": 4, "batch": 8, "vocab": 8, "ffn": 8}
MESHES = (
    {"dp": 2, "tp": 2, "pp": 2, "microbatches": 2},
    {"dp": 1, "tp": 4, "pp": 1, "microbatches": 1},
    {"dp": 2, "tp": 2, "pp": 1, "microbatches": 1, "optimizer": "sgd", "zero": 1},
)
GROUP = (2, 0, 1)
"""The order of a group is that of its pieces, whatever the ranks are."""


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("model", ["mlp", "llama3"])
def test_arrays_and_flows_hold_the_same_values(model, mesh):
    """Gradients on every rank; the loss of all columns."""
    single, parallel = generate(model, Sizes(**SMALL, **mesh))
    given = random_values(single, full(single), 5, False)
    binding = bind(single, parallel)
    found = execute(parallel, full(parallel), binding, given)
    flow = unroll(parallel, full(parallel), binding, full(single).logicals)
    values = run(flow, given)
    names = [parallel.logicals[tensor.logical].name for tensor in parallel.tensors]
    alone = {
        (f"gradient of {names[held.weight]}", f"on rank {rank.replica * parallel.devices + rank.device}"): array
        for held in parallel.gradients
        for (rank, tensor), array in found.gradients.items()
        if (rank.device, tensor) == (held.device, held.tensor)
    }
    compared = [result for result in flow.results if (result.what, result.where) in alone]
    assert len(compared) == len(alone) > 0
    for result in compared:
        np.testing.assert_allclose(values[result.value], alone[result.what, result.where], rtol=1e-9, atol=1e-15)
    losses = [values[result.value] for result in flow.results if result.what == "loss"]
    assert all(np.allclose(loss, losses[0]) for loss in losses)
    first = next(iter(found.losses))[0].device
    held = [array for (rank, _, _), array in found.losses.items() if rank.device == first]
    np.testing.assert_allclose(losses[0], sum(held), rtol=1e-9)


COLLECTIVES = {
    ("all_reduce", ("reduce", "sum")): lambda x: [x.sum(axis=0)] * 3,
    ("all_reduce", ("reduce", "max")): lambda x: [x.max(axis=0)] * 3,
    ("all_reduce", ("reduce", "avg")): lambda x: [x.mean(axis=0)] * 3,
    ("reduce", ("root", 0)): lambda x: [None, x.sum(axis=0), None],
    ("broadcast", ("root", 0)): lambda x: [x[1]] * 3,
    ("all_gather", ("dim", 1)): lambda x: [np.concatenate(list(x), axis=1)] * 3,
    ("reduce_scatter", ("dim", 1)): lambda x: [x.sum(axis=0)[:, 0:2], x.sum(axis=0)[:, 2:4], x.sum(axis=0)[:, 4:5]],
    ("all_to_all", ("split_dim", 0), ("concat_dim", 1)): lambda x: [
        np.concatenate([each[k : k + 1] for each in x], axis=1) for k in range(3)
    ],
}


def collective(case):
    """Three ranks that compute with what they are given and meet once; and what each of them holds then."""
    (op, *attrs), due = case, COLLECTIVES[case]
    plan = Builder(devices=3)
    x = np.random.default_rng(3).normal(size=(3, 3, 5))
    expected = due(2 * x[list(GROUP)])
    outputs = {}
    for device in range(3):
        mine = plan.tensor("x", (3, 3, 5), INPUT, ((device, device + 1), (0, 3), (0, 5)))
        twice = plan.op(device, "mul", [mine], [plan.tensor(f"twice {device}", (1, 3, 5))], other=2)
        flat = plan.op(device, "view", [twice], [plan.tensor(f"flat {device}", (3, 5))], size=(3, 5))
        array = expected[GROUP.index(device)]
        made = [] if array is None else [plan.tensor(f"made {device}", array.shape)]
        plan.op(device, op, [flat], made, ranks=GROUP, **dict(attrs))
        if made:
            outputs[device] = made[0], array
    return plan.plan(), x, outputs


def test_flows_know_every_reduction():
    assert set(flows.REDUCTIONS) == REDUCTIONS


@pytest.mark.parametrize("case", COLLECTIVES, ids=lambda case: "-".join(map(str, (case[0], *case[1:]))))
def test_collectives_go_by_the_order_of_the_group(case):
    plan, x, outputs = collective(case)
    for device, (tensor, array) in outputs.items():
        declaring = replace(plan, outputs=(Held(device, tensor),))
        found = execute(declaring, full(declaring), itself(declaring), {0: x})
        np.testing.assert_allclose(found.outputs[Rank(0, device), 0, tensor], array)
        flow = unroll(declaring, full(declaring), itself(declaring), full(declaring).logicals)
        np.testing.assert_allclose(run(flow, {0: x})[flow.results[0].value], array)


def of_another_shape(plan):
    x = plan.tensor("x", (4, 6), INPUT)
    for device, size in ((0, 2), (1, 3)):
        plan.op(device, "all_to_all", [x], [plan.tensor(f"y{device}", (size, 12))], ranks=(0, 1), split_dim=0,
                concat_dim=1)  # fmt: skip


def read_too_early(plan):
    early = plan.tensor("early", (4,))
    plan.op(0, "relu", [early], [plan.tensor("y", (4,))])


def made_twice(plan):
    x, y = plan.tensor("x", (4,), INPUT), plan.tensor("y", (4,))
    plan.op(0, "relu", [x], [y])
    plan.op(0, "relu", [x], [y])


def beside_the_root(plan):
    x = plan.tensor("x", (4,), INPUT)
    for device in (0, 1):
        plan.op(device, "reduce", [x], [plan.tensor("y", (4,))], ranks=(0, 1), root=1)


def never_made(plan):
    w = plan.tensor("w", (4,), WEIGHT)
    plan.gradient(0, plan.tensor("g", (4,), ACTIVATION), w)


def of_two_shapes(plan):
    for device, size in ((0, 4), (1, 1)):
        x = plan.tensor(f"x{size}", (size,), INPUT)
        plan.op(device, "all_reduce", [x], [plan.tensor("y", (4,))], ranks=(0, 1), reduce="sum")


FAULTS = {
    of_another_shape: "all_to_all y1@all_to_all on device 1, microbatch 0: it makes shape [2, 12], not [3, 12]",
    read_too_early: "relu y@relu on device 0, microbatch 0: early is read before anything produces it",
    made_twice: "relu y@relu on device 0, microbatch 0: y is produced twice",
    beside_the_root: "reduce y@reduce on device 0, microbatch 0: nothing is made where an output is wanted",
    never_made: "the end of the step on device 0, once a step: g is read before anything produces it",
    of_two_shapes: "all_reduce y@all_reduce on device 0, microbatch 0: what its members put in does not fit together: "
    "shapes [4] and [1]",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_what_goes_wrong_is_named_alike(fault):
    builder = Builder(devices=2)
    fault(builder)
    plan = builder.plan()
    given = {k: np.ones(logical.shape) for k, logical in enumerate(plan.logicals)}
    with pytest.raises(Faulty) as on_arrays:
        execute(plan, full(plan), itself(plan), given)
    with pytest.raises(Faulty) as as_a_flow:
        unroll(plan, full(plan), itself(plan), full(plan).logicals)
    assert str(on_arrays.value) == str(as_a_flow.value) == FAULTS[fault]


def test_accumulators_grow_over_the_microbatches_and_start_at_zero():
    plan = Builder(microbatches=3)
    x, total, twice = plan.tensor("x", (2,), INPUT), plan.tensor("t", (2,), ACCUMULATOR), plan.tensor("y", (2,))
    plan.op(0, "mul", [x], [total], other=1)
    plan.op(0, "mul", [total], [twice], ONCE, other=2)
    plan.loss(0, twice)
    single, parallel, array = Builder(), plan.plan(), np.arange(6.0)
    single.tensor("x", (6,), INPUT)
    found = execute(parallel, full(parallel), bind(single.plan(), parallel), {0: array})
    assert found.losses[Rank(0, 0), ONCE_A_STEP, twice].tolist() == (2 * array.reshape(3, 2).sum(axis=0)).tolist()
