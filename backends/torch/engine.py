"""The engine of torch for `verdict run`: there where torch is installed."""

from importlib.util import find_spec

from verdict.comparison import Engine


def torch_engine() -> Engine | None:
    """The engine, None where torch is not installed. torch is imported here and not before."""
    if find_spec("torch") is None:
        return None
    from verdict.backends.torch.oracle import ENGINE  # noqa: PLC0415

    return ENGINE
