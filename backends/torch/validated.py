"""Distributions that look whether what they are given is in range, and raise where it is not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributions import Distribution

from verdict.backends.torch.host import replaced
from verdict.backends.torch.recorder import Recorder

VALID = "valid-arguments"
"""The assumption that they find no fault with what they are given."""

_SINGLE = torch.Size()


@contextmanager
def unvalidated(recorder: Recorder) -> Iterator[None]:
    """Distributions do not look at numbers, unless they are told to, and the recording says that they find no fault."""
    before = Distribution.__init__

    def begin(
        self: Any, batch_shape: Any = _SINGLE, event_shape: Any = _SINGLE, validate_args: bool | None = None
    ) -> None:
        if validate_args is None and self._validate_args:
            where = recorder.origin.name(type(self).__name__)
            recorder.notes[VALID] = f"what distributions are given is in range, as they raise otherwise: {where}"
            validate_args = False
        before(self, batch_shape, event_shape, validate_args)

    with replaced(Distribution, "__init__", begin):
        yield
