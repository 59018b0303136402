"""What looks whether the numbers that it is given are in range, and raises where they are not."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch.distributions import Distribution
from torch.nn import functional

from verdict.backends.torch.host import replaced
from verdict.backends.torch.importers import importers
from verdict.backends.torch.recorder import Recorder

VALID = "valid-arguments"
"""The assumption that it finds no fault with what it is given."""
GAUSSIAN = "gaussian_nll_loss"
"""The loss that asks whether any variance is negative."""
BY_NAME = ((functional, GAUSSIAN),)
"""What is replaced in all modules that have it."""

_SINGLE = torch.Size()


@contextmanager
def unvalidated(recorder: Recorder) -> Iterator[None]:
    """Distributions do not look at numbers, unless they are told to, nor does the Gaussian loss, and the recording says
    that they find no fault.
    """
    before, gaussian = Distribution.__init__, getattr(functional, GAUSSIAN)

    def noted(name: str) -> None:
        where = recorder.origin.name(name)
        recorder.notes[VALID] = f"what distributions are given is in range, as they raise otherwise: {where}"

    def begin(
        self: Any, batch_shape: Any = _SINGLE, event_shape: Any = _SINGLE, validate_args: bool | None = None
    ) -> None:
        if validate_args is None and self._validate_args:
            noted(type(self).__name__)
            validate_args = False
        before(self, batch_shape, event_shape, validate_args)

    def loss(*args: Any, **given: Any) -> Any:
        noted(GAUSSIAN)
        with replaced(torch, "any", lambda negative: False):
            return gaussian(*args, **given)

    with ExitStack() as stack:
        stack.enter_context(replaced(Distribution, "__init__", begin))
        for module in importers(*BY_NAME[0]):
            stack.enter_context(replaced(module, GAUSSIAN, loss))
        yield
