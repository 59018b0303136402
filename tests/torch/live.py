"""Programs that ask data for decisions: each right one beside wrong ones. For tests."""

from dataclasses import replace
from functools import partial

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4
LABELS = (0, -100, 2, 1, 3, -100, -100, 1)
LENGTHS = (3, 2, 1, 3, 1, 3, 2, 2)
ALIKE = (2,) * ROWS
"""Lengths of which no order tells ranks apart."""


def drawn(*shapes):
    """The same numbers in all types."""
    torch.manual_seed(2)
    return [torch.randn(shape, dtype=torch.float32).to(torch.get_default_dtype()) for shape in shapes]


def program(ctx, step, labels=(), **more):
    """Rows of the batch on each rank; `step` takes x, the labels and the weight, and returns the loss of its rows."""
    x, weight = drawn((ROWS, SIZE), (SIZE, SIZE))
    x, weight = x[: ROWS // ctx.world].clone(), weight.requires_grad_()
    inputs = {"x": x}
    if labels:
        inputs["labels"] = torch.tensor(labels)[: len(x)]
    rows = shard(0, ctx.rank, ctx.world)

    def run():
        loss = step(weight=weight, **inputs)
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    specs = dict.fromkeys(inputs, rows) if ctx.world > 1 else {}
    return Program(inputs, {"weight": weight}, run, specs=specs, loss=mean(ctx.rank, ctx.world), **more)


def total(value):
    value = value.detach().clone()
    if dist.get_world_size() > 1:
        dist.all_reduce(value)
    return value


def doubling(decides):
    """What is below zero doubles the outputs."""

    def step(x, weight):
        y = x @ weight
        return (2 * y if decides(y) < 0 else y).square().mean()

    return step


def build_if_single(ctx):
    return program(ctx, doubling(lambda y: y.sum()))


def build_if(ctx):
    return program(ctx, doubling(lambda y: total(y.sum())))


def build_if_local(ctx):
    """Wrong: each rank decides by its own rows."""
    return program(ctx, doubling(lambda y: y.sum()))


def build_if_moved(ctx):
    """Wrong: it decides by another number, which on these numbers decides alike."""
    return program(ctx, doubling(lambda y: total(y.sum()) - 4.0))


def build_if_alone(ctx):
    """Nothing decides in the single-device program: what it does is what was decided on these numbers."""
    return program(ctx, lambda x, weight: (2 * (x @ weight)).square().mean())


def flagged(decides):
    """A flag that is a real number, as those of overflows are that ranks tell each other."""

    def step(x, weight):
        y = x @ weight
        flag = (decides(y) < 0).to(y.dtype)
        if dist.get_world_size() > 1:
            dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        return (2 * y if flag else y).square().mean()

    return step


def build_flag_single(ctx):
    return program(ctx, flagged(lambda y: y.sum()))


def build_flag(ctx):
    return program(ctx, flagged(lambda y: total(y.sum())))


def build_flag_local(ctx):
    """Wrong: it is told where the sum of any rank's own rows is below zero."""
    return program(ctx, flagged(lambda y: y.sum()))


def is_far(y, bound):
    return (y.abs().max() > bound).int()


def any_far(reduce, far=0.5, close=0.5, decide=lambda told, own: told, flag_of=is_far):
    """Ranks tell each other whether any output of theirs is far from zero. close: what counts as far on rank 1.
    decide: what a rank makes of what it is told and of its own flag, which is `flag_of` its outputs and the bound.
    """

    def step(x, weight):
        y = x @ weight
        bound = close if dist.get_rank() == 1 else far
        own = flag_of(y.detach(), bound)
        flag = own.clone()
        if dist.get_world_size() > 1:
            dist.all_reduce(flag, op=reduce)
        return (2 * y if decide(flag.item(), own) else y).square().mean()

    return step


def build_any_single(ctx):
    return program(ctx, any_far(None))


def build_any(ctx):
    """No rank makes the choice of the single device; all of them decide by what it decides by."""
    return program(ctx, any_far(dist.ReduceOp.MAX))


def build_any_of_all(ctx):
    """Wrong: it is told where outputs of all ranks are far, as they are in the run."""
    return program(ctx, any_far(dist.ReduceOp.MIN))


def build_any_otherwise(ctx):
    """Wrong: what is far is another one on rank 1, where the run is far beyond both."""
    return program(ctx, any_far(dist.ReduceOp.MAX, close=0.25))


def build_any_own(ctx):
    """Wrong: each rank goes on by what it has seen itself, after all have told each other."""
    return program(ctx, any_far(dist.ReduceOp.MAX, decide=lambda told, own: told and own.item()))


def build_any_counted(ctx):
    """Right, and not known to be: it is told by how many ranks, which is another number."""
    return program(ctx, any_far(dist.ReduceOp.SUM))


NOWHERE = {"far": 50.0, "close": 50.0}
"""Bounds beyond which no output of the recording is."""


def build_far_single(ctx):
    return program(ctx, any_far(None, **NOWHERE))


def build_far(ctx):
    return program(ctx, any_far(dist.ReduceOp.MAX, **NOWHERE))


def build_far_of_all(ctx):
    """Wrong: whether outputs of all ranks are far."""
    return program(ctx, any_far(dist.ReduceOp.MIN, **NOWHERE))


def build_far_own(ctx):
    """Right: a rank reads its own flag, too; where none of all is up, its own is not."""
    return program(ctx, any_far(dist.ReduceOp.MAX, **NOWHERE, decide=lambda told, own: told or own.item()))


def in_bounds(y, bound):
    return (y.max() / bound).int()


def build_within_single(ctx):
    return program(ctx, any_far(None, **NOWHERE, flag_of=in_bounds))


def build_within(ctx):
    """Right, and not known to be: the greatest whole number is that of the greatest."""
    return program(ctx, any_far(dist.ReduceOp.MAX, **NOWHERE, flag_of=in_bounds))


def rounded(y, bound):
    return (y.max() / bound).floor().int()


def build_rounded_single(ctx):
    return program(ctx, any_far(None, **NOWHERE, flag_of=rounded))


def build_rounded(ctx):
    """Right, and not known to be: what ranks round down to are all 0 in the run, as the single device's is."""
    return program(ctx, any_far(dist.ReduceOp.MAX, **NOWHERE, flag_of=rounded))


def build_rounded_of_all(ctx):
    """Wrong: the least of all ranks'."""
    return program(ctx, any_far(dist.ReduceOp.MIN, **NOWHERE, flag_of=rounded))


def build_within_own(ctx):
    """Wrong: where the greatest of all is 0, that of a rank may be below."""
    own = {"flag_of": in_bounds, "decide": lambda told, own: told or own.item()}
    return program(ctx, any_far(dist.ReduceOp.MAX, **NOWHERE, **own))


def build_far_counted(ctx):
    """Right, and not known to be: on how many ranks they are, which is none where it is none on one device."""
    return program(ctx, any_far(dist.ReduceOp.SUM, **NOWHERE))


def scattering(turned=False):
    """The greatest output of each row is taken out, doubled and put back, by a mask that is scattered."""

    def step(x, weight):
        y = x @ weight
        mask = torch.zeros_like(y).int().scatter(1, y.topk(1).indices, 1).bool()
        found = 2 * y.masked_select(mask)
        return (x * y.masked_scatter(mask, found.flip(0) if turned else found)).square().mean()

    return step


def build_scatter_single(ctx):
    return program(ctx, scattering())


def build_scatter(ctx):
    return program(ctx, scattering())


def build_scatter_turned(ctx):
    """Wrong: put back into each other's rows."""
    return program(ctx, scattering(turned=True))


def picking(count):
    """The mean over what is above zero, of `count` elements."""

    def step(x, weight):
        y = x @ weight
        chosen = y[y > 0]
        return chosen.square().sum() / count(chosen)

    return step


def build_pick_single(ctx):
    return program(ctx, picking(len))


def all_chosen(chosen):
    """How many all ranks have, of which each one's share is its part of the mean."""
    return total(torch.tensor(len(chosen))).item() / dist.get_world_size()


def build_pick(ctx):
    return program(ctx, picking(all_chosen))


def build_pick_local(ctx):
    """Wrong: the mean of the ranks' means of unequally many."""
    return program(ctx, picking(len))


def bounded(count):
    """A mean over the rows that are above a bound, as all of the batch are."""

    def step(x, weight):
        kept = (x[:, 0] > -50).nonzero().flatten()
        return (x @ weight)[kept].square().sum() / count(kept)

    return step


def build_bounded_single(ctx):
    return program(ctx, bounded(len))


def build_bounded(ctx):
    return program(ctx, bounded(all_chosen))


def build_bounded_local(ctx):
    """Wrong: the mean of the ranks' means, of which each is of as many in this batch."""
    return program(ctx, bounded(len))


def labelled(count):
    """A loss of the rows that have labels, of all of which there are `count`."""

    def step(x, labels, weight):
        kept = (labels != -100).nonzero().flatten()
        losses = nn.functional.cross_entropy((x @ weight)[kept], labels[kept], reduction="sum")
        return losses / count(kept)

    return step


def build_labels_single(ctx):
    return program(ctx, labelled(len), labels=LABELS)


def build_labels(ctx):
    return program(ctx, labelled(all_chosen), labels=LABELS)


def build_labels_local(ctx):
    """Wrong: the mean of the ranks' means of unequally many."""
    return program(ctx, labelled(len), labels=LABELS)


def trimmed(longest):
    """A mean over all places up to the longest length, of what is within the lengths."""

    def step(x, labels, weight):
        size = longest(labels).item()
        within = torch.arange(size) < labels[:, None]
        return ((x @ weight)[:, :size].square() * within).sum() / (size * len(x))

    return step


def longest_of_all(lengths):
    longest = lengths.max()
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    return longest


def build_trim_single(ctx):
    return program(ctx, trimmed(torch.max), labels=LENGTHS)


def build_trim(ctx):
    return program(ctx, trimmed(longest_of_all), labels=LENGTHS)


def build_trim_local(ctx):
    """Wrong: as long as the rank's own longest, which is in this batch as long as that of all."""
    return program(ctx, trimmed(torch.max), labels=LENGTHS)


def stated(longest):
    """The program on lengths that are all alike, and a range of what they may be."""
    return partial(program, step=trimmed(longest), labels=ALIKE, ranges={"labels": (1, 3)})


build_alike_single = stated(torch.max)
build_alike = stated(longest_of_all)
build_alike_local = stated(torch.max)
"""Wrong: as long as the rank's own longest."""


def balanced(total):
    """A loss by how many rows have each greatest place."""

    def step(x, weight):
        scores = (x @ weight).softmax(-1)
        counts = nn.functional.one_hot(scores.argmax(-1), SIZE).sum(0)
        return (total(counts) / ROWS * scores.mean(0)).sum()

    return step


def build_balance_single(ctx):
    return program(ctx, balanced(lambda counts: counts))


def build_balance(ctx):
    return program(ctx, balanced(total))


def build_balance_local(ctx):
    """Wrong: by twice the counts of the rank's own rows."""
    return program(ctx, balanced(lambda counts: counts * dist.get_world_size()))


def scaled(scale):
    def step(x, weight):
        return (x @ weight * scale()).square().mean()

    return step


def told(mine):
    """What rank 0 says."""
    words = [mine]
    dist.broadcast_object_list(words)
    return words[0]


def build_told_single(ctx):
    return program(ctx, scaled(lambda: 2.0))


def build_told(ctx):
    return program(ctx, scaled(lambda: told({"scale": 2.0 + ctx.rank})["scale"]))


def build_told_own(ctx):
    """Wrong: each rank goes on with what it said itself."""

    def scale():
        told({"scale": 2.0 + ctx.rank})
        return 2.0 + ctx.rank

    return program(ctx, scaled(scale))


def build_read(ctx):
    """A real number becomes a float of Python's, and a constant of the step."""
    return program(ctx, lambda x, weight: (x @ weight).square().mean() * float(total(x.sum())))


def build_read_single(ctx):
    return program(ctx, lambda x, weight: (x @ weight).square().mean() * float(x.sum()))


def clipping(norm_of, most=0.5):
    """The mean of outputs that are scaled where their norm is too great, as a program of Python's floats does it."""

    def step(x, weight):
        y = x @ weight
        norm = norm_of(y.detach().square().sum()) ** 0.5
        print(f"norm {norm:.3f}")
        scale = most / (norm + 1e-6)
        return ((y * scale if scale < 1.0 else y) + 1.0).square().mean()

    return step


def build_clip_single(ctx):
    return program(ctx, clipping(lambda squares: squares.item()))


def build_clip(ctx):
    return program(ctx, clipping(lambda squares: total(squares).item()))


def build_clip_local(ctx):
    """Wrong: each rank scales by the norm of its own rows."""
    return program(ctx, clipping(lambda squares: squares.item()))


def build_clip_less(ctx):
    """Wrong: another bound, which decides alike on these numbers."""
    return program(ctx, clipping(lambda squares: total(squares).item(), 0.4))


def factored(ctx, reduced=True):
    """Adafactor, which bounds its steps by norms that it reads as floats of Python's."""
    x, weight = drawn((ROWS, SIZE), (SIZE, SIZE))
    x, weight = x[: ROWS // ctx.world].clone(), weight.requires_grad_()
    optimizer = torch.optim.Adafactor([weight], lr=0.1)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        if ctx.world > 1 and reduced:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    params, loss = {"weight": weight}, mean(ctx.rank, ctx.world)
    return Program({"x": x}, params, step, optimizer=optimizer, specs=specs, loss=loss)


def build_factored_single(ctx):
    return factored(ctx)


def build_factored(ctx):
    return factored(ctx)


def build_factored_alone(ctx):
    """Wrong: each rank goes on with the gradient of its own rows."""
    return factored(ctx, reduced=False)


def stepping(ctx, seen):
    """A step of gradient descent that is left out where a gradient is infinite."""
    x, weight = drawn((ROWS, SIZE), (SIZE, SIZE))
    x, weight = x[: ROWS // ctx.world].clone(), weight.requires_grad_()

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        found = (weight.grad.abs().amax() > 100.0).float()
        if not seen(found):
            with torch.no_grad():
                weight.sub_(weight.grad * 0.1)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"weight": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def anywhere(found):
    if dist.get_world_size() > 1:
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return sum(each.item() for each in [found])


def build_found_single(ctx):
    return stepping(ctx, anywhere)


def build_found(ctx):
    return stepping(ctx, anywhere)


def build_found_always(ctx):
    """Wrong: the step is taken whatever was found."""
    return stepping(ctx, lambda found: False)


def rows_by_array(change):
    """The rows that are above zero in their first element, by way of numpy, where `change` may get at them."""

    def step(x, weight):
        above = (x[:, 0] > 0).long()
        change(above.numpy())
        return ((x @ weight) * above.unsqueeze(1)).square().mean()

    return step


def build_array_single(ctx):
    return program(ctx, rows_by_array(len))


def build_array(ctx):
    return program(ctx, rows_by_array(len))


def build_array_written(ctx):
    """Wrong: numpy writes over what was chosen, where torch reads it."""
    return program(ctx, rows_by_array(lambda above: above.fill(1)))


def kept(add):
    """A number that is read in 64 bits, before something may be added to what it was read from."""

    def step(x, weight):
        total_ = total(x.double().sum())
        read = total_.item()
        add(total_)
        return ((x @ weight).double() * read).square().mean()

    return step


def build_kept_single(ctx):
    return program(ctx, kept(lambda tensor: None))


def build_kept(ctx):
    return program(ctx, kept(lambda tensor: tensor.add_(1)))


def build_kept_added(ctx):
    """Wrong: it is read after one was added."""

    def step(x, weight):
        return ((x @ weight).double() * (total(x.double().sum()) + 1).item()).square().mean()

    return program(ctx, step)


def experts(ctx, reduce):
    """Two experts, each with the tokens that choose it; the first half of the tokens all choose the second one."""
    torch.manual_seed(3)
    x = torch.randn(ROWS, SIZE)
    x[:, 0] = torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    x = x[: ROWS // ctx.world].clone()
    params = {f"expert{number}": torch.randn(SIZE, SIZE, requires_grad=True) for number in range(2)}

    def step():
        chosen = (x[:, 0] > 0).long()
        loss = x.new_zeros(())
        for number, weight in enumerate(params.values()):
            rows = (chosen == number).nonzero().flatten()
            if len(rows):
                loss = loss + (x[rows] @ weight).square().sum() / len(x)
        loss.backward()
        reduce(params)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, params, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def average(params):
    for param in params.values():
        seen = total(torch.tensor(param.grad is not None).int())
        if seen.item():
            param.grad = torch.zeros_like(param) if param.grad is None else param.grad
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def average_own(params):
    """Wrong: where a rank has no gradient it reduces none, and another waits for it, or gets what is another's."""
    for param in params.values():
        if param.grad is not None:
            dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def build_none_single(ctx):
    return experts(ctx, lambda params: None)


def build_none(ctx):
    return experts(ctx, average)


def build_none_own(ctx):
    return experts(ctx, average_own)


def build_none_kept(ctx):
    """Wrong: what one rank alone has is not averaged."""
    return experts(ctx, lambda params: None)


def piped(model, call, names, inputs):
    return Program(inputs, {names.get(name, name): each for name, each in model.named_parameters()}, call)


def batch():
    torch.manual_seed(4)
    return torch.randn(ROWS, SIZE), torch.randn(ROWS, SIZE)


def build_pipe_single(ctx):
    model, (x, target) = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)), batch()

    def step():
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        return loss

    return piped(model, step, {}, {"x": x, "target": target})


def pipe(ctx, total):
    """Two stages, of which the first one tells the second which shapes it sends."""
    stage = PipelineStage(nn.Linear(SIZE, SIZE), ctx.rank, ctx.world, torch.device("cpu"))
    schedule, (x, target) = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss), batch()

    def step():
        losses = []
        schedule.step(*([] if ctx.rank else [x]), target=target if ctx.rank else None, losses=losses)
        return total(losses) if losses else None

    names = {name: f"{ctx.rank}.{name}" for name in ("weight", "bias")}
    return piped(stage.submod, step, names, {"target": target} if ctx.rank else {"x": x})


def build_pipe(ctx):
    return pipe(ctx, lambda losses: torch.stack(losses).mean())


def build_pipe_last(ctx):
    """Wrong: the last microbatch's loss is reported."""
    return pipe(ctx, lambda losses: losses[-1])


def build_sent_single(ctx):
    return program(ctx, lambda x, weight: (x @ weight).square().mean())


def build_sent(ctx):
    """Each rank sends the others its loss as a number of Python's, which the recording does not follow."""

    def step(x, weight):
        loss = (x @ weight).square().mean()
        losses = [None] * ctx.world
        dist.all_gather_object(losses, loss.item())
        return loss * (sum(losses) / losses[0]) / ctx.world

    return program(ctx, step)


def tabled(ctx, after=lambda table: None):
    """A buffer of integers says which columns count; ranks copy it to each other, as DistributedDataParallel does."""
    table = torch.tensor([0, 2, 3, 1])

    def step(x, weight):
        if ctx.world > 1:
            dist.broadcast(table, 0)
        y = (x @ weight)[:, table[table > 0]]
        after(table)
        return y.square().mean()

    made = program(ctx, step)
    return replace(made, params={**made.params, "table": table})


def build_table_single(ctx):
    return tabled(ctx)


def build_table(ctx):
    return tabled(ctx)


def build_table_turned(ctx):
    """The next step would take other columns."""
    return tabled(ctx, lambda table: table.copy_(table.roll(1)))
