"""The end of a step: gradients are added up over the ranks that see other data, clipped, and the weights updated.

    whole      all_reduce the gradients; every rank updates all that it holds
    ZeRO 1, 2  each data parallel rank has a shard of the gradients, after a reduce_scatter here or in each microbatch;
               it updates its shard of the weights, which are gathered again
    ZeRO 3     it has a shard of the weights only, and nothing is gathered

How shards lie on data parallel ranks, which are devices of the plan or replicas of it, is in shards.py.

The norm of all gradients counts each of their elements once: on the first of the ranks that have it.

Sources: Rajbhandari et al., ZeRO, SC 2020; Megatron-LM, megatron/core/optimizer (distrib_optimizer.py,
clip_grads.py); torch.nn.utils.clip_grad_norm_.
"""

from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

from backends.generator.draft import Draft
from backends.generator.mesh import Mesh
from backends.generator.parameters import Parameters, Trained
from backends.generator.sizes import Sizes
from backends.generator.value import Value
from verdict.graph import ACTIVATION, BUFFER, GRADIENT, WEIGHT, Node

REDUCE, STEP = "reduce_gradients", "update"
_STATES: dict[str, tuple[dict[str, Hashable], tuple[str, ...]]] = {
    "none": ({}, ()),
    "sgd": ({"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}, ("momentum",)),
    "adamw": ({"lr": 0.001, "step": 3, "weight_decay": 0.01}, ("exp_avg", "exp_avg_sq")),
}
"""Of each optimizer its constants and its states, each of the shape of the weight."""


class Once(NamedTuple):
    """What a device does once a step. gradients, outputs: (tensor, weight or state that it is of)."""

    segments: dict[str, list[Node]]
    gradients: list[tuple[int, int]]
    outputs: list[tuple[int, int]]


class _Final(NamedTuple):
    """A weight, or the shard of it that the rank updates, its final gradient, and of what tensor that is."""

    weight: Value
    gradient: int
    of: int


class Update:
    """The end of the step on every device of a mesh."""

    def __init__(self, draft: Draft, mesh: Mesh, sizes: Sizes, parameters: tuple[Parameters, ...]) -> None:
        self._draft, self._mesh, self._sizes, self._parameters = draft, mesh, sizes, parameters
        self._holders: dict[Hashable, list[int]] = defaultdict(list)
        self._counted: dict[Hashable, int] = {}
        for device, each in enumerate(parameters):
            for trained in each.trained.values():
                self._holders[self._key(device, trained)].append(device)
                self._counted.setdefault((self._norm_group(device), self._share_of(device, trained)), device)

    def of(self, device: int) -> Once:
        """What `device` does."""
        once = Once({REDUCE: [], STEP: []}, [], [])
        finals = [self._reduced(device, trained, once) for trained in self._parameters[device].trained.values()]
        once.gradients.extend((final.gradient, final.of) for final in finals)
        if self._sizes.clip:
            finals = self._clipped(device, finals, once.segments[STEP])
        for final in finals if self._sizes.optimizer != "none" else ():
            self._updated(device, final, once)
        return once

    def _key(self, device: int, trained: Trained) -> Hashable:
        """Equal on all devices whose accumulators add up to one gradient."""
        fixed = (axis for axis, _ in self._mesh.axes if axis not in (*trained.sums, "pp"))
        return trained.weight.name, tuple((axis, self._mesh.at(device, axis)) for axis in fixed)

    def _share_of(self, device: int, trained: Trained) -> Hashable:
        """Equal on all devices that have the same share of a final gradient."""
        share = trained.weight._replace(sharded=self._sizes.zero > 0)
        return share.name, share.cuts(self._mesh, device)

    def _norm_group(self, device: int) -> tuple[int, ...]:
        """The ranks that have all gradients between them."""
        axes = tuple(axis for axis, _ in self._mesh.axes if self._sizes.zero or axis in ("ep", "pp", "tp"))
        return self._mesh.group(device, axes)

    def _reduced(self, device: int, trained: Trained, once: Once) -> _Final:
        weight, gradient, nodes = trained.weight, trained.accumulator, once.segments[REDUCE]
        zero, shards, sums = self._sizes.zero, self._parameters[device].shards, trained.sums
        if zero == 1:
            after = self._tensor(device, weight.shard, f"{weight.name}.grad.shard", GRADIENT)
            piece = f"{weight.name}.grad.piece"
            shards.cut(nodes, "reduce_scatter", weight, gradient, after, piece, GRADIENT, reduce="sum")
            gradient, sums = after, tuple(axis for axis in sums if axis not in weight.data)
        ranks = self._ranks(device, trained, sums)
        across = shards.across and not zero
        if len(ranks) > 1 or across:
            attrs: dict[str, Hashable] = {"ranks": ranks, "reduce": "sum", **({"replicas": True} if across else {})}
            whole = weight.shard if zero else weight
            name = f"{weight.name}.grad.reduced"
            after = self._tensor(device, whole, name, GRADIENT, f"{weight.name}.grad")
            nodes.append(self._draft.node("all_reduce", (gradient,), (after,), attrs, name))
            gradient = after
        of = weight.tensor
        if zero in (1, 2):
            name, kind = (f"{weight.name}.shard", ACTIVATION) if shards.across else (weight.name, WEIGHT)
            held = self._tensor(device, weight.shard, name, kind)
            of = shards.cut(nodes, "chunk", weight, weight.tensor, held, weight.name, WEIGHT)
            weight = weight.shard._replace(tensor=held)
        return _Final(weight, gradient, of)

    def _ranks(self, device: int, trained: Trained, sums: tuple[str, ...]) -> tuple[int, ...]:
        """The devices whose addends add up: those along `sums`, and the other stages that hold the weight."""
        same = [axis for axis, _ in self._mesh.axes if axis not in (*sums, "pp")]
        holders = self._holders[self._key(device, trained)]
        return tuple(d for d in holders if all(self._mesh.at(d, a) == self._mesh.at(device, a) for a in same))

    def _clipped(self, device: int, finals: list[_Final], nodes: list[Node]) -> list[_Final]:
        group = self._norm_group(device)
        one = Value(0, 0, "norm", (1,), "float32")
        squares = []
        for final in finals:
            share = final.weight.name, final.weight._replace(sharded=self._sizes.zero > 0).cuts(self._mesh, device)
            if self._counted[group, share] == device:
                squares.append(self._square(device, final, one, nodes))
        if not squares:
            whole = self._square(device, finals[0], one, nodes)
            squares.append(self._scalar(device, one, "mul", (whole,), "gradients.none", nodes, other=0))
        total = self._scalar(device, one, "accumulate", tuple(squares), "gradients.local", nodes)
        across = self._sizes.zero > 0 and self._parameters[device].shards.across
        if len(group) > 1 or across:
            after = self._tensor(device, one, "gradients.total", ACTIVATION)
            attrs: dict[str, Hashable] = {"ranks": group, "reduce": "sum", **({"replicas": True} if across else {})}
            nodes.append(self._draft.node("all_reduce", (total,), (after,), attrs, "gradients.total"))
            total = after
        norm = self._scalar(device, one, "sqrt", (total,), "gradients.norm", nodes)
        norm = self._scalar(device, one, "add", (norm,), "gradients.norm.eps", nodes, other=1e-6, alpha=1)
        by = self._scalar(device, one, "div", (norm,), "gradients.clip", nodes, other=self._sizes.clip, reflected=True)
        by = self._scalar(device, one, "clamp", (by,), "gradients.clip.clamped", nodes, max=1)
        clipped = []
        for final in finals:
            name = f"{final.weight.name}.grad.clipped"
            after = self._tensor(device, final.weight, name, GRADIENT)
            nodes.append(self._draft.node("mul", (final.gradient, by), (after,), {}, name))
            clipped.append(final._replace(gradient=after))
        return clipped

    def _square(self, device: int, final: _Final, one: Value, nodes: list[Node]) -> int:
        name = f"{final.weight.name}.grad.squares"
        after = self._tensor(device, final.weight, name, GRADIENT)
        nodes.append(self._draft.node("mul", (final.gradient, final.gradient), (after,), {}, name))
        total = self._tensor(device, one, f"{name}.sum", ACTIVATION)
        nodes.append(self._draft.node("sum", (after,), (total,), {"dim": None, "keepdim": False}, f"{name}.sum"))
        return total

    def _scalar(
        self, device: int, one: Value, op: str, inputs: tuple[int, ...], name: str, nodes: list[Node],
        **attrs: Hashable,
    ) -> int:  # fmt: skip
        after = self._tensor(device, one, name, ACTIVATION)
        nodes.append(self._draft.node(op, inputs, (after,), attrs, name))
        return after

    def _updated(self, device: int, final: _Final, once: Once) -> None:
        constants, names = _STATES[self._sizes.optimizer]
        weight, nodes = final.weight, once.segments[STEP]
        states = [self._tensor(device, weight, f"{weight.name}.{name}", BUFFER) for name in names]
        after = [self._tensor(device, weight, f"{weight.name}.{name}.new", ACTIVATION) for name in names]
        shards = self._sizes.zero in (1, 2)
        new = self._tensor(device, weight, f"{weight.name}.new" + ".shard" * shards, ACTIVATION)
        inputs = (weight.tensor, final.gradient, *states)
        name = f"{weight.name}.{self._sizes.optimizer}"
        nodes.append(self._draft.node(self._sizes.optimizer, inputs, (new, *after), constants, name))
        once.outputs.extend(zip(after, states, strict=True))
        if not shards:
            once.outputs.append((new, weight.tensor))
            return
        gathered = self._tensor(device, weight._replace(sharded=False, divided=False), f"{weight.name}.new", ACTIVATION)
        self._parameters[device].shards.gather(nodes, weight, new, gathered, f"{weight.name}.new.piece", ACTIVATION)
        held = self._parameters[device].trained[weight.name].weight
        once.outputs.append((gathered, held.tensor))

    def _tensor(self, device: int, value: Value, name: str, kind: str, origin: str = "") -> int:
        return self._draft.share(self._mesh, device, value, name, kind, (), origin)
