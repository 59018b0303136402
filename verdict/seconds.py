"""What a command takes for a time in seconds: a number that a clock can count."""

import math
from typing import Any

import click

MOST_SECONDS = 1_000_000.0
"""Of a time that is given, more than 11 days: solvers and waiting processes count milliseconds in 32 bits, 24 days."""


class Seconds(click.FloatRange):
    """From above 0 to MOST_SECONDS. What is no number is in no range, though it is not outside of one either."""

    def __init__(self) -> None:
        super().__init__(0, MOST_SECONDS, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if math.isnan(seconds):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


SECONDS = Seconds()
