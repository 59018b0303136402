"""Constants as HLO writes them: a number, true or false, or lists of them in curly brackets."""

import re
from math import prod

_WORD = re.compile(r"[^\s{},]+")
_WHOLE = re.compile(r"-?\d+")
_NUMBER = re.compile(r"-?(\d+\.?\d*(e[+-]?\d+)?|inf)")


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
    return tuple(int(word) if whole or _WHOLE.fullmatch(word) else float(word) for word in words)
