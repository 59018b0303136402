"""Which Verdict this is: a hash of all its sources, so that results of two versions are never taken for one."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def version_of(package: Path) -> str:
    """The hash of the Python files of a package, in the order of their names.

    In a checkout `backends` is a link, which rglob does not follow before Python 3.13; so it is named.
    """
    found = hashlib.sha256()
    for path in sorted({*package.rglob("*.py"), *(package / "backends").rglob("*.py")}):
        found.update(f"{path.relative_to(package)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
