"""The versions of torch with which the tests of recordings were run; what another one records is not known."""

TESTED = ("2.12", "2.13", "2.14")
"""Minor versions, in their order."""
INSTALL = "python -m pip install 'torch>=2.12,<2.15'"


def untested(version: str) -> str:
    """Why nothing is recorded with this version of torch; "" where it is one of those that were tested."""
    if ".".join(version.split(".")[:2]) in TESTED:
        return ""
    return f"torch {version} is not among the versions that were tested: {', '.join(TESTED)}"
