"""Recordings of all ranks, replayed in lockstep on random tensors, compute what the single-device program computes."""

from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from tests.torch.compare import CLOSE, differences, random_tensors, run_eagerly  # noqa: E402
from verdict.backends.text import read, write  # noqa: E402
from verdict.backends.torch.assemble import plan_of  # noqa: E402
from verdict.backends.torch.launch import Target, record_all  # noqa: E402
from verdict.backends.torch.one import function_in  # noqa: E402
from verdict.backends.torch.program import Context  # noqa: E402
from verdict.backends.torch.record import record  # noqa: E402
from verdict.backends.torch.replay import replay  # noqa: E402
from verdict.backends.torch.shares import placed  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.graph.form import require_form  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES, PROGRAMS = ROOT / "examples" / "torch", Path(__file__).with_name("programs.py")
APART = {
    ("llama_tp_sp", "build"): ("llama", 2),
    ("llama_fsdp2", "build"): ("llama_fsdp2", 2),
    ("mlp_megatron", "build"): ("mlp_megatron", 2),
}
"""Programs that are recorded as a user's are, each rank in a process of its own."""
HERE = {
    ("mlp_megatron", "build_async"): ("mlp_megatron", 2),
    ("ddp_manual", "build"): ("ddp_manual", 2),
    ("pipeline", "build_1f1b"): ("pipeline", 2),
    ("ring_attention", "build"): ("ring_attention", 2),
    ("ep_all_to_all", "build"): ("ep_all_to_all", 2),
    ("zero1", "build"): ("zero1", 2),
    ("clip", "build_ddp"): ("clip", 2),
    ("pipelining", "build_1f1b"): ("pipelining", 2),
    ("moe", "build"): ("moe", 2),
    ("zero2_clip", "build"): ("zero2_clip", 2),
    ("dropout", "build"): ("dropout", 2),
    ("pipelining", "build_interleaved"): ("pipelining", 2),
}
"""Programs without DTensor, which keeps nothing of one rank for the next."""
WRONG = {
    ("mlp_megatron", "build_missing_f"): {"first.weight.grad"},
    ("ring_attention", "build_missing_round"): {"loss"},
    ("ddp_manual", "build_overwritten"): {"down.weight.grad"},
    ("zero1", "build_missing_gather"): {"up.weight.updated"},
    ("clip", "build_ddp_clipped_first"): {"up.weight.grad"},
    ("clip", "build_counted_twice"): {"up.weight.grad"},
    ("pipelining", "build_loss_scale"): {"0.weight.grad"},
    ("moe", "build_wrong_order"): {"loss"},
    ("zero2_clip", "build_local_norm"): {"up.weight.first"},
    ("dropout", "build_same_masks"): {"loss"},
}


@cache
def recorded_apart():
    """(file, builder) -> plan, all recorded in one run, and written and read again."""
    wanted = {(single, "build_single"): 1 for single, _ in APART.values()}
    wanted |= {key: ranks for key, (_, ranks) in APART.items()}
    programs = [(Target(str(EXAMPLES / f"{file}.py"), builder), ranks) for (file, builder), ranks in wanted.items()]
    recorded = record_all(programs, cores=2)
    return {
        key: read(write(plan_of(found.traces, "plan")).encode(), "plan")
        for key, found in zip(wanted, recorded, strict=True)
    }


@cache
def recorded_here(file, builder, ranks=1):
    """The plan of a program, recorded in this process."""
    path = PROGRAMS if file == "programs" else EXAMPLES / f"{file}.py"
    traces = [record(partial(function_in, str(path), builder), rank, ranks) for rank in range(ranks)]
    return read(write(plan_of(traces, "plan")).encode(), "plan")


def reasons(plan):
    nodes = [node for segment in plan.segments for node in segment.nodes]
    return {dict(node.attrs)["reason"] for node in nodes if node.op == "unmodelled"}


@pytest.mark.parametrize("key", APART, ids="-".join)
def test_all_ranks_together_compute_what_one_device_computes(key):
    plans = recorded_apart()
    single, parallel = plans[APART[key][0], "build_single"], plans[key]
    require_form(parallel)
    assert {held.device for held in parallel.declared} == set(range(APART[key][1]))
    assert differences(single, parallel) == []


@pytest.mark.parametrize("key", HERE, ids="-".join)
def test_hand_written_parallelism_computes_what_one_device_computes(key):
    assert differences(recorded_here(HERE[key][0], "build_single"), recorded_here(*key, HERE[key][1])) == []


def test_a_rank_is_recorded_alike_whatever_else_is_recorded():
    assert recorded_apart()["mlp_megatron", "build"] == recorded_here("mlp_megatron", "build", 2)


@pytest.mark.parametrize("key", WRONG, ids="-".join)
def test_what_is_wrong_with_a_program_is_in_its_recording(key):
    assert WRONG[key] <= set(differences(recorded_here(key[0], "build_single"), recorded_here(*key, 2)))


@pytest.mark.parametrize("file", ["llama", "mlp_megatron", "ring_attention"])
def test_the_single_recording_is_what_torch_computes(file):
    plan = recorded_here(file, "build_single")
    given = random_tensors(plan)
    eager = run_eagerly(function_in(str(EXAMPLES / f"{file}.py"), "build_single")(Context()), given)
    replayed = {name: value for (_, name), value in replay(plan, given).items()}
    assert replayed.keys() == eager.keys()
    for name, value in eager.items():
        assert torch.allclose(value, replayed[name], CLOSE, CLOSE), name


def test_gpt2_on_ranks_computes_what_one_device_computes():
    """The key's bias aside: its gradient is rounding alone, and Adam divides that by its own size."""
    plans = recorded_here("gpt2", "build_single"), recorded_here("gpt2_megatron", "build", 2)
    assert set(differences(*plans)) <= {"blocks.0.attention.qkv.bias.updated"}


def test_nodes_are_called_by_lines_of_the_program():
    """Also where torch is called through a wrapper of a deprecated function."""
    nodes = recorded_here("zero2_clip", "build", 2).segments[0].nodes
    called = [node.name for node in nodes if node.op in ("reduce_scatter", "all_gather")]
    assert called
    assert all("zero2_clip.py" in name for name in called)


def test_collectives_of_all_kinds():
    parallel = recorded_here("programs", "build_collectives", 2)
    assert differences(recorded_here("programs", "build_collectives_single"), parallel) == []


@pytest.mark.parametrize(
    ("wrong", "reason", "right", "ranks"),
    [
        ("build_asked", "before its collective was waited for", "build_waited", 2),
        ("build_random", "random numbers", "build_dead_random", 1),
        ("build_uninitialised", "never written", "build_filled", 1),
        ("build_averaged", "named in Program.params", "build_averaged_listed", 1),
        ("build_sent_to_nobody", "to or from rank -1 of a group of 2", "build_sent_on", 2),
        ("build_lying", "verdicttests.silently is not known", "build_constant_escape", 1),
    ],
)
def test_what_cannot_be_followed_is_said(wrong, reason, right, ranks):
    assert any(reason in found for found in reasons(recorded_here("programs", wrong, ranks)))
    assert not reasons(recorded_here("programs", right, ranks))


def test_a_receive_that_is_begun_first_waits_for_nothing():
    right, wrong = (recorded_here("programs", name, 2) for name in ("build_exchange", "build_deadlock"))
    assert replay(right, random_tensors(right))
    with pytest.raises(UsageError, match="do not end"):
        replay(wrong, random_tensors(wrong))


@pytest.mark.parametrize(
    ("builder", "problem"),
    [("build_escape", "decides what the program does"), ("build_unnamed", "requires a gradient is read, and nobody")],
)
def test_what_has_no_recording_is_refused(builder, problem):
    with pytest.raises(UsageError, match=problem):
        recorded_here("programs", builder)


def test_a_tensor_on_a_mesh_that_a_rank_is_not_in_is_refused():
    mesh = SimpleNamespace(get_coordinate=lambda: None, mesh=torch.tensor([[0, 2]]))
    with pytest.raises(UsageError, match=r"placed on ranks \[0, 2\], and this rank is none of them"):
        placed(SimpleNamespace(shape=(4,), device_mesh=mesh, placements=()))


def test_what_goes_wrong_on_a_rank_is_told():
    with pytest.raises(UsageError, match="it has no function build_none"):
        record_all([(Target(str(PROGRAMS), "build_none"), 1)])


def test_states_of_an_optimizer_that_another_one_holds_are_outputs():
    plan = recorded_here("programs", "build_held_optimizer")
    names = {plan.logicals[plan.tensors[held.tensor].logical].name for held in plan.outputs}
    assert {f"weight.{state}" for state in ("step", "exp_avg", "exp_avg_sq")} <= names
