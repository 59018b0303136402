"""What DistributedDataParallel does with a bucket of gradients: its own way, or a program's communication hook."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from verdict.backends.torch.trace import WAITS
from verdict.errors import UsageError
from verdict.words import listed

OWN = (
    "ddp-averages",
    "DistributedDataParallel divides each bucket of gradients by the number of ranks and sums it over them",
)
"""Its own way of doing so needs a process group that moves data, so a hook stands for it."""
HOOK = (
    "ddp-hook",
    "what a communication hook does once its communication has ended meets nothing that the program does meanwhile",
)

MOST_WAITED = 4
"""So many names of parameters are said there."""


class Arrived:
    """The future of a communication, or of what follows it: whoever asks for its value waits for it."""

    def __init__(self, waited: Callable[[], Any]) -> None:
        self.wait = self.value = waited

    def then(self, follow: Callable[["Arrived"], Any]) -> "Arrived":
        """What follows, which is done at once."""
        found = follow(self)
        return Arrived(lambda: found)


class Hooks:
    """The hooks of a program. notes: what is assumed, (name, text), which they add to."""

    def __init__(self, notes: list[tuple[str, str]]) -> None:
        self._notes, self._within, self._models = notes, False, list[DistributedDataParallel]()

    def stand_in(self, model: DistributedDataParallel) -> None:
        """Our hook, which does what torch does until the program has one of its own, which it then calls."""
        register, joins, chosen = model.register_comm_hook, model.join_hook, list[tuple[Any, Callable[..., Any]]]()

        def hook(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
            return self._run(*chosen[0], bucket) if chosen else _average(group, bucket)

        def choose(state: Any, own: Callable[..., Any]) -> None:
            if chosen:
                register(state, own)  # which torch refuses: a model has one hook
            model._check_comm_hook(own)
            chosen.append((state, own))
            self._notes.remove(OWN)
            self._notes.append(HOOK)

        def join(**how: Any) -> Any:
            if not how.get("divide_by_initial_world_size", True):
                problem = "what is divided by the ranks that have not joined yet is not recorded"
                raise UsageError("DistributedDataParallel", problem, "divide by the initial size, as is the default")
            return joins(**how)

        register(model.process_group, hook)
        model.register_comm_hook, model.join_hook = choose, join
        self._notes.append(OWN)
        self._models.append(model)

    def waiting(self) -> list[tuple[str, str]]:
        """What is said of the models that wait, when the step has ended, for gradients that nothing has computed."""
        found = []
        for model in self._models:
            trained = [(name, each.grad) for name, each in model.module.named_parameters() if each.requires_grad]
            left = [name for name, grad in trained if grad is None]
            waits = not (model.find_unused_parameters or model.static_graph)
            if waits and left and len(left) < len(trained):
                text = (
                    f"DistributedDataParallel waits for the gradient of {listed(left, MOST_WAITED)}, which the step "
                    "does not make, and reduces no gradient of its bucket (find_unused_parameters=True does not wait)"
                )
                found.append((WAITS, text))
        return found

    def future(self, written: Callable[[Any], Sequence[torch.Tensor]], work: Any) -> Arrived | None:
        """The future of a work. written: the tensors that a work writes. None outside of a hook, whose future torch
        waits for, and where it writes several: how they are listed is the back end's own.
        """
        tensors = list(written(work)) if self._within else []

        def waited() -> list[torch.Tensor]:
            work.wait()
            return tensors

        return Arrived(waited) if len(tensors) == 1 else None

    def _run(self, state: Any, own: Callable[..., Any], bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        self._within = True
        try:
            found = own(state, bucket)
        finally:
            self._within = False
        if not isinstance(found, Arrived | torch.futures.Future):
            problem = f"a communication hook returns {type(found).__name__}, no future"
            raise UsageError("DistributedDataParallel", problem, "return the future of what it has begun")
        return _done(found.wait())


def _average(group: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """What DistributedDataParallel does with a bucket: divide it by the number of ranks, and sum. Gradient by gradient:
    elements of a bucket do not meet, and what is proved of a weight is then no more than what concerns it.
    """
    for grad in bucket.gradients():
        grad.div_(dist.get_world_size(group))
        dist.all_reduce(grad, group=group)
    return _done(bucket.buffer())


def _done(value: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
    done: Any = torch.futures.Future()
    done.set_result(value)
    return done
