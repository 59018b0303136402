"""The tables: nnScaler's operators and primitives, in the words of the vocabulary."""

from typing import Any

import pytest

from verdict.backends.nnscaler.collectives import steps
from verdict.backends.nnscaler.operators import FORMS, meaning
from verdict.backends.nnscaler.records import IRAdapter, IRFullTensor, IRSubTensor, MalformedError, Record
from verdict.backends.nnscaler.unpickle import _GLOBALS

T = IRSubTensor()


@pytest.mark.parametrize(
    ("signature", "arguments", "keywords", "op", "attrs"),
    [
        ("torch.add", [T, T], {"alpha": 1}, "add", {"alpha": 1}),
        ("torch.add", [T, 1e-5], {"alpha": 1}, "add", {"alpha": 1, "other": 1e-5}),
        ("torch.sub", [1, T], {"alpha": 1}, "sub", {"alpha": 1, "other": 1, "reflected": True}),
        ("torch.div", [T, 2.0], {"rounding_mode": None}, "div", {"other": 2.0, "rounding_mode": None}),
        ("torch.pow", [T, 2], {}, "pow", {"exponent": 2}),
        ("torch.sum", [T], {}, "sum", {"dim": None, "keepdim": False}),
        ("torch.mean", [T], {"dim": 2, "keepdim": True}, "mean", {"dim": (2,), "keepdim": True}),
        ("torch.Tensor.view", [T], {"size": [2, -1]}, "view", {"size": (2, -1)}),
        ("torch.Tensor.float", [T], {}, "float", {"dtype": "float32"}),
        ("torch.nn.functional.linear", [T, T], {"bias": None}, "linear", {}),
        (
            "torch.nn.functional.softmax",
            [T],
            {"dim": -1, "dtype": None, "_stacklevel": 3},
            "softmax",
            {"dim": -1, "dtype": None},
        ),
        ("nnscaler.runtime.function.to", [T], {"dtype_or_device": "float32"}, "to", {"dtype": "float32"}),
        ("genmodel.model.llama3_adpt.model.create_mask", [T, T], {}, "create_mask", {}),
        ("genmodel.model.llama3_adpt.model.create_mask", [T, T, 3], {}, "create_mask", {"start_pos": 3}),
    ],
)
def test_a_known_call(
    signature: str, arguments: list[Any], keywords: dict[str, Any], op: str, attrs: dict[str, Any]
) -> None:
    assert meaning(signature, arguments, keywords) == (op, tuple(sorted(attrs.items())))


@pytest.mark.parametrize(
    ("signature", "arguments", "keywords"),
    [
        ("torch.cumsum", [T], {"dim": 0}),
        ("my.model.create_mask", [T, T], {}),
        ("torch.add", [T, T], {"alpha": 1, "out": T}),
        ("torch.add", [T, None], {}),
        ("torch.add", [1, 2], {}),
        ("torch.add", [T, T, T], {}),
        ("torch.pow", [2, T], {}),
        ("torch.pow", [T, T], {}),
        ("torch.matmul", [T, 2], {}),
        ("torch.nn.functional.silu", [T], {"inplace": True}),
        ("torch.nn.functional.gelu", [T], {"approximate": "tanh"}),
        ("torch.nn.functional.linear", [T, T], {"bias": T}),
        ("torch.Tensor.view", [T], {"size": (T, 2)}),
        ("torch.cat", [[T, T]], {"dim": 0}),
    ],
)
def test_a_call_that_is_not_known_in_full_is_unknown(
    signature: str, arguments: list[Any], keywords: dict[str, Any]
) -> None:
    assert meaning(signature, arguments, keywords)[0] == f"unknown:{signature}"


def test_the_constants_of_an_unknown_call_are_kept() -> None:
    _, attrs = meaning("torch.cumsum", [T, 2], {"dim": [0, 1], "out": T})
    assert attrs == (("argument1", 2), ("dim", (0, 1)), ("out", "<IRSubTensor>"))


def test_every_form_can_be_written_without_constants_where_it_takes_tensors_only() -> None:
    for signature, form in FORMS.items():
        tensors = [T for parameter in form.parameters if not parameter.endswith("=") or "|" in parameter]
        constants = [2 for parameter in form.parameters if parameter.endswith("=") and "|" not in parameter]
        assert meaning(signature, tensors + constants, {})[0] == form.op


def tensor(*shape: int, dtype: str = "torch.float32", tid: int = 0) -> Record:
    """A tensor of the file, as adapters look at it."""
    made, full = IRSubTensor(), IRFullTensor()
    full.append({"_dtype": dtype})
    made.append({"_id": tid, "_shape": shape, "_full_tensor": full})
    return made


OWN, OTHERS, PRIMS = tensor(4, 4, 4, tid=1), tensor(4, 4, 4, tid=2), tensor(1, tid=3)


def adapter(name: str, forward: bool, own: bool = True, custom: bool | None = None, **arguments: Any) -> dict[str, Any]:
    """An adapter with one primitive. `own`: differentiable, so that its own tensors are the data; what is fused is left
    to autograd, and has them forward, too.
    """
    prim: Record = _GLOBALS[f"nnscaler.ir.adapter.prim.{name}"]()
    fused = name in FUSED
    sides = ([OWN], [OTHERS]) if own and fused and forward else ([PRIMS], [PRIMS])
    prim.append({"kwargs": arguments, "_inputs": sides[0], "_outputs": sides[1]} | {"signature": FUNCTIONS.get(name)})
    mirror = IRAdapter()
    mirror.append({"_prims": [prim]})
    return {
        **{"_id": 7, "_forward": forward, "_differentiable": own, "_prims": [prim], "_mirror": mirror},
        **{"_inputs": [OWN], "_outputs": [OTHERS], "custom": not fused if custom is None else custom},
    }


FUSED = {
    "AllReduceIdentityPrim": "allreduce_identity",
    "IdentityAllreducePrim": "identity_allreduce",
    "AllReduceAllReducePrim": "allreduce_allreduce",
    "ReduceScatterAllGatherPrim": "reducescatter_allgather",
    "AllGatherReduceScatterPrim": "allgather_reducescatter",
    "AllGatherSplitPrim": "allgather_split",
    "SplitAllGatherPrim": "split_allgather",
    "AllToAllAllToAllPrim": "alltoall_alltoall",
}
PLAIN = {
    **{"ChunkPrim": "chunk", "MovePrim": "move", "AllReducePrim": "all_reduce", "AllGatherPrim": "all_gather"},
    **{"ReduceScatterPrim": "reduce_scatter", "AllToAllPrim": "all_to_all"},
}
FUNCTIONS = {name: f"nnscaler.runtime.adapter.nn.{function}" for name, function in FUSED.items()} | {
    name: f"nnscaler.runtime.adapter.{function}" for name, function in PLAIN.items()
}


SUM = {"reduce": "sum"}


@pytest.mark.parametrize(
    ("name", "arguments", "forward", "backward"),
    [
        ("AllReduceIdentityPrim", {}, ("all_reduce", SUM), ("identity", None)),
        ("IdentityAllreducePrim", {}, ("identity", None), ("all_reduce", SUM)),
        ("AllReduceAllReducePrim", {}, ("all_reduce", SUM), ("all_reduce", SUM)),
        ("ReduceScatterAllGatherPrim", {"dim": 1}, ("reduce_scatter", {"dim": 1}), ("all_gather", {"dim": 1})),
        ("AllGatherReduceScatterPrim", {"dim": 1}, ("all_gather", {"dim": 1}), ("reduce_scatter", {"dim": 1})),
        ("AllGatherSplitPrim", {"dim": 2}, ("all_gather", {"dim": 2}), ("chunk", {"dim": 2})),
        ("SplitAllGatherPrim", {"dim": 2}, ("chunk", {"dim": 2}), ("all_gather", {"dim": 2})),
        (
            "AllToAllAllToAllPrim",
            {"idim": 0, "odim": 1},
            ("all_to_all", {"split_dim": 1, "concat_dim": 0}),
            ("all_to_all", {"split_dim": 0, "concat_dim": 1}),
        ),
        (
            "AllToAllPrim",
            {"idim": 0, "odim": 1},
            ("all_to_all", {"split_dim": 1, "concat_dim": 0}),
            ("all_to_all", {"split_dim": 1, "concat_dim": 0}),
        ),
        ("AllReducePrim", {}, ("all_reduce", SUM), ("all_reduce", SUM)),
        ("ReduceBroadcastPrim", {"dst": 0}, ("unknown:ReduceBroadcastPrim", None), None),
    ],
)
def test_a_primitive_runs_in_the_direction_of_its_adapter(
    name: str, arguments: dict[str, Any], forward: Any, backward: Any
) -> None:
    for direction, expected in ((True, forward), (False, backward)):
        if expected is None:
            continue
        (step,) = steps(adapter(name, direction, ranks=[3, 1], **arguments), 1)
        op, attrs = expected
        assert step.op == op
        if attrs is not None:
            channel = {} if op == "chunk" else {"channel": 7}
            assert dict(step.attrs) == {"ranks": (1, 3), **channel, **attrs}
        assert (step.inputs, step.outputs) == ([OWN], [OTHERS])


def test_what_is_not_left_to_autograd_is_called_as_it_is() -> None:
    for own, custom in ((False, True), (True, True)):
        (step,) = steps(adapter("SplitAllGatherPrim", False, own, custom, ranks=[0, 1], dim=2), 1)
        assert step.op in {"chunk", "unknown:SplitAllGatherPrim"}
    (step,) = steps(adapter("SplitAllGatherPrim", False, ranks=[0, 1], dim=2), 1)
    assert step.op == "all_gather"


def test_what_a_file_says_twice_it_says_alike() -> None:
    cell = adapter("AllReduceIdentityPrim", True, ranks=[0, 1])
    assert steps(cell, 0)[0].op == "all_reduce"
    cell["_prims"][0][0]["signature"] = FUNCTIONS["IdentityAllreducePrim"]
    with pytest.raises(MalformedError, match=r"AllReduceIdentityPrim that runs .*identity_allreduce"):
        steps(cell, 0)
    cell = adapter("AllReduceIdentityPrim", True, ranks=[0, 1])
    cell["_prims"][0][0]["_inputs"] = [OTHERS]
    with pytest.raises(MalformedError, match="other tensors than its adapter 7"):
        steps(cell, 0)
    cell = adapter("AllReduceIdentityPrim", False, ranks=[0, 1])
    cell["_mirror"][0]["_prims"] = adapter("AllReducePrim", True, ranks=[0, 1])["_prims"]
    with pytest.raises(MalformedError, match="another primitive backward than forward"):
        steps(cell, 0)


def test_the_data_of_a_plain_adapter_are_those_of_its_primitives() -> None:
    (step,) = steps(adapter("ChunkPrim", True, own=False, ranks=[0, 1], dim=0), 1)
    assert (step.inputs, step.outputs) == ([PRIMS], [PRIMS])


@pytest.mark.parametrize(
    ("name", "whole", "piece", "even"),
    [("ChunkPrim", 8, 4, True), ("ChunkPrim", 8, 3, False), ("ReduceScatterPrim", 8, 5, False)],
)
def test_pieces_are_even(name: str, whole: int, piece: int, even: bool) -> None:
    cell = adapter(name, True, ranks=[0, 1], dim=0)
    cell["_inputs"], cell["_outputs"] = [tensor(whole)], [tensor(piece)]
    assert (steps(cell, 0)[0].op == f"unknown:{name}") is not even
    gather = adapter("AllGatherPrim", True, ranks=[0, 1], dim=0)
    gather["_inputs"], gather["_outputs"] = [tensor(piece)], [tensor(whole)]
    assert (steps(gather, 0)[0].op == "unknown:AllGatherPrim") is not even


def move(
    src: int, dst: int, device: int, sends: bool, shape: Any = (1,), dtype: str = "torch.float32"
) -> tuple[str, dict[str, Any]]:
    cell = adapter("MovePrim", True, own=False, src=src, dst=dst, shape=shape, dtype=dtype)
    fields = cell["_prims"][0][0]
    fields["_outputs" if sends else "_inputs"] = []
    (step,) = steps(cell, device)
    return step.op, dict(step.attrs)


def test_a_move_is_a_send_at_its_source_and_a_receive_at_its_destination() -> None:
    assert move(0, 2, 0, sends=True) == ("send", {"peer": 2, "channel": 7})
    assert move(0, 2, 2, sends=False) == ("recv", {"peer": 0, "channel": 7})


def test_a_receive_says_for_what_it_makes_room_where_that_is_not_what_it_receives() -> None:
    assert move(0, 2, 2, sends=False, shape=[1, 1])[1]["shape"] == (1, 1)
    assert move(0, 2, 2, sends=False, dtype="torch.float16")[1]["dtype"] == "float16"
    assert "shape" not in move(0, 2, 0, sends=True, shape=(7,))[1]
    with pytest.raises(MalformedError, match="without shape"):
        steps(adapter("MovePrim", True, own=False, src=0, dst=1, dtype="torch.float32"), 1)


@pytest.mark.parametrize(("device", "sends"), [(1, True), (1, False), (2, True), (0, False)])
def test_a_move_that_this_device_has_no_part_in_means_nothing(device: int, sends: bool) -> None:
    assert move(0, 2, device, sends)[0] == "unknown:MovePrim"


def test_arguments_that_are_not_known_make_a_primitive_unknown_and_missing_ones_an_error() -> None:
    (step,) = steps(adapter("AllReducePrim", True, ranks=[0, 1], op="max"), 0)
    assert step.op == "unknown:AllReducePrim"
    with pytest.raises(MalformedError, match="without dim"):
        steps(adapter("AllGatherPrim", True, ranks=[0, 1]), 0)
    with pytest.raises(MalformedError, match="ranks"):
        steps(adapter("AllReducePrim", True, ranks=[0, "1"]), 0)
