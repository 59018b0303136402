"""What measurements stand beside: the machine, and what else it does."""

import os
import platform
from pathlib import Path


def machine() -> str:
    """One line about the machine and its present load."""
    return f"{processor()}, load average {os.getloadavg()[0]:.1f} at the start"


def processor() -> str:
    """The cores and the Python."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}"
