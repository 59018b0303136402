"""Groups, barriers and messages of all ranks, held against each other: what a plan does not say of communication.

A plan's collectives meet by their ranks, and its messages by sender and receiver, each in order. That is what the
program does only where all ranks make the same groups in the same order, use them in the same order, leave out no
barrier, and give messages the same tags.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

MAKING = "new_group"
BARRIERS = frozenset({"barrier", "monitored_barrier_"})


class Meeting(NamedTuple):
    """What a rank does with others. what: "new_group", a collective, a barrier, "send" or "recv".

    ranks: of the group; of a message, its peer. tag: of a message. moved: the type of the numbers whose bytes are
    moved, where it is given bytes.
    """

    what: str
    group: str
    ranks: tuple[int, ...]
    tag: Hashable = None
    moved: str = ""


def disagreements(meetings: Sequence[Sequence[Meeting]]) -> Iterator[str]:
    """Why the ranks do not meet as a plan says, as clauses. meetings: of each rank, in its order."""
    found = (*_makings(meetings), *_groups(meetings), *_messages(meetings))
    yield from found or _stuck(meetings)


def _makings(meetings: Sequence[Sequence[Meeting]]) -> Iterator[str]:
    """All ranks make all groups, in one order; a group that its members make alone is theirs."""
    made = [[each.ranks for each in rank if each.what == MAKING and not each.tag] for rank in meetings]
    for rank, groups in enumerate(made):
        for first, other in zip_longest(made[0], groups):
            if first != other:
                yield f"rank {rank} makes {_group(other)} where rank 0 makes {_group(first)}: new_group waits for all"
                return


def _groups(meetings: Sequence[Sequence[Meeting]]) -> Iterator[str]:
    """Members of the same ranks use the same groups for the same, in one order."""
    used: dict[tuple[int, ...], dict[int, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    moves: dict[tuple[int, ...], bool] = defaultdict(bool)
    for rank, each in enumerate(meetings):
        for meeting in each:
            if meeting.what not in ("send", "recv") and not (meeting.what == MAKING and not meeting.tag):
                used[tuple(sorted(meeting.ranks))][rank].append((_said(meeting.what, meeting), meeting.group))
                moves[tuple(sorted(meeting.ranks))] |= bool(meeting.moved)
    for ranks, by_rank in used.items():
        barriers = any(what in BARRIERS for each in by_rank.values() for what, _ in each)
        several = len({group for each in by_rank.values() for _, group in each}) > 1
        if not barriers and not several and not moves[ranks]:
            continue
        first = by_rank[ranks[0]]
        for rank in ranks[1:]:
            for one, other in zip_longest(first, by_rank[rank]):
                if one != other:
                    yield f"rank {ranks[0]} is at {_use(one, ranks)} where rank {rank} is at {_use(other, ranks)}"
                    return


def _messages(meetings: Sequence[Sequence[Meeting]]) -> Iterator[str]:
    """What is sent and received between two ranks has the same groups and tags, in one order."""
    sent: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    received: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for rank, each in enumerate(meetings):
        for meeting in each:
            if meeting.what == "send":
                sent[rank, meeting.ranks[0]].append((meeting.group, _said(meeting.tag, meeting)))
            elif meeting.what == "recv":
                received[meeting.ranks[0], rank].append((meeting.group, _said(meeting.tag, meeting)))
    for (source, target), messages in sent.items():
        for one, other in zip(messages, received[source, target], strict=False):
            if one != other:
                words = f"with tag {one[1]} in group {one[0]} where it is received with tag {other[1]} in {other[0]}"
                yield f"rank {source} sends rank {target} a message {words}"
                return


def _stuck(meetings: Sequence[Sequence[Meeting]]) -> Iterator[str]:
    """Whether barriers and the making of groups let all ranks come to their ends; sends do not wait."""
    if not any(each.what in BARRIERS or each.what == MAKING for rank in meetings for each in rank):
        return
    everybody = tuple(range(len(meetings)))
    position, mail = [0] * len(meetings), dict[tuple[int, int], int]()
    arrived: dict[Hashable, set[int]] = defaultdict(set)
    ready = deque(everybody)
    while ready:
        rank = ready.popleft()
        while position[rank] < len(meetings[rank]):
            meeting = meetings[rank][position[rank]]
            if meeting.what == "send":
                pair = (rank, meeting.ranks[0])
                mail[pair] = mail.get(pair, 0) + 1
                ready.append(meeting.ranks[0])
            elif meeting.what == "recv":
                pair = (meeting.ranks[0], rank)
                if not mail.get(pair):
                    break
                mail[pair] -= 1
            else:
                members = everybody if meeting.what == MAKING and not meeting.tag else meeting.ranks
                key = (meeting.what == MAKING, tuple(sorted(members)))
                arrived[key].add(rank)
                if len(arrived[key]) < len(members):
                    break
                del arrived[key]
                for member in members:
                    if member != rank:
                        position[member] += 1
                        ready.append(member)
            position[rank] += 1
    for rank, at in enumerate(position):
        if at < len(meetings[rank]):
            yield f"rank {rank} waits for ever in {meetings[rank][at].what} of ranks {list(meetings[rank][at].ranks)}"
            return


def _said(what: Hashable, meeting: Meeting) -> str:
    return f"{what} of bytes of {meeting.moved}" if meeting.moved else str(what)


def _group(ranks: tuple[int, ...] | None) -> str:
    return "no group" if ranks is None else f"the group {list(ranks)}"


def _use(use: tuple[str, str] | None, ranks: tuple[int, ...]) -> str:
    return "its end" if use is None else f"{use[0]} of group {use[1]} {list(ranks)}"
