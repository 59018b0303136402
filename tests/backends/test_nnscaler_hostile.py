"""Files that are damaged or made to do harm give a message, and nothing in them ever runs."""

import lzma
import pickle
import random
import resource
from pathlib import Path
from typing import Any

import pytest

from verdict.backends import nnscaler
from verdict.backends.content import Content
from verdict.backends.nnscaler import load, records, unpickle
from verdict.errors import PlanFileError
from verdict.graph import Plan

SHARED = Path(__file__).parents[3] / "shared" / "plans"
SMALL = SHARED / "policies" / "mlp_mgener_dp2_pp2_tp2_nm2_gbs16_dim1024_ly8.pkl.xz"
needs_plans = pytest.mark.skipif(not SMALL.is_file(), reason="the shared plans are not here (../shared/plans)")

SUB_TENSOR = b"cnnscaler.ir.tensor\nIRSubTensor\n"


def small() -> bytes:
    return lzma.decompress(SMALL.read_bytes())


class Calls:
    """Pickles as a call of `function` on `arguments`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def touches(marker: Path) -> dict[str, bytes]:
    """Pickles that create `marker` when an ordinary unpickler loads them, by way of what."""
    import os  # noqa: PLC0415

    code = f"open({str(marker)!r}, 'w').close()"
    return {
        "os.system": pickle.dumps(Calls(os.system, f"touch {marker}"), 4),
        "builtins.exec": pickle.dumps(Calls(exec, code), 4),
        "builtins.eval": pickle.dumps(Calls(eval, code), 2),
        "builtins.eval by INST": f"(S{code!r}\nibuiltins\neval\n.".encode(),
        "getattr of a function": (
            b"cbuiltins\ngetattr\n(cbuiltins\ngetattr\nS'__self__'\ntR(S'exec'\ntR" + f"(S{code!r}\ntR.".encode()
        ),
        "getattr of a class": b"cbuiltins\ngetattr\n(" + SUB_TENSOR + b"S'__init__'\ntRS'__globals__'\n\x86R.",
        "dill": b"cdill._dill\n_create_function\n(cdill._dill\n_create_code\n" + f"(S{code!r}\ntR}}tR(tR.".encode(),
        "pickle in a pickle": b"ctorch.storage\n_load_from_bytes\n(B"
        + _sized(pickle.dumps(Calls(exec, code)))
        + b"tR.",
    }


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


REFUSED = {"os.system", "builtins.exec", "builtins.eval", "builtins.eval by INST"}


def test_nothing_that_a_file_names_is_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    for name, data in touches(marker).items():
        with pytest.raises(PlanFileError) as caught:
            nnscaler.read(data, "hostile.pkl")
        assert not marker.exists(), name
        assert caught.value.where == "hostile.pkl"
        if name in REFUSED:
            assert "nothing in it was run" in caught.value.problem, name


def test_the_hostile_files_would_harm_an_ordinary_unpickler(tmp_path: Path) -> None:
    for number, name in enumerate(sorted(REFUSED)):
        marker = tmp_path / str(number)
        pickle.loads(touches(marker)[name])
        assert marker.exists(), name


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x04cos\nsystem\n.", "no plan but something else, and nothing in it was run"),
        (b"\x80\x04cnnscaler.codegen.module.module\nModuleCodeGens\n.", "nothing in it was run"),
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "nothing in it was run"),
        (b"\x80\x02Pone\n.", "outside of the file"),
        (b"\x80\x04\x82\x01.", "damaged"),
        (b"\x80\x04N.", "no plan but something else"),
        (b"", "damaged"),
        (b"\x80\x04]", "damaged"),
        (b"\x80\x63N.", "damaged"),
        (b"cnnscaler.codegen.module.module\nModuleCodeGen\n)\x81}b.", "not as nnScaler writes it"),
    ],
)
def test_a_refusal_says_why(data: bytes, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        nnscaler.read(data, "hostile.pkl")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04Nr\xff\xff\xff\xff.",
        b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"x.",
        b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b"x.",
    ],
    ids=["memo index", "bytearray", "bytes"],
)
def test_a_memory_bomb_is_refused(data: bytes) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(PlanFileError, match="memory"):
        nnscaler.read(data, "bomb.pkl")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_what_kills_the_reader_is_a_message_too() -> None:
    nested = b"\x80\x04})" + b"\x85" * 2_000_000 + b"Ns."
    with pytest.raises(PlanFileError):
        nnscaler.read(nested, "nested.pkl")


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpickle, "LARGEST_FILE", 3)
    with pytest.raises(PlanFileError, match="more than 3"):
        nnscaler.read(b"\x80\x04N.", "large.pkl")


@pytest.mark.parametrize("state", [b"}S'__eq__'\nNs", b"(N}S'__eq__'\nNst", b"]"])
@pytest.mark.parametrize(
    "name", ["nnscaler.ir.tensor\nIRSubTensor", "collections\nOrderedDict", "numpy\ndtype", "typing\nDict"]
)
def test_classes_cannot_be_changed(name: str, state: bytes) -> None:
    kinds = (records.IRSubTensor, records.NumpyType, records.Ignored)
    before = [dict(vars(kind)) for kind in kinds]
    with pytest.raises(PlanFileError):
        load.parse(Content.of(b"\x80\x04c" + name.encode() + b"\n" + state + b"b."), "hostile.pkl")
    assert [dict(vars(kind)) for kind in kinds] == before


def test_a_fault_of_ours_is_not_called_a_fault_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes, source: str) -> object:
        raise AssertionError("ours")

    monkeypatch.setattr(unpickle, "load", broken)
    with pytest.raises(RuntimeError, match="ours"):
        nnscaler.read(b"", "any.pkl")


@needs_plans
def test_the_right_file_is_read() -> None:
    assert nnscaler.recognises(small()[:512])
    assert nnscaler.read(small(), "right.pkl") == load.parse(Content.of(small()), "right.pkl")


@pytest.mark.parametrize("head", [b"", b"\x80\x04N.", b"plan 1\n", b"\xfd7zXZ\x00", pickle.dumps({"nnscaler": 1})])
def test_other_files_are_not_recognised(head: bytes) -> None:
    assert not nnscaler.recognises(head)


@needs_plans
@pytest.mark.parametrize("seed", range(4))
def test_damage_gives_a_plan_or_a_message(seed: int) -> None:
    data, draw = small(), random.Random(seed)
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(data)
        damaged[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        if draw.random() < 0.2:
            del damaged[draw.randrange(len(data)) :]
        try:
            outcomes.add(type(nnscaler.read(bytes(damaged), "damaged.pkl")))
        except PlanFileError as error:
            outcomes.add(type(error))
    assert outcomes == {Plan, PlanFileError}
