"""What programs compute where gloo processes run them in 64-bit floats, and one device: the truth that tests rest on.

python -m tests.torch.truth FILE.py WORLD BUILD:SINGLE ... prints RIGHT or WRONG and why for each. Nothing of the
recorder is used: only what a Program says of itself.
"""

import importlib.util
import multiprocessing
import os
import random
import sys
import tempfile
import time
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from verdict.torch import REPLICATE, Context

SECONDS, STILL, CLOSE = 30, 4, 1e-7
SCALES = {1_000: 16, 1_001: 1 / 256}
"""Seeds with which all parameters are so many times as great: norms reach the bounds of clipping, or do not."""
FORK = multiprocessing.get_context("fork")


def local(tensor):
    tensor = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return tensor.wait() if hasattr(tensor, "wait") else tensor


def box(tensor, share):
    """(slices of the whole, whole shape, part, divisor) of a rank's tensor."""
    if isinstance(tensor, DTensor):
        spread = [p if not p.is_partial() else torch.distributed.tensor.Replicate() for p in tensor.placements]
        size, offset = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, spread)
        index, count, divisor = 0, 1, 1
        for dim, p in enumerate(tensor.placements):
            if p.is_partial():
                n = tensor.device_mesh.size(dim)
                index, count = index * n + tensor.device_mesh.get_coordinate()[dim], count * n
                divisor *= n if p.reduce_op == "avg" else 1
        cut = tuple(slice(o, o + s) for o, s in zip(offset, size, strict=True))
        return cut, tuple(tensor.shape), (index, count), divisor
    share = share or REPLICATE
    cut, whole = [slice(0, n) for n in tensor.shape], list(tensor.shape)
    for dim, index, count in share.cuts:
        start = cut[dim].start + index * tensor.shape[dim]
        cut[dim], whole[dim] = slice(start, start + tensor.shape[dim]), tensor.shape[dim] * count
    for dim, start, stop, size in share.region:
        cut[dim], whole[dim] = slice(start, stop), size
    return tuple(cut), tuple(whole), share.part, share.divisor


def called(program, name):
    owner, dot, rest = name.rpartition(".")
    names = program.names
    return names.get(name) or (f"{names[owner]}{dot}{rest}" if owner in names else name)


def parameters(program):
    """What the program's names of parameters stand for now."""
    if isinstance(program.params, torch.nn.Module):
        return dict([*program.params.named_parameters(), *program.params.named_buffers()])
    return dict(program.params)


def flat(states):
    """The states of a parameter with their names; those in lists by their places."""
    for name, state in states.items():
        items = [(f"{name}[{n}]", each) for n, each in enumerate(state)] if isinstance(state, list) else [(name, state)]
        yield from items


def one(file, name, rank, world, store, given, out, seed):
    """Run one rank. given: whole tensors by name, None for the single device, which gives them; with the seeds of
    SCALES its parameters are greater or smaller than others.
    """
    sys.path.insert(0, str(Path(file).resolve().parent))
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world))
    os.environ.update(GROUP_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", GLOO_SOCKET_IFNAME="lo")
    random.seed()
    np.random.seed()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(seed)
    wait = timedelta(seconds=SECONDS)
    dist.init_process_group("gloo", rank=rank, world_size=world, store=dist.FileStore(store, world), timeout=wait)
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[Path(file).stem] = module
    spec.loader.exec_module(module)
    program = getattr(module, name)(Context(rank, world))
    params = parameters(program)
    named = {**program.inputs, **params}
    built = {}
    for key, tensor in named.items():
        cut, _, part, _ = box(tensor, program.specs.get(key))
        if key in params:
            built[called(program, key)] = (cut, part, local(tensor).detach().clone())
        if given is not None and called(program, key) in given and part == (0, 1):
            with torch.no_grad():
                local(tensor).copy_(given[called(program, key)][cut])
    if seed in SCALES and given is None:
        with torch.no_grad():
            for key in params:
                if local(params[key]).is_floating_point() and params[key].requires_grad:
                    local(params[key]).mul_(SCALES[seed])
    own = {called(program, key): local(tensor).detach().clone() for key, tensor in named.items()}
    shapes = {key: local(tensor).shape for key, tensor in params.items()}
    loss = program.step()
    ends = {}

    def end(key, tensor, share, suffix=""):
        cut, _, part, divisor = box(tensor, share)
        ends[called(program, key) + suffix] = (cut, part, local(tensor).detach().clone() / divisor)

    def same(owner, tensor):
        return program.specs.get(owner) if shapes.get(owner) == local(tensor).shape else None

    if isinstance(loss, torch.Tensor):
        end("loss", loss, program.loss)
    now = parameters(program)
    for key, tensor in ((key, now[key]) for key in params):
        if tensor.grad is not None:
            end(key, tensor.grad, program.specs.get(f"{key}.grad", same(key, tensor.grad)), ".grad")
        end(key, tensor, program.specs.get(key), ".updated")
    further = {key: tensor for key, tensor in now.items() if key not in params}
    further |= dict(program.outputs()) if program.outputs else {}
    for key, param in params.items() if program.optimizer is not None else ():
        states = program.optimizer.state
        further |= {f"{key}.{n}": t for n, t in flat(states.get(now[key], states.get(param, {}))) if torch.is_tensor(t)}
    for key, tensor in further.items():
        end(key, tensor, program.specs.get(key, same(key.rpartition(".")[0], tensor)))
    torch.save((built, own, ends), out)
    dist.barrier()


def spent(processes):
    """(seconds of processor time, whether any runs or is ready to) of processes that may have ended."""
    total, runs = 0, False
    for process in processes:
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
        runs = runs or fields[0] in "RD"
    return total / os.sysconf("SC_CLK_TCK"), runs


def ended(processes):
    """Wait until all have ended well: nothing, or else "it fails", or "it hangs" where for STILL seconds none moves."""
    begun = since = time.monotonic()
    before, looks, moving = 0.0, 0, 0
    while True:
        alive = [process.sentinel for process in processes if process.is_alive()]
        if any(process.exitcode for process in processes):
            return "it fails"
        if not alive:
            return ""
        wait(alive, 0.05)
        now, runs = spent(processes)
        looks, moving = looks + 1, moving + runs
        if time.monotonic() - since > STILL:
            if now - before < 0.05 * STILL and moving < 0.2 * looks:
                return "it hangs"
            since, before, looks, moving = time.monotonic(), now, 0, 0
        if time.monotonic() - begun > SECONDS:
            return "it hangs"


def launch(file, name, world, given, folder, seed=0):
    """The results of all ranks, or why there are none."""
    stem = f"{folder}/{name}-{world}"
    processes = [
        FORK.Process(target=one, args=(file, name, rank, world, f"{stem}.store", given, f"{stem}-{rank}.pt", seed))
        for rank in range(world)
    ]
    for process in processes:
        process.start()
    why = ended(processes)
    for process in processes:
        if process.is_alive():
            process.kill()
        process.join()
    if why:
        return None, why
    return [torch.load(f"{stem}-{rank}.pt", weights_only=False) for rank in range(world)], ""


def verdict(file, name, single, world):
    """Nothing where the program is right, else why it is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        alone, why = launch(file, single, 1, None, folder)
        if alone is None:
            return f"the single-device program: {why}"
        _, given, whole = alone[0]
        found, why = launch(file, name, world, given, folder)
        if found is None:
            return why
    for rank, (built, _, _) in enumerate(found):
        for key, (cut, part, value) in built.items():
            for other in found[:rank]:
                there = other[0].get(key)
                if there and there[:2] == (cut, part) and not torch.equal(there[2], value):
                    return f"ranks begin with different {key}"
    return compared(whole, found)


def compared(whole, found):
    sums, covered = {}, {}
    for rank, (_, own, ends) in enumerate(found):
        for key, (cut, part, value) in ends.items():
            if key not in whole:
                if key.endswith(".updated") and torch.equal(value, own[key.removesuffix(".updated")]):
                    continue
                return f"{key} on rank {rank} is none of the single device's"
            sums.setdefault((key, str(cut), part[1]), {}).setdefault(part[0], []).append((rank, value))
            covered.setdefault(key, set()).add((str(cut), part))
            want = whole[key][2][cut]
            if want.shape != value.shape:
                return f"{key} on rank {rank} has shape {list(value.shape)}, not {list(want.shape)}"
            if part == (0, 1) and not torch.allclose(value.double(), want.double(), CLOSE, CLOSE, equal_nan=True):
                return f"{key} on rank {rank}: {(value.double() - want.double()).abs().max():.3g}"
    for (key, cut, count), parts in sums.items():
        if count > 1:
            total = sum(values[0][1] for values in parts.values())
            want = whole[key][2][eval(cut)]
            if len(parts) != count or not torch.allclose(total, want, CLOSE, CLOSE):
                return f"the parts of {key} do not add up"
    missing = [key for key in whole if key not in covered and not key.endswith(".updated")]
    return f"no rank has {missing[0]}" if missing else ""


def main(file, world, *pairs):
    for pair in pairs:
        name, _, single = pair.partition(":")
        why = verdict(file, name, single or "build_single", int(world))
        print(f"{name:34} {'WRONG ' + why if why else 'RIGHT'}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
