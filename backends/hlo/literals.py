"""Constants as HLO writes them: a number, true or false, or lists of them in curly brackets."""

import re
from fractions import Fraction
from functools import lru_cache
from math import isqrt, prod

import numpy as np

_WORD = re.compile(r"[^\s{},]+")
_WHOLE = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(\d+\.?\d*(e[+-]?\d+)?|inf)")
_DIGITS = re.compile(r"e.*|[-.]")
SHORT = 6
"""The most digits of a number of 32 bits that are taken as they are written: any so short stands for itself."""
LARGEST = 1 << 17
"""The greatest product of numerator and denominator that is looked for; by chance, one in a hundred floats has one."""


def literal_of(text: str, dtype: str, dims: tuple[int, ...]) -> tuple[int | float, ...]:
    """The elements in row-major order. Raises ValueError, in words, where they are not all there, or no numbers."""
    if "..." in text:
        raise ValueError("its elements are elided: print large constants")
    words = _WORD.findall(text)
    if len(words) != prod(dims):
        raise ValueError(f"it has {len(words)} elements where its shape has {prod(dims)}")
    if dtype == "bool":
        if any(word not in ("true", "false", "0", "1") for word in words):
            raise ValueError("an element is neither true nor false")
        return tuple(int(word in ("true", "1")) for word in words)
    whole = "int" in dtype
    form = _WHOLE if whole else _NUMBER
    if unknown := next((word for word in words if not form.fullmatch(word)), ""):
        raise ValueError(f"an element is {unknown[:40]}")
    number = _single if dtype == "float32" else float
    return tuple(int(word) if whole or _WHOLE.fullmatch(word) else number(word) for word in words)


@lru_cache(maxsize=4096)
def _single(word: str) -> float:
    """A number of 32 bits as one of 64. One with all its digits that is the nearest to a quotient of small whole
    numbers is that quotient: 0.0833333358 is 1/12, which programs write for a division by 12.
    """
    value = float(word)
    digits = _DIGITS.sub("", word).strip("0")
    if not np.isfinite(value) or not value or len(digits) <= SHORT:
        return value
    size = abs(Fraction(word))
    above = size if size > 1 else 1 / size
    near = above.limit_denominator(isqrt(LARGEST * above.denominator // above.numerator) or 1)
    found = float((near if size > 1 else 1 / near) * (1 if value > 0 else -1))
    return found if np.float32(found) == np.float32(value) else value
