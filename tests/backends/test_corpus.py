"""What fuzzing found stays found, and the fuzzer finds what is there to find."""

import importlib.util
import os
import pickle
from pathlib import Path

import pytest

from verdict.backends import load, read_here
from verdict.errors import PlanFileError

ROOT = Path(__file__).resolve().parents[2]
CORPUS = sorted((ROOT / "tests" / "backends" / "corpus").iterdir())


@pytest.fixture(scope="module")
def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_readers", ROOT / "scripts" / "fuzz_readers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sources(fuzzer):
    return fuzzer.seeds(Path("/nowhere"))


def test_the_corpus_is_there():
    assert len(CORPUS) >= 4


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
@pytest.mark.parametrize("read", [read_here, load])
def test_a_find_is_a_sentence_now(path, read):
    with pytest.raises(PlanFileError) as caught:
        read(str(path))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000 + len(str(path))


def test_a_few_hundred_mutants_end_in_a_plan_or_a_sentence(fuzzer, sources, tmp_path):
    fuzzer.warm_up(sources, tmp_path)
    ends = fuzzer.run_batch(range(300), 2, 0.3, sources, tmp_path)
    assert [number for number, _ in ends] == list(range(300))
    assert [end for _, end in ends if end.startswith("find")] == []
    assert {"refused", "plan"} <= {end for _, end in ends}


def test_a_reader_that_runs_what_it_reads_is_found(fuzzer, sources, tmp_path, monkeypatch):
    def careless(path):
        try:
            return pickle.loads(Path(path).read_bytes())
        except Exception:
            raise PlanFileError(path, "damaged") from None

    monkeypatch.setattr(fuzzer, "read_here", careless)
    pickles = [source for source in sources if source.data.startswith(b"\x80")]
    ends = fuzzer.run_batch(range(200), 2, 0, pickles, tmp_path)
    assert any("RanError" in end or "canary" in end for _, end in ends)


def test_a_reader_that_fails_is_found(fuzzer, sources, tmp_path, monkeypatch):
    def broken(path):
        raise IndexError("list index out of range")

    monkeypatch.setattr(fuzzer, "read_here", broken)
    assert all("IndexError" in end for _, end in fuzzer.run_batch(range(3), 2, 0, sources, tmp_path))


def test_a_reader_that_takes_the_process_down_loses_one_input(fuzzer, sources, tmp_path, monkeypatch):
    def dying(path):
        if Path(path).read_bytes().startswith(b"\x80"):
            os._exit(1)
        raise PlanFileError(path, "damaged")

    monkeypatch.setattr(fuzzer, "read_here", dying)
    ends = dict(fuzzer.run_batch(range(12), 2, 0, sources, tmp_path))
    assert set(ends) == set(range(12))
    assert set(ends.values()) == {"killed", "refused"}
