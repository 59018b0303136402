"""Fused steps of optimizers: what they are taken apart into is what torch's kernels compute."""

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch import scaling  # noqa: E402
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
    assert is_known(name)
    take(name, given)
    for one, other in zip(ours, theirs, strict=True):
        for mine, its in zip(one, other, strict=True):
            torch.testing.assert_close(mine, its)


@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize(("name", "states", "numbers"), CASES)
def test_a_scaler_has_part_in_a_step(name, states, numbers, found):
    """Gradients are unscaled, and where one was no finite number there is no step."""
    func = getattr(torch.ops.aten, name).default
    given = {**numbers, "grad_scale": torch.tensor(4.0), "found_inf": torch.tensor(found)}
    before, ours, theirs = (lists(states, numbers) for _ in range(3))
    func(*theirs, **given)
    take(name, Call.of(func, ours, given).given)
    assert torch.equal(ours[0][0], before[0][0]) == bool(found)
    for one, other in zip(ours, theirs, strict=True):
        for mine, its in zip(one, other, strict=True):
            torch.testing.assert_close(mine, its)


NOT_FINITE = (None, float("inf"), float("-inf"), float("nan"))


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize("before", [0.0, 1.0])
def test_gradients_are_unscaled_in_single_operators_as_by_a_scaler(number, before):
    func = torch.ops.aten._amp_foreach_non_finite_check_and_unscale_.default
    made = []
    for _ in range(2):
        torch.manual_seed(1)
        made.append(([torch.randn(2, 3), torch.randn(0), torch.randn(4)], torch.full((1,), before), torch.tensor(0.25)))
        if number is not None:
            made[-1][0][0][1, 2] = number
    func(*made[0])
    scaling.take(func._schema.name.split("::")[1], Call.of(func, made[1], {}).given)
    assert made[0][1].item() == (before if number is None else 1.0)
    torch.testing.assert_close(made[1], made[0], equal_nan=True)


@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize(("scale", "steps"), [(8.0, 0), (8.0, 1), (3e38, 1)])
def test_a_scale_is_updated_in_single_operators_as_by_a_scaler(scale, steps, found):
    func = torch.ops.aten._amp_update_scale_.default
    numbers = {"scale_growth_factor": 2.0, "scale_backoff_factor": 0.5, "growth_interval": 2}
    made = [(torch.tensor(scale), torch.tensor(steps, dtype=torch.int32), torch.tensor(found)) for _ in range(2)]
    func(*made[0], **numbers)
    scaling.take("_amp_update_scale_", Call.of(func, made[1], numbers).given)
    torch.testing.assert_close(made[1], made[0])
