"""Copies of a process that do one thing."""

import os
import sys
import traceback
from collections.abc import Callable


def leave(work: Callable[[], object]) -> None:
    """Do the work, and end with its exit status, without any cleaning up of what was copied."""
    status = 1
    try:
        work()
        status = 0
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 255)
