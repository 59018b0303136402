"""Classes that data chooses, and what is asked of them: targets by argmax, one_hot, distributions."""

from functools import partial

import torch
import torch.distributed as dist
from torch.distributions import Categorical, Normal, kl_divergence
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, CLASSES = 4, 3


def _chosen(scores, t):
    return functional.cross_entropy(scores, t.argmax(-1))


def _own(scores, t):
    return functional.cross_entropy(scores, scores.detach().argmax(-1))


def _ignored(scores, t):
    return functional.cross_entropy(scores, t.argmax(-1), ignore_index=1)


def _greatest(scores, t):
    return functional.cross_entropy(scores, t.max(-1)[1], label_smoothing=0.1)


def _second(scores, t):
    return functional.cross_entropy(scores, t.topk(2, -1)[1][:, 1])


def _second_ignored(scores, t):
    return functional.cross_entropy(scores, t.sort(-1)[1][:, 1], ignore_index=0)


def _hot(scores, t):
    return -(functional.log_softmax(scores, -1) * functional.one_hot(t.argmax(-1), CLASSES)).sum(-1).mean()


def _counted_hot(scores, t):
    """The loss over the classes, of which some are not chosen."""
    hot = functional.one_hot(t.argmax(-1), CLASSES)
    each = -(functional.log_softmax(scores, -1) * hot).sum(0)
    return (each / (hot.sum(0) + 1)).sum()


def _beyond(scores, t):
    return -(functional.log_softmax(scores, -1) * functional.one_hot(t.argmax(-1) + 1, CLASSES)).sum(-1).mean()


def _policy(scores, t):
    policy = Categorical(logits=scores)
    ratio = torch.exp(policy.log_prob(t.argmax(-1)) - t[:, 0])
    return -(ratio * t[:, 1]).mean() - 0.01 * policy.entropy().mean()


def _normal(scores, t):
    return -Normal(scores, functional.softplus(t)).log_prob(t).mean()


def _variance(scores, t):
    return functional.gaussian_nll_loss(scores, t, functional.softplus(scores + t).mean(-1))


def _nearer(scores, t):
    return kl_divergence(Categorical(logits=scores), Categorical(logits=t)).mean()


LOSSES = {
    "chosen": _chosen, "own": _own, "ignored": _ignored, "greatest": _greatest, "second": _second,
    "second_ignored": _second_ignored, "hot": _hot, "counted_hot": _counted_hot, "beyond": _beyond, "policy": _policy,
    "normal": _normal, "nearer": _nearer, "variance": _variance,
}  # fmt: skip


def _program(losses, rows, reduce=None, **more):
    model = torch.nn.Linear(4, CLASSES)
    x, t = torch.randn(rows, 4), torch.randn(rows, CLASSES)

    def step():
        found = losses(model(x), t)
        found.backward()
        if reduce is not None:
            reduce(model)
        return found

    return Program(inputs={"x": x, "t": t}, params=model, step=step, **more)


def _average(model):
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)


def _sum(model):
    for param in model.parameters():
        dist.all_reduce(param.grad)


def _single(loss, ctx):
    return _program(loss, ROWS)


def _parallel(loss, reduce, ctx):
    rows = shard(0, ctx.rank, ctx.world)
    specs, share = {"x": rows, "t": rows}, mean(ctx.rank, ctx.world)
    return _program(loss, ROWS // ctx.world, reduce, specs=specs, loss=share)


for _name, _loss in LOSSES.items():
    globals()[f"single_{_name}"] = partial(_single, _loss)
    globals()[f"build_{_name}"] = partial(_parallel, _loss, _average)
    globals()[f"build_{_name}_summed"] = partial(_parallel, _loss, _sum)
