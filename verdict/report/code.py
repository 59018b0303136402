"""The form of a code: what a finding of that name means, for people."""

from typing import NamedTuple


class Code(NamedTuple):
    """One code. name: in a few words. example: a minimal plan that has it, wrong line against right line."""

    code: str
    name: str
    meaning: str
    example: str
    repair: str
    training: str
