"""What a value is due to be: what is right is seen at once, and what is wrong is told the same in whatever order."""

from hypothesis import given
from hypothesis import strategies as st

from verdict.lineage.columns import NO_COLUMN, SUMMED, UNDECIDED
from verdict.lineage.compare import difference
from verdict.lineage.reference import Base
from verdict.lineage.values import OVER_REPLICAS, WHOLE, Label, Shard, Share

REGION, OTHER = ((0, 2), (0, 4)), ((2, 4), (0, 4))
COLUMNS = (NO_COLUMN, SUMMED, UNDECIDED, SUMMED)
BASES = tuple(Base(k, 0, f"b{k}", (4, 4), "float32", column, f"b{k}") for k, column in enumerate(COLUMNS))
PART = ((Label(0, 0, "i", 8), (0, 4)),)

SHARES = st.builds(
    Share,
    st.integers(0, len(BASES) - 1),
    st.sampled_from([REGION, REGION, REGION, OTHER]),
    st.sampled_from([(), (), (), PART]),
    st.sampled_from([0, 0, OVER_REPLICAS]),
    st.sampled_from([WHOLE, WHOLE, Shard(0, 2)]),
    st.sampled_from([1, 1, 1, 2]),
)
VALUES = st.lists(SHARES, max_size=3).map(lambda shares: tuple(sorted(shares, key=lambda share: share.base)))


OTHERS = st.lists(st.integers(0, len(BASES) - 1), max_size=3)


@given(VALUES, OTHERS, st.booleans(), st.sampled_from([WHOLE, Shard(0, 2)]))
def test_what_is_due_counts_and_not_its_order(value, others, own, shard):
    due = [share.base for share in value] if own else others
    at_once = difference(value, tuple(sorted(due)), REGION, BASES, shard)
    for turned in (due[::-1], due[1:] + due[:1]):
        assert difference(value, tuple(turned), REGION, BASES, shard) == at_once


def test_what_is_right_has_no_difference():
    value = (Share(0, REGION), Share(1, REGION, (), OVER_REPLICAS))
    assert difference(value, (0, 1), REGION, BASES) is None
    assert difference(value, (1, 0), REGION, BASES) is None
    assert difference((Share(0, REGION, (), OVER_REPLICAS),), (0,), REGION, BASES).code == "reduced-twice"
    assert difference((Share(0, REGION, (), 0, WHOLE, 2),), (0,), REGION, BASES).code == "wrong-scale"
    assert difference((Share(0, OTHER),), (0,), REGION, BASES).code == "wrong-slice"
