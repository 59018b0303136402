"""The loss of a language model, from logits that the tp ranks divide along the vocabulary.

`sum` is the sum of the logits. `cross-entropy` is summed over all targets that count, in one of two ways, or averaged
over them: ranks and microbatches have unequally many, so that all are counted before the first forward pass.

With padding the input `counts` (samples, positions) is the weight of each target, any number; the mean is then over the
sum of weights. Rows of the output beyond the vocabulary have no part in the loss.

    gathered            each tp rank gathers the logits and computes the loss of all of them
    vocabulary parallel the logits stay divided; what goes between the tp ranks are, for each target, the greatest
                        logit, the sum of powers, and the logit of the target

Source: Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py.
"""

from collections.abc import Hashable

from verdict.backends.generator.crossings import gather, greatest, leave
from verdict.backends.generator.layers import elementwise, sum_loss
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.tape import EVERYWHERE, Tape
from verdict.backends.generator.value import DATA, Value
from verdict.graph import ACCUMULATOR, ACTIVATION, Node

TARGETS = "targets"


def loss_of(tape: Tape, sizes: Sizes, logits: Value) -> Value:
    """The loss of logits (samples, positions, vocabulary)."""
    logits = _real(tape, sizes, logits)
    if sizes.loss == "sum":
        return sum_loss(tape, logits)
    targets = tape.load(TARGETS, logits.shape[:-1], "int64", seq=1)
    apart = sizes.mean and sizes.microbatches * sizes.replicas * tape.mesh.size(*DATA) > 1
    if sizes.vocab_parallel:
        loss = _vocabulary_parallel(tape, sizes, logits, targets)
        return _averaged(tape, sizes, loss) if sizes.mean else loss
    attrs: dict[str, Hashable] = {"reduction": "mean" if sizes.mean and not apart else "sum"}
    if sizes.label_smoothing:
        attrs["label_smoothing"] = sizes.label_smoothing
    if sizes.ignore_index >= 0:
        attrs["ignore_index"] = sizes.ignore_index
    if sizes.padding:
        inputs = (gather(tape, logits), targets)
        (token,) = tape.op("cross_entropy", inputs, "loss.tokens", targets.shape, attrs={**attrs, "reduction": "none"})
        loss = sum_loss(tape, _counted(tape, sizes, token, targets), "loss.sum" if sizes.mean else "loss")
        return _averaged(tape, sizes, loss) if sizes.mean else loss
    where, name = {**EVERYWHERE, "partial": True}, "loss.sum" if apart else "loss"
    (loss,) = tape.op("cross_entropy", (gather(tape, logits), targets), name, (1,), attrs=attrs, where=where)
    return _averaged(tape, sizes, loss) if apart else loss


def _averaged(tape: Tape, sizes: Sizes, loss: Value) -> Value:
    """The loss over the number of all targets of the step that count."""
    if sizes.padding:
        flags = _weights(tape, sizes, tape.counting)
    else:
        targets = tape.load(TARGETS, (tape.batch, sizes.seq), "int64", seq=1, nodes=tape.counting)
        flags = _flags(tape, sizes, targets, tape.counting)
    count = tape.like(flags, name="loss.count", shape=(1,), kind=ACCUMULATOR, partial=True, **EVERYWHERE)
    attrs: dict[str, Hashable] = {"dim": None, "keepdim": False}
    tape.counting.append(tape.draft.node("sum", (flags.tensor,), (count.tensor,), attrs, count.name))
    total = tape.like(count, name="loss.count.total", kind=ACTIVATION, partial=False)
    across: dict[str, Hashable] = {"replicas": True} if sizes.replicas > 1 else {}
    if across or tape.mesh.size(*DATA) > 1:
        across["reduce"] = "sum"
        tape.collective(tape.totalling, "all_reduce", count.tensor, total.tensor, DATA, total.name, **across)
    else:
        tape.totalling.append(tape.draft.node("identity", (count.tensor,), (total.tensor,), {}, total.name))
    (mean,) = tape.op("div", (loss, total), "loss", (1,))
    return mean


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
    start, stop = tape.piece(sizes.vocab, "tp", unit=logits.unit)
    attrs: dict[str, Hashable] = {"start": start, "stop": stop}
    (found,) = tape.op("take_ids", (chosen, targets), "loss.found", each, addend=True, attrs=attrs)
    found = leave(tape, found, scatter=False)
    if smooth:
        (spread,) = tape.op("sum", (smooth[0],), "loss.spread", each, addend=True, attrs=along)
        found = elementwise(tape, "mul", found, "loss.kept", other=round(1 - sizes.label_smoothing, 12))
        spread = elementwise(tape, "div", leave(tape, spread, scatter=False), "loss.spread.mean", other=sizes.vocab)
        spread = elementwise(tape, "mul", spread, "loss.share", other=sizes.label_smoothing)
        (found,) = tape.op("add", (found, spread), "loss.smoothed", each, attrs={"alpha": 1})
    (token,) = tape.op("sub", (log, found), "loss.tokens", each, attrs={"alpha": 1})
    return sum_loss(tape, _counted(tape, sizes, token, targets), "loss.sum" if sizes.mean else "loss")


def _counted(tape: Tape, sizes: Sizes, token: Value, targets: Value) -> Value:
    """The loss of each target times its weight, which is 0 for one that is ignored."""
    if sizes.padding:
        (kept,) = tape.op("mul", (token, _weights(tape, sizes, tape.forward)), "loss.counted", token.shape)
        return kept
    if sizes.ignore_index < 0:
        return token
    (kept,) = tape.op("mul", (token, _flags(tape, sizes, targets, tape.forward)), "loss.counted", token.shape)
    return kept


def _real(tape: Tape, sizes: Sizes, logits: Value) -> Value:
    """The logits of the vocabulary, of which a rank may have fewer than rows of the output."""
    if sizes.table == sizes.vocab:
        return logits
    last, unit = len(logits.shape) - 1, -(-sizes.table // tape.tp)
    attrs: dict[str, Hashable] = {"dim": last, "start": 0}
    attrs["length"] = len(range(*tape.piece(sizes.vocab, "tp", unit=unit)))
    shape, where = (*logits.shape[:-1], sizes.vocab), {"unit": unit}
    (real,) = tape.op("narrow", (logits,), "logits", shape, split=logits.split, attrs=attrs, where=where)
    return real


def _weights(tape: Tape, sizes: Sizes, nodes: list[Node]) -> Value:
    """The weight of each target."""
    return tape.load("counts", (tape.batch, sizes.seq), "float32", seq=1, nodes=nodes)


def _flags(tape: Tape, sizes: Sizes, targets: Value, nodes: list[Node]) -> Value:
    """1 for each target that counts, 0 for one that is ignored."""
    attrs: dict[str, Hashable] = {"start": sizes.ignore_index, "stop": sizes.ignore_index + 1}
    like = targets._replace(dtype="float32", kind=ACTIVATION)
    ignored = tape.like(like, name="loss.ignored", shape=(*targets.shape, 1))
    flat, flags = tape.like(like, name="loss.ignored.flat"), tape.like(like, name="loss.counts")
    for op, before, after, given in (
        ("one_hot", targets, ignored, attrs),
        ("view", ignored, flat, {"size": (tape.rows, tape.seq)}),
        ("sub", flat, flags, {"other": 1, "reflected": True}),
    ):
        nodes.append(tape.draft.node(op, (before.tensor,), (after.tensor,), dict[str, Hashable](given), after.name))
    return flags
