"""Golden texts of real compilations: proved as they are, refuted with one fault, unknown where there is no rule."""

import re
from pathlib import Path

import pytest

from verdict.backends.hlo.pair import parallel_of, single_of
from verdict.backends.hlo.ranges import NO_RANGES
from verdict.backends.hlo.text import read_module
from verdict.errors import PlanFileError
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

SHARDING = re.compile(r", sharding=\{(?:[^{}]|\{[^{}]*\})*\}")
TEXTS = Path(__file__).with_name("texts")
WRONG = TEXTS.with_name("wrong")
NAMES = sorted({path.name.split(".")[0] for path in TEXTS.iterdir()})


def text_of(name, side):
    return (TEXTS / f"{name}.{side}.hlo").read_text()


def report_of(before, after, ranges=NO_RANGES):
    one, other = read_module(before, "before"), read_module(after, "after")
    return verify(single_of(one, other, ranges), parallel_of(one, other, (), ranges), Options())


def changed(text, old, new):
    assert text.count(old) == 1, f"{old} stands there {text.count(old)} times"
    return text.replace(old, new)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_partitioner_makes_is_proved(name):
    assert report_of(text_of(name, "before"), text_of(name, "after")).verdict is Verdict.PROVED


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_itself(name):
    text = SHARDING.sub("", text_of(name, "before")).replace("num_partitions=", "was=")
    assert report_of(text, text).verdict is Verdict.PROVED


GROUPS = "{{0,1,2,3},{4,5,6,7}}"
FAULTS = {
    "all-reduce dropped": (
        "mlp_tp",
        f"all-reduce(%dot.1), channel_id=1, replica_groups={GROUPS}, use_global_device_ids=true, to_apply=%add.clone",
        "copy(%dot.1)",
    ),
    "all-reduce of a gradient dropped": (
        "mlp_dp",
        "all-reduce(%dot.3), channel_id=3, replica_groups=mesh['axis_0'=4,'axis_1'=1] {'axis_0'}, "
        "use_global_device_ids=true, to_apply=%add.clone",
        "copy(%dot.3)",
    ),
    "wrong group": ("mlp_tp", GROUPS, "{{0,1},{2,3},{4,5},{6,7}}"),
    "group transposed": ("mlp_fs", "replica_groups=[2,4]<=[8]", "replica_groups=[2,4]<=[4,2]T(1,0)"),
    "another reducer": ("mlp_tp", "ROOT %add.9 = f32[] add(", "ROOT %add.9 = f32[] maximum("),
    "another divisor": ("mlp_dp", "%constant.7.clone = f32[] constant(32)", "%constant.7.clone = f32[] constant(8)"),
    "another learning rate": ("mlp_dp", "constant(0.1)", "constant(0.2)"),
    "shards permuted": ("roll", "{{0,1},{1,2},{2,3},{3,0}}", "{{0,3},{1,0},{2,1},{3,2}}"),
    "operands exchanged": ("mlp_dp", "subtract(%dot.1, %param.4)", "subtract(%param.4, %dot.1)"),
    "contraction of a square matrix transposed": (
        "mlp_tp",
        "dot(%add_any.2, %param), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "dot(%add_any.2, %param), lhs_contracting_dims={0}, rhs_contracting_dims={1}",
    ),
    "offset of a shard": ("mlp_fs", "constant({0, 2})", "constant({0, 1})"),
    "table of shards": ("mlp_fs", "constant({0, 0, 0, 0, 1, 1, 1, 1})", "constant({0, 0, 0, 0, 1, 1, 1, 0})"),
    "slice moved": ("roll", "slice(%param), slice={[0:1], [0:4]}", "slice(%param), slice={[1:2], [0:4]}"),
}
"""name -> golden text, what is in its after, what stands there instead."""


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refuted(name):
    golden, old, new = FAULTS[name]
    after = changed(text_of(golden, "after"), old, new)
    assert report_of(text_of(golden, "before"), after).verdict is Verdict.REFUTED


def test_an_update_that_the_partitioner_loses_is_refuted():
    """openxla/xla#49118: the start 15 of an update is not clamped to 10, so that no device writes it."""
    before, after = ((WRONG / f"clamped.{side}.hlo").read_text() for side in ("before", "after"))
    assert report_of(before, after).verdict is Verdict.REFUTED


def test_a_dropped_reduction_is_named():
    golden, old, new = FAULTS["all-reduce dropped"]
    report = report_of(text_of(golden, "before"), changed(text_of(golden, "after"), old, new))
    assert [finding.code for finding in report.findings] == ["missing-reduction"]
    assert "dot.1, line" in report.findings[0].title


UNKNOWN = {
    "opcode": ("tanh(%add.15)", "tan(%add.15)", "tan tanh.2, line"),
    "custom call": ("tanh(%add.15)", 'custom-call(%add.15), custom_call_target="TopK"', "a custom call of TopK"),
    "elided constant": ("constant(32)", "constant({...})", "its elements are elided"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_has_no_rule_is_unknown_and_named(name):
    old, new, words = UNKNOWN[name]
    report = report_of(text_of("mlp_dp", "before"), changed(text_of("mlp_dp", "after"), old, new))
    assert report.verdict is Verdict.UNKNOWN
    assert any(words in f"{each.where} {each.reason}" for each in report.open)


REFUSED = {
    "no module": (lambda text: "hello", "does not begin with HloModule"),
    "cut off": (lambda text: text[: len(text) // 2], "after, line"),
    "another compilation": (lambda text: text_of("mlp_tp", "after"), "is sharded as"),
    "another program": (lambda text: text_of("softmax", "after"), "one has 5 parameters, the other 1"),
    "replicas": (lambda text: text.replace("num_partitions=4", "replica_count=2, num_partitions=4"), "2 replicas"),
    "an operand that is nowhere": (lambda text: text.replace("tanh(%add.15)", "tanh(%add.99)"), "stands nowhere"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_one_sentence(name):
    spoil, words = REFUSED[name]
    with pytest.raises(PlanFileError, match=words):
        report_of(text_of("mlp_dp", "before"), spoil(text_of("mlp_dp", "after")))


def test_a_result_whose_part_nobody_states_is_refused():
    stated = "sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}\n"
    before = text_of("fwd_tp", "before").replace(stated, "was={}\n")
    with pytest.raises(PlanFileError, match="no sharding says which part that is"):
        report_of(before, text_of("fwd_tp", "after"))


BRANCHES = """HloModule branches, num_partitions=2

%kept (a: f32[{rows},3]) -> f32[{rows},3] {{
  ROOT %a = f32[{rows},3]{{1,0}} parameter(0)
}}

%turned (b: f32[{rows},3]) -> f32[{rows},3] {{
  %b = f32[{rows},3]{{1,0}} parameter(0)
  ROOT %negate = f32[{rows},3]{{1,0}} negate(%b)
}}

"""
ALONE = """ENTRY %main (x: f32[2,3]) -> f32[2,3] {
  %x = f32[2,3]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  %first = f32[1,3]{1,0} slice(%x), slice={[0:1], [0:3]}
  %second = f32[1,3]{1,0} slice(%x), slice={[1:2], [0:3]}
  %negated = f32[1,3]{1,0} negate(%second)
  ROOT %all = f32[2,3]{1,0} concatenate(%first, %negated), dimensions={0}, sharding={devices=[2,1]<=[2]}
}
"""
CHOSEN = """ENTRY %main (x: f32[1,3]) -> f32[1,3] {
  %x = f32[1,3]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}
  %device = u32[] partition-id()
  %number = s32[] convert(%device)
  ROOT %made = f32[1,3]{1,0} conditional(%number, %x, %x), branch_computations={%kept, %turned}
}
"""


@pytest.mark.parametrize(
    ("branches", "verdict"), [("{%kept, %turned}", Verdict.PROVED), ("{%turned, %kept}", Verdict.REFUTED)]
)
def test_one_device_hands_on_what_another_computes_with(branches, verdict):
    after = changed(BRANCHES.format(rows=1) + CHOSEN, "{%kept, %turned}", branches)
    assert report_of(BRANCHES.format(rows=2) + ALONE, after).verdict is verdict


SEGMENTS = """HloModule segments, num_partitions=2

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}}

ENTRY %main (x: f32[{rows}], ids: s32[{rows},1]) -> f32[3] {{
  %x = f32[{rows}]{{0}} parameter(0), sharding={{devices=[2]<=[2]}}
  %ids = s32[{rows},1]{{1,0}} parameter(1), sharding={{devices=[2,1]<=[2]}}
  %zero = f32[] constant(0)
  %zeros = f32[3]{{0}} broadcast(%zero), dimensions={{}}
  {made} = f32[3]{{0}} scatter(%zeros, %ids, %x), update_window_dims={{}}, inserted_window_dims={{0}}, \
scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=%add{last}
}}
"""
ADDED = "\n  ROOT %all = f32[3]{0} all-reduce(%own), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, \
to_apply=%add, sharding={replicated}"


@pytest.mark.parametrize(
    ("last", "verdict"), [(ADDED, Verdict.PROVED), (ADDED.replace("{{0,1}}", "{{0},{1}}"), Verdict.REFUTED)]
)
def test_sums_of_segments_add_up(last, verdict):
    """Parts along axes of a scatter are no parts of a sum of which the walk knows what they come to."""
    before = SEGMENTS.format(rows=4, made="ROOT %all", last=", sharding={replicated}")
    assert report_of(before, SEGMENTS.format(rows=2, made="%own", last=last)).verdict is verdict


@pytest.mark.parametrize("extreme", ["maximum", "minimum"])
@pytest.mark.parametrize(
    ("groups", "by", "verdict"),
    [
        ("{{0,1}}", "%add", Verdict.PROVED),
        ("{{0},{1}}", "%add", Verdict.REFUTED),
        ("{{0,1}}", "%adds", Verdict.REFUTED),
    ],
)
def test_extremes_of_segments_are_those_of_all_parts(extreme, groups, by, verdict):
    """In whatever order and however often what was there is joined. by: what devices reduce by."""
    added = SEGMENTS[SEGMENTS.index("%add (") : SEGMENTS.index("ENTRY")]
    of = SEGMENTS.replace(" add(%a", f" {extreme}(%a")
    before = of.format(rows=4, made="ROOT %all", last=", sharding={replicated}")
    last = ADDED.replace("{{0,1}}", groups).replace("%add", by)
    after = of.replace("ENTRY", added.replace("%add (", "%adds (") + "ENTRY").format(rows=2, made="%own", last=last)
    assert report_of(before, after, {"parameter 1": (0, 2)}).verdict is verdict
