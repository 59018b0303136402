"""What torch.amp.GradScaler does in operators of its own, taken apart: gradients unscaled, and the next scale.

    found_inf = 1 where a gradient holds what is no finite number        gradient = gradient / scale
    scale     = scale * backoff where one was found, scale * growth after so many steps without one
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch

Given = Mapping[str, Any]


def is_known(name: str) -> bool:
    """Whether the operator `name` is one of those."""
    return name in _STEPS


def take(name: str, given: Given) -> Any:
    """Run it by operators on single tensors; what it returns."""
    return _STEPS[name](given)


def _unscaled(given: Given) -> None:
    """The greatest of a gradient is no finite number where one of its elements is none."""
    found = given["found_inf"]
    for grad in given["self"]:
        if grad.numel():
            beyond = torch.isfinite(grad.abs().amax()).logical_not().to(found.dtype)
            found.copy_(torch.maximum(found, beyond.expand_as(found)))
        grad.mul_(given["inv_scale"].to(grad.dtype))


def _updated(given: Given) -> Any:
    scale, steps = given["self"], given["growth_tracker"]
    found = given["found_inf"] != 0
    counted = steps + 1
    grows = counted == given["growth_interval"]
    larger = scale * given["scale_growth_factor"]
    grown = torch.where(grows & torch.isfinite(larger), larger, scale)
    scale.copy_(torch.where(found, scale * given["scale_backoff_factor"], grown))
    steps.copy_(torch.where(found | grows, torch.zeros_like(counted), counted))
    return scale


_STEPS: Mapping[str, Callable[[Given], Any]] = {
    "_amp_foreach_non_finite_check_and_unscale_": _unscaled, "_amp_update_scale_": _updated,
}  # fmt: skip
