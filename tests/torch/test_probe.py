"""Specs that are found by running the code that cuts parameters on the numbers of their elements."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module  # noqa: E402

from tests.torch.test_recorded import recorded_here  # noqa: E402
from verdict.backends.torch.host import world  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.graph import WEIGHT  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.pipeline import verify  # noqa: E402
from verdict.report import Verdict  # noqa: E402
from verdict.torch import REPLICATE, piece, probe, shard  # noqa: E402

RANKS, IN, OUT = 2, 4, 6


def whole():
    return nn.Sequential(nn.Linear(IN, OUT), nn.Linear(OUT, IN))


def cut(model):
    """Rank 1's rows of the first linear and columns of the second, whose bias every rank has."""
    first, second = model
    return {"0.weight": first.weight.chunk(2)[1], "1.weight": second.weight[:, 3:], "1.bias": second.bias.clone()}


def test_regions_are_read_from_values():
    found = probe(whole, cut)
    assert found["0.weight"] == piece(0, 3, 6, 6)
    assert found["1.weight"] == piece(1, 3, 6, 6)
    assert found["1.bias"].region == ()


def test_other_specs_are_kept_and_must_agree():
    rows = shard(0, 1, RANKS)
    assert probe(whole, cut, {"x": rows, "0.weight": rows})["x"] == rows
    with pytest.raises(UsageError, match=r"0:3 of 6.*leaves 3:6 of 6"):
        probe(whole, cut, {"0.weight": shard(0, 0, RANKS)})


@pytest.mark.parametrize("rank", range(RANKS))
def test_shards_of_dtensors_are_found(rank):
    with world(rank, RANKS):
        mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
        styles = {"0": ColwiseParallel(), "1": RowwiseParallel()}
        found = probe(whole, lambda model: parallelize_module(model, mesh, styles))
    own = (3 * rank, 3 * rank + 3, OUT)
    assert found == {
        "0.weight": piece(0, *own),
        "0.bias": piece(0, *own),
        "1.weight": piece(1, *own),
        "1.bias": REPLICATE,
    }


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda model: model[0].weight[[0, 2]], "no rectangular part"),
        (lambda model: model[0].weight.flip(0), "no rectangular part"),
        (lambda model: torch.randn(3, IN) - 9, "no elements of a parameter"),
        (lambda model: torch.cat([p.flatten() for p in model.parameters()]), "another shape"),
        (lambda model: model[0].weight[:0], "holds none of it"),
    ],
)
def test_what_is_no_part_of_a_parameter_is_refused(made, problem):
    with pytest.raises(UsageError, match=problem):
        probe(whole, lambda model: {"w": made(model)})


def test_a_program_whose_specs_are_probed():
    plan = recorded_here("hand_cut", "build", RANKS)
    regions = {plan.tensors[k].region for k in range(len(plan.tensors)) if plan.kind(k) == WEIGHT}
    assert ((0, 4), (4, 8)) in regions
    single = recorded_here("hand_cut", "build_single")
    assert verify(single, plan, Options()).verdict is Verdict.PROVED
    assert verify(single, recorded_here("hand_cut", "build_wrong_chunk", RANKS), Options()).verdict is Verdict.REFUTED
