"""Effects: what is found, what is not, and that the clocks agree with all orders that a small program can run in."""

from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from verdict.backends.pairs.outline import Outline, complete
from verdict.backends.text import canonical, read, write
from verdict.backends.text.plain import read_plain, write_plain
from verdict.errors import PlanFileError
from verdict.graph import without_effects
from verdict.graph.effects import has_effects
from verdict.graph.form import require_form
from verdict.graph.memory import check_effects
from verdict.ops import RULES


def plan(text, **mesh):
    return complete(Outline(tuple(mesh.items()), tuple(text.splitlines())), "a test")


def codes(text):
    return [finding.code for finding in check_effects(plan("x input [2, 2]\n" + text), RULES)]


RIGHT = {
    "waited": 'y = all_reduce(x) ranks=(0,) asynchronous=True\ndone = wait(y)\nz = relu(done)\noutput z',
    "read under its own name behind the wait":
        'y = all_reduce(x) ranks=(0,) asynchronous=True\nwait(y)\nz = relu(y)\noutput z',
    "sent, waited, used again":
        'storage out: a, b\na = relu(x)\nsend(a) peer=0 asynchronous=True\nwait(a)\nb = silu(x)\noutput b',
    "ordered by an event":
        'a = relu(x)\nrecord() event="a"\nawait() event="a" stream="side"\nz = relu(a) stream="side"\noutput z',
    "in place": "storage one: a, b\na = relu(x)\nb = silu(a)\noutput b",
    "views of one memory":
        "storage one: a, v\na = relu(x)\nv = view(a) size=(4,)\nb = silu(a)\nc = silu(v)\noutput b\noutput c",
    "copied before the next write":
        "storage one: a, b\na = relu(x)\nc = contiguous(a)\nb = silu(x)\nd = add(c, b)\noutput d",
    "one after the other on the stream of the group":
        'storage one: a, b, c\na = relu(x)\nb = all_reduce(a) ranks=(0,) asynchronous=True\n'
        'c = all_reduce(b) ranks=(0,) asynchronous=True\nd = wait(c)\noutput d',
    "an update in place": "w weight [2, 2]\nstorage one: w, new\ny = mul(x, w)\nnew = sub(w, y)\noutput new of w",
}  # fmt: skip

WRONG = {
    "not waited": ("read-before-wait", 'y = all_reduce(x) ranks=(0,) asynchronous=True\nz = relu(y)\noutput z'),
    "declared, and not waited": ("read-before-wait", 'y = all_reduce(x) ranks=(0,) asynchronous=True\noutput y'),
    "waited on another stream": (
        "read-before-wait",
        'y = all_reduce(x) ranks=(0,) asynchronous=True\nd = wait(y) stream="side"\nz = relu(d)\noutput z'),
    "sent, used again": (
        "overwritten-early",
        'storage out: a, b\na = relu(x)\nsend(a) peer=0 asynchronous=True\nb = silu(x)\nwait(a)\noutput b'),
    "another stream": ("unordered-streams", 'a = relu(x)\nz = relu(a) stream="side"\noutput z'),
    "awaited before it is recorded": (
        "unordered-streams",
        'a = relu(x)\nawait() event="a" stream="side"\nrecord() event="a"\nz = relu(a) stream="side"\noutput z'),
    "overwritten on another stream": (
        "overwritten-early", 'storage one: a, b\na = relu(x)\nb = silu(x) stream="side"\nc = relu(a)\noutput c'),
    "read after the next write": (
        "stale-read", "storage one: a, b\na = relu(x)\nb = silu(x)\nd = add(a, b)\noutput d"),
    "a view of what is overwritten": (
        "stale-read",
        "storage one: a, v, b\na = relu(x)\nv = view(a) size=(4,)\nb = silu(x)\nc = silu(v)\noutput c\noutput b"),
    "declared, and overwritten": ("stale-read", "storage one: a, b\na = relu(x)\nb = silu(x)\noutput a\noutput b"),
    "an update in place that is read for the old value": (
        "stale-read",
        "w weight [2, 2]\nstorage one: w, new\ny = mul(x, w)\nnew = sub(w, y)\nz = mul(x, w)\noutput new of w\n"
        "output z"),
}  # fmt: skip


@pytest.mark.parametrize("what", RIGHT)
def test_right_programs_have_no_conflict(what):
    assert codes(RIGHT[what]) == []


@pytest.mark.parametrize("what", WRONG)
def test_conflicts_are_found(what):
    code, text = WRONG[what]
    assert codes(text) == [code]


REPLAYS = """
microbatches 2
x input [2, 2]
storage static: y
segment graph
y = relu(x)
segment use
z = silu(y)
"""


def test_a_replay_overwrites_what_the_last_one_returned():
    first = "\n".join(["call graph 0", "call use 0", "call graph 1", "call use 1"])
    assert check_effects(plan(REPLAYS + first), RULES) == ()
    late = "\n".join(["call graph 0", "call graph 1", "call use 0", "call use 1"])
    (finding,) = check_effects(plan(REPLAYS + late), RULES)
    assert finding.code == "stale-read"
    assert finding.title == "silu z reads y of microbatch 0 after relu y wrote y of microbatch 1 again into its memory"
    assert finding.notes == (
        "read: silu z on rank 0, microbatch 0, stream main",
        "write: relu y on rank 0, microbatch 1, stream main",
        "memory: storage static",
    )


ACCUMULATED = """
microbatches 2
x input [2, 2]
g accumulator [2, 2]
segment backward
g = relu(x)
segment reduce
s = all_reduce(g) ranks=(0,) asynchronous=True
segment end
t = wait(s)
output t
"""


def test_an_accumulator_grows_while_it_is_reduced():
    right = "\n".join(["call backward 0", "call backward 1", "call reduce once", "call end once"])
    assert check_effects(plan(ACCUMULATED + right), RULES) == ()
    early = "\n".join(["call backward 0", "call reduce once", "call backward 1", "call end once"])
    assert [finding.code for finding in check_effects(plan(ACCUMULATED + early), RULES)] == ["overwritten-early"]


def test_one_finding_for_all_ranks():
    (finding,) = check_effects(
        plan("x input [2, 2]\ny = all_reduce(x) ranks=tp asynchronous=True\nz = relu(y)\noutput z", tp=4), RULES
    )
    assert (finding.extent, finding.ranks) == (4, (0, 1, 2, 3))


def test_effects_are_written_and_read_back():
    text = WRONG["a view of what is overwritten"][1] + '\nd = relu(x) stream="side"\n'
    given = plan("x input [2, 2]\n" + text, dp=2)
    assert given.effects and len(given.storages) == 2
    assert read(write(given).encode(), given.source) == canonical(given)
    assert read_plain(write_plain(given), given.source) == canonical(given)


def test_values_have_no_effects():
    for _, text in WRONG.values():
        pure = without_effects(plan("x input [2, 2]\n" + text))
        require_form(pure)
        assert not pure.effects and not has_effects(pure.segments, pure.storages)
    given = plan("x input [2, 2]\ny = relu(x)\noutput y")
    assert without_effects(given) is given


def test_a_tensor_lives_in_one_storage():
    given = plan("x input [2, 2]\nstorage one: y\nstorage two: y\ny = relu(x)\noutput y")
    with pytest.raises(PlanFileError, match="storage two"):
        check_effects(given, RULES)
    outside = replace(given, storages=(given.storages[0]._replace(tensors=(99,)),))
    with pytest.raises(PlanFileError, match="does not exist"):
        check_effects(outside, RULES)


def program(random):
    """A few lines on two streams: copies into three memories, all-reduces with waits, events."""
    lines, tensors = ["storage p: " + ", ".join(f"a{k}" for k in range(4)), "a0 = relu(x)"], ["a0"]
    events, pending = [], []
    for k in range(1, 5):
        stream = random.choice(["main", "side"])
        choice = random.random()
        if choice < 0.2:
            events.append(k)
            lines.append(f'record() event="{k}" stream="{stream}"')
        elif choice < 0.45 and events:
            lines.append(f'await() event="{random.choice(events)}" stream="{stream}"')
        elif choice < 0.6 and pending:
            lines.append(f'wait({random.choice(pending)}) stream="{stream}"')
        else:
            source = random.choice(tensors)
            comm = random.random() < 0.4
            op = "all_reduce" if comm else "relu"
            how = f' ranks=(0,) asynchronous=True stream="{stream}"' if comm else f' stream="{stream}"'
            name = f"a{k}" if k < 4 else "b"
            pending += [name] * comm
            tensors.append(name)
            lines.append(f"{name} = {op}({source}){how}")
    known = set(tensors)
    return "\n".join(
        line if not line.startswith("storage") else "storage p: " + ", ".join(t for t in tensors if t != "b")
        for line in lines
    ), known


def runs_wrong(text):
    """Whether some order that the effects allow reads what is not there: every permutation is tried."""
    given = plan("x input [2, 2]\n" + text)
    nodes = given.segments[0].nodes
    attrs = [dict(node.attrs) for node in nodes]
    streams = [a.get("stream", "main") for a in attrs]
    apart = [a.get("asynchronous", False) for a in attrs]
    follows = set()
    for k, node in enumerate(nodes):
        follows |= {(j, k) for j in range(k) if streams[j] == streams[k] and not apart[j]}
        follows |= {(j, k) for j in range(k) if apart[j] and apart[k]}
        if node.op == "await":
            recorded = [j for j in range(k) if nodes[j].op == "record" and attrs[j]["event"] == attrs[k]["event"]]
            follows |= {(j, k) for j in recorded[-1:]}
        if node.op == "wait":
            follows |= {(j, k) for j in range(k) if node.inputs[0] in nodes[j].outputs and apart[j]}
            follows |= {(j, k) for j in range(k) if node.inputs[0] in nodes[j].inputs and apart[j]}
    shared = set(given.storages[0].tensors)
    for order in permutations(range(len(nodes))):
        place = {node: at for at, node in enumerate(order)}
        if any(place[j] > place[k] for j, k in follows):
            continue
        memory = {}
        for k in order:
            if nodes[k].op == "wait":
                continue
            for tensor in nodes[k].inputs:
                if given.kind(tensor) != "input" and memory.get("p" if tensor in shared else tensor) != tensor:
                    return True
            for tensor in nodes[k].outputs:
                memory["p" if tensor in shared else tensor] = tensor
    return False


def test_the_clocks_agree_with_all_orders():
    random, outcomes = Random(7), []
    for _ in range(120):
        text, _ = program(random)
        found = bool(check_effects(plan("x input [2, 2]\n" + text), RULES))
        assert found == runs_wrong(text), text
        outcomes.append(found)
    assert 20 < sum(outcomes) < 110
