"""The command line's observer: times the phases, draws or tells how far they are, and dumps what they are given."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from verdict.measure import Stopwatch
from verdict.observer import Phase
from verdict.progress import Bar

Dumps = Mapping[str, tuple[Phase, Callable[[Any], Iterable[str]]]]
"""What can be dumped: at the beginning of which phase, and how what it is given becomes lines."""


class Watching:
    """Draws on a terminal. Elsewhere, where `tells`, says one line on standard error for each phase that is over."""

    def __init__(self, watch: Stopwatch, bar: Bar, dumps: Dumps, tells: bool) -> None:
        self._watch = watch
        self._bar = bar
        self._dumps = dumps
        self._tells = tells
        self._counts = Counts()

    def begin(self, phase: Phase, given: object = None) -> None:
        """Time the phase, and dump what it is given."""
        if phase != self._watch.phase:
            self.end()
            self._watch.begin(phase)
            for begun, lines in self._dumps.values():
                if given is not None and begun == phase:
                    click.echo("\n".join(lines(given)))
        self._bar.begin(phase)

    def advance(self, phase: Phase, done: int, total: int, counted: str) -> None:
        """Draw how far it is."""
        self._counts.advance(done, total, counted)
        self._bar.advance(phase, done, total, counted)

    def end(self) -> None:
        """The phase is over."""
        phase, before = self._watch.phase, dict(self._watch.seconds)
        self._watch.begin("")
        if self._tells and phase:
            seconds = self._watch.seconds[phase] - before.get(phase, 0.0)
            click.echo(", ".join((f"{phase}: {seconds:.1f} s", *self._counts.lines())), err=True)
        self._counts = Counts()


class Counts:
    """What was counted in one phase: a count that begins anew goes on from what was counted before."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}
        self._now: dict[str, tuple[int, int]] = {}

    def advance(self, done: int, total: int, counted: str) -> None:
        """So many are done."""
        was = self._now.get(counted, (0, total))
        if done < was[0] or total != was[1]:
            before = self._before.get(counted, (0, 0))
            self._before[counted] = (before[0] + was[0], before[1] + was[1])
        self._now[counted] = (done, total)

    def lines(self) -> Iterable[str]:
        """As `3 of 4 stages`, of each thing that was counted."""
        for counted, (done, total) in self._now.items():
            more = self._before.get(counted, (0, 0))
            if total + more[1]:
                yield f"{done + more[0]:,} of {total + more[1]:,} {counted}"
