"""Chains of equal layers on one device and on two, each of which has half of the rows."""

from verdict.graph import ACTIVATION, INPUT, ONCE_A_STEP, WEIGHT, Call, Held, Logical, Node, Plan, Segment, Tensor

ROWS, WIDTH = 4, 8
OPS = ("linear", "tanh", "relu", "tanh", "relu", "tanh", "relu", "tanh")
"""What a layer consists of."""


def chain(layers, devices=1, exchange=False):
    """A plan whose output is what is left of the rows behind all layers.

    exchange: whether after each layer a device goes on with the rows of the other one; no rows are told apart then.
    """
    logicals = [Logical("x", (ROWS, WIDTH), "float32", INPUT)]
    tensors, segments, outputs = [], [], []
    own = ROWS // devices
    for device in range(devices):
        rows = ((device * own, (device + 1) * own), (0, WIDTH))

        def tensor(name, kind, region):
            known = {logical.name: k for k, logical in enumerate(logicals)}
            if name not in known:
                shape = (WIDTH, WIDTH) if kind == WEIGHT else (ROWS, WIDTH)
                logicals.append(Logical(name, shape, "float32", kind))
            tensors.append(Tensor(known.get(name, len(logicals) - 1), region))
            return len(tensors) - 1

        at, nodes = tensor("x", INPUT, rows), []
        for k in range(layers):
            weight = tensor(f"w{k}", WEIGHT, ((0, WIDTH), (0, WIDTH)))
            for name, op in enumerate(OPS):
                after = tensor(f"{op}{name}.{k}", ACTIVATION, rows)
                reads = (at, weight) if op == "linear" else (at,)
                nodes.append(Node(op, reads, (after,), (), f"{op}{name}.{k}"))
                at = after
            if exchange:
                peer = (("peer", 1 - device),)
                nodes.append(Node("send", (at,), (), peer, f"send.{k}"))
                at = tensor(f"received.{k}", ACTIVATION, rows)
                nodes.append(Node("recv", (), (at,), peer, f"receive.{k}"))
        after = tensor("y", ACTIVATION, rows)
        nodes.append(Node("relu", (at,), (after,), (), "y"))
        segments.append(Segment("forward", device, tuple(nodes)))
        outputs.append(Held(device, after))
    return forward(f"{devices} devices", logicals, tensors, segments, outputs)


def forward(source, logicals, tensors, segments, outputs):
    """A plan of one segment for each device, which declares outputs alone."""
    return Plan(
        source=source,
        format="test",
        mesh=(("dp", 1), ("tp", len(segments))),
        devices=len(segments),
        replicas=1,
        microbatches=1,
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=tuple(segments),
        programs=tuple((Call(number, ONCE_A_STEP),) for number in range(len(segments))),
        losses=(),
        gradients=(),
        seeds=(),
        outputs=tuple(outputs),
    )
