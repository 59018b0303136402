"""Where the ranks of a launch find each other: a store that a process of its own keeps, which outlasts them.

What a rank waits for there it is told at once. In a file it would look for it a hundred times a second, which is most
of what it takes to make groups of ranks.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from verdict.backends.torch.environment import ADDRESS
from verdict.child import GONE, OWN, Child, Memory, begin, kill
from verdict.limits import MIB

STORE = "store"
"""The name of the file, in the folder of a launch, by which the ranks find it."""


@contextmanager
def kept(file: Path, ranks: int, mebibytes: int) -> Iterator[bool]:
    """The store is there, or cannot be: whether it is. mebibytes: of its process. One rank needs none."""
    if ranks == 1:
        yield True
        return
    keeper = begin(_keep, Memory(mebibytes * MIB, OWN))
    try:
        yield _is_told(keeper, file)
    finally:
        kill(keeper)


def _is_told(keeper: Child, file: Path) -> bool:
    try:
        file.write_text(str(keeper.connection.recv()))
    except GONE:
        return False
    return True


def _keep(told: Any) -> None:
    import torch.distributed as dist  # noqa: PLC0415  (torch may be missing, which is an answer, too)

    store = dist.TCPStore(ADDRESS, 0, is_master=True, wait_for_workers=False)
    told.send(store.port)
    signal.pause()


def store_of(file: Path, ranks: int, seconds: float) -> Any:
    """The store of a rank. seconds: for what it waits for there."""
    import torch.distributed as dist  # noqa: PLC0415

    if ranks == 1:
        return dist.HashStore()
    wait = timedelta(seconds=seconds)
    return dist.TCPStore(ADDRESS, int(file.read_text()), ranks, False, wait, wait_for_workers=False)
