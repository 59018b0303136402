"""A user's Python files, imported as they are when they are run."""

import sys
from pathlib import Path
from types import ModuleType

from verdict.backends.torch import unordered


def module_in(file: str) -> ModuleType:
    """The module that a file holds, whose folder is on the path as when it is run."""
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    module = unordered.module_of(path.stem, path)
    sys.modules[path.stem] = module
    module.__spec__.loader.exec_module(module)  # type: ignore[union-attr]
    return module
