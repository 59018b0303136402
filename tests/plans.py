"""Small plans of the parallelisms that the mlp of builders.py has not: by hand, single (tp = 1) and parallel."""

from tests.builders import Builder
from tests.tape import Tape

BATCH, SEQUENCE, HEADS, WIDTH, HIDDEN, VOCABULARY = 4, 8, 4, 2, 8, 12


def sequence_parallel(dp=1, tp=1, nm=1, summed=True):
    """Layer norm and residual on shards of the sequence, linears on shards of the features (Megatron's).

    summed: the gradients of the norm, parts of sums over the sequence, are summed over the tensor ranks.
    """
    b = Builder(tp, dp, nm)
    rows, wide = BATCH // (dp * nm), 12
    for device in range(tp):
        t = Tape(b, device, range(tp))
        shape, share = (rows, SEQUENCE, HIDDEN), ((0, rows), t.cut(SEQUENCE), (0, HIDDEN))
        x = t.input("x", shape, share)
        gain, bias = t.weight("gain", (HIDDEN,)), t.weight("bias", (HIDDEN,))
        scaled = t.op("mul", [x, gain], "scaled", shape, share)
        n = t.op("layernorm", [scaled, gain, bias], "n", shape, share, normalized_shape=(HIDDEN,), eps=1e-5)
        n = t.gather(n, 1) if tp > 1 else n
        cut = t.cut(wide)
        up = t.weight("up", (wide, HIDDEN), (cut, (0, HIDDEN)))
        down = t.weight("down", (HIDDEN, wide), ((0, HIDDEN), cut))
        narrow = ((0, rows), (0, SEQUENCE), cut)
        h = t.op("linear", [n, up], "h", (rows, SEQUENCE, wide), narrow)
        a = t.op("relu", [h], "a", (rows, SEQUENCE, wide), narrow)
        y = t.op("linear", [a, down], "y", shape)
        y = t.scatter(y, 1) if tp > 1 else y
        z = t.op("add", [scaled, y], "z", shape, share)
        loss = t.op("sum", [z], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("gain", "bias") if tp > 1 and summed else ())
    return b.plan()


def ulysses(dp=1, tp=1):
    """Attention on shards of the heads, everything else on shards of the sequence, all_to_all between them."""
    b = Builder(tp, dp, 1)
    rows = BATCH // dp
    for device in range(tp):
        t = Tape(b, device, range(tp))
        whole_rows, shard, heads = (0, rows), t.cut(SEQUENCE), t.cut(HEADS)
        x = t.input("x", (rows, SEQUENCE, HIDDEN), (whole_rows, shard, (0, HIDDEN)))
        four = (rows, SEQUENCE, HEADS, WIDTH)
        inner = (rows, HEADS, SEQUENCE, WIDTH)
        across = (whole_rows, heads, (0, SEQUENCE), (0, WIDTH))
        found = []
        for name in ("q", "k", "v"):
            w = t.weight(f"w{name}", (HIDDEN, HIDDEN))
            y = t.op("linear", [x, w], f"{name}0", (rows, SEQUENCE, HIDDEN), (whole_rows, shard, (0, HIDDEN)))
            size = (rows, shard[1] - shard[0], HEADS, WIDTH)
            y = t.op("view", [y], f"{name}1", four, (whole_rows, shard, (0, HEADS), (0, WIDTH)), size=size)
            y = t.swap(y, 2, 1) if tp > 1 else y
            found.append(t.op("transpose", [y], f"{name}2", inner, across, dim0=1, dim1=2))
        q, k, v = found
        square, squared = (rows, HEADS, SEQUENCE, SEQUENCE), (whole_rows, heads, (0, SEQUENCE), (0, SEQUENCE))
        flipped = (whole_rows, heads, (0, WIDTH), (0, SEQUENCE))
        kt = t.op("transpose", [k], "kt", (rows, HEADS, WIDTH, SEQUENCE), flipped, dim0=2, dim1=3)
        scores = t.op("div", [t.op("matmul", [q, kt], "s0", square, squared)], "s1", square, squared, other=1.5)
        p = t.op("softmax", [scores], "p", square, squared, dim=-1)
        o = t.op("matmul", [p, v], "o", inner, across)
        o = t.op("transpose", [o], "o1", four, (whole_rows, (0, SEQUENCE), heads, (0, WIDTH)), dim0=1, dim1=2)
        o = t.swap(o, 1, 2) if tp > 1 else o
        size = (rows, shard[1] - shard[0], HIDDEN)
        o = t.op("view", [o], "o2", (rows, SEQUENCE, HIDDEN), (whole_rows, shard, (0, HIDDEN)), size=size)
        loss = t.op("sum", [o], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("wq", "wk", "wv") if tp > 1 else ())
    return b.plan()


def tied(pp=1, tp=1, nm=1, summed=True):
    """One table looks words up and scores them; each of two stages has a copy of it, and they sum their gradients."""
    b = Builder(pp * tp, 1, nm)
    rows = BATCH // nm
    hidden, scored = (rows, SEQUENCE, HIDDEN), (rows, SEQUENCE, VOCABULARY)
    for device in range(pp * tp):
        stage, rank = divmod(device, tp)
        t = Tape(b, device, range(stage * tp, stage * tp + tp))
        cut = t.cut(VOCABULARY, rank)
        table = t.weight("table", (VOCABULARY, HIDDEN), (cut, (0, HIDDEN)))
        if stage == 0:
            ids = t.input("ids", (rows, SEQUENCE), dtype="int64")
            h = t.op("embedding", [ids, table], "h", hidden, start=cut[0], stop=cut[1])
            h = t.total(h) if tp > 1 else h
        else:
            h = t.receive("h", hidden, device - tp)
        if stage == pp - 1:
            h = t.share(h) if tp > 1 else h
            region = ((0, rows), (0, SEQUENCE), cut)
            scores = t.op("linear", [t.op("silu", [h], "a", hidden), table], "scores", scored, region)
            last = t.op("sum", [scores], "loss", (1,))
            last = t.total(last) if tp > 1 else last
            b.loss(device, last)
            gradients = t.backward(last, back_to=device - tp if stage else None)
        else:
            t.send(h, device + tp)
            gradients = t.backward(h, peer=device + tp)
        if pp > 1 and summed:
            t.group = tuple(s * tp + rank for s in range(pp))
            t.declare(gradients, over=("table",))
        else:
            t.declare(gradients)
    return b.plan()


def batch_split(dp=1, tp=1, nm=1, mean=False):
    """The tensor ranks split the batch of a column among themselves; the loss may be a mean over all of it."""
    b = Builder(tp, dp, nm)
    rows = BATCH * 2 // (dp * nm)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        share = t.cut(rows)
        x = t.input("x", (rows, HIDDEN), (share, (0, HIDDEN)))
        w = t.weight("w", (6, HIDDEN))
        h = t.op("linear", [x, w], "h", (rows, 6), (share, (0, 6)))
        y = t.op("silu", [h], "y", (rows, 6), (share, (0, 6)))
        count = {"count": BATCH * 2 * 6} if mean else {}
        loss = t.op("mean" if mean else "sum", [y], "loss", (1,), **count)
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss), over=("w",) if tp > 1 else ())
    return b.plan()


def delayed(op, tp=1, **attrs):
    """The contraction of a linear is split; its parts run through one more node before they are summed."""
    b = Builder(tp)
    for device in range(tp):
        t = Tape(b, device, range(tp))
        cut = t.cut(HIDDEN)
        x = t.input("x", (BATCH, HIDDEN), ((0, BATCH), cut))
        y = t.op("linear", [x, t.weight("w", (6, HIDDEN), ((0, 6), cut))], "y", (BATCH, 6))
        z = t.op(op, [y], "z", (BATCH, 6), **attrs)
        z = t.total(z) if tp > 1 else z
        loss = t.op("sum", [t.op("silu", [z], "s", (BATCH, 6))], "loss", (1,))
        b.loss(device, loss)
        t.declare(t.backward(loss))
    return b.plan()


def sharded(tp=1, nm=1, once=True):
    """Weights and gradients in shards, gathered where they are used; the ranks split the batch (FSDP's).

    once: the gradients' shards are sums over the ranks; else each rank keeps its piece of its own.
    """
    b = Builder(tp, 1, nm)
    rows = BATCH * 2 // nm
    for device in range(tp):
        t = Tape(b, device, range(tp))
        share, shard = t.cut(rows), t.cut(12)
        x = t.input("x", (rows, HIDDEN), (share, (0, HIDDEN)))
        w = t.weight("w", (12, HIDDEN), (shard, (0, HIDDEN)))
        full = t.gather(w, 0, sums=once) if tp > 1 else w
        h = t.op("linear", [x, full], "h", (rows, 12), (share, (0, 12)))
        loss = t.op("sum", [t.op("silu", [h], "y", (rows, 12), (share, (0, 12)))], "loss", (1,))
        loss = t.total(loss) if tp > 1 else loss
        b.loss(device, loss)
        t.declare(t.backward(loss))
    return b.plan()
