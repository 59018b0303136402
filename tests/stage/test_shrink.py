"""Shape reduction: pieces stay pieces, axes stay apart, and what a rule asks for is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.lineage import Signature, mean
from verdict.lineage.columns import NO_COLUMN
from verdict.solver import SolverError
from verdict.stage.shrink import require_few, shrink


def meaning(op, shapes, columns=1, batch=None, **attrs):
    """The meaning of a forward node; `batch` says the batch axis of each input."""
    signature = Signature(
        op=op,
        attrs=tuple(sorted(attrs.items())),
        shapes=tuple(shapes),
        dtypes=("float32",) * len(shapes),
        columns=tuple(batch or [NO_COLUMN] * len(shapes)),
        alias=tuple(range(len(shapes))),
        grads=0,
        wanted=(True,),
        arity=1,
    )
    found = mean(signature, columns)
    assert not found.problem
    return found


CUTS = st.fixed_dictionaries({name: st.sets(st.integers(0, 128), max_size=9) for name in ("b0", "m", "k", "n")})


@given(CUTS)
def test_every_piece_of_every_axis_survives(cuts):
    found = shrink(meaning("matmul", [(128, 128, 128), (128, 128, 128)]), cuts, 1)
    for atom, full in found.full.items():
        points = found.points[atom]
        kept = sorted({0, full, *cuts[atom]})
        assert sorted(points) == kept
        reduced = [points[coordinate] for coordinate in kept]
        assert reduced == sorted(set(reduced))
        assert reduced[0] == 0
        assert all(here <= coordinate for here, coordinate in zip(reduced, kept, strict=True))


def test_axes_of_one_full_size_get_sizes_of_their_own():
    found = shrink(meaning("matmul", [(128, 128, 128), (128, 128, 128)]), {}, 1)
    assert len(set(found.sizes.values())) == 4
    assert max(found.sizes.values()) <= 5


def test_a_size_that_the_plan_has_is_never_exceeded():
    found = shrink(meaning("matmul", [(2, 2, 2), (2, 2, 2)]), {"m": {1}}, 1)
    assert found.sizes == {"b0": 2, "m": 2, "k": 2, "n": 2}


def test_the_least_that_a_rule_asks_for():
    mask = shrink(meaning("apply_mask", [(8, 4, 64, 64), (1, 1, 64, 64)]), {}, 1)
    assert min(mask.sizes["d2"], mask.sizes["d3"]) >= 4
    rotary = shrink(meaning("softmax", [(8, 64)], dim=1), {}, 1)
    assert rotary.sizes["k"] >= 2
    whole = shrink(meaning("view", [(2, 300)], size=(3, 200)), {}, 1)
    assert (whole.sizes["x1"], whole.sizes["y0"]) == (3, 3)


def test_two_columns_stand_for_all_and_lie_side_by_side():
    found = shrink(meaning("linear", [(512, 6), (5, 6)], 64, (0, NO_COLUMN)), {}, 2)
    assert found.columns == 2
    assert found.sizes["b0"] == 2 * found.size("b0")
    first, second = (found.interval("b0", (0, 8), column) for column in (0, 1))
    assert first[1] == second[0]


def test_a_share_lies_where_its_elements_are():
    found = shrink(meaning("view", [(6, 32)], size=(6, 4, 8)), {"v1": {1, 2}}, 1)
    low, high = (found.points["v1"][coordinate] for coordinate in (1, 2))
    _, heads = found.slices((("v0",), ("v1", "v2")), {"v0": (0, 6), "v1": (1, 2), "v2": (0, 8)}, 0)
    width = found.sizes["v2"]
    assert heads == slice(low * width, high * width)


def test_a_node_that_stays_too_large_is_not_executed():
    large = meaning("softmax", [(400, 400)], dim=1)
    require_few(large, shrink(large, {"k": range(400)}, 1))
    with pytest.raises(SolverError, match="320,000 elements"):
        require_few(large, shrink(large, {"k": range(400), "b0": range(400)}, 1))


def test_of_positions_that_are_written_and_of_rows_few_are_left():
    put = shrink(meaning("aten.index_put", [(96, 64), (4, 32), (4, 32, 64)], indices_count=1, accumulate=True), {}, 1)
    assert put.sizes["d0"] < 10
    assert max(put.sizes[name] for name in ("i0", "i1", "d1")) <= 5
    assert min(put.sizes["i0"], put.sizes["i1"]) >= 2


def test_rows_that_are_written_beside_others_stay():
    shapes, more = [(128, 64), (32, 64), (32, 64)], {"dim": 0}
    found = shrink(meaning("aten.scatter_add", shapes, **more), {}, 1)
    assert found.sizes["row"] == 128
    assert shrink(meaning("aten.gather", shapes[:2], **more), {}, 1).sizes["row"] < 10


@pytest.mark.parametrize("op, axis, more", [("index.Tensor", "x0", {"indices_count": 1}), ("embedding", "v", {})])
def test_of_a_table_that_is_looked_up_in_few_rows_are_left(op, axis, more):
    found = shrink(meaning(f"aten.{op}", [(128_000, 64), (4, 32)], **more), {}, 1)
    assert found.sizes["i0" if axis == "x0" else "b0"] <= found.sizes[axis] < 10


@pytest.mark.parametrize("op", ["amax", "amin", "max", "logsumexp", "linalg_vector_norm"])
def test_of_what_the_greatest_and_norms_are_of_few_are_left(op):
    more = {"dim": 0} if op == "logsumexp" else {}
    found = shrink(meaning(f"aten.{op}", [(20_011, 4)], **more), {}, 1)
    assert 2 <= found.sizes["k0"] < 10


@pytest.mark.parametrize("op", ["argmax", "argmin", "var.correction"])
def test_where_places_or_the_number_of_elements_show_all_are_left(op):
    assert shrink(meaning(f"aten.{op}", [(311, 4)], dim=0), {}, 1).sizes["k0"] == 311
