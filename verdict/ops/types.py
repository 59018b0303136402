"""Of which types what an operator makes may be, from the types of what it reads.

A type of floating-point numbers is "float" here whatever its width, since casts between those change no value; a type
of integers is itself. The answer for each output is a set: what torch makes is among them, and so may be a type that a
plan states for the same values (the truth values of a mask as integers are the same numbers, those of an integer as
truth values are not).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from verdict.ops.domain import BITS, TRUTH, of_type

Attributes = Mapping[str, Any]
Kinds = frozenset[str]
Types = Callable[[Sequence[str], Attributes], tuple[Kinds | None, ...]]
"""types(kinds of the inputs, attributes): the kinds of each output; the last one is that of all further ones, and None
is anything.
"""
FLOAT, COMPLEX = "float", "complex"
OF_COMPLEX = frozenset({"apply_rotary_emb"})
"""Operators whose rules are of complex numbers."""
GRADIENTS: Kinds = frozenset({FLOAT, COMPLEX})
REAL: Kinds = frozenset({FLOAT})
INT64: Kinds = frozenset({"int64"})
INT32: Kinds = frozenset({"int32"})
TRUE: Kinds = frozenset({TRUTH})
OPERANDS = ("other", "self", "exponent", "min", "max", "weight", "end")
"""Attributes that are numbers in the place of tensors."""
NUMBERS = ("other", "self", "exponent", "min", "max", "value")
"""Attributes that are numbers of the type of integers that they meet."""


@lru_cache(maxsize=256)
def kind(dtype: Any) -> str:
    """The kind of a type; empty where there is none."""
    word = str(dtype or "").removeprefix("torch.")
    for name in (COMPLEX, FLOAT):
        if name in word:
            return name
    return word


def is_complex(dtype: Any) -> bool:
    """Whether a type is of complex numbers."""
    return kind(dtype) == COMPLEX


def beyond(op: str, kinds: Sequence[str], attrs: Attributes) -> str:
    """Which number in the place of a tensor is none of the type of integers that it meets; empty for none.

    PyTorch takes such numbers modulo the width, or refuses them: of uint8 tensors, `x < 300` is `x < 44`. Our own
    operators take them as they are.
    """
    narrow = [name for name in kinds if is_whole(name) and name != TRUTH]
    if not op.startswith("aten.") or not set(narrow) <= set(BITS) or {FLOAT, COMPLEX} & set(kinds):
        return ""
    for name in NUMBERS:
        value = attrs.get(name)
        if isinstance(value, int) and narrow and not any(own.holds(value) for own in map(of_type, narrow) if own):
            return f"{name} is {value}, which is no {narrow[0]}"
    return ""


def is_whole(name: str) -> bool:
    """Whether a kind is of integers or truth values."""
    return name == TRUTH or "int" in name


def of_floats(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """The type that is asked for, else floats where nothing else is read. Nothing is known of other inputs."""
    asked = kind(attrs.get("dtype"))
    if asked:
        return (frozenset({asked}),)
    return (REAL if {name for name in kinds if name} == {FLOAT} else None,)


def divided(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Floats of floats. Of integers PyTorch makes integers where it divides, and how it rounds them is not known."""
    return of_floats(kinds, attrs)


def promoted(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """What arithmetic of tensors and numbers makes: numbers of the widest kind that there is among them.

    A plan writes 1.0 as 1: integers and such a number may be floats.
    """
    given = {name for name in kinds if name}
    if COMPLEX in given:
        return (frozenset({COMPLEX, FLOAT}),)
    if FLOAT in given:
        return (REAL,)
    numbers = [attrs[name] for name in OPERANDS if isinstance(attrs.get(name), int | float)]
    if any(isinstance(value, float) for value in numbers):
        return (REAL,)
    if not given:
        return (None,)
    either: Kinds = REAL if any(not isinstance(value, bool) for value in numbers) else frozenset()
    if given == {TRUTH}:
        return ((INT64 if either else TRUE) | either,)
    wider = {"int16"} if {"int8", "uint8"} <= given else set()
    return (frozenset((given - {TRUTH}) | wider) | either,)


def powers(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """What arithmetic makes. Of integers with a negative exponent that is a fraction, which is cut off."""
    return promoted(kinds, attrs)


def floats(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Floats, also of integers: quotients, roots, exponentials, means."""
    return (frozenset({COMPLEX, FLOAT}) if COMPLEX in kinds else REAL,)


def truth(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Truth values."""
    return (TRUE,)


def counted(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Sums: of integers and truth values they are int64, if no type is asked for."""
    asked = kind(attrs.get("dtype"))
    if asked:
        return (frozenset({asked}),)
    return (INT64,) if kinds and is_whole(kinds[0]) else (frozenset(kinds[:1]) or None,)


def squared(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """The kind that is read; of truth values integers."""
    return (INT64,) if set(kinds) == {TRUTH} else promoted(kinds, attrs)


def rounded(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Quotients, which are integers of integers where they are rounded."""
    return (promoted if attrs.get("rounding_mode") else floats)(kinds, attrs)


def some(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Whether some or all are not 0: truth values, as bytes of bytes."""
    return (TRUE | {"uint8"} if "uint8" in kinds else TRUE,)


def flags(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Ones and zeros, as floats or as int64."""
    return (REAL | INT64,)


def positions(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Where something is."""
    return (INT64,)


def and_positions(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Something that is read, and where it is."""
    return (frozenset(kinds[:1]) or None, INT64)


def cast(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """The type that is asked for, else that of the first input."""
    asked = kind(attrs.get("dtype"))
    return (frozenset({asked}) if asked else frozenset(kinds[:1]) or None,)


def with_integers(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """Floats, and integers that say how they were found, or whether."""
    return (REAL, INT32)


def with_determinant(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """A number, factors, and integers that say how these were found."""
    return (REAL, *with_integers(kinds, attrs))


def with_logarithm(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """A sign, and the same."""
    return (REAL, *with_determinant(kinds, attrs))


def like_first(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """The type of the first input."""
    return (frozenset(kinds[:1]) or None,)


def like_others(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """What arithmetic of all inputs but the first makes: a choice by truth values."""
    return promoted(kinds[1:], attrs)


def made_as(kinds: Sequence[str], attrs: Attributes) -> tuple[Kinds | None, ...]:
    """The type that is asked for, where one is."""
    asked = kind(attrs.get("dtype"))
    return (frozenset({asked}) if asked else None,)


SURE = (truth, some, positions, and_positions, with_integers, with_determinant, with_logarithm, made_as)
"""What operators make by themselves: integers of their types, whatever they read."""


def to_cast(types: Types, moves: bool, kinds: Sequence[str], attrs: Attributes, made: str) -> bool | None:
    """Whether what an operator makes of tensors of these kinds must still be cast to the integers that it is said to
    be: where it puts floats into integers, or arithmetic of narrow integers wraps around. None where that is not known.
    """
    if not is_whole(made) or (moves and set(kinds) <= {made}):
        return False
    if types is divided:
        return None
    if types is powers:
        return True
    if types is counted:
        return made in BITS and kind(attrs.get("dtype")) != made
    if types in SURE or (types is cast and kind(attrs.get("dtype")) == made):
        return False
    floats_read = FLOAT in kinds or any(isinstance(v, float) and not v.is_integer() for v in attrs.values())
    if types is of_floats or (types is cast and not kinds):
        return None if floats_read or made in BITS else made == TRUTH
    return floats_read or made in BITS or made == TRUTH
