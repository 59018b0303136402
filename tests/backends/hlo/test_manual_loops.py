"""Loops inside shard_map by induction, where no text says which part of their states devices hold.

The texts `manual` (behind XLA's partitioner) and `traced` (what jax traced) are of a scan over 3 layers with its
gradient, data x tensor parallel on 4 devices, against the scan for one device: examples/jax/scanned.py with smaller
shapes.
"""

from pathlib import Path

import numpy as np
import pytest

from verdict.backends.hlo.command import Question, induction, load_pair
from verdict.backends.hlo.guesses import Cut
from verdict.backends.hlo.probe import paired
from verdict.concrete.alone import outputs_of
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

LOOPS = Path(__file__).with_name("loops")
DOORS = ("manual", "traced")


def text_of(name, side="after"):
    return (LOOPS / f"{name}.{side}.hlo").read_text()


@pytest.fixture
def asked(tmp_path):
    def of(name, after=None):
        path = LOOPS / f"{name}.after.hlo"
        if after is not None:
            path = tmp_path / "after"
            path.write_text(after)
        return Question(str(LOOPS / f"{name}.before.hlo"), str(path), on_numbers=outputs_of)

    return of


def verdict_of(pair):
    return verify(*pair, Options()).verdict


@pytest.mark.parametrize("name", DOORS)
def test_induction_and_unrolling_prove_what_is_right(asked, name):
    assert verdict_of(induction(asked(name))) is Verdict.PROVED
    assert verdict_of(load_pair(asked(name))) is Verdict.PROVED


@pytest.mark.parametrize("layers", (2, 3))
def test_parts_are_found_where_no_module_states_them(layers):
    paths = [str(LOOPS / f"scan{layers}.{side}.hlo") for side in ("before", "after")]
    question = Question(*paths, on_numbers=outputs_of)
    assert verdict_of(induction(question)) is Verdict.PROVED


def test_parts_are_those_of_the_shardings(asked):
    """What flows is cut by rows, the gradients of both weights by what tensor parallel devices have of them."""
    _, found = paired(*outputs_of(*load_pair(asked("manual"), Cut.PROBED)), 4)
    held = [{each.shape: np.asarray(each.regions)[:, :, 0].tolist() for each in loop if each} for loop in found]
    assert held[0][2, 2] == [[0, 0], [0, 0], [1, 0], [1, 0]]
    assert held[1][3, 2, 4] == [[0, 0, 0], [0, 0, 2], [0, 0, 0], [0, 0, 2]]
    assert held[1][3, 4, 2] == [[0, 0, 0], [0, 2, 0], [0, 0, 0], [0, 2, 0]]


def changed(text, old, new, count=1):
    assert text.count(old) == count, f"{old} stands there {text.count(old)} times"
    return text.replace(old, new)


def without(text, name, operand, groups):
    """A program in which a sum is left out."""
    line = next(line for line in text.splitlines() if line.strip().startswith(f"%{name} = "))
    begin, _, metadata = line.partition(f"all-reduce(%{operand}), channel_id=1, replica_groups={groups}")
    assert metadata, line
    return changed(text, line, f"{begin}copy(%{operand})")


ROWS = "channel_id=1, source_target_pairs={{0,1},{1,0},{2,3},{3,2}}"
WRONG = {
    "a sum in a turn": lambda text: without(text, "psum_invariant.34", "dot_general.19", "{{0,1},{2,3}}"),
    "a sum in a turn backwards": lambda text: without(text, "psum_invariant.35", "dot_general.21", "{{0,1},{2,3}}"),
    "a state that is not reduced": lambda text: without(text, "psum_invariant.36", "transpose.6", "{{0,2},{1,3}}"),
    "a group in a turn": lambda text: changed(
        text, "all-reduce(%dot_general.19), channel_id=1, replica_groups={{0,1},{2,3}}",
        "all-reduce(%dot_general.19), channel_id=1, replica_groups={{0,2},{1,3}}",
    ),
    "who sends in a turn": lambda text: changed(
        text, "tanh(%dot_general.18)", f"collective-permute(%tanh.0), {ROWS}"
    ).replace("  %tanh.3 =", "  %tanh.0 = f32[1,2]{1,0} tanh(%dot_general.18)\n  %tanh.3 ="),
    "one turn too few": lambda text: changed(
        text, "%constant.45.clone = s32[] constant(3)", "%constant.45.clone = s32[] constant(2)"
    ),
    "one turn too few backwards": lambda text: changed(
        text, "%constant.49.clone = s32[] constant(3)", "%constant.49.clone = s32[] constant(2)"
    ),
    "what is carried": lambda text: changed(
        text, "add(%get-tuple-element.73, %psum_invariant.34)", "add(%psum_invariant.34, %psum_invariant.34)"
    ),
    "the layer whose copy is kept": lambda text: changed(
        text, "dynamic-update-slice(%get-tuple-element.80, %broadcast_in_dim.27, %get-tuple-element.72,",
        "dynamic-update-slice(%get-tuple-element.80, %broadcast_in_dim.27, %add.21,",
    ),
    "a copy that is kept": lambda text: changed(
        text, "dynamic-update-slice(%get-tuple-element.80, %broadcast_in_dim.27,",
        "dynamic-update-slice(%get-tuple-element.80, %doubled,",
    ).replace(
        "  %broadcast_in_dim.27 =", "  %twice = f32[2,2]{1,0} add(%squeeze.22, %squeeze.22)\n"
        "  %doubled = f32[1,2,2]{2,1,0} reshape(%twice)\n  %broadcast_in_dim.27 =",
    ),
    "only the first turn": lambda text: changed(
        text, "tanh(%dot_general.18)", "select(%first, %none, %tanh.0)"
    ).replace(
        "  %tanh.3 =", "  %begin = s32[] constant(0)\n"
        "  %now = pred[] compare(%get-tuple-element.72, %begin), direction=EQ\n"
        "  %first = pred[1,2]{1,0} broadcast(%now), dimensions={}\n"
        "  %nothing = f32[] constant(0)\n"
        "  %none = f32[1,2]{1,0} broadcast(%nothing), dimensions={}\n"
        "  %tanh.0 = f32[1,2]{1,0} tanh(%dot_general.18)\n  %tanh.3 =",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_no_induction_proves_what_is_wrong(asked, name):
    question = asked("manual", WRONG[name](text_of("manual")))
    pair = induction(question)
    assert pair is None or verdict_of(pair) is not Verdict.PROVED
    assert verdict_of(load_pair(question)) is Verdict.REFUTED


TRACED = {
    "a sum in a turn": lambda text: without(text, "all_reduce.40", "call.38", "{{0,1},{2,3}}"),
    "a state that is not reduced": lambda text: without(text, "all_reduce.145", "call.141", "{{0,2},{1,3}}"),
    "one turn too few": lambda text: changed(
        text, "%constant.67 = s32[] constant(3)", "%constant.67 = s32[] constant(2)"
    ),
}


@pytest.mark.parametrize("name", TRACED)
def test_no_induction_proves_what_is_wrong_as_traced(asked, name):
    question = asked("traced", TRACED[name](text_of("traced")))
    pair = induction(question)
    assert pair is None or verdict_of(pair) is not Verdict.PROVED
    assert verdict_of(load_pair(question)) is Verdict.REFUTED


def test_what_cannot_be_run_is_not_guessed(asked):
    text = changed(text_of("manual"), "tanh(%dot_general.18)", 'custom-call(%dot_general.18), custom_call_target="f"')
    question = asked("manual", text)
    assert induction(question) is None
    assert verdict_of(load_pair(question)) is Verdict.UNKNOWN


def test_a_number_that_chooses_twice_in_a_turn_is_one_number(asked):
    """`chosen` is a scan over 4 layers by shard_map, weights on 2 devices. The layer at place 2 is another one, by a
    test that two choices of its turn read.
    """
    assert verdict_of(induction(asked("chosen"))) is Verdict.PROVED
    assert verdict_of(load_pair(asked("chosen"))) is Verdict.PROVED
    place = "%constant.8.clone = s32[] constant(2)"
    wrong = asked("chosen", changed(text_of("chosen"), place, place.replace("(2)", "(1)")))
    assert induction(wrong) is None
    assert verdict_of(load_pair(wrong)) is Verdict.REFUTED
