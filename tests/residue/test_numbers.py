"""What is guessed is tried on numbers before: what they refute is not guessed, what they show as a multiple is that."""

import numpy as np
import pytest

from tests.builders import mlp
from tests.residue.test_early import OPTIONS, Walks
from tests.residue.test_parts import ON_ROWS, RIGHT, SINGLE, STEP
from tests.values.outline import plans
from verdict.lineage import bind, reference
from verdict.lineage.values import Share
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.residue.numbers import OnNumbers
from verdict.sweep import held

pytestmark = pytest.mark.usefixtures("shared_proofs")

SUMMED = {**RIGHT, "summed": RIGHT["summed"].replace("avg", "sum")}


def pair(how):
    return plans(SINGLE, STEP.format(**ON_ROWS, **how), rank=2)


def asked(how):
    """What is said between cut points, and how often the plan was walked for that."""
    walks, query = Walks(), Query(*pair(how), OPTIONS)
    found = between_cut_points(Query(*pair(how), OPTIONS, walks), walk(query))
    return found and found.report.verdict.name, walks.ended


def test_a_multiple_is_guessed_as_that(monkeypatch):
    assert asked(RIGHT) == ("PROVED", 1)
    monkeypatch.setattr("verdict.residue.residue.held", lambda *_: None)
    assert asked(RIGHT) == ("PROVED", 2)


def test_what_differs_on_numbers_is_not_walked(monkeypatch):
    assert asked(SUMMED) == (None, 0)
    monkeypatch.setattr("verdict.residue.residue.held", lambda *_: None)
    assert asked(SUMMED)[0] is None


def test_numbers_tell_how_often_a_tensor_is_what_is_due():
    single, parallel = pair(RIGHT)
    table = reference(single, 1, bind(single, parallel).batch)
    run = OnNumbers(table, held(single, parallel, 0))
    names = {k: parallel.logicals[tensor.logical].name for k, tensor in enumerate(parallel.tensors)}
    tensors = {(device, names[tensor]): tensor for device, tensor in run.held.parallel[0]}
    bases = {base.name: k for k, base in enumerate(table.bases)}

    def times(device, name, base, region):
        return run.times(device, tensors[device, name], (Share(bases[base], region),))

    rows = [((0, 2), (0, 4)), ((2, 4), (0, 4))]
    assert times(0, "dp_own", "dp", rows[0]) == times(1, "dp_own", "dp", rows[1]) == 2
    assert times(0, "y_own", "y", rows[0]) == 1
    assert times(0, "dp_own", "dp", rows[1]) is None
    assert times(0, "y_own", "p", rows[0]) is None


@pytest.mark.parametrize(("here", "times"), [(0.0, 2), (1.0, None)])
def test_what_is_zero_on_both_sides_refutes_nothing(here, times):
    """A ReLU that lets nothing through, on one of the random points; where one side alone is zero they differ."""
    single, parallel = pair(RIGHT)
    table, run = reference(single, 1, bind(single, parallel).batch), held(single, parallel, 0)
    zeros = {tensor: np.zeros_like(array) for tensor, array in run.single[-1].items()}
    others = {point: np.full_like(array, here) for point, array in run.parallel[-1].items()}
    seen = OnNumbers(table, run._replace(single=[*run.single[:-1], zeros], parallel=[*run.parallel[:-1], others]))
    tensor = next(k for k, one in enumerate(parallel.tensors) if parallel.logicals[one.logical].name == "dp_own")
    base = next(k for k, one in enumerate(table.bases) if one.name == "dp")
    assert seen.times(0, tensor, (Share(base, ((0, 2), (0, 4))),)) == times


def test_of_plans_with_several_columns_nothing_is_seen():
    assert held(mlp(), mlp(dp=2), 0) is None
    assert held(mlp(), mlp(tp=2), 0).agree
