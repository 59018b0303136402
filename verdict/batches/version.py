"""What runs here: a hash of all sources of Verdict, so that two versions are never taken for one, and what they use."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import verdict
from verdict.errors import UsageError

PACKAGE = Path(verdict.__file__).resolve().parent
RUNS_ON = ("mpmath", "networkx", "numpy", "z3-solver", "zstandard")
"""The distributions that a verdict depends on."""
RECORDS_WITH = ("torch",)
"""Those that a recording is made with besides."""


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


def version_here(distribution: str) -> str:
    """The version of a distribution; "" where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


@cache
def versions_here() -> Mapping[str, str]:
    """The versions of all that an answer may depend on, by what they are of."""
    return {
        "Python": platform.python_version(),
        "sources of Verdict": version_of(PACKAGE)[:12],
        **{name: version_here(name) for name in (*RUNS_ON, *RECORDS_WITH)},
    }


def require_same(versions: Mapping[str, str]) -> None:
    """Raise UsageError where a machine that is to help runs on something else."""
    for what, version in versions.items():
        other = versions_here().get(what, "")
        if other != version:
            found, here = (f"{what} {each}" if each else f"no {what}" for each in (other, version))
            raise UsageError(platform.node(), f"it has {found}, the command runs with {here}", "install the same there")
