"""Kept proofs: taken over where nothing changed, believed only where the user's key signed them."""

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest

from tests.batches.project import refused, run, write_project
from tests.batches.test_check import untimed
from verdict.batches import reuse
from verdict.batches.cache import ONE_IN, SIGNATURE_BYTES, Entry, get, is_sampled, name_of, opened, put
from verdict.batches.command import PACKAGE
from verdict.batches.question import Settings
from verdict.batches.version import version_of
from verdict.report import Verdict

NEVER = 3
"""A seed; `never_sampled` holds that no entry of these tests is in its sample."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERDICT_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(reuse, "is_sampled", lambda name, seed: seed != NEVER)
    return tmp_path


def check(*more):
    """The run's exit status, the cases that it tells of, and how many it took over."""
    done = run("check", "-q", "--output", "json:out.json", "--sample-seed", NEVER, *more)
    cases = json.loads(Path("out.json").read_text())["cases"]
    reused = done.stderr.partition("note: ")[2].partition(" of ")[0]
    return done.exit_code, [untimed(case) for case in cases], int(reused or 0)


def entries(here):
    return sorted(path for path in (here / "kept").rglob("*") if path.is_file())


def test_the_second_run_takes_over_what_was_proved_and_nothing_else(here):
    write_project(here, ("one", "two", "four"))
    first = check()
    assert (first[0], first[2]) == (2, 0)
    assert len(entries(here)) == 1, "only the proof is kept"
    second = check()
    assert second == (first[0], first[1], 1)
    assert check("--no-cache") == first


def test_a_change_of_a_plan_is_proved_anew(here):
    write_project(here, ("one",))
    check()
    shutil.copy("wrong.plan", "right.plan")
    status, cases, reused = check()
    assert (status, cases[0]["verdict"], reused) == (1, "REFUTED", 0)


def test_a_denied_assumption_is_not_overlooked_for_a_kept_proof(here):
    write_project(here, ("one",))
    check()
    write_project(here, ("one",), top='deny-assumptions = ["initial-state"]')
    assert check()[0] == 1


def test_any_damage_to_an_entry_changes_nothing(here):
    write_project(here, ("one",))
    first = check()
    (entry,) = entries(here)
    content = entry.read_bytes()
    flipped = [content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :] for k in (0, SIGNATURE_BYTES, len(content) - 1)]
    for damaged in (b"", content[:-1], content[:SIGNATURE_BYTES], content + b"x", *flipped):
        entry.write_bytes(damaged)
        assert check() == first
        assert entry.read_bytes() != damaged, "it is made anew"
    assert check()[2] == 1


def test_a_proof_under_the_name_of_another_pair_is_not_believed(here):
    """A poisoner who cannot sign can still move what is signed: the proof of a right pair, for a wrong one."""
    write_project(here, ("one",))
    check()
    (proof,) = entries(here)
    cache = opened(None)
    name = name_of([b"single", b"wrong"], ["single.plan", "wrong.plan"], Settings(), "version")
    place = here / "kept" / name[:2] / name
    place.parent.mkdir(exist_ok=True)
    shutil.copy(proof, place)
    assert get(cache, name) is None
    assert get(cache, proof.name) is not None


class _Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_nothing_is_unpickled_that_was_not_signed(here):
    write_project(here, ("one",))
    first = check()
    (entry,) = entries(here)
    entry.write_bytes(entry.read_bytes()[:SIGNATURE_BYTES] + pickle.dumps(_Bomb()))
    assert check() == first
    assert not (here / "exploded").exists()


def test_another_key_believes_nothing(here, monkeypatch):
    write_project(here, ("one",))
    check()
    (here / "key").write_bytes(b"k" * 32)
    (here / "key").chmod(0o600)
    monkeypatch.setenv("VERDICT_CACHE_KEY", str(here / "key"))
    assert check()[2] == 0
    assert check()[2] == 1
    (here / "key").chmod(0o640)
    assert "others than you may use the cache's key" in refused("check", "--cache", "kept")
    (here / "key").chmod(0o600)
    (here / "key").write_bytes(b"short")
    assert "fewer than 32 bytes" in refused("check", "--cache", "kept")


def test_a_cache_that_cannot_be_had_costs_no_verdict(here, monkeypatch):
    """Nobody asked for it: a machine without a home, or with one that cannot be written, decides as any other."""
    write_project(here, ("one",))
    (here / "file").write_text("")
    monkeypatch.setenv("VERDICT_CACHE", str(here / "file"))
    done = run("check", "-q")
    assert (done.exit_code, done.stdout) == (0, "1 checked: 1 PROVED\n")
    assert "note: nothing is kept:" in done.stderr
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "file"))
    done = run("check", "-q")
    assert done.exit_code == 0
    assert "note: nothing is kept:" in done.stderr


def test_the_key_is_private(here):
    write_project(here, ("one",))
    check()
    key = Path(os.environ["XDG_CONFIG_HOME"]) / "verdict" / "cache.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in entries(here))


def test_a_sampled_entry_that_comes_out_otherwise_discredits_the_cache(here):
    """An entry that is signed and wrong, as a fault of ours would make it: a right pair's proof for a wrong one."""
    write_project(here, ("one", "two"))
    check()
    cache, (proof,) = opened(None), entries(here)
    kept = get(cache, proof.name)
    contents = [Path(name).read_bytes() for name in ("single.plan", "wrong.plan")]
    version = version_of(PACKAGE)
    put(cache, name_of(contents, ["single.plan", "wrong.plan"], Settings(), version), kept)
    assert check()[0] == 0, "it is believed where it is not sampled"
    done = run("check", "-q", "--sample-seed", NEVER + 1)
    assert done.exit_code == 1
    assert "1 came out otherwise than in the cache; nothing of it was used" in done.stderr
    assert check()[0] == 1


def test_only_proofs_can_be_kept(here):
    write_project(here, ("one",))
    check()
    cache, (proof,) = opened(None), entries(here)
    report = get(cache, proof.name).report
    assert report.verdict is Verdict.PROVED
    with pytest.raises(ValueError, match="only proofs"):
        empty = type(report)(report.single, report.parallel, (), (), (), report.proofs)
        put(cache, proof.name, Entry(empty, frozenset()))


def test_all_that_a_verdict_depends_on_is_in_the_name():
    base = ([b"a", b"b"], ["a", "b"], Settings(), "version")
    changed = [
        Settings(assume=("x",)), Settings(denied=("x",)), Settings(timeout=1.0), Settings(seed=1),
        Settings(exhaustive=True),
    ]  # fmt: skip
    others = [
        ([b"a", b"c"], *base[1:]),
        ([b"ab", b""], *base[1:]),
        (base[0], ["a", "c"], *base[2:]),
        (*base[:3], "another"),
        *((*base[:2], settings, "version") for settings in changed),
    ]
    names = {name_of(*one) for one in (base, *others)}
    assert len(names) == len(others) + 1
    assert name_of(*base) == name_of(*base[:2], Settings(time_limit=5.0), "version")


def test_the_sample_is_one_of_so_many_and_another_by_seed():
    names = [name_of([bytes([k])], [], Settings(), "") for k in range(256)]
    samples = [{name for name in names if is_sampled(name, seed)} for seed in range(20)]
    assert 256 / ONE_IN / 2 < sum(map(len, samples)) / 20 < 256 / ONE_IN * 2
    assert len(set().union(*samples)) > 128


def test_what_a_cluster_proves_is_not_kept(here):
    """Of another machine's sources this one knows nothing."""
    write_project(here, ("one",))
    told = refused("check", "--engine", "ray", "--cache", "kept")
    assert "cannot vouch" in told
    assert not entries(here)
