"""Programs that read numbers of the data as training scripts do: for a log, an average, a text, or a decision."""

import json

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS = 4


def program(ctx, use, reduced=True):
    """A step on this rank's rows. use: called with a list to keep numbers in, the loss and its number; what it returns
    is learned from. reduced: whether the bias's gradient is averaged, too.
    """
    model, log = nn.Linear(3, 2), []
    x, target = torch.randn(ROWS // ctx.world, 3), torch.randn(ROWS // ctx.world, 2)

    def step():
        loss = functional.mse_loss(model(x), target)
        learned = use(log, loss, loss.item())
        learned.backward()
        for weight in (model.weight, model.bias)[: 2 if reduced else 1] if ctx.world > 1 else ():
            dist.all_reduce(weight.grad)
            weight.grad.div_(ctx.world)
        return learned.detach()

    own = shard(0, ctx.rank, ctx.world)
    return Program(
        {"x": x, "target": target}, model, step, specs={"x": own, "target": own}, loss=mean(ctx.rank, ctx.world)
    )


def kept(log, loss, number):
    """A list, an average, a text, a line of JSON, a tensor of its own for a log."""
    log.append(number)
    average = sum(log) / len(log)
    print(
        f"loss {number:.3f}, on average {average:.3f}", json.dumps({"loss": number, "float": isinstance(number, float)})
    )
    summed = torch.tensor([number, 1.0])
    if dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(summed)
    log.append(summed[0].item())
    return loss


def silent(log, loss, number):
    log.append(number)
    return loss


def counted(log, loss, number):
    """How many of the losses are small, among so many, as scripts count what is right."""
    count = (loss.detach() < 1).sum().item()
    share = (count + 1) / 4 * 100.0 + count * 0.5 - len(log)
    print(f"{count:3d} small, {share:.1f} percent", json.dumps([count]), isinstance(count, int))
    log += [count, torch.tensor([count, 1]).sum().item()]
    return loss


def rows(log, loss, number):
    """A number of rows of the data goes into a shape."""
    count = (loss.detach() < 1e9).sum().item()
    return loss * torch.ones(count).sum()


def weighted(log, loss, number):
    """Scaled by how many losses of the rank are small."""
    return loss * (1 + (loss.detach() < 1).sum().item())


def everywhere(log, loss, number):
    """Scaled by the number of all ranks."""
    whole = torch.tensor(number)
    if dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(whole)
        whole /= dist.get_world_size()
    return loss * whole.item()


def own(log, loss, number):
    """Scaled by the rank's own number."""
    return loss * number


def decided(log, loss, number):
    return loss * 2 if number > 1e9 else loss


def of_python(log, loss, number):
    return loss * (0.0 * float(number) + 1.0)


def read_again(log, loss, number):
    """A decision by the rank's own number, through a text, that is made alike on the numbers at hand."""
    return loss * 2 if float(f"{number:.3f}") > 1e9 else loss


def read_whole(log, loss, number):
    return loss * 2 if int(str((loss.detach() < 1).sum().item())) > 1e9 else loss


def in_part(log, loss, number):
    """torch takes a number of Python's alone there."""
    return functional.leaky_relu(loss, 0.5 + 0.0 * number)


def added(log, loss, number):
    """Added as many times as the number of all ranks says."""
    whole = torch.tensor(number)
    if dist.is_initialized() and dist.get_world_size() > 1:
        dist.all_reduce(whole)
        whole /= dist.get_world_size()
    return torch.add(loss, loss, alpha=whole.item())


def added_alone(log, loss, number):
    """Added as many times as the rank's own number says."""
    return loss.clone().add_(loss, alpha=number)


def build_kept_single(ctx):
    return program(ctx, kept)


def build_kept(ctx):
    return program(ctx, kept)


def build_kept_not_reduced(ctx):
    return program(ctx, kept, reduced=False)


def build_silent_single(ctx):
    return program(ctx, silent)


def build_silent(ctx):
    return program(ctx, silent)


def build_scaled_single(ctx):
    return program(ctx, everywhere)


def build_scaled(ctx):
    return program(ctx, everywhere)


def build_scaled_by_own(ctx):
    return program(ctx, own)


def build_decided_single(ctx):
    return program(ctx, decided)


def build_decided(ctx):
    return program(ctx, decided)


def build_of_python_single(ctx):
    return program(ctx, of_python)


def build_of_python(ctx):
    return program(ctx, of_python)


def build_read_again_single(ctx):
    return program(ctx, read_again)


def build_read_again(ctx):
    return program(ctx, read_again)


def build_read_whole_single(ctx):
    return program(ctx, read_whole)


def build_read_whole(ctx):
    return program(ctx, read_whole)


def build_in_part_single(ctx):
    return program(ctx, in_part)


def build_in_part(ctx):
    return program(ctx, in_part)


def build_added_single(ctx):
    return program(ctx, added)


def build_added(ctx):
    return program(ctx, added)


def build_added_alone(ctx):
    return program(ctx, added_alone)


def build_counted_single(ctx):
    return program(ctx, counted)


def build_counted(ctx):
    return program(ctx, counted)


def build_rows_single(ctx):
    return program(ctx, rows)


def build_rows(ctx):
    return program(ctx, rows)


def build_weighted_single(ctx):
    return program(ctx, weighted)


def build_weighted(ctx):
    return program(ctx, weighted)


def build_counted_not_reduced(ctx):
    return program(ctx, counted, reduced=False)
