"""Plan files of nnScaler (https://github.com/microsoft/nnscaler): pickles of its ModuleCodeGen objects."""

from verdict.backends.nnscaler.load import parse, read, recognises

__all__ = ["parse", "read", "recognises"]
