"""Kept recordings: used where all that they were seen to depend on is what it was, and signed; made again else."""

import json
import shutil
from pathlib import Path

import pytest

from tests.batches.project import run
from tests.batches.test_check import untimed
from verdict.backends.torch.confirmation import AGREES, FAILS, NOT_RUN, Confirmation
from verdict.backends.torch.evidence import FILE, NEVER, digest
from verdict.backends.torch.keeping import record_or_reuse
from verdict.backends.torch.kept import ALWAYS, KEPT, Manner, from_bytes, name_of, same, to_bytes
from verdict.backends.torch.launch import Recorded, Target
from verdict.backends.torch.trace import Trace
from verdict.batches.cache import SIGNATURE_BYTES, opened, put_bytes
from verdict.batches.recording import OnDisk
from verdict.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
MANNER = Manner("fake", True, "version")
MANNERS = {"auto": 'name = "auto"', "fake": 'name = "fake"\ntensors = "fake"'}
"""What an entry of a list says of what it is recorded on: nothing, or tensors without data."""


class Shelf:
    """Recordings in memory. sampled: whether all of them are made again."""

    def __init__(self, sampled=False):
        self.held, self.sampled = {}, sampled

    def get(self, name):
        return self.held.get(name)

    def put(self, name, content):
        self.held[name] = content

    def drop(self, name):
        del self.held[name]

    def is_sampled(self, name):
        return self.sampled


class Recorder:
    """Makes the recording that it is told, and counts."""

    def __init__(self, *answers):
        self.answers, self.made = answers, 0

    def __call__(self, sides):
        self.made += len(sides)
        return list(self.answers[: len(sides)])


@pytest.fixture
def side(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("a = 1")
    (tmp_path / "data").write_text("1")
    return Target("program.py", "build"), 1


def recorded(rank=0, seconds=1.0, **more):
    """A recording that depends on the file `data`."""
    trace = Trace(rank, 1, (), (), (), (), seconds=seconds, doubts=more.pop("doubts", ()))
    seen = ((FILE, str(Path("data").resolve()), digest("data")),)
    return Recorded(**{"traces": (trace,), "confirmation": Confirmation(AGREES), "seen": seen, "processes": 2, **more})


def twice(side, shelf, between=lambda: None, **more):
    """How many recordings two runs make; the second run's answer."""
    first, second = Recorder(recorded(**more)), Recorder(recorded(**more))
    record_or_reuse([side], MANNER, first, shelf)
    between()
    kept = record_or_reuse([side], MANNER, second, shelf)
    return first.made, second.made, kept


def test_a_recording_is_used_again(side):
    shelf = Shelf()
    first, second, kept = twice(side, shelf)
    assert (first, second, kept.used, kept.always) == (1, 0, 1, {})
    assert same(kept.found[side], recorded())


def test_it_is_what_it_was_when_it_comes_from_bytes():
    there = recorded(confirmation=Confirmation(AGREES, "", ("a",), ("b",)))
    assert from_bytes(to_bytes(there)) == there


@pytest.mark.parametrize("name", ["data", "program.py"])
def test_a_file_that_changed_is_recorded_anew(side, name):
    assert twice(side, Shelf(), lambda: Path(name).write_text("2"))[1] == 1


@pytest.mark.parametrize("name", ["OMP_NUM_STREAMS", "PYTHONHASHSEED", "TORCH_LOGS", "LD_PRELOAD"])
def test_a_variable_that_libraries_read_unseen_is_in_the_name(side, monkeypatch, name):
    assert name.startswith(ALWAYS)
    assert twice(side, Shelf(), lambda: monkeypatch.setenv(name, "7"))[1] == 1


def test_all_that_is_known_beforehand_is_in_the_name(side, tmp_path, monkeypatch):
    target, world = side
    (tmp_path / "other.py").write_text("a = 1")
    names = {
        name_of(target, world, MANNER),
        name_of(target, 2, MANNER),
        name_of(target._replace(function="other"), world, MANNER),
        name_of(target._replace(file="other.py"), world, MANNER),
        *(name_of(target, world, MANNER._replace(**{key: "x"})) for key in MANNER._fields),
    }
    (tmp_path / "extra-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    names.add(name_of(target, world, MANNER))
    assert len(names) == 5 + len(MANNER._fields)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"seen": ((NEVER, "it reads the clock", ""),)}, "it reads the clock"),
        ({"doubts": ("odd",)}, "there are doubts of it"),
        ({"confirmation": Confirmation(FAILS, "x")}, "its runs did not confirm it"),
        ({"confirmation": Confirmation(NOT_RUN, "it is late")}, "its runs did not confirm it"),
        ({"processes": 1}, "not all of its processes told what they read"),
        ({"seen": ((FILE, "/nowhere", "0"),)}, "file /nowhere is not what it was"),
    ],
)
def test_what_cannot_be_used_again_is_recorded_every_time_and_told(side, more, why):
    _, second, kept = twice(side, Shelf(), **more)
    assert second == 1
    assert kept.always == {side: why}


def test_what_is_too_large_to_be_run_is_kept(side):
    more = {"confirmation": Confirmation(NOT_RUN, "it has many ranks"), "processes": 1}
    assert twice(side, Shelf(), **more)[1] == 0


def test_a_sample_that_comes_out_otherwise_discredits_all(side):
    shelf = Shelf()
    other = (Target("program.py", "other"), 1)
    record_or_reuse([side, other], MANNER, Recorder(recorded(), recorded()), shelf)
    shelf.is_sampled = lambda name: name == name_of(*side, MANNER)
    again = Recorder(recorded(), recorded())
    kept = record_or_reuse([side, other], MANNER, again, shelf)
    assert (again.made, kept.used, kept.again, kept.otherwise) == (1, 2, 1, 0)
    again = Recorder(recorded(rank=1), recorded(rank=1))
    kept = record_or_reuse([side, other], MANNER, again, shelf)
    assert (again.made, kept.used, kept.again, kept.otherwise) == (2, 2, 1, 1)
    assert all(found.traces[0].rank == 1 for found in kept.found.values())


def test_what_cannot_be_recorded_is_not_kept(side):
    shelf = Shelf()
    error = UsageError("x", "it fails")
    assert record_or_reuse([side], MANNER, Recorder(error), shelf).found == {side: error}
    assert not shelf.held


def test_any_damage_to_a_kept_recording_records_it_anew(side, tmp_path):
    shelf = OnDisk(opened(str(tmp_path / "kept")), 0)
    made, _, kept = twice(side, shelf)
    assert kept.used == 1
    (entry,) = (path for path in (tmp_path / "kept").rglob("*") if path.is_file())
    content = entry.read_bytes()
    flipped = content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
    for damaged in (b"", content[:-1], content[SIGNATURE_BYTES:], flipped):
        entry.write_bytes(damaged)
        assert twice(side, shelf)[:2] == (made, 0), "it is made anew, and then kept"
        assert entry.read_bytes() == content


def test_a_recording_under_the_name_of_another_program_is_not_believed(side, tmp_path):
    shelf = OnDisk(opened(str(tmp_path / "kept")), 0)
    twice(side, shelf)
    (entry,) = (path for path in (tmp_path / "kept").rglob("*") if path.is_file())
    other = (side[0]._replace(function="other"), 1)
    name = name_of(*other, MANNER)
    (tmp_path / "kept" / name[:2]).mkdir(exist_ok=True)
    shutil.copy(entry, tmp_path / "kept" / name[:2] / name)
    assert record_or_reuse([other], MANNER, Recorder(recorded()), shelf).used == 0
    put_bytes(opened(str(tmp_path / "kept")), name, entry.read_bytes()[SIGNATURE_BYTES:])
    assert record_or_reuse([other], MANNER, Recorder(recorded()), shelf).used == 1, "what is signed is believed"


def project(folder, more=""):
    shutil.copy(ROOT / "examples" / "torch" / "linear_ddp.py", folder)
    entry = '[[tool.verdict.programs]]\nprogram = "linear_ddp.py"\nworld = 2\n'
    (folder / "pyproject.toml").write_text(f"[tool.verdict]\n{more}\n{entry}")


def check(name):
    """The run, and its report without times."""
    done = run("check", "-q", "-v", "--sample-seed", "0", "--output", f"json:{name}.json")
    return done, untimed(json.loads(Path(f"{name}.json").read_text()))


def test_what_cannot_be_recorded_without_numbers_is_recorded_on_them(tmp_path, monkeypatch):
    """The reducer of DistributedDataParallel works on memory; a list that asks for tensors without data is told so."""
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    for name in ("ddp.py", "ddp_manual.py", "mlp_megatron.py"):
        shutil.copy(ROOT / "examples" / "torch" / name, tmp_path)
    entries = (f'[[tool.verdict.programs]]\nprogram = "ddp.py:build"\nworld = 2\n{more}' for more in MANNERS.values())
    (tmp_path / "pyproject.toml").write_text("\n".join(entries))
    done = run("check", "-q", "--no-cache", "--output", "json:told.json")
    told = json.loads((tmp_path / "told.json").read_text())
    assert {case["name"]: case["verdict"] for case in told["cases"]} == {"auto": "PROVED", "fake": "REFUSED"}
    assert done.exit_code == 2


def test_a_real_program_is_recorded_once_and_told_the_same(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("verdict.batches.recording.is_sampled", lambda *_: False)
    monkeypatch.setattr("verdict.batches.reuse.is_sampled", lambda *_: False)
    project(tmp_path)
    first, told = check("first")
    assert first.exit_code == 0, first.exception
    case = told["cases"][0]
    assert [each["checked"]["files"] for each in case["recordings"]] == [["linear_ddp.py"]] * 2
    assert case["recordings"][0]["declared"]
    assert KEPT in [each["name"] for each in case["report"]["assumptions"]]

    def never(*_):
        raise AssertionError("it is recorded")

    monkeypatch.setattr("verdict.batches.recording.recorded_each", never)
    second, again = check("second")
    assert "2 programs recorded before" in second.stderr
    assert again == told
    project(tmp_path, f'deny-assumptions = ["{KEPT}"]')
    with pytest.raises(AssertionError, match="it is recorded"):
        raise run("check", "-q").exception
