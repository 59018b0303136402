"""Fused steps of optimizers: what they are taken apart into is what torch's kernels compute."""

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.arguments import Call  # noqa: E402
from verdict.backends.torch.fused import is_known, take  # noqa: E402

COMMON = {"lr": 0.1, "weight_decay": 0.2, "maximize": True}
MOMENTS = {**COMMON, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3}
CASES = (
    ("_fused_adam_", ("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"), {**MOMENTS, "amsgrad": False}),
    ("_fused_adam_", ("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"), {**MOMENTS, "amsgrad": True}),
    ("_fused_adamw_", ("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps"), {**MOMENTS, "amsgrad": True}),
    ("_fused_adagrad_", ("state_sums", "state_steps"), {**COMMON, "lr_decay": 0.3, "eps": 1e-3}),
    *(
        ("_fused_sgd_", ("momentum_buffer_list",), {**COMMON, "momentum": momentum, "dampening": 0.3} | flags)
        for momentum in (0.0, 0.9)
        for flags in ({"nesterov": n, "is_first_step": f} for n in (False, True) for f in (False, True))
    ),
)


def lists(names, numbers, seed=1):
    """Weights, gradients and states of two sizes, all positive; lists that a kernel wants empty are."""
    unused = [] if numbers.get("amsgrad", True) else ["max_exp_avg_sqs"]
    unused += [] if numbers.get("momentum", 1) else ["momentum_buffer_list"]
    torch.manual_seed(seed)
    made = [[torch.rand(size, dtype=torch.float64) + 0.1 for size in ((2, 3), (4,))] for _ in range(2)]
    states = {name: [torch.rand_like(each) + 0.1 for each in made[0]] for name in names}
    for name in unused:
        states[name] = []
    if "state_steps" in states:
        states["state_steps"] = [torch.tensor(3.0), torch.tensor(5.0)]
    return [*made, *states.values()]


@pytest.mark.parametrize(("name", "states", "numbers"), CASES)
def test_a_step_in_single_operators_is_the_fused_step(name, states, numbers):
    func = getattr(torch.ops.aten, name).default
    ours, theirs = lists(states, numbers), lists(states, numbers)
    func(*theirs, **numbers)
    given = Call.of(func, ours, numbers).given
    assert is_known(name, given)
    take(name, given)
    for one, other in zip(ours, theirs, strict=True):
        for mine, its in zip(one, other, strict=True):
            torch.testing.assert_close(mine, its)


def test_a_step_in_which_a_scaler_has_part_is_not_known():
    func, scale = torch.ops.aten._fused_adam_.default, torch.tensor(2.0)
    numbers = {**MOMENTS, "amsgrad": False}
    call = Call.of(func, lists(CASES[0][1], numbers), {**numbers, "grad_scale": scale})
    assert not is_known("_fused_adam_", call.given)
