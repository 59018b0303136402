"""What hangs together by links: the components of a graph that is given by its edges."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def together(links: Iterable[tuple[T, T]]) -> list[list[T]]:
    """The groups of what is linked, directly or through others, each in the order in which its members are first named,
    and so the groups themselves. What is linked to itself alone is a group of one.
    """
    groups: dict[T, list[T]] = {}
    for pair in links:
        for each in pair:
            groups.setdefault(each, [each])
        kept, other = (groups[each] for each in pair)
        if kept is not other:
            kept, other = (kept, other) if len(kept) >= len(other) else (other, kept)
            kept.extend(other)
            groups.update(dict.fromkeys(other, kept))
    place = {each: number for number, each in enumerate(groups)}
    distinct = {id(group): group for group in groups.values()}
    return [sorted(group, key=place.__getitem__) for group in distinct.values()]
