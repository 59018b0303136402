"""The order of one pipeline stage's work: one forward, one backward (1F1B), as Megatron's without interleaving.

Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, SC 2021, section 2.2.
Where two neighbours exchange an activation for a gradient, the earlier stage sends first and the later one receives
first, so that the order is free of deadlock even where a send waits for its receive.
"""

from collections.abc import Iterator

FORWARD, BACKWARD = "forward", "backward"
RECEIVE_FORWARD, SEND_FORWARD = "receive_forward", "send_forward"
RECEIVE_BACKWARD, SEND_BACKWARD = "receive_backward", "send_backward"


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
