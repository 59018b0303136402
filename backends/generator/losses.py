"""The loss of a language model, from logits that the tp ranks divide along the vocabulary.

`sum` is the sum of the logits. `cross-entropy` is summed over all targets, in one of two ways:

    gathered            each tp rank gathers the logits and computes the loss of all of them
    vocabulary parallel the logits stay divided; what goes between the tp ranks are, for each target, the greatest
                        logit, the sum of powers, and the logit of the target

Source: Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py.
"""

from collections.abc import Hashable

from backends.generator.crossings import gather, greatest, leave
from backends.generator.layers import elementwise, sum_loss
from backends.generator.sizes import Sizes
from backends.generator.tape import EVERYWHERE, Tape
from backends.generator.value import Value

TARGETS = "targets"


def loss_of(tape: Tape, sizes: Sizes, logits: Value) -> Value:
    """The loss of logits (samples, positions, vocabulary)."""
    if sizes.loss == "sum":
        return sum_loss(tape, logits)
    targets = tape.load(TARGETS, logits.shape[:-1], "int64", seq=1)
    if sizes.vocab_parallel:
        return _vocabulary_parallel(tape, sizes, logits, targets)
    attrs: dict[str, Hashable] = {"reduction": "sum"}
    if sizes.label_smoothing:
        attrs["label_smoothing"] = sizes.label_smoothing
    if sizes.ignore_index >= 0:
        attrs["ignore_index"] = sizes.ignore_index
    where = {**EVERYWHERE, "partial": True}
    (loss,) = tape.op("cross_entropy", (gather(tape, logits), targets), "loss", (1,), attrs=attrs, where=where)
    return loss


def _vocabulary_parallel(tape: Tape, sizes: Sizes, logits: Value, targets: Value) -> Value:
    last, each = len(logits.shape) - 1, logits.shape[:-1]
    along: dict[str, Hashable] = {"dim": (last,), "keepdim": False}
    detached = logits._replace(trained=False)
    (most,) = tape.op("amax", (detached,), "loss.greatest", (*each, 1), attrs={"dim": (last,), "keepdim": True})
    most = greatest(tape, most)
    (shifted,) = tape.op("sub", (logits, most), "loss.shifted", logits.shape, split=logits.split, attrs={"alpha": 1})
    powers, chosen, *smooth = tape.multiref(shifted, 3 if sizes.label_smoothing else 2)
    powers = elementwise(tape, "exp", powers, "loss.powers")
    (total,) = tape.op("sum", (powers,), "loss.total", each, addend=True, attrs=along)
    log = elementwise(tape, "log", leave(tape, total, scatter=False), "loss.log")
    start = tape.tp_rank * tape.local(sizes.vocab)
    attrs: dict[str, Hashable] = {"start": start, "stop": start + tape.local(sizes.vocab)}
    (found,) = tape.op("take_ids", (chosen, targets), "loss.found", each, addend=True, attrs=attrs)
    found = leave(tape, found, scatter=False)
    if smooth:
        (spread,) = tape.op("sum", (smooth[0],), "loss.spread", each, addend=True, attrs=along)
        found = elementwise(tape, "mul", found, "loss.kept", other=round(1 - sizes.label_smoothing, 12))
        spread = elementwise(tape, "div", leave(tape, spread, scatter=False), "loss.mean", other=sizes.vocab)
        spread = elementwise(tape, "mul", spread, "loss.share", other=sizes.label_smoothing)
        (found,) = tape.op("add", (found, spread), "loss.smoothed", each, attrs={"alpha": 1})
    (token,) = tape.op("sub", (log, found), "loss.tokens", each, attrs={"alpha": 1})
    return sum_loss(tape, _counted(tape, sizes, token, targets))


def _counted(tape: Tape, sizes: Sizes, token: Value, targets: Value) -> Value:
    """The loss of each target, 0 for one that is ignored."""
    if sizes.ignore_index < 0:
        return token
    attrs: dict[str, Hashable] = {"start": sizes.ignore_index, "stop": sizes.ignore_index + 1}
    (ignored,) = tape.op("one_hot", (targets,), "loss.ignored", (*token.shape, 1), attrs=attrs)
    local: dict[str, Hashable] = {"size": (tape.rows, tape.seq)}
    (ignored,) = tape.op("view", (ignored,), "loss.ignored.flat", token.shape, attrs=local)
    counts = elementwise(tape, "sub", ignored, "loss.counts", other=1, reflected=True)
    (kept,) = tape.op("mul", (token, counts), "loss.counted", token.shape)
    return kept
