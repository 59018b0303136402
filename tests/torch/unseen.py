"""Programs that write to tensors while torch's dispatch is switched off, and twins that only look."""

import contextlib

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import _disable_current_modes

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4
PYTHON = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)


@contextlib.contextmanager
def kept(tensor):
    """Nothing is dispatched, and the version of a tensor stays what it is."""
    with _disable_current_modes(), torch.autograd._unsafe_preserve_version_counter(tensor):
        yield


OFF = {
    "modes": lambda tensor: _disable_current_modes(),
    "dispatch": lambda tensor: torch._C._DisableTorchDispatch(),
    "keys": lambda tensor: torch._C._ExcludeDispatchKeyGuard(PYTHON),
    "kept": kept,
}


def program(ctx, where="", how="modes", look=False):
    torch.manual_seed(0)
    model, x = torch.nn.Linear(SIZE, SIZE), torch.randn(ROWS // ctx.world, SIZE)

    def touch(here, tensor):
        if here == where:
            with torch.no_grad(), OFF[how](tensor):
                tensor.sum() if look else tensor.mul_(2)

    def step():
        hidden = model(x).tanh()
        touch("hidden", hidden)
        loss = hidden.mean()
        touch("loss", loss)
        loss.backward()
        touch("before", model.weight.grad)
        if ctx.world > 1:
            for weight in model.parameters():
                dist.all_reduce(weight.grad)
                weight.grad /= ctx.world
        touch("last", model.weight.grad)
        touch("weight", model.weight)
        return loss

    given = {"inputs": {"x": x}, "params": model, "specs": {"x": shard(0, ctx.rank, ctx.world)}}
    return Program(step=step, loss=mean(ctx.rank, ctx.world), **given)


def build_single(ctx):
    return program(ctx)


def build_right(ctx):
    return program(ctx)


def build_looks(ctx):
    return program(ctx, "last", look=True)


def build_hidden(ctx):
    return program(ctx, "hidden", "kept")


def build_loss(ctx):
    return program(ctx, "loss")


def build_before(ctx):
    return program(ctx, "before")


def build_last(ctx):
    return program(ctx, "last")


def build_last_kept(ctx):
    return program(ctx, "last", "kept")


def build_last_dispatch(ctx):
    return program(ctx, "last", "dispatch")


def build_last_keys(ctx):
    return program(ctx, "last", "keys")


def build_weight_kept(ctx):
    return program(ctx, "weight", "kept")
