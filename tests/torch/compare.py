"""Replays of recorded plans on random tensors, held against each other and against torch."""

from collections import defaultdict

import torch

from verdict.backends.torch.replay import replay

CLOSE = 2e-4
INDICES = 6
"""Indices are below the size of the smallest vocabulary of the examples."""


def random_tensors(plan, seed=0):
    """A whole tensor of numbers (or of indices) for every input, weight and buffer."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for logical in plan.logicals:
        if logical.kind not in ("input", "weight", "buffer"):
            continue
        if logical.dtype == "int64":
            found[logical.name] = torch.randint(0, INDICES, logical.shape, generator=generator)
        else:
            found[logical.name] = torch.randn(logical.shape, generator=generator)
    return found


def name_of(plan, held):
    return plan.logicals[plan.tensors[held.tensor].logical].name


def differences(single, parallel, seed=0):
    """The declared outputs of which the replay of `parallel` differs from the region that it should be."""
    given = random_tensors(single, seed)
    whole = {name: value for (_, name), value in replay(single, given).items()}
    held = replay(parallel, given)
    groups = defaultdict(lambda: defaultdict(list))
    for end in parallel.declared:
        tensor, name = parallel.tensors[end.tensor], name_of(parallel, end)
        groups[name, tensor.region, tensor.part[1]][tensor.part[0]].append(held[end.device, name])
    found = [name for name in whole if name not in {name for name, _, _ in groups}]
    for (name, region, parts), by_part in groups.items():
        want = whole[name][tuple(slice(*interval) for interval in region)]
        if set(by_part) != set(range(parts)):
            found.append(name)
            continue
        for copy in range(max(map(len, by_part.values()))):
            total = sum(values[min(copy, len(values) - 1)] for values in by_part.values())
            if total.shape != want.shape or not torch.allclose(total, want, CLOSE, CLOSE):
                found.append(name)
    return sorted(set(found))


def run_eagerly(program, given):
    """The loss and the gradients of a program on these tensors, without any recording."""
    params = program.params
    params = dict(params.named_parameters()) if isinstance(params, torch.nn.Module) else dict(params)
    with torch.no_grad():
        for name, tensor in {**program.inputs, **params}.items():
            tensor.copy_(given[name])
    loss = program.step()
    return {"loss": loss.detach(), **{f"{name}.grad": p.grad for name, p in params.items() if p.grad is not None}}
