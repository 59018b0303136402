"""What is known is written as what makes it: it makes the same numbers, and lists no long axis that it need not."""

import numpy as np
import pytest

from verdict.backends.hlo.spelled import CONSTANT, LONG, spelled, with_numbers
from verdict.ops import RULES

ROWS, COLUMNS = np.arange(40)[:, None], np.arange(50)[None]
REGULAR = {
    "positions": (np.arange(40), "int32"),
    "positions from a start": (np.arange(7, 47), "int32"),
    "positions repeated": (np.broadcast_to(np.arange(40)[:, None], (3, 40, 5)), "int32"),
    "one number": (np.full((30, 40), 5), "int32"),
    "the first ones": (np.arange(40) < 9, "bool"),
    "all but the first ones": (np.arange(40) >= 9, "bool"),
    "causal": (ROWS >= COLUMNS, "bool"),
    "causal, of later rows": (ROWS + 8 >= COLUMNS, "bool"),
    "causal, of heads": (np.broadcast_to(ROWS >= COLUMNS, (2, 3, 40, 50)), "bool"),
    "anticausal": (ROWS < COLUMNS, "bool"),
    "strictly causal": (ROWS > COLUMNS, "bool"),
    "not strictly causal": (ROWS <= COLUMNS, "bool"),
    "strictly anticausal": (ROWS < COLUMNS - 1, "bool"),
    "a band": (abs(ROWS - COLUMNS) <= 4, "bool"),
    "no band": (abs(ROWS - COLUMNS) > 4, "bool"),
    "a window": ((ROWS >= COLUMNS) & (ROWS - COLUMNS < 6), "bool"),
    "the diagonal": (ROWS == COLUMNS, "bool"),
    "all but a diagonal": (ROWS + 3 != COLUMNS, "bool"),
    "true": (np.ones((20, 30), bool), "bool"),
}
LISTED = {
    "odd numbers": (np.arange(1, 81, 2), "int32"),
    "backwards": (np.arange(40)[::-1], "int32"),
    "one of them is another": (np.where(np.arange(40) == 17, 3, np.arange(40)), "int32"),
    "from below zero": (np.arange(-3, 37), "int32"),
    "two steps": ((np.arange(40) > 3) & (np.arange(40) < 9), "bool"),
    "causal but for one": ((ROWS >= COLUMNS) ^ ((ROWS == 30) & (COLUMNS == 2)), "bool"),
    "blocks": (ROWS // 8 == COLUMNS // 8, "bool"),
    "of three axes": (np.arange(20)[:, None, None] + np.arange(20)[:, None] >= np.arange(20), "bool"),
}


def nodes(made):
    return [made, *(node for each in made.read for node in nodes(each))]


def run(made):
    (array,) = RULES[made.op].forward([run(each) for each in made.read], made.attrs)
    assert np.shape(array) == made.shape
    return np.asarray(array)


def longest(made):
    return max((max(node.shape, default=0) for node in nodes(made) if node.op == CONSTANT), default=0)


@pytest.mark.parametrize("name", REGULAR | LISTED)
def test_it_makes_what_is_known(name):
    array, dtype = (REGULAR | LISTED)[name]
    made = spelled(np.asarray(array, dtype=np.int64), dtype)
    assert (run(made).astype(np.int64) == array).all() and made.dtype == dtype


@pytest.mark.parametrize("name", REGULAR)
def test_what_is_regular_is_no_list(name):
    array, dtype = REGULAR[name]
    assert longest(spelled(np.asarray(array, dtype=np.int64), dtype)) <= LONG


@pytest.mark.parametrize("name", ["causal", "anticausal", "strictly causal", "not strictly causal"])
def test_masks_of_all_positions_are_told_without_numbers(name):
    made = spelled(np.asarray(REGULAR[name][0], dtype=np.int64), "bool")
    assert not any("start" in node.attrs or "other" in node.attrs for node in nodes(made))


@pytest.mark.parametrize("name", LISTED)
def test_what_is_not_regular_is_a_list(name):
    array, dtype = LISTED[name]
    assert longest(spelled(np.asarray(array, dtype=np.int64), dtype)) > LONG


def test_random_masks_and_numbers_are_what_they_were():
    random = np.random.default_rng(0)
    for _ in range(300):
        shape = tuple(random.integers(1, 24, random.integers(0, 4)))
        low, high = sorted(random.integers(-20, 20, 2))
        base = np.indices(shape).sum(axis=0) if shape else np.array(3)
        signed = base * random.choice([-1, 1]) + random.integers(-5, 5)
        flips = random.random(shape) < random.choice([0, 0.01])
        mask = ((signed >= low) & (signed <= high)) ^ flips
        for array, dtype in ((mask, "bool"), (signed + flips, "int32")):
            assert (run(spelled(np.asarray(array, dtype=np.int64), dtype)).astype(np.int64) == array).all()


@pytest.mark.parametrize("op", ["hlo.add", "hlo.subtract", "hlo.maximum", "hlo.minimum"])
def test_one_number_beside_data_is_an_attribute(op):
    x = np.arange(-4, 5)
    for numbers in ((3, None), (None, 3)):
        found = with_numbers(op, numbers, {})
        arrays = [x if number is None else np.full_like(x, number) for number in numbers]
        (due,) = RULES[op].forward(arrays, {})
        if found is None:
            assert (op, numbers[0]) == ("hlo.subtract", 3)
            continue
        name, place, attrs = found
        (made,) = RULES[name].forward([arrays[place]], attrs)
        assert (np.asarray(made) == due).all() and numbers[place] is None


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "EQ", "NE"])
def test_a_comparison_with_one_number_has_it_as_an_attribute(direction):
    x, attrs = np.arange(-4, 5), {"direction": direction}
    for numbers in ((3, None), (None, 3)):
        arrays = [x if number is None else np.full_like(x, number) for number in numbers]
        name, place, given = with_numbers("hlo.compare", numbers, attrs)
        assert (RULES[name].forward([arrays[place]], given)[0] == RULES["hlo.compare"].forward(arrays, attrs)[0]).all()


def test_what_is_clamped_between_two_numbers_has_them_as_attributes():
    x = np.arange(-9, 9)
    for low, high in ((-2, 5), (5, -2)):
        name, place, attrs = with_numbers("hlo.clamp", (low, None, high), {})
        arrays = [np.full_like(x, low), x, np.full_like(x, high)]
        assert place == 1 and (RULES[name].forward([x], attrs)[0] == RULES["hlo.clamp"].forward(arrays, {})[0]).all()
    assert with_numbers("hlo.multiply", (3, None), {}) is None and with_numbers("hlo.add", (None, None), {}) is None
