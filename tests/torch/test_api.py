"""verdict.torch: what it proves it returns, what it does not prove it raises."""

from importlib.metadata import entry_points

import pytest

torch = pytest.importorskip("torch")

from tests.torch.test_recorded import PROGRAMS, recorded_here  # noqa: E402
from verdict.errors import UsageError  # noqa: E402
from verdict.options import Options  # noqa: E402
from verdict.report import Verdict  # noqa: E402
from verdict.torch import assert_equivalent, capture, require_equivalent  # noqa: E402

HERE = Options()


def plans(builder):
    return recorded_here("mlp_megatron", "build_single"), recorded_here("mlp_megatron", builder, 2)


def test_a_right_program_is_proved():
    report = require_equivalent(*plans("build_async"), options=HERE)
    assert report.verdict is Verdict.PROVED
    assert "recorded-step" in {assumption.name for assumption in report.assumptions}


def test_a_wrong_program_is_told_of():
    with pytest.raises(AssertionError, match=r"REFUTED(.|\n)*first\.weight"):
        require_equivalent(*plans("build_missing_f"), options=HERE)


def test_what_is_denied_is_no_proof():
    with pytest.raises(AssertionError, match="recorded-step"):
        require_equivalent(*plans("build_async"), denied=["recorded-step"], options=HERE)


def test_a_function_inside_of_another_cannot_be_recorded():
    with pytest.raises(UsageError, match="top of a file"):
        capture(lambda ctx: None)


def test_functions_and_names_of_functions():
    with pytest.raises(AssertionError, match="random numbers"):
        assert_equivalent(f"{PROGRAMS}:build_random", f"{PROGRAMS}:build_single", world=1)


def test_the_fixture(request):
    plugins = {point.name: point.value for point in entry_points(group="pytest11")}
    if "verdict" not in plugins:
        pytest.skip("the package was installed before it had the plugin")
    assert request.getfixturevalue("assert_equivalent") is assert_equivalent
