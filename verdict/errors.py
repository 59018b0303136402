"""The ways in which the question cannot be put. Anything that is not a VerdictError is a bug in verdict."""

from dataclasses import dataclass


@dataclass(eq=False)
class VerdictError(Exception):
    """A question that cannot be put. where: the file, line, option or rank. problem: what is wrong there, one clause.
    help: what was expected, or what to do about it; "" where there is nothing to say.
    """

    where: str
    problem: str
    help: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}" + (f" ({self.help})" if self.help else "")

    def __reduce__(self) -> tuple[type["VerdictError"], tuple[str, str, str]]:
        return type(self), (self.where, self.problem, self.help)


class PlanFileError(VerdictError):
    """A plan file that cannot be read: damaged, hostile, of an unknown kind or version."""


class PlanMismatchError(VerdictError):
    """Two plans between which no question can be put: other models, sides exchanged, no common input."""


class UsageError(VerdictError):
    """Options that contradict each other or name something that does not exist."""


@dataclass(eq=False)
class ShapeError(Exception):
    """The shapes or attributes of a node do not fit its operator. `problem` is one clause, no place in it."""

    problem: str

    def __str__(self) -> str:
        return self.problem


class NoRuleError(ShapeError):
    """What an operator may compute and its rule does not: an attribute, a value of one, a form of an input.

    Nothing can be said of the node.
    """
