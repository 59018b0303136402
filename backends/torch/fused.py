"""The steps of optimizers that torch has in one operator (torch._fused_*_), taken apart as torch's own Python does."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

Given = Mapping[str, Any]


def is_known(name: str) -> bool:
    """Whether a call of the operator `name` can be taken apart."""
    return name in _STEPS


def take(name: str, given: Given) -> None:
    """Run the step by operators on single tensors. Where a GradScaler has part in it, gradients are unscaled first, and
    there is no step where one of them was no finite number.
    """
    if given["found_inf"] is not None and given["found_inf"].item() != 0:
        return
    rate = given["lr"]
    rate = rate.item() if isinstance(rate, torch.Tensor) else rate
    for position, (param, grad) in enumerate(zip(given["self"], given["grads"], strict=True)):
        if given["grad_scale"] is not None:
            grad.div_(given["grad_scale"])
        _STEPS[name](given, rate, position, param, torch.neg(grad) if given["maximize"] else grad)


def _adam(given: Given, rate: float, position: int, param: Any, grad: Any) -> None:
    """Weight decay is part of the gradient."""
    decay = given["weight_decay"]
    _moments(given, rate, position, param, grad.add(param, alpha=decay) if decay else grad)


def _adamw(given: Given, rate: float, position: int, param: Any, grad: Any) -> None:
    """Weight decay is a factor of the weight."""
    if given["weight_decay"]:
        param.mul_(1 - rate * given["weight_decay"])
    _moments(given, rate, position, param, grad)


def _moments(given: Given, rate: float, position: int, param: Any, grad: Any) -> None:
    first, second = given["exp_avgs"][position], given["exp_avg_sqs"][position]
    step = given["state_steps"][position].item()
    first.lerp_(grad, 1 - given["beta1"])
    second.mul_(given["beta2"]).addcmul_(grad, grad, value=1 - given["beta2"])
    if given["amsgrad"]:
        greatest = given["max_exp_avg_sqs"][position]
        second = torch.maximum(greatest, second, out=greatest)
    root = (1 - given["beta2"] ** step) ** 0.5
    param.addcdiv_(first, (second.sqrt() / root).add_(given["eps"]), value=-rate / (1 - given["beta1"] ** step))


def _sgd(given: Given, rate: float, position: int, param: Any, grad: Any) -> None:
    if given["weight_decay"]:
        grad = grad.add(param, alpha=given["weight_decay"])
    if given["momentum"]:
        buffer = given["momentum_buffer_list"][position]
        if given["is_first_step"]:
            buffer.copy_(grad)
        else:
            buffer.mul_(given["momentum"]).add_(grad, alpha=1 - given["dampening"])
        grad = grad.add(buffer, alpha=given["momentum"]) if given["nesterov"] else buffer
    param.add_(grad, alpha=-rate)


def _adagrad(given: Given, rate: float, position: int, param: Any, grad: Any) -> None:
    total, step = given["state_sums"][position], given["state_steps"][position].item()
    if given["weight_decay"]:
        grad = grad.add(param, alpha=given["weight_decay"])
    total.addcmul_(grad, grad, value=1)
    param.addcdiv_(grad, total.sqrt().add_(given["eps"]), value=-rate / (1 + (step - 1) * given["lr_decay"]))


_STEPS: Mapping[str, Callable[[Given, float, int, Any, Any], None]] = {
    "_fused_adam_": _adam, "_fused_adamw_": _adamw, "_fused_sgd_": _sgd, "_fused_adagrad_": _adagrad,
}  # fmt: skip
