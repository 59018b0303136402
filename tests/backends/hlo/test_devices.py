"""Replica groups and shardings in all forms that XLA writes."""

import pytest

from verdict.backends.hlo.devices import groups_of, pairs_of, regions_of

ROWS = ((0, 1, 2, 3), (4, 5, 6, 7))
COLUMNS = ((0, 4), (1, 5), (2, 6), (3, 7))


@pytest.mark.parametrize(
    ("text", "order", "groups"),
    [
        ("", "", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("{}", "", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("{{0,1,2,3},{4,5,6,7}}", "", ROWS),
        ("{{3,2,1,0},{4,5,6,7}}", "", ((3, 2, 1, 0), (4, 5, 6, 7))),
        ("[2,4]<=[8]", "", ROWS),
        ("[4,2]<=[2,4]T(1,0)", "", COLUMNS),
        ("mesh['a'=2,'b'=4] {'b'}", "", ROWS),
        ("mesh['a'=2,'b'=4] {'a'}", "", COLUMNS),
        ("mesh['a'=2,'b'=4] {'b','a'}", "", ((0, 4, 1, 5, 2, 6, 3, 7),)),
        ("mesh['a'=4,'b'=2] {'a'}", "([2,4]T(1,0))", ROWS),
        ("mesh['a'=4,'b'=2]", "([2,4]T(1,0)) {'a'}", ROWS),
        ("mesh['a'=4,'b'=2]", "([2,4]T(1,0)) {'b'}", COLUMNS),
        ("mesh['a'=8] {'a':(1)2}", "", COLUMNS),
        ("mesh['a'=8] {'a':(2)4}", "", ROWS),
    ],
)
def test_groups(text, order, groups):
    assert groups_of(text, order, 8) == groups


@pytest.mark.parametrize(
    "text", ["{{0,1}}", "{{0,1,2,3},{3,4,5,6,7}}", "[2,2]<=[8]", "mesh['a'=2] {'a'}", "mesh['a'=8] {'b'}", "all"]
)
def test_groups_that_are_none(text):
    with pytest.raises(ValueError, match=r"\w"):
        groups_of(text, "", 8)


def test_pairs():
    assert pairs_of("{{0,1},{1,0}}", 2) == ((0, 1), (1, 0))
    with pytest.raises(ValueError, match="name a device twice"):
        pairs_of("{{0,1},{2,1}}", 3)
    with pytest.raises(ValueError, match="none of 2 devices"):
        pairs_of("{{0,2}}", 2)


def test_regions():
    assert regions_of("{replicated}", (4,), 2) == (((0, 4),),) * 2
    assert regions_of("{devices=[2,1]<=[2]}", (4, 3), 2) == (((0, 2), (0, 3)), ((2, 4), (0, 3)))
    assert regions_of("{devices=[2,1]1,0}", (4, 3), 2) == (((2, 4), (0, 3)), ((0, 2), (0, 3)))
    turned = regions_of("{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", (4,), 4)
    assert turned == (((0, 2),), ((2, 4),), ((0, 2),), ((2, 4),))


@pytest.mark.parametrize(
    "text", ["{manual}", "{devices=[3]<=[3]}", "{devices=[2]<=[2] last_tile_dims={manual}}", "{devices=[2,2]<=[4]}"]
)
def test_regions_that_are_not_known(text):
    with pytest.raises(ValueError, match="sharding"):
        regions_of(text, (4,), 3 if "3" in text else 2)
