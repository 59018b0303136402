"""log_softmax, logsumexp, cross_entropy and what it is made of."""

import numpy as np
import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, ids, real, shape

F = torch.nn.functional


def _along(draw):
    size = draw(shape())
    return [size], {"dim": draw(st.integers(-len(size), len(size) - 1))}, [real]


def _logsumexp(draw):
    shapes, attrs, fills = _along(draw)
    return shapes, attrs | draw(st.sampled_from([{}, {"keepdim": True}, {"keepdim": False}])), fills


def _slice(draw, size):
    start = draw(st.integers(0, 3))
    return draw(st.sampled_from([{"start": start, "stop": start + size}, {"stop": size}]))


def _one_hot(draw):
    attrs = _slice(draw, draw(st.integers(1, 4)))
    return [draw(shape(0, 2))], attrs, [ids(attrs["stop"] + 2)]


def _one_hot_torch(x, attrs):
    start = attrs.get("start", 0)
    return [F.one_hot(x[0], attrs["stop"] + 2)[..., start : attrs["stop"]].double()]


def _take(draw):
    size = draw(shape(0, 2))
    last = draw(st.integers(1, 4))
    attrs = draw(st.sampled_from([{}, _slice(draw, last)]))
    return [(*size, last), size], attrs, [real, ids(attrs.get("start", 0) + last + 2)]


def _take_torch(x, attrs):
    local = x[1] - attrs.get("start", 0)
    inside = (local >= 0) & (local < x[0].shape[-1])
    return [torch.where(inside, torch.gather(x[0], -1, (local * inside)[..., None])[..., 0], 0.0)]


def _targets(stop, ignored):
    """Ids of which some are ignored, but not all: torch's mean of nothing has no value."""

    def fill(rng, size):
        found = np.asarray(rng.integers(0, stop, size))
        if ignored is not None:
            found = np.where(rng.random(size) < 0.4, ignored, found)
            found.flat[0] = (max(ignored, -1) + 1) % stop
        return found

    return fill


def _cross_entropy(draw):
    size, classes = draw(shape(0, 2)), draw(st.integers(2, 4))
    ignored = draw(st.sampled_from([None, -100, 0, classes - 1]))
    attrs = {} if ignored is None else {"ignore_index": ignored}
    attrs |= draw(st.sampled_from([{}, {"label_smoothing": 0.125}, {"label_smoothing": 0.0}]))
    attrs |= draw(st.sampled_from([{}, *({"reduction": how} for how in ("none", "sum", "mean"))]))
    return [(*size, classes), size], attrs, [real, _targets(classes, ignored)]


def _cross_entropy_torch(x, attrs):
    logits, targets = x
    found = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.reshape(-1),
        **{"ignore_index": -100, **{key: value for key, value in attrs.items() if key != "classes"}},
    )
    return [found.reshape(targets.shape) if attrs.get("reduction") == "none" else found]


SUBJECTS = (
    Subject("log_softmax", cases(_along), lambda x, attrs: [F.log_softmax(x[0], attrs["dim"])]),
    Subject(
        "logsumexp",
        cases(_logsumexp),
        lambda x, attrs: [torch.logsumexp(x[0], attrs["dim"], attrs.get("keepdim", False))],
    ),
    Subject("one_hot", cases(_one_hot), _one_hot_torch, rational=True),
    Subject("take_ids", cases(_take), _take_torch, rational=True),
    Subject("cross_entropy", cases(_cross_entropy), _cross_entropy_torch),
)
MISFITS = (
    Misfit("log_softmax", ((2, 3),), {}, "needs dim"),
    Misfit("logsumexp", ((2, 3),), {"dim": 1, "keepdim": 1}, "keepdim is 1"),
    Misfit("one_hot", ((2,),), {}, "start and stop are 0 and None"),
    Misfit("one_hot", ((2,),), {"start": 3, "stop": 3}, "0 <= start < stop"),
    Misfit("take_ids", ((2, 3), (3,)), {}, "ids of shape"),
    Misfit("take_ids", ((2, 3), (2,)), {"start": 4, "stop": 6}, "the last axis has 3 elements"),
    Misfit("cross_entropy", ((2, 3), (3,)), {}, "targets of shape"),
    Misfit("cross_entropy", ((2, 3), (2,)), {"reduction": "batchmean"}, "reduction is batchmean"),
    Misfit("cross_entropy", ((2, 3), (2,)), {"label_smoothing": 1.0}, "label_smoothing is 1.0"),
    Misfit("cross_entropy", ((2, 3), (2,)), {"ignore_index": 3}, "ignore_index is 3"),
    Misfit("cross_entropy", ((2, 3), (2,)), {"classes": 0}, "classes is 0"),
)
