"""Settings: frozen values, handed in. Each room sees only its own."""

from dataclasses import dataclass, field

from verdict.limits import Limits


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """How hard the solver tries, for one obligation.

    timeout: seconds after which no further step is begun; the answer is then Unknown.
    seed: of the random points. The same obligation and seed give the same outcome.
    z3: whether a solver confirms what is proved and tries what is left.
    confirms: whether z3 is asked about the very terms that have a proof; without, it is asked of plain ones alone.
    z3_timeout: seconds for one question to it, kept as a deterministic count of its steps.
    confirm_timeout: the same for a question about what is proved already.
    solvers: the names of those that are asked, "z3" or "cvc5"; the first one tries what is left.
    term_limit: the most terms that a polynomial of the normal form may have.
    bounds: whether what only Z3 proves counts. Without, of two sides that are no one formula nothing is proved: what Z3
        knows of how great sums are holds at the shapes that it is asked at.
    exhibit: whether a difference is certified and made small; without, it only ends the attempt as Unknown.
    alike: whether equalities that differ in names alone are decided once.
    """

    timeout: float = 30.0
    seed: int = 0
    z3: bool = True
    confirms: bool = True
    z3_timeout: float = 1.0
    confirm_timeout: float = 1.0
    term_limit: int = 20_000
    solvers: tuple[str, ...] = ("z3",)
    bounds: bool = True
    exhibit: bool = True
    alike: bool = True


@dataclass(frozen=True, slots=True)
class Options:
    """What a run takes: how many processes, the limits of one obligation, what is assumed or denied.

    workers: processes that prove side by side; 0 proves in this process, without limits of time and memory.
    memory_mib: the most memory of one worker process. exhaustive: prove every stage and every column by
    itself. assume, denied: names of assumptions, as docs/soundness.md lists. solver: the limits of one obligation.
    limits: of the whole run, in seconds and MiB.
    attempts: how many repaired plans are verified at most; None are as many as the size of the plan allows.
    most_swept: up to so many nodes on all ranks, what the walk leaves open is swept; None is any number.
    """

    workers: int = 0
    memory_mib: int = 4096
    exhaustive: bool = False
    assume: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    solver: SolverOptions = field(default_factory=SolverOptions)
    limits: Limits = field(default_factory=Limits)
    attempts: int | None = 0
    most_swept: int | None = None
