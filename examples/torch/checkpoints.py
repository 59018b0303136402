"""Training that is interrupted: a step, a checkpoint, another model made parallel otherwise, and another step.

What a program writes to files and reads again is followed from rank to rank, where all ranks are recorded together:

verdict torch examples/torch/checkpoints.py --world 2 --live
"""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from verdict.torch import Program, mean, shard

ROWS, SIZE, HIDDEN = 4, 4, 8


def network():
    return nn.Sequential(nn.Linear(SIZE, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, SIZE))


def sharded(ctx):
    """FSDP2."""
    model, mesh = network(), init_device_mesh("cpu", (ctx.world,))
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def tensor_parallel(ctx):
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    return parallelize_module(network(), init_device_mesh("cpu", (ctx.world,)), plan)


def optimizer_of(model):
    return torch.optim.AdamW(model.parameters(), lr=0.1)


def folder(ctx):
    """A folder of all ranks."""
    made = [tempfile.mkdtemp()]
    dist.broadcast_object_list(made)
    return Path(made[0])


def in_memory(ctx, model, optimizer):
    """The single-device program goes on with a copy."""
    fresh = network()
    fresh.load_state_dict(model.state_dict())
    again = optimizer_of(fresh)
    again.load_state_dict(optimizer.state_dict())
    return fresh, again


def through_checkpoint(make, optimizer_too=True):
    """torch.distributed.checkpoint: each rank writes its shards, each reads what its own shards are made of."""

    def hand_over(ctx, model, optimizer):
        path, fresh = folder(ctx), make(ctx)
        again = optimizer_of(fresh)
        weights, states = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optimizer": states}, checkpoint_id=path)
        weights, states = get_state_dict(fresh, again)
        wanted = {"model": weights, "optimizer": states} if optimizer_too else {"model": weights}
        dcp.load(wanted, checkpoint_id=path)
        set_state_dict(fresh, again, model_state_dict=weights, optim_state_dict=states)
        return fresh, again

    return hand_over


def through_files(in_order=sorted, counted=True):
    """By hand: each rank writes its rows, each puts the rows of all ranks together, as one device has them."""

    def hand_over(ctx, model, optimizer):
        path, fresh = folder(ctx), network()
        again, rows = optimizer_of(fresh), [each.to_local() for each in model.parameters()]
        states = [own_rows(optimizer.state[param]) for param in model.parameters()]
        torch.save({"rows": rows, "states": states}, path / f"rank{ctx.rank}.pt")
        dist.barrier()
        parts = [torch.load(file) for file in in_order(path.glob("*.pt"))]
        for number, param in enumerate(fresh.parameters()):
            with torch.no_grad():
                param.copy_(torch.cat([part["rows"][number] for part in parts]))
            found = [part["states"][number] for part in parts]
            joined = {name: torch.cat([each[name] for each in found]) for name in ("exp_avg", "exp_avg_sq")}
            again.state[param] = {"step": found[0]["step"] if counted else torch.zeros(()), **joined}
        return fresh, again

    return hand_over


def own_rows(state):
    return {name: value.to_local() if hasattr(value, "to_local") else value for name, value in state.items()}


def program(ctx, make=lambda ctx: network(), hand_over=in_memory, parts=1, average=False):
    """parts: of how many ranks each has rows of its own of the second batch. average: its gradients over all."""
    model = make(ctx)
    optimizer, world = optimizer_of(model), ctx.world
    batches = [[torch.randn(ROWS // n, SIZE) for _ in "xy"] for n in (world, parts)]
    first, second = (mean(ctx.rank % n, n) for n in (world, parts))
    ends = {}

    def trained(model, optimizer, x, target, average=False):
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        for param in model.parameters() if average else ():
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        return loss

    def step():
        loss = trained(model, optimizer, *batches[0])
        fresh, again = hand_over(ctx, model, optimizer)
        ends["later loss"] = trained(fresh, again, *batches[1], average)
        for name, param in fresh.named_parameters():
            ends[f"later {name}"] = param
            ends[f"later {name} exp_avg"] = again.state[param]["exp_avg"]
        return loss

    named = [zip((f"x{at}", f"y{at}"), batch, strict=True) for at, batch in enumerate(batches)]
    inputs = {name: tensor for pairs in named for name, tensor in pairs}
    specs = {name: shard(0, ctx.rank % n, n) for name in inputs for n in [world if "0" in name else parts]}
    return Program(inputs, model, step, lambda: ends, loss=first, specs={**specs, "later loss": second})


def build_single(ctx):
    return program(ctx)


def build(ctx):
    """FSDP2, then tensor parallel."""
    return program(ctx, sharded, through_checkpoint(tensor_parallel))


def build_by_hand(ctx):
    """FSDP2, then data parallel, by files of each rank."""
    return program(ctx, sharded, through_files(), parts=ctx.world, average=True)


def build_forgotten_optimizer(ctx):
    """Wrong: the optimizer begins anew."""
    return program(ctx, sharded, through_checkpoint(tensor_parallel, optimizer_too=False))


def build_forgotten_count(ctx):
    """Wrong: the optimizer counts its steps anew."""
    return program(ctx, sharded, through_files(counted=False), parts=ctx.world, average=True)


def build_wrong_order(ctx):
    """Wrong: the ranks' files are put together from the last."""
    backward = through_files(lambda files: sorted(files, reverse=True))
    return program(ctx, sharded, backward, parts=ctx.world, average=True)


def build_own_files(ctx):
    """Wrong: each rank reads its own file alone, for the rows of all."""
    own = through_files(lambda files: [file for file in files if file.stem == f"rank{ctx.rank}"] * ctx.world)
    return program(ctx, sharded, own, parts=ctx.world, average=True)
