"""Proves, or refutes with numbers, that a parallelized training plan computes what the single-device plan computes.

    import verdict

    report = verdict.verify("single.plan", "parallel.plan")
    assert report.verdict is verdict.Verdict.PROVED

The names below are the public interface (docs/api.md). They are imported at their first use: programs that only build
a plan, and the processes that record one, import this package and must not pay for the prover.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verdict.api import (
        Finding,
        Options,
        Plan,
        PlanFileError,
        PlanMismatchError,
        Report,
        SolverOptions,
        UsageError,
        Verdict,
        VerdictError,
        generate,
        load,
        save,
        verify,
    )

__version__ = "0.1.0"
__all__ = [
    "Finding", "Options", "Plan", "PlanFileError", "PlanMismatchError", "Report", "SolverOptions", "UsageError",
    "Verdict", "VerdictError", "__version__", "generate", "load", "save", "verify",
]  # fmt: skip


if not TYPE_CHECKING:  # whoever checks types knows the names from above, and that there are no others

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from verdict import api  # noqa: PLC0415  (see above)

        return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
