"""The command line's observer: times the phases, draws or tells how far they are, and dumps what they are given."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click
from rich.progress import Progress

from verdict.measure import Stopwatch
from verdict.observer import Phase

Dumps = Mapping[str, tuple[Phase, Callable[[Any], Iterable[str]]]]
"""What can be dumped: at the beginning of which phase, and how what it is given becomes lines."""


class Watching:
    """Draws on a terminal. Elsewhere, where `tells`, says one line on standard error for each phase that is over."""

    def __init__(self, watch: Stopwatch, progress: Progress, dumps: Dumps, tells: bool) -> None:
        self._watch = watch
        self._progress = progress
        self._dumps = dumps
        self._tells = tells
        self._done = self._total = 0
        self._task = progress.add_task(Phase.LOAD, total=None)

    def begin(self, phase: Phase, given: object = None) -> None:
        """Time the phase, and dump what it is given."""
        if phase != self._watch.phase:
            self.end()
            self._watch.begin(phase)
            for begun, lines in self._dumps.values():
                if given is not None and begun == phase:
                    click.echo("\n".join(lines(given)))
        self._progress.update(self._task, description=phase, completed=0, total=None)

    def advance(self, phase: Phase, done: int, total: int) -> None:
        """Draw how far it is."""
        self._done, self._total = done, total
        self._progress.update(self._task, description=phase, completed=done, total=total if total > 1 else None)

    def end(self) -> None:
        """The phase is over."""
        phase, before = self._watch.phase, dict(self._watch.seconds)
        self._watch.begin("")
        if self._tells and phase:
            seconds = self._watch.seconds[phase] - before.get(phase, 0.0)
            count = f", {self._done} of {self._total}" if self._total else ""
            click.echo(f"{phase}: {seconds:.1f} s{count}", err=True)
        self._done = self._total = 0
