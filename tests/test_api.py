"""`import verdict`: the page's examples, the names, what an import costs, and what is refused."""

import dataclasses
import inspect
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import verdict
import verdict.jax
import verdict.torch
from verdict.limits import Limits

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text()
SMALL = {"layers": 1, "hidden": 4, "batch": 4, "dp": 2, "tp": 1, "pp": 1, "microbatches": 1}
SINGLE, PARALLEL = (ROOT / "data" / "llama3" / f"{name}.plan" for name in ("single", "parallel"))


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 4
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)


def test_every_name_is_on_the_page() -> None:
    for name in set(verdict.__all__) - {"__version__"}:
        assert f"`{name}" in PAGE, name
        assert getattr(verdict, name).__doc__, name
        assert name in dir(verdict)


def test_the_import_brings_no_prover() -> None:
    code = "import sys, verdict; print([m for m in ('z3', 'numpy', 'verdict.api', 'click') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize("first", ["import verdict.pipeline", "import verdict.cli", "pass"])
def test_verify_is_the_function_whatever_was_imported_before(first: str) -> None:
    code = f"{first}\nimport verdict\nprint(callable(verdict.verify), verdict.verify.__module__)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "True verdict.api\n"


def test_a_wrong_plan_is_refuted_and_the_right_one_proved(tmp_path: Path) -> None:
    lines = PARALLEL.read_text().splitlines()
    place = next(k for k, line in enumerate(lines) if "= all_reduce(" in line and "replicas" not in line)
    lines[place] = lines[place].replace("all_reduce", "identity").split(" ranks=")[0]
    wrong = tmp_path / "wrong.plan"
    wrong.write_text("\n".join(lines) + "\n")
    assert verdict.verify(SINGLE, PARALLEL).verdict is verdict.Verdict.PROVED
    report = verdict.verify(SINGLE, wrong)
    assert report.verdict is verdict.Verdict.REFUTED
    assert "missing-reduction" in [finding.code for finding in report.findings]


def test_a_limit_of_time_counts_from_the_call() -> None:
    plans = verdict.generate("mlp", **SMALL)
    assert verdict.verify(*plans, time_limit=60.0).verdict is verdict.Verdict.PROVED
    over = verdict.Options(limits=Limits(seconds=1.0, begun=time.monotonic() - 2))
    assert verdict.verify(*plans, over).verdict is verdict.Verdict.UNKNOWN


def test_phases_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="verdict"):
        verdict.verify(*verdict.generate("mlp", **SMALL))
    assert caplog.messages[-1].endswith(": PROVED")
    assert len(caplog.messages) > 3


def test_what_there_is_not_is_one_sentence() -> None:
    plans = verdict.generate("mlp", **SMALL)
    for asked, sentence in (
        (lambda: verdict.verify(*plans, verdict.Options(assume=frozenset({"luck"}))), "there is no assumption luck"),
        (lambda: verdict.verify(*plans, verdict.Options(denied=frozenset({"luck"}))), "there is no assumption luck"),
        (lambda: verdict.generate("mlp", layerz=1), "there is no size layerz (did you mean layers?"),
        (lambda: verdict.generate("lama3"), "there is no such model to generate"),
        (lambda: verdict.load("nowhere"), "nowhere: the file cannot be read"),
        (lambda: verdict.save(plans[0], "/nowhere/x.plan"), "the file cannot be written"),
    ):
        with pytest.raises(verdict.VerdictError) as raised:
            asked()
        assert sentence in str(raised.value)
    with pytest.raises(AttributeError, match="no attribute 'prove'"):
        verdict.prove  # noqa: B018


def _documented() -> list[tuple[str, object, list[str]]]:
    """The public functions and frozen values that users make or read, with their parameters and fields."""
    found = []
    for room in (verdict, verdict.torch, verdict.jax):
        for name in room.__all__:
            thing = getattr(room, name)
            if isinstance(thing, type) and dataclasses.is_dataclass(thing) and thing is not verdict.Plan:
                fields = (
                    []
                    if issubclass(thing, Exception) and thing is not verdict.VerdictError
                    else dataclasses.fields(thing)
                )
                found.append((f"{room.__name__}.{name}", thing, [field.name for field in fields]))
            elif inspect.isfunction(thing):
                found.append((f"{room.__name__}.{name}", thing, list(inspect.signature(thing).parameters)))
    return found


@pytest.mark.parametrize(("thing", "names"), [each[1:] for each in _documented()], ids=[e[0] for e in _documented()])
def test_docstrings_name_every_parameter_with_its_unit_and_what_is_raised(thing: object, names: list[str]) -> None:
    text = inspect.getdoc(thing) or ""
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []
    units = {"seconds": "seconds", "time_limit": "seconds", "timeout": "seconds", "memory_limit": "MiB"}
    assert all(unit in text or name not in names for name, unit in units.items())
    raises = inspect.isfunction(thing) and not {"shard", "piece", "partial", "mean", "cuda_as_cpu"} & {thing.__name__}
    assert not raises or "Raises " in text
