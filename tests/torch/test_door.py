"""What a user's functions return is refused with a sentence where it is not what a Program says of itself."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from verdict.backends.torch.door import require_loss, require_outputs, require_program  # noqa: E402
from verdict.backends.torch.ends import named  # noqa: E402
from verdict.backends.torch.program import Program, mean, partial, piece, shard  # noqa: E402
from verdict.backends.torch.shares import told  # noqa: E402
from verdict.errors import UsageError  # noqa: E402

RIGHT = Program({"x": torch.zeros(2)}, {"w": torch.zeros(2)}, torch.zeros, specs={"x": shard(0, 0, 2)}, ranges={})


@pytest.mark.parametrize(
    "made", [RIGHT, replace(RIGHT, params=torch.nn.Linear(1, 1)), replace(RIGHT, ranges={"x": [0, 3]})]
)
def test_a_program_is_taken_as_it_is(made):
    assert require_program(made) is made


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (None, "build: it returned a NoneType"),
        (replace(RIGHT, inputs=[torch.zeros(2)]), "Program.inputs: it is a list"),
        (replace(RIGHT, inputs={0: torch.zeros(2)}), "Program.inputs: 0 is no name"),
        (replace(RIGHT, params={"w": shard(0, 0, 2)}), r"Program.params\['w'\]: it is a Share"),
        (replace(RIGHT, specs={"w": torch.zeros(2)}), r"Program.specs\['w'\]: it is a Tensor"),
        (replace(RIGHT, ranges={"x": (0, 1.5)}), r"Program.ranges\['x'\]: it is \(0, 1.5\)"),
        (replace(RIGHT, names={"w": 1}), r"Program.names\['w'\]: it is a int"),
        (replace(RIGHT, step=torch.zeros(2)), "Program.step: it is a Tensor"),
        (replace(RIGHT, outputs={"y": torch.zeros(2)}), "Program.outputs: it is a dict"),
        (replace(RIGHT, loss="mean"), "Program.loss: it is a str"),
    ],
)
def test_what_is_no_program_is_refused(made, problem):
    with pytest.raises(UsageError, match=problem):
        require_program(made)


def test_inputs_and_parameters_have_names_of_their_own():
    """Specs and ranges go by names; the run of such a program was given the one in the place of the other."""
    assert named(RIGHT).keys() == {"w"}
    for made in (replace(RIGHT, params={"x": torch.zeros(3)}), replace(RIGHT, names={"w": "x"})):
        with pytest.raises(UsageError, match=r"Program.inputs\['x'\]: a parameter has this name, too"):
            named(made)


def test_a_loss_is_a_tensor_or_none():
    require_loss(None)
    require_loss(torch.zeros(()))
    with pytest.raises(UsageError, match="it returned a float"):
        require_loss(0.5)


def test_outputs_are_tensors_by_name():
    assert require_outputs(lambda: {"y": RIGHT.inputs["x"]})["y"] is RIGHT.inputs["x"]
    with pytest.raises(UsageError, match=r"Program.outputs\['y'\]: it is a float"):
        require_outputs(lambda: {"y": 0.5})


def test_a_spec_cuts_a_dimension_that_is_there():
    assert told("x", (2, 3), shard(-1, 1, 2)) == ((2, 6), ((0, 2), (3, 6)))
    for dim in (2, -3):
        for spec in (shard(dim, 1, 2), piece(dim, 0, 2, 4)):
            with pytest.raises(UsageError, match=f"x: its spec cuts dimension {dim}, and it has 2"):
                told("x", (2, 3), spec)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: shard("0", 0, 2), "shard: its `dim` is '0'"),
        (lambda: shard(0, 0.5, 2), "shard: its `index` is 0.5"),
        (lambda: shard(0, 2, 2), "shard: its `index` is 2, of 2"),
        (lambda: piece(0, None, 2, 4), "piece: its `start` is None"),
        (lambda: partial(0, "2"), "partial: its `count` is '2'"),
        (lambda: partial(-1, 2), "partial: its `index` is -1, of 2"),
        (lambda: mean(0, "2"), "partial: its `count` is '2'"),
    ],
)
def test_what_is_no_share_is_refused(made, problem):
    with pytest.raises(UsageError, match=problem):
        made()


def test_a_share_is_of_whole_numbers_of_any_kind():
    assert shard(torch.tensor(0), torch.tensor(1), torch.tensor(2)) == shard(0, 1, 2)
    assert repr(mean(torch.tensor(1), torch.tensor(2))) == repr(mean(1, 2))
