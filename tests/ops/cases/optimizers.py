"""One step of torch's own optimizers, and dropout by a key."""

import numpy as np
import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, positive, real, shape
from verdict.ops.keyed_dropout import drawn


def _sgd(draw):
    attrs = {"lr": 0.125} | draw(st.sampled_from([{}, {"weight_decay": 0.25}]))
    momentum = draw(
        st.sampled_from(
            [{}, {"momentum": 0.5}, {"momentum": 0.5, "dampening": 0.25}, {"momentum": 0.5, "nesterov": True}]
        )
    )
    count = 3 if momentum else 2
    return [draw(shape(0))] * count, attrs | momentum, [real] * count


def _adam(draw):
    attrs = {"lr": 0.125, "step": draw(st.sampled_from([1, 7]))}
    attrs |= draw(st.sampled_from([{}, {"weight_decay": 0.5}, {"beta1": 0.5, "beta2": 0.75, "eps": 0.25}]))
    return [draw(shape(0))] * 4, attrs, [real, real, real, positive]


def _stepped(optimizer, x, state):
    w = torch.nn.Parameter(x[0].detach().clone())
    w.grad = x[1].detach().clone()
    made = optimizer([w])
    made.state[w].update(state)
    made.step()
    return w, made.state[w]


def _sgd_torch(x, attrs):
    state = {"momentum_buffer": x[2].clone()} if len(x) == 3 else {}
    w, after = _stepped(lambda weights: torch.optim.SGD(weights, **attrs), x, state)
    return [w.detach(), *([after["momentum_buffer"]] if len(x) == 3 else [])]


def _adam_torch(kind):
    def run(x, attrs):
        betas = (attrs.get("beta1", 0.9), attrs.get("beta2", 0.999))
        decay, eps = attrs.get("weight_decay", 0), attrs.get("eps", 1e-8)
        state = {"step": torch.tensor(attrs["step"] - 1.0), "exp_avg": x[2].clone(), "exp_avg_sq": x[3].clone()}
        made = lambda weights: kind(weights, lr=attrs["lr"], betas=betas, eps=eps, weight_decay=decay)  # noqa: E731
        w, after = _stepped(made, x, state)
        return [w.detach(), after["exp_avg"], after["exp_avg_sq"]]

    return run


def _keyed(draw):
    size = draw(shape(0, 3))
    attrs = {"p": draw(st.sampled_from([0, 0.25, 1])), "key": draw(st.integers(0, 3))}
    attrs["offset"] = tuple(draw(st.integers(0, 2)) for _ in size)
    return [size], attrs | draw(st.sampled_from([{}, {"training": False}])), [real]


def _keyed_torch(x, attrs):
    """A product with what the key draws; torch has no dropout by position."""
    p = attrs["p"] if attrs.get("training", True) else 0
    if p in {0, 1}:
        return [x[0] * (1 - p)]
    factor = np.empty(tuple(x[0].shape))
    for place in np.ndindex(factor.shape):
        factor[place] = drawn(attrs["key"], tuple(map(sum, zip(place, attrs["offset"], strict=True)))) / (1 - p)
    return [x[0] * torch.from_numpy(factor)]


SUBJECTS = (
    Subject("sgd", cases(_sgd), _sgd_torch, rational=True, differentiable=lambda position: False),
    Subject("adamw", cases(_adam), _adam_torch(torch.optim.AdamW), differentiable=lambda position: False),
    Subject("adam", cases(_adam), _adam_torch(torch.optim.Adam), differentiable=lambda position: False),
    Subject("keyed_dropout", cases(_keyed), _keyed_torch),
)
_ADAM = {"lr": 0.1, "step": 1}
MISFITS = (
    Misfit("sgd", ((2,), (2,)), {}, "needs lr"),
    Misfit("sgd", ((2,), (2,)), {"lr": 0.1, "momentum": 0.9}, "momentum is 0.9"),
    Misfit("sgd", ((2,), (2,), (2,)), {"lr": 0.1}, "momentum is 0"),
    Misfit("sgd", ((2,), (3,)), {"lr": 0.1}, "must have one shape"),
    Misfit("sgd", ((2,), (2,)), {"lr": 0.1, "nesterov": 1}, "nesterov is 1"),
    Misfit("adamw", ((2,),) * 4, {"lr": 0.1}, "step is None"),
    Misfit("adamw", ((2,),) * 4, {"lr": 0.1, "step": 0}, "step is 0"),
    Misfit("adamw", ((2,),) * 4, {**_ADAM, "beta2": 1.0}, "beta2 is 1.0"),
    Misfit("adamw", ((2,),) * 4, {**_ADAM, "eps": "small"}, "eps is small"),
    Misfit("adam", ((2,),) * 3, _ADAM, "takes 4 inputs"),
    Misfit("keyed_dropout", ((2,),), {"offset": (0,)}, "key is None"),
    Misfit("keyed_dropout", ((2,),), {"key": 1}, "offset is None"),
    Misfit("keyed_dropout", ((2, 3),), {"key": 1, "offset": (0,)}, "each of 2 dimensions"),
    Misfit("keyed_dropout", ((2,),), {"key": 1, "offset": (0,), "p": 2}, "probability is 2"),
)
