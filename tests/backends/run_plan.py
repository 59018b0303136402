"""A small interpreter of plans in lockstep over all replicas and devices, for tests: floats, plain numpy.

It holds every plan to the conventions of verdict.graph.plan: SSA, shapes as stated, FIFO pairs, whole groups.
"""

from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np
from arrays import FORWARD, GRADIENT

from verdict.graph import ABSENT, ACCUMULATOR, BUFFER, INPUT, ONCE_A_STEP, PER_STEP, WEIGHT, extent


class Fault(Exception):
    """The plan cannot be run, or breaks a convention."""


class Result(NamedTuple):
    """losses: (replica, device, microbatch) -> array. gradients: (weight name, replica, device) -> (region, array)."""

    losses: dict
    gradients: dict


def random_values(plan, seed=0):
    """Full arrays for the weights, buffers and inputs of a single-device plan, by name."""
    rng = np.random.default_rng(seed)
    vocab = next((each.shape[0] for each in plan.logicals if each.name == "tok_embeddings.weight"), 1)
    found = {}
    for logical in plan.logicals:
        if logical.dtype == "complex64":
            found[logical.name] = np.exp(1j * rng.uniform(0, 6, logical.shape))
        elif logical.dtype == "int64" and logical.kind == BUFFER:
            found[logical.name] = np.arange(logical.shape[0])
        elif logical.dtype == "int64" and logical.kind == INPUT:
            found[logical.name] = rng.integers(0, vocab, logical.shape)
        elif logical.kind in (WEIGHT, INPUT, BUFFER):
            found[logical.name] = rng.normal(size=logical.shape)
    return found


class Runner:
    def __init__(self, plan, values):
        self.plan, self.values = plan, values
        self.ranks = [(replica, device) for replica in range(plan.replicas) for device in range(plan.devices)]
        self.step = {rank: {} for rank in self.ranks}
        self.column = defaultdict(dict)
        self.pipes = defaultdict(deque)
        self.groups = defaultdict(dict)
        self.turn = defaultdict(int)

    def run(self):
        waiting = {rank: self.program(rank) for rank in self.ranks}
        while waiting:
            before = len(self.pipes), sum(map(len, self.pipes.values())), len(waiting), self.ticks()
            for rank in list(waiting):
                try:
                    while next(waiting[rank]):
                        pass
                except StopIteration:
                    del waiting[rank]
            if before == (len(self.pipes), sum(map(len, self.pipes.values())), len(waiting), self.ticks()):
                raise Fault(f"deadlock of {sorted(waiting)}")
        if any(self.pipes.values()):
            raise Fault("a message is never received")
        return self.result()

    def ticks(self):
        return sum(map(len, self.groups.values())), sum(map(len, self.column.values()))

    def program(self, rank):
        """Yields True after a step, False where it has to wait."""
        for call in self.plan.programs[rank[1]]:
            segment = self.plan.segments[call.segment]
            if segment.device != rank[1]:
                raise Fault(f"device {rank[1]} runs a segment of device {segment.device}")
            crossed = dict(call.crossed)
            for node in segment.nodes:
                yield from self.node(rank, call.microbatch, node, crossed)

    def node(self, rank, microbatch, node, crossed):
        attrs = dict(node.attrs)
        inputs = [None if at == ABSENT else self.read(rank, crossed.get(at, microbatch), at) for at in node.inputs]
        if node.op == "send":
            self.pipes[rank, attrs["peer"]].append((inputs[0], attrs["channel"]))
            outputs = ()
        elif node.op == "recv":
            pipe = self.pipes[(rank[0], attrs["peer"]), rank[1]]
            while not pipe:
                yield False
            value, channel = pipe.popleft()
            if channel != attrs["channel"]:
                raise Fault(f"{channel} arrives where {attrs['channel']} belongs")
            outputs = (value,)
        elif node.op == "all_reduce":
            outputs = yield from self.all_reduce(rank, attrs, inputs[0])
        elif node.op in ("dropout", "dropout.grad"):
            outputs = (inputs[0] * self.kept(rank, microbatch, node, attrs),)
        elif node.op == "dataloader":
            outputs = [self.load(rank, microbatch, at) for at in node.outputs]
        elif node.op.endswith(".grad"):
            count = len(inputs) - len(node.outputs)
            outputs = GRADIENT[node.op[:-5]](inputs[:count], inputs[count:], attrs)
        else:
            outputs = FORWARD[node.op](inputs, attrs)
        for at, value in zip(node.outputs, outputs, strict=True):
            if at != ABSENT:
                self.write(rank, microbatch, at, np.asarray(value))
        yield True

    def all_reduce(self, rank, attrs, value):
        if rank[1] not in attrs["ranks"]:
            raise Fault(f"{rank} takes part in the foreign group {attrs['ranks']}")
        replicas = range(self.plan.replicas) if attrs.get("replicas") else (rank[0],)
        members = tuple((replica, device) for replica in replicas for device in attrs["ranks"])
        self.turn[rank, members] += 1
        board = self.groups[members, self.turn[rank, members]]
        board[rank] = value
        while len(board) < len(members):
            yield False
        return (sum(board[member] for member in members),)

    def load(self, rank, microbatch, tensor):
        logical = self.plan.logicals[self.plan.tensors[tensor].logical]
        axis = dict(self.plan.batch_axes)[logical.name]
        return self.share(rank, microbatch, tensor, self.values[logical.name], axis)

    def share(self, rank, microbatch, tensor, full, axis=0):
        """What this rank, in this microbatch, has of `full`, a tensor of the whole batch along `axis`."""
        column = rank[0] * self.plan.microbatches + microbatch
        return np.split(full, self.plan.columns, axis=axis)[column][self.slices(tensor)]

    def kept(self, rank, microbatch, node, attrs):
        """The factors of a dropout, the same for an element wherever it is: drawn for the whole batch by name."""
        rows, *rest = self.plan.logicals[self.plan.tensors[node.outputs[0]].logical].shape
        draws = np.random.default_rng(list(node.name.encode())).random((rows * self.plan.columns, *rest))
        return self.share(rank, microbatch, node.outputs[0], (draws >= attrs["p"]) / (1 - attrs["p"]))

    def slices(self, tensor):
        return tuple(slice(*interval) for interval in self.plan.tensors[tensor].region)

    def read(self, rank, microbatch, tensor):
        kind = self.plan.kind(tensor)
        if kind in (WEIGHT, BUFFER):
            name = self.plan.logicals[self.plan.tensors[tensor].logical].name
            return self.values[name][self.slices(tensor)]
        if tensor in self.plan.seeds:
            return np.ones(1)
        store = self.step[rank] if kind in PER_STEP else self.column[rank, microbatch]
        if tensor not in store:
            raise Fault(f"{self.plan.tensors[tensor]} is used before it is made")
        return store[tensor]

    def write(self, rank, microbatch, tensor, value):
        stated = extent(self.plan.tensors[tensor].region)
        if value.shape != stated:
            raise Fault(f"a value of shape {value.shape} where {stated} is stated")
        if self.plan.kind(tensor) == ACCUMULATOR:
            self.step[rank][tensor] = self.step[rank].get(tensor, 0.0) + value
            return
        store = self.column[rank, microbatch]
        if tensor in store or tensor in self.plan.seeds:
            raise Fault(f"{self.plan.tensors[tensor]} is made twice")
        store[tensor] = value

    def result(self):
        losses, gradients = {}, {}
        for replica in range(self.plan.replicas):
            for held in self.plan.losses:
                for microbatch in range(self.plan.microbatches):
                    rank = (replica, held.device)
                    losses[replica, held.device, microbatch] = self.read(rank, microbatch, held.tensor)
            for held in self.plan.gradients:
                weight = self.plan.tensors[held.weight]
                name = self.plan.logicals[weight.logical].name
                value = self.read((replica, held.device), ONCE_A_STEP, held.tensor)
                gradients[name, replica, held.device] = (weight.region, value)
        return Result(losses, gradients)


def run(plan, values):
    """What `plan` declares, computed on `values`: full arrays by name, of inputs for the whole batch."""
    return Runner(plan, values).run()


def rendezvous(plan):
    """Run the messages of one replica where a send waits for its receive. Raises Fault on a deadlock."""
    queues = [
        [
            (node.op, dict(node.attrs)["peer"], dict(node.attrs)["channel"], call.microbatch)
            for call in program
            for node in plan.segments[call.segment].nodes
            if node.op in ("send", "recv")
        ]
        for program in plan.programs
    ]
    at = [0] * plan.devices
    moved = True
    while moved:
        moved = False
        for device, queue in enumerate(queues):
            if at[device] == len(queue) or queue[at[device]][0] != "send":
                continue
            _, peer, channel, microbatch = queue[at[device]]
            if at[peer] < len(queues[peer]) and queues[peer][at[peer]] == ("recv", device, channel, microbatch):
                at[device] += 1
                at[peer] += 1
                moved = True
    stuck = [device for device, queue in enumerate(queues) if at[device] < len(queue)]
    if stuck:
        raise Fault(f"deadlock of {stuck}")
