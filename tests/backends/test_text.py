"""The text format: what is written is read back, what people write is read, and what is wrong is named."""

import difflib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdict.backends import load
from verdict.backends.generator import Sizes, generate
from verdict.backends.text import canonical, read, write
from verdict.backends.text.program import Program
from verdict.backends.text.tables import view
from verdict.errors import PlanFileError
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    ACTIVATION,
    BUFFER,
    GRADIENT,
    INPUT,
    ONCE_A_STEP,
    WEIGHT,
    Call,
    Held,
    Logical,
    Node,
    Plan,
    Segment,
    Tensor,
)
from verdict.outcome import Assumption

ROOT = Path(__file__).parents[2]
SMALL = Sizes(layers=2, hidden=8, heads=4, seq=4, batch=16, dp=2, tp=2, pp=2, microbatches=2, vocab=16, ffn=12)
SIZES = [
    SMALL,
    replace(SMALL, dp=1, tp=1, pp=1, microbatches=1),
    replace(SMALL, tp=4, pp=1),
    replace(SMALL, tp=1, pp=2),
    replace(SMALL, layers=5, tp=2, pp=4, microbatches=4),
]


def again(plan):
    return read(write(plan).encode(), plan.source)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("model", ["llama3", "mlp"])
def test_generated_plans_are_read_back(model, sizes):
    for plan in generate(model, sizes):
        text = write(plan)
        assert again(plan) == canonical(plan)
        assert write(read(text.encode(), "x")) == text


@pytest.mark.parametrize("sizes", [SMALL, replace(SMALL, tp=4, pp=1, dp=8, heads=4)], ids=str)
@pytest.mark.parametrize("model", ["llama3", "mlp", "deepseek"])
def test_words_that_are_read_once_say_what_they_say_where_they_stand(model, sizes, monkeypatch):
    for plan in generate(model, sizes):
        text = write(plan).encode()
        quick = read(text, "x")
        with monkeypatch.context() as slow:
            slow.setattr(Program, "_view", lambda self, line, logical: view(line, self.family, self.tables, logical))
            slow.setattr(Program, "_attrs", Program._new_attrs)
            assert repr(read(text, "x")) == repr(quick)


def test_the_ranks_of_a_stage_share_one_text():
    _, wide = generate("llama3", replace(SMALL, tp=4))
    _, narrow = generate("llama3", replace(SMALL, tp=2))
    assert write(wide).count("\nfamily ") == 2
    assert len(write(wide)) < 1.02 * len(write(narrow))


def test_the_text_does_not_grow_with_replicas():
    texts = [write(generate("llama3", replace(SMALL, dp=dp, batch=16 * dp))[1]) for dp in (2, 64)]
    assert abs(len(texts[0]) - len(texts[1])) < 100


def test_the_example_of_the_page_is_the_plan_that_it_says():
    page = (ROOT / "docs" / "plan-format.md").read_text()
    text = re.search(r"```text\n(verdict-plan.*?)```", page, re.S).group(1)
    sizes = Sizes(layers=2, hidden=8, batch=8, dp=2, tp=2, pp=1, microbatches=2, ffn=16)
    assert text == write(generate("mlp", sizes)[1])


def nnscaler_plans():
    folder = ROOT / ".." / "shared" / "plans"
    return sorted(file for name in ("llama3", "llama3-adpt", "gpt", "mlp", "moe") for file in (folder / name).glob("*"))


@pytest.mark.skipif(not nnscaler_plans(), reason="no nnScaler plans beside the project")
@pytest.mark.parametrize("file", nnscaler_plans(), ids=lambda file: file.stem)
def test_nnscaler_plans_are_read_back(file):
    pytest.importorskip("verdict.backends.nnscaler")
    plan = load(str(file))
    text = write(plan)
    assert read(text.encode(), plan.source) == canonical(plan)
    assert write(read(text.encode(), "x")) == text


def with_node(plan, segment, at, node):
    nodes = list(plan.segments[segment].nodes)
    nodes[at] = node
    segments = list(plan.segments)
    segments[segment] = segments[segment]._replace(nodes=tuple(nodes))
    return replace(plan, segments=tuple(segments))


def changed_lines(before, after):
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and not line.startswith(("+++", "---"))]


def test_a_fault_in_a_value_changes_one_line():
    plan = canonical(generate("llama3", SMALL)[1])
    (at,) = (k for k, node in enumerate(plan.segments[0].nodes) if node.op == "div")
    node = plan.segments[0].nodes[at]
    attrs = tuple((name, 3.0 if name == "other" else value) for name, value in node.attrs)
    broken = with_node(plan, 0, at, node._replace(attrs=attrs))
    changed = changed_lines(write(plan), write(broken))
    assert [line[0] for line in changed] == ["-", "+"]
    assert "other=<3.0 | 1.4142135623730951>" in changed[1]
    assert again(broken) == canonical(broken) != plan


def test_a_fault_in_the_wiring_of_one_device_splits_its_family():
    plan = canonical(generate("llama3", SMALL)[1])
    nodes = plan.segments[0].nodes[:-1]
    broken = replace(plan, segments=(plan.segments[0]._replace(nodes=nodes), *plan.segments[1:]))
    text = write(broken)
    assert [line for line in text.splitlines() if line.startswith("family")] == ["family 0", "family 1", "family 2:4"]
    assert again(broken) == canonical(broken)


HEAD = """verdict-plan 1   # a comment
mesh dp=2 pp=2 tp=2
microbatches 4
batch ids 0
assume "chunk order" "chunks lie in the order of \\"ranks\\""

tensors
  ids input int64 [8]
  w weight float32 [6, 5] origin ("w", 0)
  "odd name, = # \\u00e9" activation float32 [] origin name
  h activation float32 [8, 6]
  h~2 activation float32 [8, 6]
"""

PROGRAMS = """
family 0:2
segment run
  ids = dataloader() : "load = # it"
  h[:, tp]{tp}, - = op(ids, w[tp, <0:2 | 2:5>], "odd name, = # \\u00e9") b=tp*3+1 a=self-1 ranks=tp c=<(1, 2) | "x">
  h'2[:, each] = op.grad(-, h) deep=((self, (tp,)), 1.5, -2, inf, True, None, "tp", ()) all=pp*tp
  send(h'2[:, each]) peer=self+2
segment run~2
  h'3<2 | 1>[0:4, 1:3]{1/3} = recv() peer=self+2   # of two logical tensors
call run 0
call run~2 1 h'2@0 ids@once
call run once
loss h'2
gradient h of w
seed "odd name, = # \\u00e9"

family 3 2
segment rest
  h = op(h~2<each*1+1>)
call rest 3

loose
  w[0:3, :]{0/2}

end
"""


def test_what_people_write_is_read():
    plan = read((HEAD + PROGRAMS).encode(), "hand.plan")
    assert (plan.devices, plan.replicas, plan.microbatches) == (4, 2, 4)
    assert plan.mesh == (("dp", 2), ("pp", 2), ("tp", 2))
    assert plan.batch_axes == (("ids", 0),)
    assert plan.assumptions == (Assumption("chunk order", 'chunks lie in the order of "ranks"'),)
    assert plan.logicals[1:3] == (
        Logical("w", (6, 5), "float32", WEIGHT, ("w", 0)),
        Logical("odd name, = # é", (), "float32", ACTIVATION, "odd name, = # é"),
    )
    load, op, grad, send = plan.segments[2].nodes
    assert plan.segments[2][:2] == ("run", 1)
    assert load == Node("dataloader", (), (6,), (), "load = # it")
    assert [plan.tensors[at] for at in (*op.outputs[:1], *op.inputs)] == [
        Tensor(3, ((0, 8), (3, 6)), (1, 2)),
        Tensor(0, ((0, 8),)),
        Tensor(1, ((3, 6), (2, 5))),
        Tensor(2, ()),
    ]
    assert op.outputs[1] == ABSENT
    assert op.name == "h"
    assert op.attrs == (("a", 0), ("b", 4), ("c", "x"), ("ranks", (0, 1)))
    values = ((1, ((0, 1),)), 1.5, -2, float("inf"), True, None, "tp", ())
    assert grad.attrs == (("all", (0, 1, 2, 3)), ("deep", values))
    assert grad.inputs[0] == ABSENT
    assert plan.tensors[grad.outputs[0]] == Tensor(3, ((0, 8), (3, 6)))
    assert send.attrs == (("peer", 3),)
    assert send.name == "h"
    assert plan.tensors[plan.segments[1].nodes[0].outputs[0]] == Tensor(4, ((0, 4), (1, 3)), (1, 3))
    assert plan.tensors[plan.segments[3].nodes[0].outputs[0]] == Tensor(3, ((0, 4), (1, 3)), (1, 3))
    assert plan.programs[0] == (Call(0, 0), Call(1, 1, ((4, 0), (0, ONCE_A_STEP))), Call(0, ONCE_A_STEP))
    assert plan.programs[2:] == ((Call(4, 3),), (Call(5, 3),))
    assert plan.losses == (Held(0, 4), Held(1, 10))
    assert plan.gradients == (Held(0, 1, 2), Held(1, 7, 8))
    assert plan.seeds == (3, 9)
    assert [plan.tensors[plan.segments[at].nodes[0].inputs[0]].logical for at in (4, 5)] == [4, 3]
    assert plan.tensors[-1] == Tensor(1, ((0, 3), (0, 5)), (0, 2))
    assert again(plan) == canonical(plan)


def test_ranges_in_parts_and_carriage_returns_are_read():
    text = (HEAD + PROGRAMS).replace("family 0:2", "family 0 1:2").replace("\n", "\r\n")
    assert read(text.encode(), "x") == read((HEAD + PROGRAMS).encode(), "x")


def test_a_device_taken_out_of_its_family_by_hand_is_the_same_plan():
    text = write(generate("llama3", SMALL)[1])
    start, stop = text.index("family 2:4"), text.index("\nend")
    block = text[start:stop]
    split = (
        text[:start] + block.replace("family 2:4", "family 3") + block.replace("family 2:4", "family 2") + text[stop:]
    )
    assert read(split.encode(), "x") == read(text.encode(), "x")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("verdict-plan 1", "verdict-plan 2", 1, "expected verdict-plan 1, found verdict-plan 2"),
        ("mesh dp=2", "mash dp=2", 2, "found mash"),
        ("mesh dp=2", "mesh dp=0", 2, "mesh axis dp has size 0"),
        ("pp=2 tp=2", "pp=2 pp=2", 2, "two mesh axes have one name"),
        ("microbatches 4", "microbatches x", 3, "expected the number of microbatches, a whole number, found x"),
        ("microbatches 4", "microbatches 0", 3, "expected at least 1 of microbatches"),
        ("batch ids 0", "mesh dp=2", 4, "mesh is said twice"),
        ("batch ids 0", "devices 70000", 4, "expected at most 65536 devices"),
        ("batch ids 0", "  ids", 4, "an indented line stands under no segment and no table"),
        ("ids input int64", "ids inputs int64", 8, "expected one of input, weight"),
        ("ids input int64 [8]", "ids input int64 8", 8, "expected [, found 8"),
        ("h~2 activation", "h activation", 12, "there is a tensor h already"),
        ("[8, 6]\n  h~2", "[8, 6] origin <1>\n  h~2", 11, "an origin is the same for all devices"),
        ("family 0:2", "family 0:5", 14, "expected devices below 4, found 0:5"),
        ("family 0:2", "family", 14, "expected the devices of the family"),
        ("family 3 2", "family 3 1", 29, "device 1 is already in the family of line 14"),
        ("family 3 2", "family 3", 37, "device 2 of 4 is in no family"),
        ("segment run~2", "segment run", 20, "there is a segment run already"),
        (
            "ids = dataloader()",
            "idx = dataloader()",
            16,
            "there is no tensor idx in the table of tensors (did you mean",
        ),
        ("ids = dataloader()", "ids = dataloader", 16, "expected (, found :"),
        ("ids = dataloader()", "ids dataloader()", 16, "expected =, found dataloader"),
        ('"load = # it"', '"load = # it', 16, "found a string without its closing quote"),
        ('"load = # it"', r'"load \q it"', 16, "expected a string in JSON's escapes"),
        ("h[:, tp]", "h[:]", 17, "expected 2 intervals, found 1"),
        ("h[:, tp]", "h[:, :, tp]", 17, "expected 2 intervals, found more"),
        ("h[:, tp]", "h[:, up]", 17, "expected a value, found up"),
        ("w[tp, <0:2 | 2:5>]", "w[tp, tp]", 17, "an axis of 5 elements does not split evenly into 2"),
        ("<0:2 | 2:5>", "<0:2 | 2:4 | 4:5>", 17, "expected 2 values between < and >"),
        ("<0:2 | 2:5>", "<0:2 | 2>", 17, "expected :, found >"),
        ('c=<(1, 2) | "x">', "c=<self | 2>", 17, "expected plain values between < and >"),
        ("b=tp*3+1", "b=tp*3+1 b=2", 17, "attribute b is given twice"),
        ("b=tp*3+1", "b=(1 2)", 17, "expected a comma after the only item of a tuple, found 2"),
        ("b=tp*3+1", "b=tp*tp", 17, "expected different axes"),
        ("b=tp*3+1", "b=x", 17, "strings need quotes"),
        ("b=tp*3+1", "b=" + "9" * 41, 17, "at most 40 signs"),
        ("b=tp*3+1", "b=" + "(" * 20, 17, "nested more than 16 deep"),
        ("all=pp*tp", "all=pp*tp !", 18, "expected an attribute or the end of the line, found !"),
        ("send(h'2[:, each])", "send(h'2[:, :])", 19, "h'2 has another region or part here"),
        ("h'3<2 | 1>", "h'3<2 | 7>", 21, "there is no tensor h~7"),
        ("call run 0", "call rum 0", 22, "there is no segment rum in this family"),
        ("call run 0", "call run -1", 22, "expected a microbatch or once"),
        ("h'2@0", "h'2 0", 23, "expected @, found 0"),
        ("  w[0:3, :]{0/2}", "  w[0:3, :]{<0/2>}", 35, "a loose tensor is of no device"),
        ("\nend", "", 35, "the last line, end, is missing"),
        ("\nend", "\nend\nend", 38, "expected nothing after the line end"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, line, message):
    text = HEAD + PROGRAMS
    assert text.count(old) >= 1
    read(text.encode(), "hand.plan")
    with pytest.raises(PlanFileError) as caught:
        read(text.replace(old, new, 1).encode(), "hand.plan")
    assert caught.value.where == f"hand.plan:{line}"
    assert message in str(caught.value)


def test_bytes_that_are_not_utf8_are_named_with_their_line():
    with pytest.raises(PlanFileError, match=r"x:3: byte 19 is not UTF-8"):
        read(b"verdict-plan 1\n\nabc\xff\n", "x")


def test_a_short_text_cannot_stand_for_a_huge_plan():
    nodes = "  x = op(x)\n" * 1000
    text = f"verdict-plan 1\ndevices 65536\ntensors\n  x buffer f []\nfamily 0:65536\nsegment s\n{nodes}end\n"
    with pytest.raises(PlanFileError, match="each counted for every device of its family, are more than 60000000"):
        read(text.encode(), "x")
    few = text.replace(nodes, "  x = op(x)\n").replace("65536", "16")
    assert read(few.encode(), "x").devices == 16


def test_a_value_that_the_format_cannot_hold_is_refused():
    plan = canonical(generate("mlp", SMALL)[1])
    node = plan.segments[0].nodes[0]
    for value in (b"x", frozenset(), 1j):
        broken = with_node(plan, 0, 0, node._replace(attrs=(("value", value),)))
        with pytest.raises(PlanFileError, match="cannot be written as a value"):
            write(broken)


def test_plans_that_contradict_themselves_are_not_written():
    plan = generate("mlp", SMALL)[1]
    with pytest.raises(PlanFileError, match="3 programs for 4 devices"):
        write(replace(plan, programs=plan.programs[:3]))
    with pytest.raises(PlanFileError, match="of another device"):
        write(replace(plan, programs=plan.programs[::-1]))


NAMES = st.sampled_from(["x", "y.z", "x~2", "a b", 'q"', "é", "", "tp", "self", "x'2", "#", "1", "-", "\n", "\ud800"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.floats(allow_nan=False), NAMES, st.just(-0.0)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
INTERVALS = st.tuples(st.integers(-1, 4), st.integers(0, 9))


@st.composite
def plans(draw):
    """Any plan that the IR can hold, sensible or not."""
    mesh = draw(st.sampled_from([(("dp", 2), ("pp", 2), ("tp", 2)), (("dp", 1), ("a b", 2), ("self", 2)), ()]))
    devices = draw(st.sampled_from([4, 3]))
    kinds = (INPUT, WEIGHT, BUFFER, ACTIVATION, GRADIENT, ACCUMULATOR)
    logicals = draw(
        st.lists(
            st.builds(
                Logical,
                NAMES,
                st.sampled_from([(), (4,), (4, 6)]),
                NAMES,
                st.sampled_from(kinds),
                st.one_of(st.none(), VALUES),
            ),
            min_size=1,
            max_size=4,
        )
    )
    tensors = []
    for logical in draw(st.lists(st.integers(0, len(logicals) - 1), min_size=1, max_size=12)):
        sizes = logicals[logical].shape
        shards = [
            st.one_of(INTERVALS, st.sampled_from([(0, size), (0, size // 2), (size // 2, size)])) for size in sizes
        ]
        parts = st.sampled_from([(0, 1), (0, 2), (1, 2), (3, 2)])
        tensors.append(Tensor(logical, tuple(draw(shard) for shard in shards), draw(parts)))
    some = st.lists(st.integers(ABSENT, len(tensors) - 1), max_size=3).map(tuple)
    numbers = st.one_of(st.integers(0, 3), st.sampled_from([(0, 1), (2, 3), (0, 2), (1,)]), VALUES)
    segments = []
    for device in draw(st.lists(st.integers(0, devices - 1), max_size=6)):
        nodes = []
        for _ in range(draw(st.integers(0, 3))):
            attrs = draw(st.dictionaries(st.sampled_from(["ranks", "peer", "a b", "z"]), numbers, max_size=3))
            nodes.append(Node(draw(NAMES), draw(some), draw(some), tuple(sorted(attrs.items())), draw(NAMES)))
        segments.append(Segment(draw(NAMES), device, tuple(nodes)))
    held = st.builds(
        Held, st.integers(0, devices - 1), st.integers(0, len(tensors) - 1), st.integers(-1, len(tensors) - 1)
    )
    programs = [[] for _ in range(devices)]
    for at, segment in enumerate(segments):
        for _ in range(draw(st.integers(0, 2))):
            crossed = draw(st.lists(st.tuples(st.integers(0, len(tensors) - 1), st.integers(-1, 3)), max_size=2))
            programs[segment.device].append(Call(at, draw(st.integers(-1, 3)), tuple(crossed)))
    return Plan(
        source="x",
        format="any",
        mesh=mesh,
        devices=devices,
        replicas=draw(st.integers(1, 3)),
        microbatches=draw(st.integers(1, 3)),
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=tuple(segments),
        programs=tuple(map(tuple, programs)),
        losses=tuple(draw(st.lists(held, max_size=2))),
        gradients=tuple(draw(st.lists(held, max_size=2))),
        outputs=tuple(draw(st.lists(held, max_size=2))),
        seeds=tuple(draw(st.lists(st.integers(0, len(tensors) - 1), max_size=2, unique=True))),
        batch_axes=tuple(draw(st.lists(st.tuples(NAMES, st.integers(0, 2)), max_size=2))),
        shard_axes=tuple(draw(st.lists(st.tuples(NAMES, st.integers(0, 2)), max_size=2))),
        assumptions=tuple(draw(st.lists(st.builds(Assumption, NAMES, NAMES), max_size=2))),
    )


@settings(max_examples=400, deadline=None)
@given(plans())
def test_any_plan_is_read_back(plan):
    text = write(plan)
    found = read(text.encode(), "x")
    assert repr(found) == repr(canonical(plan))
    assert canonical(found) == found
    assert write(found) == text


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_damaged_text_is_a_plan_or_a_sentence(data):
    text = bytearray((HEAD + PROGRAMS).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=2))
    try:
        read(bytes(text), "x")
    except PlanFileError as error:
        assert error.problem


@pytest.mark.parametrize("cut", range(0, len((HEAD + PROGRAMS).encode()) - 1, 7))
def test_a_text_that_is_cut_off_is_no_plan(cut):
    with pytest.raises(PlanFileError):
        read((HEAD + PROGRAMS).encode()[:cut], "x")
