"""The order of one device's work in a pipeline: one forward, one backward (1F1B), as Megatron's; interleaved where
each device has several stages.

Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021, section 2.2.
Interleaved: Megatron-LM, megatron/core/pipeline_parallel/schedules.py; its receives are taken when they are needed.
Where two neighbours exchange an activation for a gradient, the earlier stage sends first and the later one receives
first, so that the order is free of deadlock even where a send waits for its receive.
"""

from collections.abc import Iterator

FORWARD, BACKWARD = "forward", "backward"
RECEIVE_FORWARD, SEND_FORWARD = "receive_forward", "send_forward"
RECEIVE_BACKWARD, SEND_BACKWARD = "receive_backward", "send_backward"
BACKWARD_WEIGHTS = "backward_weights"


def schedule(device: int, devices: int, chunks: int, microbatches: int) -> Iterator[tuple[str, int]]:
    """The (work, microbatch) pairs of a device in order; work that a stage does not have is passed over by others.

    Where a backward pass is in two, the gradients of weights follow what the stage before waits for.
    """
    if chunks == 1:
        order = one_forward_one_backward(device, devices, microbatches)
    else:
        order = interleaved(device, devices, chunks, microbatches)
    for work, microbatch in order:
        yield work, microbatch
        if work.startswith(SEND_BACKWARD):
            yield work.replace(SEND_BACKWARD, BACKWARD_WEIGHTS), microbatch


def named(work: str, chunk: int, chunks: int) -> str:
    """What a device's work for its stage number `chunk` is called."""
    return work if chunks == 1 else f"{work}.{chunk}"


def interleaved(device: int, devices: int, chunks: int, microbatches: int) -> Iterator[tuple[str, int]]:
    """1F1B of stages of which each device has several; `microbatches` is a multiple of `devices`."""
    total = microbatches * chunks
    warm = min(2 * (devices - device - 1) + (chunks - 1) * devices, total)

    def forward(at: int) -> Iterator[tuple[str, int]]:
        chunk, microbatch = at // devices % chunks, at // (devices * chunks) * devices + at % devices
        for work in (RECEIVE_FORWARD, FORWARD, SEND_FORWARD):
            yield named(work, chunk, chunks), microbatch

    def backward(at: int) -> Iterator[tuple[str, int]]:
        chunk, microbatch = chunks - 1 - at // devices % chunks, at // (devices * chunks) * devices + at % devices
        for work in (RECEIVE_BACKWARD, BACKWARD, SEND_BACKWARD):
            yield named(work, chunk, chunks), microbatch

    for at in range(warm):
        yield from forward(at)
    for at in range(total - warm):
        yield from forward(warm + at)
        yield from backward(at)
    for at in range(total - warm, total):
        yield from backward(at)


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> Iterator[tuple[str, int]]:
    """The (work, microbatch) pairs of `stage` in order. The first stage receives no activation, the last none back."""
    warm = min(stages - 1 - stage, microbatches)
    for microbatch in range(warm):
        yield RECEIVE_FORWARD, microbatch
        yield FORWARD, microbatch
        yield SEND_FORWARD, microbatch
    if warm < microbatches:
        yield RECEIVE_FORWARD, warm
    for back, microbatch in enumerate(range(warm, microbatches)):
        yield FORWARD, microbatch
        yield SEND_FORWARD, microbatch
        yield RECEIVE_BACKWARD, back
        yield BACKWARD, back
        if microbatch + 1 < microbatches:
            yield RECEIVE_FORWARD, microbatch + 1
        yield SEND_BACKWARD, back
    for back in range(microbatches - warm, microbatches):
        yield RECEIVE_BACKWARD, back
        yield BACKWARD, back
        yield SEND_BACKWARD, back
