"""Tasks on a Ray cluster: each a Ray task, tried once more where its worker or node is lost. Needs the extra `ray`."""

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from verdict.batches.executor import ATTEMPTS, Executor, Result, Task
from verdict.batches.version import require_same, versions_here
from verdict.errors import UsageError
from verdict.outcome import Unknown


def on_ray(address: str | None, cores: float = 1.0) -> Executor:
    """An executor on the cluster at this address; None is the running one, or one that is begun on this machine.

    cores: that a task takes of its node. Raises UsageError where Ray is not installed or there is no such cluster.
    """
    if find_spec("ray") is None:
        raise UsageError("--engine ray", "Ray is not installed", "python -m pip install 'verdict-parallel[ray]'")
    import ray  # noqa: PLC0415  (only those who ask for it have it)

    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UsageError("--engine ray", f"there is no cluster: {_first_line(error)}", "is it running?") from None

    def execute(
        tasks: Sequence[Task], run: Callable[[Task], Result], told: Callable[[int, Result | Unknown], Any],
        seconds: float,
    ) -> None:  # fmt: skip
        folder, versions = os.getcwd(), versions_here()

        def one(task: Task) -> Result:
            require_same(versions)
            _enter(folder)
            return run(task)

        remote = ray.remote(num_cpus=cores, max_retries=ATTEMPTS - 1)(one)
        waiting = {remote.remote(task): place for place, task in enumerate(tasks)}
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for reference in ready:
                told(waiting.pop(reference), _outcome(ray, reference))

    return execute


def _enter(folder: str) -> None:
    """Paths are those of the command, wherever the worker began."""
    try:
        os.chdir(folder)
    except OSError as error:
        problem = f"a node cannot go to this folder: {error.strerror}"
        raise UsageError(folder, problem, "run the command in a folder that all nodes have") from None


def _outcome(ray: Any, reference: Any) -> Any:
    """What a task found. What it raised itself is a fault of ours, as in any other process; its loss is not."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise error.as_instanceof_cause() from None
    except ray.exceptions.RayError as error:
        return Unknown(f"its worker was lost, {ATTEMPTS} times: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
