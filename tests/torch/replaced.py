"""Steps that put another tensor in a parameter's place, beside twins that are wrong; SINGLES names what each is held
against. The truth of each is what gloo processes on CPUs compute (tests/torch/truth.py).
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from verdict.torch import Program, mean, shard

ROWS, SIZE, RATE = 8, 4, 0.1
NAMES = ("buffer", "module", "dictionary", "assigned", "data", "vector", "lazy")


def average(tensors):
    if dist.is_initialized() and dist.get_world_size() > 1:
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor.div_(dist.get_world_size())


def program(ctx, params, loss_of, finish, **more):
    """Data parallel by hand: gradients are averaged, then `finish` updates what there is."""
    x = torch.randn(ROWS // ctx.world, SIZE)

    def step():
        made = loss_of(x)
        loss = made.square().mean()
        loss.backward()
        given = params.parameters() if isinstance(params, nn.Module) else params.values()
        average([param.grad for param in given])
        with torch.no_grad():
            finish(made.detach())
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x}, params, step, specs=specs, loss=mean(ctx.rank, ctx.world), **more)


def buffer(ctx, averaged):
    """A running mean is a new tensor after each step, which stands in the buffer's place."""
    model = nn.Linear(SIZE, 2)
    model.register_buffer("running", torch.zeros(2))

    def finish(made):
        seen = made.mean(0)
        if averaged:
            average([seen])
        model.running = model.running * 0.9 + seen * 0.1

    return program(ctx, model, lambda x: model(x) - model.running, finish)


def module(ctx, rate):
    """The module gets new parameters, with the gradients of those before."""
    model = nn.Linear(SIZE, 2)

    def finish(made):
        for name, param in list(model.named_parameters()):
            new = nn.Parameter(param - rate * param.grad)
            new.grad = param.grad
            param.sub_(RATE * param.grad)
            setattr(model, name, new)

    return program(ctx, model, model, finish)


def dictionary(ctx, rate):
    """New parameters under the names of those before."""
    params = {"w": torch.randn(SIZE, 2, requires_grad=True)}

    def finish(made):
        params["w"] = (params["w"] - rate * params["w"].grad).requires_grad_()

    return program(ctx, params, lambda x: x @ params["w"], finish)


def assigned(ctx, rate):
    """A state is loaded by putting its tensors into the parameters' places."""
    model = nn.Linear(SIZE, 2)

    def finish(made):
        new = {name: param - rate * param.grad for name, param in model.named_parameters()}
        model.load_state_dict(new, assign=True)

    return program(ctx, model, model, finish)


def data(ctx, rate):
    """The parameters get other memory."""
    model = nn.Linear(SIZE, 2)

    def finish(made):
        for param in model.parameters():
            param.data = param.data - rate * param.grad

    return program(ctx, model, model, finish)


def vector(ctx, rate):
    """The parameters become parts of one vector."""
    model = nn.Linear(SIZE, 2)

    def finish(made):
        grads = parameters_to_vector([param.grad for param in model.parameters()])
        vector_to_parameters(parameters_to_vector(model.parameters()) - rate * grads, model.parameters())

    return program(ctx, model, model, finish)


def build_buffer_single(ctx):
    return buffer(ctx, averaged=True)


def build_buffer_right(ctx):
    return buffer(ctx, averaged=True)


def build_buffer(ctx):
    """Each rank keeps the mean of its own rows."""
    return buffer(ctx, averaged=False)


def build_module_single(ctx):
    return module(ctx, RATE)


def build_module_right(ctx):
    return module(ctx, RATE)


def build_module(ctx):
    """What goes on is another parameter than the one that was updated rightly."""
    return module(ctx, 2 * RATE)


def build_dictionary_single(ctx):
    return dictionary(ctx, RATE)


def build_dictionary_right(ctx):
    return dictionary(ctx, RATE)


def build_dictionary(ctx):
    return dictionary(ctx, RATE * ctx.world)


def build_assigned_single(ctx):
    return assigned(ctx, RATE)


def build_assigned_right(ctx):
    return assigned(ctx, RATE)


def build_assigned(ctx):
    return assigned(ctx, RATE * ctx.world)


def build_data_single(ctx):
    return data(ctx, RATE)


def build_data_right(ctx):
    return data(ctx, RATE)


def build_data(ctx):
    return data(ctx, RATE * ctx.world)


def build_vector_single(ctx):
    return vector(ctx, RATE)


def build_vector_right(ctx):
    return vector(ctx, RATE)


def build_vector(ctx):
    return vector(ctx, RATE * ctx.world)


def lazy(ctx, averaged):
    """The first step makes the buffer."""
    model = nn.Linear(SIZE, 2)

    def finish(made):
        seen = made.mean(0)
        if averaged:
            average([seen])
        model.register_buffer("running", seen)

    return program(ctx, model, model, finish)


def build_lazy_single(ctx):
    return lazy(ctx, averaged=True)


def build_lazy_right(ctx):
    return lazy(ctx, averaged=True)


def build_lazy(ctx):
    return lazy(ctx, averaged=False)


def build_gone(ctx):
    """The parameter has no place any more."""
    params = {"w": torch.randn(SIZE, 2, requires_grad=True)}
    return program(ctx, params, lambda x: x @ params["w"], lambda made: params.pop("w"))


class Kept(torch.optim.Optimizer):
    """Descent that keeps its two moments in a list."""

    def __init__(self, params, factor):
        super().__init__(params, {"factor": factor})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                moments = self.state[param].setdefault("moments", [torch.zeros_like(param), torch.zeros_like(param)])
                moments[0].lerp_(param.grad, 0.1)
                moments[1].lerp_(param.grad.square() * group["factor"], 0.1)
                param.sub_(moments[0], alpha=RATE)


def listed(ctx, factor):
    model = nn.Linear(SIZE, 2)
    optimizer = Kept(model.parameters(), factor)
    return program(ctx, model, model, lambda made: optimizer.step(), optimizer=optimizer)


def build_listed_single(ctx):
    return listed(ctx, 1.0)


def build_listed_right(ctx):
    return listed(ctx, 1.0)


def build_listed(ctx):
    """The second moment, which only later steps will read, is another one on rank 1."""
    return listed(ctx, 1.0 + ctx.rank)
