"""Programs that write in place and through views, recorded and replayed: what every tensor holds is what torch says."""

import random

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.origin import Origin  # noqa: E402
from verdict.backends.torch.recorder import Recorder  # noqa: E402
from verdict.backends.torch.replay import apply  # noqa: E402

PROGRAMS, LENGTH = 100, 12


def views(tensor, choose):
    """One of the views that the shape allows."""
    found = [tensor.detach(), tensor.unsqueeze(0), tensor.reshape(-1) if tensor.is_contiguous() else tensor]
    if tensor.dim():
        dim = choose.randrange(tensor.dim())
        size = tensor.shape[dim]
        start = choose.randrange(size)
        found += [
            tensor.narrow(dim, start, choose.randint(1, size - start)),
            tensor.select(dim, start),
            tensor[(slice(None),) * dim + (slice(None, None, 2),)],
            tensor.chunk(2, dim)[-1],
            tensor.unbind(dim)[0],
            tensor.movedim(dim, 0),
            tensor.flip(0),
        ]
    if tensor.dim() == 2:
        found += [tensor.t(), tensor.diagonal()]
    if tensor.numel() > 1 and tensor.is_contiguous():
        found += [
            torch.as_strided(tensor, (tensor.numel() - 1,), (1,), tensor.storage_offset() + 1),
            tensor.view(-1)[1:],
        ]
    return choose.choice(found)


def change(tensor, others, choose):
    """One of the operators that write to a tensor."""
    alike = [other for other in others if other.shape == tensor.shape] or [tensor]
    other = choose.choice(alike).clone()
    choose.choice(
        [
            lambda: tensor.add_(other, alpha=2),
            lambda: tensor.mul_(0.5),
            lambda: tensor.copy_(other),
            lambda: tensor.fill_(3.0),
            tensor.zero_,
            lambda: tensor.lerp_(other, 0.25),
            lambda: tensor.addcmul_(other, other, value=0.5),
            lambda: torch.add(other, 1.0, out=tensor) if tensor.is_contiguous() else tensor.neg_(),
            lambda: torch._foreach_add_([tensor], [other]),
            lambda: torch._foreach_mul_([tensor], 1.5),
            lambda: tensor.masked_fill_(other > 0, -1.0),
        ]
    )()


def run(seed, given):
    """A random program on these tensors; all tensors that it made."""
    choose = random.Random(seed)
    tensors = list(given)
    for _ in range(LENGTH):
        if choose.random() < 0.5 and len(tensors) < 12:
            tensors.append(views(choose.choice(tensors), choose))
        else:
            change(choose.choice(tensors), tensors, choose)
    return tensors


def inputs(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) for shape in ((3, 4), (4,), (2, 3, 2))]


def replayed(recorder, held, wanted):
    """The values that the recorded tape computes from those in `held`."""
    for step in recorder.tape.steps:
        found = apply(step.op, [held[value] for value in step.inputs], dict(step.attrs))
        held.update(zip(step.outputs, found, strict=True))
    return [held[value] for value in wanted]


def recorded(program, given):
    """The values of all tensors that a recorded program makes, by its recording; and as they are."""
    start = [tensor.clone() for tensor in given]
    with Origin() as origin, Recorder(0, origin) as recorder:
        numbers = []
        for tensor in given:
            numbers.append(recorder.tape.value(("", "float32")))
            recorder.memory.write(tensor, numbers[-1])
        tensors = program(given)
        wanted = [recorder.read(tensor) for tensor in tensors]
    return replayed(recorder, dict(zip(numbers, start, strict=True)), wanted), tensors


@pytest.mark.parametrize("part", range(4))
def test_random_programs_hold_what_their_recordings_compute(part):
    for seed in range(part, PROGRAMS, 4):
        found, tensors = recorded(lambda given, seed=seed: run(seed, given), inputs(seed))
        for value, tensor in zip(found, tensors, strict=True):
            assert torch.allclose(value.reshape(tensor.shape), tensor, equal_nan=True), seed


def test_a_write_that_is_forgotten_shows():
    """The comparison can fail: what was recorded before the write is not what the tensor holds after it."""
    given = inputs(0)
    with Origin() as origin, Recorder(0, origin) as recorder:
        number = recorder.tape.value(("", "float32"))
        recorder.memory.write(given[0], number)
        start, before = given[0].clone(), recorder.read(given[0])
        given[0][1].mul_(2.0)
        after = recorder.read(given[0])
    old, new = replayed(recorder, {number: start}, [before, after])
    assert not torch.equal(old, given[0])
    assert torch.equal(new, given[0])
