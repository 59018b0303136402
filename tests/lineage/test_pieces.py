"""A rank that takes a piece of a value, or puts pieces side by side which lie so in one value, holds a region of it."""

from verdict.graph import Node
from verdict.lineage.pieces import as_pieces
from verdict.lineage.values import Share

TAKEN = Node("narrow", (0,), (1,), (("dim", 0), ("length", 2), ("start", 1)), "piece")
JOINED = Node("concatenate", (0, 1), (2,), (("dim", 0),), "pieces")


def of(*interval):
    return (Share(5, (interval, (0, 3))),)


def test_a_piece_of_a_region_is_a_region():
    assert as_pieces(TAKEN, (of(4, 8),)) == of(5, 7)


def test_pieces_side_by_side_are_one_and_others_are_none():
    assert as_pieces(JOINED, (of(0, 2), of(2, 4))) == of(0, 4)
    assert as_pieces(JOINED, (of(2, 4), of(0, 2))) is None
    assert as_pieces(JOINED, (of(0, 2), of(6, 8))) is None
    assert as_pieces(JOINED._replace(op="concatenate.grad"), (of(0, 2), of(2, 4))) is None


def test_a_single_number_has_no_pieces():
    assert as_pieces(TAKEN, ((Share(5, ()),),)) is None
    assert as_pieces(JOINED, ((Share(5, ()),), (Share(5, ()),))) is None
