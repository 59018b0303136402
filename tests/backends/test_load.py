"""Files of every kind are recognised by content, and a damaged or hostile one gets a sentence. Nothing in it is run."""

import gzip
import lzma
import os
import pickle
import struct
import zlib
from dataclasses import replace

import pytest
import zstandard
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from verdict.backends import load, save
from verdict.backends.generator import Sizes, generate
from verdict.backends.generator.command import generate_command
from verdict.backends.text import canonical, write
from verdict.backends.text.packing import unpack
from verdict.backends.text.plain import read_plain, write_plain
from verdict.errors import PlanFileError, UsageError

SMALL = Sizes(layers=2, hidden=8, heads=4, seq=4, batch=8, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12)
PLAN = generate("mlp", SMALL)[1]
TEXT = write(PLAN).encode()
PLAIN = write_plain(PLAN)
PACKED = {
    "xz": lzma.compress(TEXT),
    "gzip": gzip.compress(TEXT),
    "zstd": zstandard.compress(TEXT),
    "zstd without its size": zstandard.ZstdCompressor(write_content_size=False).compress(TEXT),
}


@pytest.fixture
def put(tmp_path):
    """Write bytes to a file of a name that says nothing, and give its path."""

    def write_file(data, name="file"):
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write_file


def fails(path):
    with pytest.raises(PlanFileError) as caught:
        load(path)
    assert caught.value.where.startswith(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)[len(path) :]


@pytest.mark.parametrize("name", ["file", "file.pkl", "file.xz", "file.plan"])
@pytest.mark.parametrize("data", [TEXT, PLAIN, *PACKED.values()], ids=["text", "plain", *PACKED])
def test_the_content_says_what_a_file_is(put, data, name):
    path = put(data, name)
    assert load(path) == replace(canonical(PLAN), source=path)


def test_one_compression_may_stand_in_another(put):
    path = put(gzip.compress(PACKED["xz"]))
    assert load(path).devices == 4
    assert "compressed more than 2 times" in fails(put(gzip.compress(gzip.compress(PACKED["xz"]))))


@pytest.mark.parametrize("parts", [(TEXT[:100], TEXT[100:]), (TEXT, b"")], ids=["halves", "an empty end"])
@pytest.mark.parametrize("compress", [lzma.compress, gzip.compress, zstandard.compress])
def test_several_streams_in_one_file_are_read(put, compress, parts):
    assert load(put(b"".join(map(compress, parts)))).devices == 4


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("suffix", ["", ".xz", ".gz", ".zst"])
def test_what_is_saved_is_loaded(tmp_path, suffix, plain):
    path = str(tmp_path / f"a.plan{suffix}")
    save(PLAN, path, plain)
    assert load(path) == replace(canonical(PLAN), source=path)


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="the file cannot be written: no such file or directory"):
        save(PLAN, str(tmp_path / "none" / "a.plan"))


def test_files_that_are_no_plans(put, tmp_path):
    assert "the file cannot be read: no such file or directory" in fails(str(tmp_path / "none"))
    assert "the file cannot be read: is a directory" in fails(str(tmp_path))
    assert "the file is empty" in fails(put(b""))
    assert "the file is empty" in fails(put(gzip.compress(b"")))
    message = fails(put(b"\x7fELF and so on"))
    assert "not a plan: it begins with b'\\x7fELF and so '" in message
    assert "known: Verdict's plan text, nnScaler plan pickle, plain-data pickle; each also as xz, gzip, zstd" in message
    with pytest.raises(PlanFileError, match="embedded null byte"):
        load("a\0b")


def test_the_version_is_named(put):
    assert ":1: expected verdict-plan 1, found verdict-plan 7" in fails(put(TEXT.replace(b"plan 1", b"plan 7")))
    other = pickle.dumps(pickle.loads(PLAIN) | {"verdict-plan": 7})
    assert "verdict-plan: expected version 1, found 7" in fails(put(other))


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_data_that_is_cut_off(put, kind):
    data = PACKED[kind]
    for cut in (len(data) // 2, len(data) - 1):
        assert "data ends early" in fails(put(data[:cut]))


@pytest.mark.parametrize("kind", PACKED)
def test_compressed_data_that_is_damaged(put, kind):
    data = bytearray(PACKED[kind])
    data[len(data) // 2 : len(data) // 2 + 8] = b"\xff" * 8
    assert fails(put(bytes(data)))


@pytest.mark.parametrize("compress", [lzma.compress, gzip.compress, zstandard.compress])
def test_a_bomb_is_refused_before_it_is_large(compress):
    bomb = compress(bytes(1 << 25))
    assert len(bomb) < 1 << 16
    with pytest.raises(PlanFileError, match="unpacks to more than 1048576 bytes"):
        unpack(bomb, "x", most=1 << 20)
    assert len(unpack(bomb, "x", most=1 << 25)) == 1 << 25


def test_a_demand_for_memory_is_refused():
    greedy = bytearray(lzma.compress(TEXT, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    unpack(bytes(greedy), "x")
    at = greedy.index(bytes([0x21, 0x01, 16]))
    greedy[at + 2] = 36
    header = bytes(greedy[12 : 12 + (greedy[12] + 1) * 4 - 4])
    greedy[12 + len(header) : 16 + len(header)] = struct.pack("<I", zlib.crc32(header))
    with pytest.raises(PlanFileError, match="the xz data is damaged: Memory usage limit exceeded"):
        unpack(bytes(greedy), "x")


class Hostile:
    """Leaves a trace if it is ever unpickled by running it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_that_would_run_something_is_refused(put, tmp_path, protocol):
    trace = str(tmp_path / "trace")
    data = pickle.loads(PLAIN) | {"seeds": Hostile(trace)}
    message = fails(put(pickle.dumps(data, protocol)))
    assert "may hold plain data only" in message
    assert "nothing in the file was run" in message
    assert not os.path.exists(trace)
    pickle.loads(pickle.dumps(data, protocol))
    assert os.path.exists(trace)


@pytest.mark.parametrize(
    ("body", "opcode"),
    [
        (b"cos\nsystem\n.", "GLOBAL"),
        (b"\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"),
        (b"(ios\nsystem\n.", "INST"),
        (b"(o.", "OBJ"),
        (b"N)R.", "REDUCE"),
        (b"}}b.", "BUILD"),
        (b"NQ.", "BINPERSID"),
        (b"P1\n.", "PERSID"),
        (b"\x82\x01.", "EXT1"),
        (b"N)\x81.", "NEWOBJ"),
        (b"\x8f.", "EMPTY_SET"),
        (b"C\x01a.", "SHORT_BINBYTES"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"I1\n.", "INT"),
    ],
)
def test_every_other_opcode_is_refused_before_unpickling(put, body, opcode):
    assert f"byte {body.index(pickle_code(opcode)) + 2} is the opcode {opcode}" in fails(put(b"\x80\x04" + body))


def pickle_code(name):
    return getattr(pickle, name)


def test_a_slot_number_cannot_take_memory(put):
    assert "uses a slot beyond its size" in fails(put(b"\x80\x04Nr\xff\xff\xff\x7f."))
    assert "expected a dict" in fails(put(b"\x80\x04Nr\x05\x00\x00\x00."))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "ends early"),
        (b"N", "ends early"),
        (b"\xff.", "byte 2 is no opcode"),
        (b"t.", "the pickle is damaged"),
        (b".", "the pickle is damaged"),
        (b"h\x07.", "the pickle is damaged"),
        (b"]u.", "the pickle is damaged"),
        (b"}]N" + b"s.", "the pickle is damaged"),
        (b"\x8c\x02\xff\xff.", "the pickle is damaged"),
        (b"N.", "expected a dict with the key verdict-plan, found None"),
        (b"].", "expected a dict with the key verdict-plan, found a list"),
    ],
)
def test_pickles_that_are_damaged(put, body, message):
    assert message in fails(put(b"\x80\x04" + body))


def test_plain_data_may_be_lists_and_leave_out_what_is_empty(put):
    data = pickle.loads(PLAIN)
    assert not data.pop("assumptions")
    data["logicals"] = [[*logical] for logical in data["logicals"]]
    data["seeds"] = list(data["seeds"])
    assert load(put(pickle.dumps(data))) == load(put(PLAIN))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("devices", 0, "devices: expected at least 1, found 0"),
        ("devices", "4", "devices: expected a whole number, found '4'"),
        ("devices", True, "devices: expected a whole number, found True"),
        ("devices", 5, "programs: expected 5 programs, one for each device, found 4"),
        ("other", 1, "the dict: expected the keys mesh, devices"),
        ("seeds", (0, 99999), "seeds: expected the number of a tensor, below"),
        ("seeds", 3, "seeds: expected a list, found 3"),
        ("tensors", [(99, ())], "tensors[0]: expected the number of a logical tensor"),
        ("tensors", [(0, ((0, 1, 2),))], "tensors[0]: expected 2 items, found 3"),
        ("logicals", [("x", (), "f", "thing")], "logicals[0]: expected one of the kinds input, weight"),
        ("segments", [("s", 9, [])], "segments[0]: expected the number of a device, below 4, found 9"),
        ("segments", [("s", 0, [("op", (0,), (99999,), ())])], "segments[0][0]: expected the number of a tensor"),
        ("segments", [("s", 0, [("op", (), (), (("a", 1), ("a", 2)))])], "expected each attribute once"),
        ("segments", [("s", 0, [("op", (), (), (("a", {}),))])], "expected a list, found a dict"),
        ("programs", [[(99, 0)]] * 4, "programs[0][0]: expected the number of a segment"),
        ("programs", [[(0, 0)]] * 4, "programs[1][0]: expected a segment of device 1, found 0"),
        ("losses", [(4, 0)], "losses[0]: expected the number of a device, below 4, found 4"),
    ],
)
def test_plain_data_that_is_wrong_is_named_by_its_place(put, key, value, message):
    assert message in fails(put(pickle.dumps(pickle.loads(PLAIN) | {key: value})))


def test_plain_data_that_lacks_a_field(put):
    data = pickle.loads(PLAIN)
    del data["programs"]
    assert "the dict has no key programs" in fails(put(pickle.dumps(data)))


def test_plain_data_too_deep_or_too_often(put, monkeypatch):
    deep = ()
    for _ in range(20):
        deep = (deep,)
    node = ("op", (), (), (("a", deep),))
    data = pickle.loads(PLAIN) | {"segments": [("s", 0, [node])]}
    assert "nested at most 16 deep" in fails(put(pickle.dumps(data)))
    monkeypatch.setattr("verdict.backends.text.fields.MOST_ITEMS", 1_000_000)
    wide = (0,) * 10_000
    shared = [("x", wide, "f", "input")] * 10_000
    assert "items in all" in fails(put(pickle.dumps(data | {"logicals": shared})))


@pytest.mark.parametrize("cut", range(2, len(PLAIN) - 1, 97))
def test_plain_data_that_is_cut_off_is_no_plan(cut):
    with pytest.raises(PlanFileError):
        read_plain(PLAIN[:cut], "x")


@settings(max_examples=500, deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_plan_or_a_sentence(data):
    content = bytearray(data.draw(st.sampled_from([PLAIN, *PACKED.values()])))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    try:
        unpacked = unpack(bytes(content), "x")
        if unpacked[:1] == b"\x80":
            read_plain(unpacked, "x")
    except PlanFileError as error:
        assert error.problem


@pytest.mark.parametrize("extra", [[], ["--pickle"], ["--compress", "xz"], ["--compress", "zst", "--pickle"]])
def test_the_command_writes_a_pair(tmp_path, extra):
    sizes = ["--hidden", "8", "--heads", "4", "--seq", "4", "--vocab", "16", "--ffn", "12"]
    result = CliRunner().invoke(generate_command, ["llama3", *sizes, "-o", str(tmp_path / "new"), *extra])
    assert result.exit_code == 0, result.output
    wrote, following = result.output.splitlines()
    files = sorted((tmp_path / "new").iterdir())
    assert [file.name.split(".")[0] for file in files] == ["parallel", "single"]
    assert all(str(file) in wrote and str(file) in following for file in files)
    assert [load(str(file)).ranks for file in files] == [8, 1]


def test_the_command_refuses_sizes_that_do_not_fit(tmp_path):
    result = CliRunner().invoke(generate_command, ["mlp", "--ffn", "1", "--tp", "2", "-o", str(tmp_path)])
    assert isinstance(result.exception, UsageError)
    assert not list(tmp_path.iterdir())
    assert CliRunner().invoke(generate_command, ["mlp", "--tp", "0", "-o", str(tmp_path)]).exit_code == 2
