"""Every rank of a plan as a process of its own: its steps in order, messages by mail, collectives when all are in."""

from collections import defaultdict, deque

import torch

from tests.interpreter.operators import forward, gradient

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce")
ALIKE = ("ranks", "replicas", "dim", "split_dim", "concat_dim", "root", "reduce")
ONCE = None


class Stuck(Exception):
    """The plan does not run to its end, or not on these values."""


class Undefined(Exception):
    """The pages do not say what this means."""


def run(plan, given):
    """What each rank holds at the end. given: (rank, logical key, share, column) -> tensor, or None."""
    return _Run(plan, given).finish()


class _Run:
    def __init__(self, plan, given):
        self.plan, self.given = plan, given
        self.ranks = [(replica, device) for replica in range(plan.replicas) for device in range(plan.devices)]
        self.steps = {
            (replica, device): [
                (node, when, crossed)
                for name, when, crossed in plan.program[device].calls
                for node in plan.program[device].segments[name]
            ]
            for replica, device in self.ranks
        }
        self.at = dict.fromkeys(self.ranks, 0)
        self.mail = defaultdict(deque)
        self.held = {rank: {} for rank in self.ranks}
        self.produced = defaultdict(set)
        loaded = set()
        for device in range(plan.devices):
            for nodes in plan.program[device].segments.values():
                for node in nodes:
                    self.produced[device] |= {(s.key, s.number) for s in node.outputs if s is not None}
                    if node.op == "dataloader":
                        loaded |= {share.key for share in node.outputs}
        self.loaded = loaded

    def finish(self):
        moved = True
        while moved:
            moved = False
            for rank in self.ranks:
                while self.at[rank] < len(self.steps[rank]) and self.tried(rank):
                    moved = True
        waiting = [rank for rank in self.ranks if self.at[rank] < len(self.steps[rank])]
        if waiting or any(self.mail.values()):
            raise Stuck(f"ranks {waiting} wait for ever" if waiting else "a message is never received")
        return self

    def tried(self, rank):
        try:
            return self.step(rank)
        except (KeyError, TypeError, IndexError, ValueError, RuntimeError) as error:
            node = self.steps[rank][self.at[rank]][0]
            raise Stuck(f"{node.op} is not what it should be: {error!r}") from error

    def step(self, rank):
        """Do the next step of a rank, if it can be done."""
        node, when, _ = self.steps[rank][self.at[rank]]
        replica, device = rank
        if node.op in COLLECTIVES:
            return self.meet(rank)
        if node.op == "send":
            (share,) = node.inputs
            self.mail[rank, (replica, node.attrs["peer"])].append((self.read(rank, share), when))
        elif node.op == "recv":
            letters = self.mail[(replica, node.attrs["peer"]), rank]
            if not letters:
                return False
            value, sent = letters.popleft()
            if sent != when:
                raise Stuck("a message of another microbatch is received")
            self.write(rank, node.outputs, [value])
        elif node.op == "dataloader":
            self.write(rank, node.outputs, [self.load(rank, share, when) for share in node.outputs])
        elif node.op == "chunk":
            ranks = node.attrs["ranks"]
            at, size = (
                (replica, self.plan.replicas) if node.attrs.get("replicas") else (ranks.index(device), len(ranks))
            )
            self.write(rank, node.outputs, [self.piece(self.read(rank, node.inputs[0]), node.attrs["dim"], at, size)])
        elif node.op not in ("record", "await") and (node.op != "wait" or node.outputs):
            self.write(rank, node.outputs, self.compute(rank, node))
        self.at[rank] += 1
        return True

    def load(self, rank, share, when):
        if when is ONCE or self.plan.tensors[share.key].kind != "input":
            raise Stuck("a loader makes inputs of a microbatch")
        return self.given(rank, share, rank[0] * self.plan.microbatches + when)

    def compute(self, rank, node):
        attrs = {name: value for name, value in node.attrs.items() if name not in ("asynchronous", "stream")}
        try:
            if not node.op.endswith(".grad"):
                inputs = [share for share in node.inputs if share is not None or node.op != "accumulate"]
                return forward(node.op, [self.read(rank, share) for share in inputs], attrs)
            count = len(node.inputs) - len(node.outputs)
            if count < 1:
                raise Stuck("a gradient of nothing")
            grads = [None if share is None else self.read(rank, share) for share in node.inputs[:count]]
            inputs = [self.read(rank, share) for share in node.inputs[count:]]
            return gradient(node.op.removesuffix(".grad"), inputs, grads, attrs)
        except (RuntimeError, ValueError, IndexError, TypeError, KeyError, ArithmeticError, AssertionError) as error:
            raise Stuck(f"{node.op} cannot be computed: {error}") from error

    def meet(self, rank):
        """Carry out a collective if all its members stand before it."""
        node, when, _ = self.steps[rank][self.at[rank]]
        members = self.members(rank, node)
        if rank not in members or len(set(members)) != len(members):
            raise Stuck("a rank is not in its group")
        made = frozenset(replica * self.plan.devices + device for replica, device in members)
        ranks = self.plan.replicas * self.plan.devices
        if self.plan.groups and 1 < len(made) < ranks and made not in self.plan.groups:
            raise Stuck(f"nobody makes the group {sorted(made)}")
        nodes = []
        for member in members:
            if member not in self.steps or self.at[member] >= len(self.steps[member]):
                return False
            other, its, _ = self.steps[member][self.at[member]]
            if other.op not in COLLECTIVES or set(self.members(member, other)) != set(members):
                return False
            if (other.op, its) != (node.op, when) or any(other.attrs.get(k) != node.attrs.get(k) for k in ALIKE):
                raise Stuck("the members of a group do different things")
            nodes.append(other)
        root, given = node.attrs.get("root"), []
        for member, its in zip(members, nodes, strict=True):
            silent = node.op == "broadcast" and member[1] != root
            given.append(None if silent else self.read(member, its.inputs[0]) if its.inputs else None)
        if node.op in ("broadcast", "reduce") and root not in [device for _, device in members]:
            raise Stuck("its root is not in the group")
        found = self.exchange(node, members, given)
        for member, its, value in zip(members, nodes, found, strict=True):
            self.write(member, its.outputs, [value] * len(its.outputs))
            self.at[member] += 1
        return True

    def members(self, rank, node):
        """The members in the order of the group; with `replicas`, that set on every replica."""
        replicas = range(self.plan.replicas) if node.attrs.get("replicas") else [rank[0]]
        return [(replica, device) for replica in replicas for device in node.attrs["ranks"]]

    def exchange(self, node, members, given):
        op, attrs, count = node.op, node.attrs, len(members)
        if op == "broadcast":
            return [given[[device for _, device in members].index(attrs["root"])]] * count
        if any(value is None for value in given):
            raise Stuck("a member puts nothing in")
        if attrs.get("replicas") and len(attrs["ranks"]) > 1 and op != "all_reduce":
            raise Undefined("several devices over replicas")
        try:
            if op == "all_gather":
                return [torch.cat(given, attrs["dim"])] * count
            if op == "all_to_all":
                pieces = [[self.piece(x, attrs["split_dim"], at, count) for x in given] for at in range(count)]
                return [torch.cat(row, attrs["concat_dim"]) for row in pieces]
            total = self.reduced(given, attrs.get("reduce", "sum"))
            if op == "reduce_scatter":
                return [self.piece(total, attrs["dim"], at, count) for at in range(count)]
            return [total if op == "all_reduce" or device == attrs["root"] else None for _, device in members]
        except (RuntimeError, IndexError, TypeError, KeyError) as error:
            raise Stuck(f"what meets in {op} does not fit: {error}") from error

    def reduced(self, values, how):
        if len({value.shape for value in values}) > 1:
            raise Stuck("what is reduced differs in shape")
        total = values[0]
        for value in values[1:]:
            total = {"max": torch.maximum, "min": torch.minimum}.get(how, torch.add)(total, value)
        if how not in ("sum", "max", "min", "avg", "mean"):
            raise Undefined(how)
        return total / len(values) if how in ("avg", "mean") else total

    def piece(self, value, dim, at, count):
        """Piece `at` of `count` even ones: the last may be shorter, or not there."""
        pieces = torch.chunk(value, count, dim)
        if at >= len(pieces):
            raise Stuck("there are fewer pieces than members")
        return pieces[at]

    def read(self, rank, share):
        if share is None:
            raise Stuck("an input is missing")
        _, when, crossed = self.steps[rank][self.at[rank]]
        return self.look(rank, share, crossed.get((share.key, share.number), when))

    def look(self, rank, share, when):
        """A tensor of a rank: of its microbatch, or once a step."""
        logical, held = self.plan.tensors[share.key], self.held[rank]
        name = (share.key, share.number)
        shape = tuple(stop - start for start, stop in share.region)
        if (name, ONCE) in held:
            return held[name, ONCE]
        if when is ONCE and self.plan.microbatches == 1:
            when = 0
        if (name, when) in held:
            return held[name, when]
        seeds = [(seed.key, seed.number) for seed in self.plan.program[rank[1]].seeds]
        if name in seeds:
            return torch.ones(shape, dtype=torch.float64)
        if logical.kind in ("weight", "buffer") and name not in self.produced[rank[1]]:
            return self.given(rank, share, ONCE)
        if logical.kind == "accumulator":
            return torch.zeros(shape, dtype=torch.float64)
        if logical.kind == "input" and when is not ONCE and share.key not in self.loaded:
            return self.given(rank, share, rank[0] * self.plan.microbatches + when)
        raise Stuck(f"{logical.name} is read before it is made")

    def write(self, rank, shares, values):
        _, when, _ = self.steps[rank][self.at[rank]]
        for share, made in zip(shares, values, strict=False):
            if share is None:
                continue
            if made is None:
                raise Stuck("an output is made of nothing")
            shape = tuple(stop - start for start, stop in share.region)
            stated = getattr(torch, self.plan.tensors[share.key].dtype, torch.float64)
            if made.is_floating_point() and not (stated.is_floating_point or stated.is_complex):
                raise Stuck(f"floats are made where {stated} is stated")
            value = self.fitted(made, shape)
            kind, name, held = self.plan.tensors[share.key].kind, (share.key, share.number), self.held[rank]
            if kind == "accumulator":
                held[name, ONCE] = held[name, ONCE] + value if (name, ONCE) in held else value
            elif kind in ("weight", "buffer"):
                held[name, ONCE] = value
            elif (name, when) in held:
                raise Stuck(f"{share.key} is made twice")
            else:
                held[name, when] = value

    def fitted(self, value, shape):
        """A value of the stated shape; one element may have the shape [] or [1]."""
        if value.numel() == 1 and value.ndim < 2 and shape in ((), (1,)):
            return value.reshape(shape)
        if tuple(value.shape) != shape:
            raise Stuck(f"shape {tuple(value.shape)} is made where {shape} is stated")
        return value

    def end(self, rank, share):
        """What a rank holds of a tensor at the end: by microbatch, or {None: value} if it is there once."""
        once = self.plan.tensors[share.key].kind in ("weight", "buffer", "accumulator")
        if once or ((share.key, share.number), ONCE) in self.held[rank]:
            return {ONCE: self.look(rank, share, ONCE)}
        return {when: self.look(rank, share, when) for when in range(self.plan.microbatches)}
