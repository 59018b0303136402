"""A training step as its parts: what makes the model, what parallelizes it, an example batch and a mesh.

From these a Program is built for every rank. What it says of its tensors is inferred and then proved like any other
claim: a rank has the part of the batch that its place on the mesh's data axes gives it, of the loss the part of a mean
over them, of parameters what their placements say (DTensor, FSDP2), or Megatron's marks, else all.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from verdict.backends.torch.program import REPLICATE, Context, Program, Share, mean, partial, shard
from verdict.errors import UsageError
from verdict.words import listed

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh

DATA_AXES = frozenset({"dp", "ddp", "data", "fsdp", "dp_replicate", "dp_shard", "replicate", "shard", "hsdp"})
"""Names of mesh axes along which the batch is divided, where nothing else is said."""
MOST_TOLD = 6
"""So many names of tensors are said in an assumption."""
WRAPPERS = frozenset({"_checkpoint_wrapped_module", "_orig_mod", "_fsdp_wrapped_module"})
"""What checkpointing, compilation and the first FSDP put into the names of parameters."""


@dataclass(frozen=True)
class Step:
    """One training step on one device and on a mesh, to be called as the `build` of both.

    model: makes the single-device model. parallel: takes it and the mesh, and returns what is called in its place; None
    is a model that the mesh's ranks run as it is. batch: tensors by name for the model's call, all of the batch along
    their first dimension, or a function that makes them. mesh: the sizes of its axes by name, from the slowest, or a
    number of data parallel ranks. loss: takes what the model returns, and the batch; default: its attribute `loss`, or
    itself. optimizer: takes the parameters. clip: the norm to which gradients are clipped. data: the mesh axes that
    divide the batch; default: those that are called so (DATA_AXES). whole: tensors of the batch that are not divided.
    summed: whether the loss is the sum of the ranks' own, instead of their mean. specs, ranges, names: as in Program,
    in addition to what is inferred.
    """

    model: Callable[[], Any]
    parallel: Callable[[Any, "DeviceMesh"], Any] | None
    batch: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    mesh: Mapping[str, int] | int
    loss: Callable[[Any, Mapping[str, Any]], Any] | None = None
    optimizer: Callable[[Any], Any] | None = None
    clip: float | None = None
    data: Sequence[str] | None = None
    whole: Sequence[str] = ()
    summed: bool = False
    specs: Mapping[str, Share] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def axes(self) -> dict[str, int]:
        """The mesh's axes and their sizes."""
        return {"dp": self.mesh} if isinstance(self.mesh, int) else dict(self.mesh)

    @property
    def world(self) -> int:
        """How many ranks the mesh has."""
        return prod(self.axes.values())

    def __call__(self, ctx: Context, made: Callable[[Any], None] = lambda model: None) -> Program:
        """The Program of a rank: that of one device where there is one rank, else that of the mesh. made: is given the
        model before it is parallelized.
        """
        if ctx.world == 1:
            model = self.model()
            return self._program(model, model, model, (0, 1), {})
        if ctx.world != self.world:
            raise UsageError("Step", f"its mesh has {self.world} ranks, there are {ctx.world}", "--world is the mesh's")
        from torch.distributed.device_mesh import init_device_mesh  # noqa: PLC0415  (importing this needs no torch)

        mesh = init_device_mesh("cpu", tuple(self.axes.values()), mesh_dim_names=tuple(self.axes))
        place = dict(zip(self.axes, mesh.get_coordinate() or (), strict=True))
        model = self.model()
        made(model)
        called = model if self.parallel is None else self.parallel(model, mesh)
        if called is None:
            raise UsageError("Step.parallel", "it returns nothing", "return the model, or what is called in its place")
        return self._program(model, _within(called), called, self._part(place), _marked(called, self.axes, place))

    def _part(self, place: Mapping[str, int]) -> tuple[int, int]:
        """Which part of the batch a rank has, of how many."""
        axes = [name for name in self.axes if name in (DATA_AXES if self.data is None else self.data)]
        part = 0
        for name in axes:
            part = part * self.axes[name] + place[name]
        return part, prod(self.axes[name] for name in axes)

    def _program(
        self, model: Any, trained: Any, called: Any, part: tuple[int, int], marked: Mapping[str, Share]
    ) -> Program:
        """model: as it is made. trained: the module with what became of its parameters, in `called`."""
        import torch  # noqa: PLC0415  (importing this needs no torch)

        given = dict(self.batch() if callable(self.batch) else self.batch)
        tensors = {name: value for name, value in given.items() if isinstance(value, torch.Tensor)}
        divided = {name: _rows(name, value, part) for name, value in tensors.items() if name not in self.whole}
        batch = {**given, **divided}
        stepper = None if self.optimizer is None else self.optimizer(called.parameters())

        def step() -> Any:
            made = called(**_taken(called, model, batch))
            found = self.loss(made, batch) if self.loss else getattr(made, "loss", made)
            if not isinstance(found, torch.Tensor) or found.numel() != 1:
                raise UsageError("Step.loss", "it is no tensor of one element", "give loss=, which makes it one")
            found.backward()
            if self.clip is not None:
                torch.nn.utils.clip_grad_norm_(called.parameters(), self.clip)
            if stepper is not None:
                stepper.step()
            return found

        rows = {name: shard(0, *part) for name in divided} if part[1] > 1 else {}
        of_all = partial if self.summed else mean
        inferred = {"batch": divided if part[1] > 1 else (), "marks": marked, "placements": _placed(trained)}
        return Program(
            inputs={name: value for name, value in batch.items() if name in tensors},
            params=trained,
            step=step,
            optimizer=stepper,
            loss=of_all(*part) if part[1] > 1 else REPLICATE,
            specs={**rows, **marked, **self.specs},
            ranges=self.ranges,
            names={**_unwrapped(trained, model), **self.names},
            inferred=_said(inferred, part[1], self.summed),
            parallel=self.parallel,
        )


def _placed(model: Any) -> list[str]:
    """Names of the parameters whose placements say what they are."""
    from torch.distributed.tensor import DTensor  # noqa: PLC0415  (importing this needs no torch)

    return [name for name, param in model.named_parameters() if isinstance(param, DTensor)]


def _said(names: Mapping[str, Iterable[str]], parts: int, summed: bool) -> str:
    """What is inferred of tensors, in words that all ranks share. parts: ranks that divide the batch."""
    loss = "sum of theirs" if summed else "mean of theirs (a sum: summed=True)"
    texts = {
        "batch": f"rows of {{}} are divided among {parts} data parallel ranks, and the loss is the {loss}",
        "placements": "placements say which part of {} a rank has",
        "marks": "tensor_model_parallel marks say which part of {} a rank has",
    }
    told = [texts[kind].format(listed(list(some), MOST_TOLD)) for kind, some in names.items() if some]
    return "; ".join(told)


def _rows(name: str, tensor: Any, part: tuple[int, int]) -> Any:
    """The part of a tensor of the batch, with memory of its own."""
    if not tensor.dim() or tensor.shape[0] % part[1]:
        problem = f"its shape is {list(tensor.shape)}, and {part[1]} data parallel ranks divide its first dimension"
        raise UsageError(f"Step.batch: {name}", problem, "give a batch that they divide, or name it in `whole`")
    return tensor.chunk(part[1])[part[0]].clone()


def _taken(called: Any, model: Any, batch: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of the batch what the call takes; where it takes any name, what the model's does: all where that does, too."""
    for inner in (_within(called), model):
        kinds = inspect.signature(inner.forward if hasattr(inner, "forward") else inner).parameters
        if all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in kinds.values()):
            return {name: value for name, value in batch.items() if name in kinds}
    return batch


def _within(called: Any) -> Any:
    """The module whose parameters are trained: what DistributedDataParallel or the first FSDP wraps."""
    from torch.distributed.fsdp import (  # noqa: PLC0415  (importing this needs no torch)
        FullyShardedDataParallel,
        ShardingStrategy,
    )
    from torch.nn.parallel import DistributedDataParallel  # noqa: PLC0415

    if isinstance(called, FullyShardedDataParallel) and called.sharding_strategy is not ShardingStrategy.NO_SHARD:
        problem = "the first FSDP keeps parts of flat parameters, and nothing says of which parameters they are"
        raise UsageError("Step.parallel", problem, "use fully_shard, or a Program with summon_full_params in `outputs`")
    return called.module if isinstance(called, DistributedDataParallel | FullyShardedDataParallel) else called


def _marked(called: Any, axes: Mapping[str, int], place: Mapping[str, int]) -> dict[str, Share]:
    """Shares that Megatron's marks on parameters say: `tensor_model_parallel` along `partition_dim`, over `tp`."""
    if "tp" not in axes:
        return {}
    named = _within(called).named_parameters()
    marked = {name: param for name, param in named if getattr(param, "tensor_model_parallel", False)}
    for name, param in marked.items():
        if getattr(param, "partition_stride", 1) != 1:
            problem = f"a rank has {param.partition_stride} pieces of it that lie apart (partition_stride)"
            raise UsageError(f"Step.parallel: {name}", problem, "keep what lies apart in parameters of its own")
    return {name: shard(param.partition_dim, place["tp"], axes["tp"]) for name, param in marked.items()}


def _unwrapped(trained: Any, model: Any) -> dict[str, str]:
    """Names of parameters and buffers as `model` calls them, where they differ: without what wrappers put into them,
    and without the place that the model has within what is trained; where it is not there, without `module.` in front.
    """
    place = next((name for name, module in trained.named_modules() if module is model), None)
    found = {}
    for name, _ in (*trained.named_parameters(), *trained.named_buffers()):
        plain = name
        if place is None:
            while plain.startswith("module."):
                plain = plain.removeprefix("module.")
        else:
            plain = plain.removeprefix(f"{place}." if place else "")
        plain = _without_wrappers(trained, name, len(name) - len(plain))
        if plain != name:
            found[name] = plain
    return found


def _without_wrappers(trained: Any, name: str, start: int) -> str:
    """The name from a place on, without what wrappers put into it."""
    from torch.nn.parallel import DistributedDataParallel  # noqa: PLC0415  (importing this needs no torch)

    kept, path = [], name[:start].rstrip(".")
    for part in name[start:].split("."):
        wraps = part == "module" and isinstance(trained.get_submodule(path), DistributedDataParallel)
        if part not in WRAPPERS and not wraps:
            kept.append(part)
        path = f"{path}.{part}".lstrip(".")
    return ".".join(kept)
