"""How near equal values are, beside values that are far greater."""

import numpy as np

from verdict.sweep import match
from verdict.sweep.guesses import Guesses
from verdict.sweep.match import Catalogue, Known
from verdict.sweep.near import tolerance_of


def test_a_mask_does_not_blur_what_it_leaves():
    scores = np.array([0.5, 0.25, -1e9, 2.0, -1e30])
    near = tolerance_of(scores)
    assert near[:2].max() < 1e-8
    assert near[2] > 0.5
    assert tolerance_of(scores[[0, 1, 3]]).tolist() == near[[0, 1, 3]].tolist()


def test_noise_beside_numbers_is_noise():
    assert tolerance_of(np.array([1.0, 1e-13]))[1] > 1e-13


def test_masked_scores_find_their_own():
    """Scores that differ by a millionth are told apart beside a mask."""
    random = np.random.default_rng(0)
    scores = np.concatenate([1 + np.arange(6) * 1e-6, [-1e9, -1e9]])
    values = tuple(scores + 1e-12 * random.normal(size=8) for _ in range(3))
    catalogue = Catalogue([Known(np.arange(8), values)])
    ids, met = catalogue.each([value[2:6] for value in values])
    assert met.all()
    assert ids.tolist() == [2, 3, 4, 5]
    ids, _ = catalogue.each([np.concatenate([value[2:6], [-1e9]]) for value in values])
    assert ids[:4].tolist() == [2, 3, 4, 5]


def test_values_that_occur_often_are_looked_up_once():
    """Each of 50,000 zeros equals each of 200,000: all pairs would not fit into memory."""
    numbers = np.linspace(1, 2, 50)
    known = np.concatenate([np.zeros(200_000), numbers])
    wanted = np.concatenate([numbers[::-1], np.zeros(50_000)])
    ids, met = Catalogue([Known(np.arange(len(known)), (known,) * 3)]).each([wanted] * 3)
    assert met.all()
    assert np.array_equal(known[ids], wanted)


def test_beyond_a_number_of_places_what_is_rarest_is_looked_up(monkeypatch):
    monkeypatch.setattr(match, "MOST_PLACES", 20)
    known = np.concatenate([np.zeros(30), np.arange(1.5, 10)])
    wanted = np.array([2.5, 0.0, 1.5, 0.0])
    ids, met = Catalogue([Known(np.arange(len(known)), (known,) * 3)]).each([wanted] * 3)
    assert met.tolist() == [True, False, True, False]
    assert known[ids[met]].tolist() == [2.5, 1.5]


def test_of_many_equal_rows_each_is_the_one_in_its_place():
    """Two rows of ignored tokens are zeros on all seeds; the columns are every other one of theirs."""
    random = np.random.default_rng(1)
    values = tuple(random.normal(size=(8, 10)) for _ in range(3))
    for value in values:
        value[[4, 5]] = 0.0
    catalogue = Catalogue([Known(np.arange(80).reshape(8, 10), values)])
    ids, met = catalogue.each([value[:, :5].reshape(2, 4, 5) for value in values])
    assert met.all()
    assert np.array_equal(ids, np.arange(80).reshape(8, 10)[:, :5].reshape(2, 4, 5))


def test_rows_in_another_order_stand_where_they_do():
    random = np.random.default_rng(2)
    values = tuple(random.normal(size=(5, 4)) for _ in range(3))
    order = [3, 0, 4, 1, 2]
    catalogue = Catalogue([Known(np.arange(20).reshape(5, 4), values)])
    ids, met = catalogue.each([value[order] for value in values])
    assert met.all()
    assert np.array_equal(ids, np.arange(20).reshape(5, 4)[order])


def test_a_catalogue_of_some_seeds_finds_what_rounding_hides_on_others():
    """On the second seed the rows are what rounding leaves: another number on either side."""
    random = np.random.default_rng(3)
    values = tuple(random.normal(size=(6, 3)) for _ in range(4))
    catalogue = Catalogue([Known(np.arange(18).reshape(6, 3), values)])
    wanted = [value[2:4] * (1 if seed % 2 == 0 else 1e-15) for seed, value in enumerate(values)]
    assert list(catalogue.boxes(wanted)) == []
    (found,) = catalogue.on(slice(0, None, 2)).boxes(wanted[::2])
    assert found.tolist() == [[6, 7, 8], [9, 10, 11]]


def test_the_values_of_elements_are_known_by_their_numbers():
    rows = np.array([[7, 3], [5, 3]])
    catalogue = Catalogue([Known(rows, tuple(rows * times for times in (1.0, 2.0)))])
    assert [values.tolist() for values in catalogue.of(np.array([3, 5]))] == [[3.0, 5.0], [6.0, 10.0]]
    assert catalogue.of(np.array([3, 4])) is None
    assert Catalogue([]).of(np.array([3])) is None


def test_what_is_zero_is_not_guessed_to_be_what_is_not():
    known = [Known(np.arange(4), (np.ones(4),) * 3), Known(np.arange(4, 8), (np.full(4, 1e-15),) * 3)]
    guesses = Guesses(Catalogue(known), None, ())
    places = np.arange(4)
    assert not guesses.may_be_noise((places, np.arange(4)))
    assert guesses.may_be_noise((places, np.arange(4, 8)))
    assert guesses.may_be_noise((places, np.arange(9, 13)))
    assert guesses.may_be_noise(None)
