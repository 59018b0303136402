"""The end of a step: gradients are added up over the ranks that see other data, clipped, and the weights updated.

    whole      all_reduce the gradients; every rank updates all that it holds
    ZeRO 1, 2  each data parallel rank has a shard of the gradients, after a reduce_scatter here or in each microbatch;
               it updates its shard of the weights, which are gathered again
    ZeRO 3     it has a shard of the weights only, and nothing is gathered

How shards lie on data parallel ranks, which are devices of the plan or replicas of it, is in shards.py.

The norm of all gradients counts each of their elements once: on the first of the ranks that have it.

With a scale of the loss the gradients are divided by it, and where some gradient on some rank has overflowed no rank
updates anything. Master weights are those of the optimizer, in float32; the weights are what they are rounded to.

Sources: Rajbhandari et al., ZeRO, SC 2020; Megatron-LM, megatron/core/optimizer (distrib_optimizer.py,
clip_grads.py); Micikevicius et al., Mixed Precision Training, ICLR 2018;
torch.amp.GradScaler; torch.nn.utils.clip_grad_norm_.
"""

from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

from verdict.backends.generator.draft import Draft
from verdict.backends.generator.flat import Flat
from verdict.backends.generator.mesh import Mesh
from verdict.backends.generator.parameters import Parameters, Trained
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.value import Value
from verdict.graph import ABSENT, ACTIVATION, BUFFER, GRADIENT, WEIGHT, Node

REDUCE, STEP = "reduce_gradients", "update"
LARGEST = 65504.0
"""The greatest number of float16: what is beyond it has overflowed."""
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
        if self._sizes.flat:
            self._flat(device, once)
            return once
        finals = [self._reduced(device, trained, once) for trained in self._parameters[device].trained.values()]
        once.gradients.extend((final.gradient, final.of) for final in finals)
        skip = ABSENT
        if self._sizes.loss_scale:
            finals, skip = self._unscaled(device, finals, once.segments[STEP])
        if self._sizes.clip:
            finals = self._clipped(device, finals, once.segments[STEP])
        for final in finals if self._sizes.optimizer != "none" else ():
            self._updated(device, final, skip, once)
        return once

    def _flat(self, device: int, once: Once) -> None:
        """The step on a flat buffer."""
        nodes, every = once.segments[REDUCE], tuple(self._parameters[device].trained.values())
        flat = Flat(self._draft, self._mesh, device, tuple(trained.weight for trained in every))
        gradients = []
        for trained in every:
            sums = tuple(axis for axis in trained.sums if axis not in trained.weight.data)
            gradients.append(self._summed(device, trained, trained.weight, trained.accumulator, sums, nodes))
        shard, pieces = flat.scattered(tuple(gradients), nodes)
        once.gradients.extend(pieces)
        constants, states = _STATES[self._sizes.optimizer]
        once.outputs.extend(flat.updated(shard, self._sizes.optimizer, constants, states, once.segments[STEP]))

    def _summed(
        self, device: int, trained: Trained, whole: Value, gradient: int, sums: tuple[str, ...], nodes: list[Node]
    ) -> int:
        """The sum of the addends of a gradient along some axes, and over replicas where all of it is to be summed."""
        ranks = self._ranks(device, trained, sums)
        across = self._parameters[device].shards.across and not self._sizes.zero
        if len(ranks) == 1 and not across:
            return gradient
        attrs: dict[str, Hashable] = {"ranks": ranks, "reduce": "sum", **({"replicas": True} if across else {})}
        name = f"{whole.name}.grad.reduced"
        after = self._tensor(device, whole, name, GRADIENT, f"{whole.name}.grad")
        nodes.append(self._draft.node("all_reduce", (gradient,), (after,), attrs, name))
        return after

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
        gradient = self._summed(device, trained, weight.shard if zero else weight, gradient, sums, nodes)
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

    def _unscaled(self, device: int, finals: list[_Final], nodes: list[Node]) -> tuple[list[_Final], int]:
        """The gradients without the scale of the loss, and whether some gradient on some rank overflowed."""
        one, found, peak = Value(0, 0, "peak", (1,), "float32"), list[_Final](), ABSENT
        for final in finals:
            name = f"{final.weight.name}.grad"
            size = self._tensor(device, final.weight, f"{name}.size", GRADIENT)
            nodes.append(self._draft.node("abs", (final.gradient,), (size,), {}, f"{name}.size"))
            largest = self._scalar(device, one, "amax", (size,), f"{name}.largest", nodes, dim=None)
            more = (largest,) if peak == ABSENT else (peak, largest)
            peak = largest if peak == ABSENT else self._scalar(device, one, "maximum", more, f"{name}.peak", nodes)
            after = self._tensor(device, final.weight, f"{name}.unscaled", GRADIENT)
            attrs: dict[str, Hashable] = {"other": self._sizes.loss_scale, "rounding_mode": None}
            nodes.append(self._draft.node("div", (final.gradient,), (after,), attrs, f"{name}.unscaled"))
            found.append(final._replace(gradient=after))
        group, across = self._norm_group(device), self._sizes.zero > 0 and self._parameters[device].shards.across
        if len(group) > 1 or across:
            attrs = {"ranks": group, "reduce": "max", **({"replicas": True} if across else {})}
            peak = self._scalar(device, one, "all_reduce", (peak,), "gradients.peak", nodes, **attrs)
        truth = one._replace(dtype="bool")
        flag = self._scalar(device, truth, "aten.gt.Scalar", (peak,), "gradients.overflow", nodes, other=LARGEST)
        return found, flag

    def _updated(self, device: int, final: _Final, skip: int, once: Once) -> None:
        """skip: whether everything stays as it is; ABSENT where nothing asks."""
        _, names = _STATES[self._sizes.optimizer]
        weight, nodes, gradient = final.weight, once.segments[STEP], final.gradient
        shards, wide, before = self._sizes.zero in (1, 2), weight._replace(dtype="float32"), weight.tensor
        made = f"{weight.name}.new" + ".shard" * shards
        if self._sizes.master:
            before = self._tensor(device, wide, f"{weight.name}.master", BUFFER)
            gradient = self._cast(device, wide, gradient, f"{weight.name}.grad.wide", GRADIENT, nodes)
            made = f"{weight.name}.master.new"
        olds = (before, *(self._tensor(device, wide, f"{weight.name}.{name}", BUFFER) for name in names))
        news = self._stepped(device, wide, gradient, olds, (made, *(f"{weight.name}.{n}.new" for n in names)), nodes)
        news = self._kept(device, wide, skip, olds, news, nodes) if skip != ABSENT else news
        new = news[0]
        once.outputs.extend(zip(news[1:], olds[1:], strict=True))
        if self._sizes.master:
            once.outputs.append((new, before))
            new = self._cast(device, weight, new, f"{weight.name}.new" + ".shard" * shards, ACTIVATION, nodes)
        if not shards:
            once.outputs.append((new, weight.tensor))
            return
        gathered = self._tensor(device, weight._replace(sharded=False, divided=False), f"{weight.name}.new", ACTIVATION)
        self._parameters[device].shards.gather(nodes, weight, new, gathered, f"{weight.name}.new.piece", ACTIVATION)
        held = self._parameters[device].trained[weight.name].weight
        once.outputs.append((gathered, held.tensor))

    def _stepped(
        self, device: int, wide: Value, gradient: int, olds: tuple[int, ...], names: tuple[str, ...], nodes: list[Node]
    ) -> tuple[int, ...]:
        """What the optimizer makes of the weight and its states."""
        constants, _ = _STATES[self._sizes.optimizer]
        news = tuple(self._tensor(device, wide, name, ACTIVATION) for name in names)
        name, inputs = f"{wide.name}.{self._sizes.optimizer}", (olds[0], gradient, *olds[1:])
        nodes.append(self._draft.node(self._sizes.optimizer, inputs, news, constants, name))
        return news

    def _kept(
        self, device: int, wide: Value, skip: int, olds: tuple[int, ...], news: tuple[int, ...], nodes: list[Node]
    ) -> tuple[int, ...]:
        """The weight and its states as they are after the step, or as they were where it is skipped."""
        found = []
        for old, new in zip(olds, news, strict=True):
            name = f"{self._draft.logicals[self._draft.tensors[new].logical].name}.kept"
            found.append(self._tensor(device, wide, name, ACTIVATION))
            nodes.append(self._draft.node("aten.where.self", (skip, old, new), (found[-1],), {}, name))
        return tuple(found)

    def _cast(self, device: int, wide: Value, before: int, name: str, kind: str, nodes: list[Node]) -> int:
        after = self._tensor(device, wide, name, kind)
        nodes.append(self._draft.node("to", (before,), (after,), {"dtype": wide.dtype}, name))
        return after

    def _tensor(self, device: int, value: Value, name: str, kind: str, origin: str = "") -> int:
        return self._draft.share(self._mesh, device, value, name, kind, (), origin)
