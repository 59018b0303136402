"""The files of pairs and the command that runs them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from verdict.backends import pairs
from verdict.backends.pairs.outline import Outline, complete
from verdict.backends.text import canonical, read, write
from verdict.bugs import judge
from verdict.bugs.command import bugs_command
from verdict.errors import PlanFileError, UsageError
from verdict.graph import GRADIENT
from verdict.options import Options

EDIT = """\
- y[dp, :] = mul(x[dp, :]) other=2
+ y[dp, :] = mul(x[dp, :]) other=3
"""
RIGHT = f"""\
# A title
# and why.
source https://example.org/1
category scale
parallelism DP
expect wrong-constant
place y

plan single
  x input [2, 2]
  y = mul(x) other=2
  output y
plan parallel dp=2
{EDIT}  output y
"""


def written(folder: Path, text: str, name: str = "one") -> Path:
    (folder / f"{name}.pair").write_text(text)
    return folder


def run(*arguments):
    runner = CliRunner()
    return runner.invoke(bugs_command(pairs.names, pairs.load), [str(argument) for argument in arguments])


def test_a_pair_is_read(tmp_path):
    pair = pairs.load(written(tmp_path, RIGHT), "one")
    assert (pair.title, pair.about[1], pair.category) == ("A title", "and why.", "scale")
    (single, right), (_, wrong) = pair.twin(), pair.plans()
    assert (single.devices, right.devices, right.replicas) == (1, 2, 1)
    assert [dict(plan.segments[1].nodes[0].attrs)["other"] for plan in (right, wrong)] == [2, 3]
    assert read(write(right).encode(), right.source) == canonical(right)


@pytest.mark.parametrize(
    "old, new, problem",
    [
        (EDIT, "  z = relu(x)\n", "no line that begins"),
        ("category scale", "kind scale", "expected one of category"),
        ("plan single", "plan first", "plan single"),
        ("place y", "place y on one", "on RANK"),
        ("dp=2", "dp=two", "NAME=SIZE"),
        ("other=2\n  output", "others=2\n  output", "unknown attribute"),
        ("x[dp, :]", "q[dp, :]", "q is in no plan"),
        ("mul(x) other=2", "mlu(x) other=2", "there is no operator mlu"),
        ("x input [2, 2]", "x input [2, 2]\n  x input [2]", "declared twice"),
        ("y = mul(x)", "y = mul(v)", "the shape of v is not known"),
    ],
)
def test_a_broken_pair_is_refused(tmp_path, old, new, problem):
    assert old in RIGHT
    folder = written(tmp_path, RIGHT.replace(old, new, 1))
    with pytest.raises(PlanFileError) as caught:
        pairs.load(folder, "one").twin()
    assert problem in caught.value.problem


def test_an_outline_is_completed():
    lines = ("x input [4, 6]", "w weight bfloat16 [2, 6]", "y = linear(x, w)", "seed one", "dy = sum.grad(one, y)")
    plan = complete(Outline((), lines), "here")
    shapes = {logical.name: (logical.shape, logical.dtype, logical.kind) for logical in plan.logicals}
    assert shapes["y"] == ((4, 2), "float32", "activation")
    assert shapes["w"] == ((2, 6), "bfloat16", "weight")
    assert shapes["one"] == ((1,), "float32", GRADIENT)
    assert shapes["dy"] == ((4, 2), "float32", GRADIENT)


@pytest.mark.parametrize(
    "line, shape",
    [
        ("y = all_gather(x) ranks=tp dim=0", (8, 4)),
        ("y = reduce_scatter(x) ranks=tp dim=1", (4, 2)),
        ("y = all_to_all(x) ranks=tp split_dim=0 concat_dim=1", (2, 8)),
        ("y = chunk(x) ranks=tp dim=0", (2, 4)),
    ],
)
def test_what_collectives_make_has_a_shape(line, shape):
    plan = complete(Outline((("tp", 2),), ("x input [4, 4]", line)), "here")
    assert next(logical.shape for logical in plan.logicals if logical.name == "y") == shape


def test_the_parallel_plan_takes_shapes_from_the_single_one():
    single = complete(Outline((), ("x input [4, 4]", "h = relu(x)")), "single")
    lines = ("family 0", "h[0:2, :] = recv() peer=1", "family 1")
    assert complete(Outline((("pp", 2),), lines), "parallel", single).logicals[0].shape == (4, 4)
    with pytest.raises(PlanFileError, match="what it receives is not known"):
        complete(Outline((("pp", 2),), ("family 0", "v = recv() peer=1", "family 1")), "parallel", single)


def test_the_command_prints_a_table(tmp_path):
    found = run("--suite", written(tmp_path, RIGHT))
    assert found.exit_code == 0
    assert found.output.splitlines()[-1] == "1 of 1 as expected, 1 in less than a second"


def test_the_command_says_what_is_not_as_expected(tmp_path):
    folder = written(tmp_path, RIGHT.replace("expect wrong-constant", "expect deadlock"))
    found = run("--suite", folder)
    assert (found.exit_code, "missed: code; expected: deadlock at y" in found.output) == (1, True)
    (told,) = json.loads(run("--suite", folder, "--format", "json").output)["bugs"]
    assert (told["as_expected"], told["right_plan"]["verdict"]) == (False, "PROVED")
    assert told["plan_with_the_bug"] == {"verdict": "REFUTED", "codes": ["wrong-constant"]}


def test_the_command_says_the_sums(tmp_path):
    folder = written(tmp_path, RIGHT)
    sums = json.loads(run("--suite", folder, "--format", "json").output)["sums"]
    assert {sums.pop(name) for name in ("bugs", "refuted", "right_plans_proved", "codes", "places_first")} == {1}
    assert sums.pop("recorded_programs") == 0
    assert set(sums) == {"single_findings", "repaired_with_proof"}
    told = run("--suite", folder, "--format", "markdown").output
    assert told.splitlines()[-1].startswith(
        "1 bug, 0 of them as recorded programs: refuted 1, right plans proved 1, codes 1, places first 1, "
    )


@pytest.mark.parametrize("place, reached", [("y", True), ("x or y on 0 1", True), ("y on 1", False), ("x", False)])
def test_the_first_finding_must_name_the_place_and_its_ranks(tmp_path, place, reached):
    judged = judge(pairs.load(written(tmp_path, RIGHT.replace("place y", f"place {place}")), "one"), Options())
    assert (judged.place, judged.as_expected) == (reached, reached)


@pytest.mark.parametrize("place, as_expected", [("x", True), ("y", False)])
def test_what_is_said_to_be_missed_must_be(tmp_path, place, as_expected):
    text = RIGHT.replace("place y", f"place {place}\nmissed place")
    assert judge(pairs.load(written(tmp_path, text), "one"), Options()).as_expected == as_expected


def test_a_right_plan_that_is_not_proved_is_not_as_expected(tmp_path):
    wrong = RIGHT.replace("- y[dp, :] = mul(x[dp, :]) other=2", "- y[dp, :] = mul(x[dp, :]) other=4")
    assert run("--suite", written(tmp_path, wrong)).exit_code == 1


def test_names_that_are_not_there_are_usage_errors(tmp_path):
    for arguments in (("two", "--suite", written(tmp_path, RIGHT)), ("--suite", tmp_path / "nowhere")):
        assert isinstance(run(*arguments).exception, UsageError)


def test_the_suite_is_found():
    found = run("pytorch-58005")
    assert (found.exit_code, "pytorch-58005" in found.output) == (0, True)
