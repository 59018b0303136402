"""Cutting along a dimension and putting together."""

import torch
from hypothesis import strategies as st

from tests.ops.harness import Misfit, Subject, cases, real, shape


def _placed(draw):
    """A shape, a dimension of it, perhaps named from the end, and the shape with another length there."""
    size = draw(shape(1, 3, 3))
    place = draw(st.integers(0, len(size) - 1))
    return draw(st.sampled_from([place, place - len(size)])), lambda n: (*size[:place], n, *size[place + 1 :])


def _concatenate(draw):
    dim, of = _placed(draw)
    lengths = draw(st.lists(st.sampled_from([1, 2, 4, 6]), min_size=1, max_size=3))
    return [of(n) for n in lengths], {"dim": dim}, [real] * len(lengths)


def _split(draw):
    dim, of = _placed(draw)
    sizes = tuple(draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=3)))
    return [of(sum(sizes))], {"dim": dim, "sizes": sizes}, [real]


def _narrow(draw):
    dim, of = _placed(draw)
    by, start, length, rest = draw(st.integers(1, 2)), *(draw(st.integers(low, 2)) for low in (0, 1, 0))
    return [of(by * (start + length + rest))], {"dim": dim, "start": by * start, "length": by * length}, [real]


def _pad(draw):
    dim, of = _placed(draw)
    by, before, after = draw(st.integers(1, 2)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    return [of(by * draw(st.integers(1, 2)))], {"dim": dim, "before": by * before, "after": by * after}, [real]


def _pad_torch(x, attrs):
    place = attrs["dim"] % x[0].ndim
    sides = [0, 0] * (x[0].ndim - place - 1)
    return [torch.nn.functional.pad(x[0], (*sides, attrs["before"], attrs["after"]))]


def _select(draw):
    dim, of = _placed(draw)
    blocks = draw(st.integers(1, 4))
    index = tuple(draw(st.lists(st.integers(0, blocks - 1), min_size=1, max_size=4)))
    return [of(blocks * draw(st.integers(1, 2)))], {"dim": dim, "blocks": blocks, "index": index}, [real]


def _select_torch(x, attrs):
    pieces = torch.chunk(x[0], attrs["blocks"], attrs["dim"])
    return [torch.cat([pieces[k] for k in attrs["index"]], attrs["dim"])]


SUBJECTS = (
    Subject("concatenate", cases(_concatenate), lambda x, attrs: [torch.cat(tuple(x), attrs["dim"])], rational=True),
    Subject(
        "split",
        cases(_split),
        lambda x, attrs: list(torch.split(x[0], list(attrs["sizes"]), attrs["dim"])),
        rational=True,
    ),
    Subject(
        "narrow",
        cases(_narrow),
        lambda x, attrs: [torch.narrow(x[0], attrs["dim"], attrs["start"], attrs["length"])],
        rational=True,
    ),
    Subject("pad", cases(_pad), _pad_torch, rational=True),
    Subject("select_blocks", cases(_select), _select_torch, rational=True),
)
MISFITS = (
    Misfit("concatenate", ((2, 3), (3, 3)), {"dim": 1}, "differ elsewhere than in dim 1"),
    Misfit("concatenate", ((2, 3),), {"dim": 2}, "no dimension 2"),
    Misfit("split", ((4,),), {"dim": 0, "sizes": (2, 1)}, "do not add up to the 4"),
    Misfit("split", ((4,),), {"dim": 0, "sizes": (5, -1)}, "a tuple of integers, none negative"),
    Misfit("narrow", ((4,),), {"dim": 0, "start": 2, "length": 3}, "are not within the 4"),
    Misfit("narrow", ((4,),), {"dim": 0, "start": -1, "length": 2}, "start is -1"),
    Misfit("pad", ((4,),), {"dim": 0, "before": 1}, "after is None"),
    Misfit("pad", ((4,),), {"dim": 0, "before": -1, "after": 0}, "before is -1"),
    Misfit("select_blocks", ((4,),), {"dim": 0, "blocks": 3, "index": (0,)}, "are not 3 equal blocks"),
    Misfit("select_blocks", ((4,),), {"dim": 0, "blocks": 2, "index": (2,)}, "a tuple of blocks below 2"),
)
