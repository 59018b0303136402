"""Loops by induction: what a loop is given, one turn of it and what stands behind it are parts of one question.

A loop that is known to turn n times is cut. Of each element of its state that changes, the part that each device holds
is guessed. Then the plans get, in place of the loop,

    begins     what the element is before the first turn                     an output
    is         what it is in some turn: any value                            an input
    goes on    what one turn, whose values are those of `is`, makes of it    an output
    ends       what it is behind the last turn: any value                    an input

Where all outputs agree for all inputs, the guessed parts fit before the first turn, and each turn keeps that: so they
fit behind the last one, and the programs agree. What a turn takes of an array by its number is one more input, and
what it writes to one by its number one more output; their names hold the positions of all turns, so that both programs
must take and write the same. Numbers that count turns are known in each, and enter no proof. Nothing is concluded from
an answer other than PROVED.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from verdict.backends.hlo.folds import Evaluate
from verdict.backends.hlo.instruction import At, named
from verdict.backends.hlo.loops import Loop, loop_of, turns_of
from verdict.backends.hlo.rows import Rows, Share, Shares, place_of, row_of
from verdict.backends.hlo.text import DTYPES, Array, Computation, Instruction
from verdict.backends.hlo.values import Counted, Found, Known, Leaf, Made, Recording, Refused, Stacked, whole
from verdict.backends.torch.trace import Bound, Value
from verdict.graph import extent
from verdict.graph import whole as all_of

LOOP = "loop "
"""What the names of a cut loop's inputs and outputs begin with."""
OUTSIDE = f"{LOOP}rows"
"""The same of what is not within one."""
LEAST_TURNS = 2
"""How often a loop turns that is cut."""
MOST_NUMBERS = 4096
"""The most integers, those of all turns, that a turn's numbers may be where they meet data."""
Lower = Callable[[tuple[Leaf, ...]], Found]


class Guesses(NamedTuple):
    """What is guessed of the loops of a program. shares: of each the shares of its elements; None for a program of one
    device, which holds all of each. by_rows: whether any row stands for an array of whose rows all are made alike.
    paired: whether the names of shares say which elements of two programs are one, and those without may be anything.
    """

    shares: Shares | None
    by_rows: bool
    paired: bool = False


class Induction:
    """The loops of one device. problem: why the recording is of no use, empty where it is."""

    def __init__(self, recording: Recording, rank: int, world: int, guesses: Guesses) -> None:
        self.bound: list[Bound] = []
        self.problem = ""
        self._recording = recording
        self._rank = rank
        self._world = world
        self._guesses = guesses
        self._made: dict[str, Made] = {}
        self._met = 0
        self._title = ""
        self._rows = Rows(recording, self._given)

    @property
    def inside(self) -> bool:
        """Whether a turn is being evaluated: loops within it are unrolled."""
        return bool(self._title)

    def know(self, value: Made, share: Share) -> None:
        """An input of the program, of which turns may take rows."""
        self._rows.shares[value.number] = share

    def cut(self, condition: Computation, body: Computation, state: Found, evaluate: Evaluate) -> Found:
        """What a loop leaves. Raises Refused where it cannot be cut; `problem` says why, if it has been begun."""
        number, self._met = self._met, self._met + 1
        loop = loop_of(condition, body, state)
        turns = turns_of(loop, evaluate)
        if len(turns) <= LEAST_TURNS:
            raise Refused("it turns too seldom to be cut")
        changing = [k for k in range(len(loop.state)) if k not in loop.kept and k not in loop.counters]
        shares = {k: self._guessed(number, f"{m}", k, loop.state[k]) for m, k in enumerate(changing)}
        title = f"{LOOP}{number} of {len(turns) - 1} turns"
        try:
            return self._cut(title, loop, turns, body, shares, evaluate)
        except Refused as refused:
            self.problem = self.problem or f"{title}: {refused}"
            raise
        finally:
            self._title = ""

    def _cut(
        self, title: str, loop: Loop, turns: list[dict[int, Known]], body: Computation,
        shares: Mapping[int, Share | None], evaluate: Evaluate,
    ) -> Found:  # fmt: skip
        self._title = title
        self._rows.begin()
        begun = len(self._recording.tape.values)
        is_ = {k: self._given(f"is {_called(k, share)}", loop.state[k], share) for k, share in shares.items()}
        arguments = tuple(self._element(loop, k, turns, is_) for k in range(len(loop.state)))
        made = evaluate(body, (arguments,))
        if not isinstance(made, tuple) or isinstance(made, Known | Made) or len(made) != len(loop.state):
            raise Refused("a turn does not make the state of its loop")
        ends: dict[int, Found] = {}
        for k, share in shares.items():
            copied = self._copied(is_[k], made[k], begun) if share is None else None
            if share is not None:
                self._goes_on(share, is_[k], made[k])
            ends[k] = copied or self._given(f"ends {_called(k, share)}", loop.state[k], share)
        self._title = ""
        for k, share in shares.items():
            if share is not None:
                self.due(f"{title}: begins {share.name}", loop.state[k], share)
        last = turns[-1]
        return tuple(ends[k] if k in ends else last.get(k, loop.state[k]) for k in range(len(loop.state)))

    def counted(self, at: At, operands: tuple[Found, ...], lower: Lower) -> Found:
        """What an instruction makes of operands some of which differ from turn to turn, or were written to.

        lower: what it makes of others.
        """
        each = at.each
        if any(isinstance(operand, Stacked) for operand in operands):
            if each.opcode == "copy":
                return operands[0]
            raise Refused("it reads an array that the turn has written to")
        given = [operand for operand in operands if isinstance(operand, Known | Made | Counted)]
        if len(given) < len(operands):
            raise Refused("it reads a tuple")
        first = given[0]
        if each.opcode == "dynamic-slice" and isinstance(first, Made):
            place = place_of(first.shape, at.numbers("dynamic_slice_sizes"), given[1:])
            return self._rows.taken(first, place, named(each))
        if each.opcode == "dynamic-update-slice" and isinstance(first, Made) and not isinstance(given[1], Counted):
            row = given[1]
            place = place_of(first.shape, row.shape, given[2:])
            self._rows.written(first, place)
            return Stacked(first, row, place)
        if not any(isinstance(operand, Made) for operand in given) and _is_whole(each):
            count = max(len(operand.turns) for operand in given if isinstance(operand, Counted))
            found = [lower(tuple(_in_turn(operand, turn) for operand in given)) for turn in range(count)]
            known = tuple(one for one in found if isinstance(one, Known))
            if len(known) == count:
                return joined(known)
        return lower(tuple(self._number(operand) for operand in given))

    def _element(self, loop: Loop, k: int, turns: list[dict[int, Known]], is_: dict[int, Made]) -> Found:
        """An element of the state in any turn."""
        if k in is_:
            return is_[k]
        return joined(tuple(turn[k] for turn in turns[:-1])) if k in loop.counters else loop.state[k]

    def _guessed(self, number: int, order: str, k: int, value: Found) -> Share | None:
        """The share of an element; None of one that may be anything on each device."""
        if not isinstance(value, Known | Made):
            raise Refused("its state holds a tuple")
        shares, paired = self._guesses.shares, self._guesses.paired
        if shares is None:
            return Share(order, value.shape, (all_of(value.shape),))
        found = shares[number][k] if number < len(shares) and k < len(shares[number]) else None
        if found is None and paired:
            return None
        if found is None or any(extent(region) != value.shape for region in found.regions):
            raise Refused("which part of its state a device holds is not said")
        return found if paired else found._replace(name=order)

    def _copied(self, before: Made, after: Found, begun: int) -> Made | None:
        """The array that a loop makes, where that is one which was there before it, row by row. begun: how many values
        there were then.
        """
        if not isinstance(after, Stacked) or after.array != before:
            return None
        found = self._rows.copied(after.row, after.place)
        return found if found is not None and found.number < begun and found.shape == before.shape else None

    def _given(self, name: str, like: Found, share: Share | None) -> Made:
        """An input: any value; on each device another one, where it has no share."""
        if not isinstance(like, Known | Made):
            raise Refused("its state holds a tuple")
        if share is None:
            name = f"{name} on {self._rank} of {self._world}"
            share = Share(name, like.shape, (all_of(like.shape),) * self._world)
        titled = f"{self._title or OUTSIDE}: {name}"
        if titled not in self._made:
            value = Value(like.shape, like.dtype)
            made = self._made[titled] = Made(self._recording.tape.value(value), *value)
            self.bound.append(Bound("input", titled, made.number, share.shape, share.regions[self._rank]))
            self._rows.shares[made.number] = share._replace(name=titled)
        return self._made[titled]

    def due(self, name: str, value: Found, share: Share) -> None:
        """An output outside of loops: any row of it, if it is by rows. Raises Refused."""
        if not isinstance(value, Known | Made):
            raise Refused("it makes no array")
        row, held = self._rows.any_of(value, share) if self._guesses.by_rows else (value, share)
        self._due(name if row is value else f"{name}, {held.name}", row, held)

    def _due(self, name: str, value: Found, share: Share) -> None:
        """An output."""
        if not isinstance(value, Known | Made):
            raise Refused("it makes no array that is the same in each turn")
        number, region = self._recording.number(value), share.regions[self._rank]
        if extent(region) != value.shape:
            raise Refused("a turn makes an array of another shape")
        titled = f"{self._title}: {name}" if self._title else name
        self.bound.append(Bound("output", titled, number, share.shape, region))

    def _goes_on(self, share: Share, before: Made, after: Found) -> None:
        if not isinstance(after, Stacked):
            self._due(f"goes on {share.name}", after, share)
            return
        if after.array != before:
            raise Refused("a turn writes to one array, and makes it another")
        self._due(f"writes {share.name} {after.place.words}", after.row, row_of(share, after.place))

    def _number(self, value: Leaf | Counted) -> Leaf:
        """Numbers that count turns, where they meet data: an input of any integers."""
        if not isinstance(value, Counted):
            return value
        if sum(turn.array.size for turn in value.turns) > MOST_NUMBERS:
            raise Refused("too many numbers differ from turn to turn")
        words = " ".join(str(turn.array.tolist()) for turn in value.turns)
        first = value.turns[0]
        name = f"numbers {words}"
        made = self._given(name, first, Share(name, first.shape, (all_of(first.shape),) * self._world))
        self._rows.shares.pop(made.number, None)
        ends = [int(end) for turn in value.turns if turn.array.size for end in (turn.array.min(), turn.array.max())]
        return self._recording.given(made, (min(ends), max(ends)) if ends else None)


def joined(turns: tuple[Known, ...]) -> Known | Counted:
    """What is known in each turn; one value where it is the same in all."""
    first = turns[0]
    same = all(turn.dtype == first.dtype and (turn.array == first.array).all() for turn in turns)
    return first if same else Counted(turns)


def _is_whole(each: Instruction) -> bool:
    return isinstance(each.shape, Array) and each.shape.dtype in DTYPES and whole(DTYPES[each.shape.dtype])


def _in_turn(value: Leaf | Counted, turn: int) -> Leaf:
    return value.turns[turn] if isinstance(value, Counted) else value


def _called(k: int, share: Share | None) -> str:
    return f"{k}, which has no counterpart," if share is None else share.name
