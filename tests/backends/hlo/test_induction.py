"""Loops by induction: what it proves is right, and where a program is wrong, it proves nothing.

The texts in `loops` are of a scan over 2 and 3 layers with its gradient, data x tensor parallel on 4 devices.
"""

from math import prod
from pathlib import Path

import pytest

from verdict.__main__ import main
from verdict.backends.hlo import command
from verdict.backends.hlo.command import Question, induction, load_pair
from verdict.backends.hlo.guesses import Cut, cut_alike
from verdict.concrete.alone import outputs_of
from verdict.graph import INPUT
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

pytestmark = pytest.mark.usefixtures("shared_proofs")

LOOPS = Path(__file__).with_name("loops")
LAYERS = (2, 3)


def text_of(layers, side):
    return (LOOPS / f"scan{layers}.{side}.hlo").read_text()


@pytest.fixture
def asked(tmp_path):
    """The question of so many layers, with other texts in place of some."""

    def of(layers, **others):
        for side in ("before", "after", "shardings"):
            (tmp_path / side).write_text(others.get(side, text_of(layers, side)))
        paths = [str(tmp_path / side) for side in ("before", "after", "shardings")]
        return Question(*paths, on_numbers=outputs_of)

    return of


def verdict_of(pair):
    return verify(*pair, Options()).verdict


@pytest.mark.parametrize("layers", LAYERS)
def test_induction_and_unrolling_prove_what_is_right(asked, layers):
    question = asked(layers)
    assert verdict_of(induction(question)) is Verdict.PROVED
    assert verdict_of(load_pair(question)) is Verdict.PROVED


def test_a_file_is_read_in_processes_of_its_own_alone(asked, monkeypatch):
    def here(text, path):
        raise AssertionError("a file is read where the command runs")

    question = asked(2)
    monkeypatch.setattr(command, "begin", lambda make, *_: pytest.fail("it has no loop"))
    monkeypatch.setattr(command, "read_module", here)
    Path(question.before).write_text("HloModule without_a_loop")
    assert induction(question) is None
    Path(question.before).write_text("no module: %x = (s32[]) while(%y)")
    with pytest.raises(pytest.fail.Exception, match="it has no loop"):
        induction(question)


def changed(text, old, new):
    assert text.count(old) == 1, f"{old} stands there {text.count(old)} times"
    return text.replace(old, new)


def scaled(text, layers, factors):
    """The weights of each layer times a factor, before the loops."""
    shape = f"f32[{layers},2,2]{{2,1,0}}"
    lines = (
        f"%factors = f32[{layers}]{{0}} constant({{{', '.join(factors)}}})",
        f"%spread = {shape} broadcast(%factors), dimensions={{0}}",
        f"%w.0 = {shape} multiply(%param.5, %spread)",
    )
    return changed(text, f'%w.0 = {shape} copy(%param.5), metadata={{op_name="w"}}', "\n  ".join(lines))


def scaled_in_a_turn(text, turn):
    lines = (
        f"%turn = s32[] constant({turn})",
        "%now = pred[] compare(%get-tuple-element.68, %turn), direction=EQ",
        "%two = f32[] constant(2)",
        "%factor = f32[] select(%now, %two, %constant.45.clone)",
        "%factors = f32[2,2]{1,0} broadcast(%factor), dimensions={}",
        "%half = f32[2,2]{1,0} tanh(%dot)",
        "%tanh.3 = f32[2,2]{1,0} multiply(%half, %factors)",
    )
    text = changed(text, "%tanh.3 = f32[2,2]{1,0} tanh(%dot)", "\n  ".join(lines))
    one = "  %constant.45.clone = f32[] constant(1)\n"
    return changed(text, one, "").replace("  %turn = s32[]", f"{one}  %turn = s32[]")


def stepped(text, layers, factors):
    """How far each layer goes along its gradient, behind the loops."""
    shape = f"f32[{layers},2,2]{{2,1,0}}"
    lines = (
        f"%steps = f32[{layers}]{{0}} constant({{{', '.join(factors)}}})",
        f"%broadcast.23 = {shape} broadcast(%steps), dimensions={{0}}",
    )
    return changed(text, f"%broadcast.23 = {shape} broadcast(%constant.54.clone), dimensions={{}}", "\n  ".join(lines))


REDUCED = (
    "all-reduce(%dot.1), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=%add.clone"
)
BEGUN = "  %tuple.12 = "
WRONG = {
    "one layer's weights": lambda text, n: scaled(text, n, ["1"] * (n - 1) + ["2"]),
    "one layer's values": lambda text, n: scaled_in_a_turn(text, n - 1),
    "the first turn": lambda text, n: changed(
        text, "%constant.52.clone = s32[] constant(0)", "%constant.52.clone = s32[] constant(1)"
    ),
    "the layer that is taken": lambda text, n: changed(
        text, "slice(%get-tuple-element.70, %get-tuple-element.68,", "slice(%get-tuple-element.70, %add.12,"
    ),
    "the layer that is taken backwards": lambda text, n: changed(
        text, "dynamic-slice(%get-tuple-element.81, %sub.15,", "dynamic-slice(%get-tuple-element.81, %sub.14,"
    ),
    "the layer that is written": lambda text, n: changed(
        text, "%broadcast_in_dim.26, %sub.15,", "%broadcast_in_dim.26, %get-tuple-element.77,"
    ),
    "what the loop is given": lambda text, n: changed(
        text.replace(BEGUN, "  %turned = f32[2,2]{1,0} negate(%param.4)\n" + BEGUN),
        "tuple(%constant.52.clone, %param.4,", "tuple(%constant.52.clone, %turned,",
    ),
    "how often it turns": lambda text, n: changed(
        text, f"%constant.46.clone = s32[] constant({n})", f"%constant.46.clone = s32[] constant({n - 1})"
    ),
    "a reduction in a turn": lambda text, n: changed(text, REDUCED, "copy(%dot.1)"),
    "a group in a turn": lambda text, n: changed(text, REDUCED, REDUCED.replace("{{0,1},{2,3}}", "{{0,2},{1,3}}")),
    "what is done with what is left": lambda text, n: changed(text, "constant(0.1)", "constant(0.2)"),
    "one layer's update": lambda text, n: stepped(text, n, ["0.1"] * (n - 1) + ["0.2"]),
    "whose update it is": lambda text, n: changed(
        text, "subtract(%param.5, %mul.15)", "subtract(%param.5, %turned)"
    ).replace("  %sub.16 =", f"  %turned = f32[{n},2,2]{{2,1,0}} reverse(%mul.15), dimensions={{0}}\n  %sub.16 ="),
}  # fmt: skip


CUT_ALIKE = {
    "what the loop is given", "a reduction in a turn", "a group in a turn", "what is done with what is left",
    "one layer's update", "whose update it is",
}  # fmt: skip
"""Where a question is put: the others turn, take and write otherwise, which their names tell."""


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("name", WRONG)
def test_no_induction_proves_what_is_wrong(asked, layers, name):
    question = asked(layers, after=WRONG[name](text_of(layers, "after"), layers))
    pair = induction(question)
    assert (pair is not None) == (name in CUT_ALIKE)
    assert pair is None or verdict_of(pair) is not Verdict.PROVED
    assert verdict_of(load_pair(question)) is Verdict.REFUTED


def test_a_proof_does_not_depend_on_the_number_of_turns(asked):
    """What is done to all layers alike is done to any of them: both plans are of the same size for all numbers, but for
    what adds up a number of each layer.
    """

    def size_of(plan, layers):
        shapes = [each.shape for each in plan.logicals if each.kind == INPUT]
        given = sum(prod(shape) for shape in shapes if shape != (layers,))
        return shapes.count((layers,)), given, sum(len(segment.nodes) for segment in plan.segments)

    one, other = ([size_of(plan, layers) for plan in induction(asked(layers))] for layers in LAYERS)
    assert one == other


RIGHT = {
    "steps that are one": lambda text, n: stepped(text, n, ["0.1"] * n),
    "factors of one": lambda text, n: scaled(text, n, ["1"] * n),
    "a turn that does not come": scaled_in_a_turn,
    "other numbers where each turn writes": lambda text, n: changed(
        text, f"%broadcast.21 = f32[{n},2,2]{{2,1,0}} broadcast(%constant.53.clone)",
        f"%broadcast.21 = f32[{n},2,2]{{2,1,0}} broadcast(%constant.54.clone)",
    ).replace(
        "  %broadcast.21 =", "  %constant.54.clone = f32[] constant(0.1)\n  %broadcast.21 ="
    ).replace("  %constant.54.clone = f32[] constant(0.1)\n  %broadcast.23", "  %broadcast.23"),
}  # fmt: skip


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("name", RIGHT)
def test_what_induction_does_not_prove_is_proved_by_unrolling(asked, layers, name):
    assert verdict_of(load_pair(asked(layers, after=RIGHT[name](text_of(layers, "after"), layers)))) is Verdict.PROVED


def test_the_command_tells_of_an_induction(asked, monkeypatch, capsys):
    question = asked(3)
    for more, words in (([], "19 further outputs"), (["--unroll"], "3 further outputs")):
        line = ["verdict", "hlo", question.before, question.after, "--shardings", question.shardings, *more]
        monkeypatch.setattr("sys.argv", line)
        with pytest.raises(SystemExit) as ended:
            main()
        said = "".join(capsys.readouterr())
        assert ended.value.code == 0
        assert words in said
        assert ("By induction" in said) is (not more)


def guessed_otherwise(asked, tiles):
    """A question in which another sharding is stated of what flows through the first loop."""
    stated = text_of(3, "shardings")
    loop = next(line for line in stated.splitlines() if " while(" in line)
    right = "sharding={{replicated}, {devices=[2,1,2]<=[4] last_tile_dim_replicate}"
    guessed = changed(loop, right, f"sharding={{{{replicated}}, {{devices={tiles} last_tile_dim_replicate}}")
    return asked(3, shardings=stated.replace(loop, guessed))


def test_a_wrong_guess_proves_nothing(asked):
    question = guessed_otherwise(asked, "[2,1,2]<=[2,2]T(1,0)")
    assert verdict_of(load_pair(question, Cut.ROWS)) is not Verdict.PROVED
    assert verdict_of(load_pair(question)) is Verdict.PROVED


def test_a_guess_that_does_not_fit_is_made_anew(asked):
    question = guessed_otherwise(asked, "[1,2,2]<=[4]")
    assert not cut_alike(*load_pair(question, Cut.ROWS))
    assert verdict_of(induction(question)) is Verdict.PROVED


RUNNING = """HloModule running, num_partitions={partitions}

%turn (state: (s32[], f32[2], f32[3,2])) -> (s32[], f32[2], f32[3,2]) {{
  %state = (s32[], f32[2], f32[3,2]) parameter(0)
  %count = s32[] get-tuple-element(%state), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%count, %one)
  %most = f32[2] get-tuple-element(%state), index=1
  %rows = f32[3,2] get-tuple-element(%state), index=2
  %zero = s32[] constant(0)
  %row = f32[1,2] dynamic-slice(%rows, %count, %zero), dynamic_slice_sizes={{1,2}}
  %flat = f32[2] reshape(%row)
  %more = f32[2] maximum(%most, %flat)
  %made = f32[2] {made}
  ROOT %all = (s32[], f32[2], f32[3,2]) tuple(%next, %made, %rows)
}}

%goes_on (state.1: (s32[], f32[2], f32[3,2])) -> pred[] {{
  %state.1 = (s32[], f32[2], f32[3,2]) parameter(0)
  %count.1 = s32[] get-tuple-element(%state.1), index=0
  %turns = s32[] constant(3)
  ROOT %less = pred[] compare(%count.1, %turns), direction=LT
}}

ENTRY %main (rows.1: f32[3,2]) -> f32[2] {{
  %rows.1 = f32[3,2] parameter(0), sharding={{replicated}}
  %zero.1 = s32[] constant(0)
  %least = f32[] constant({least})
  %begin = f32[2] broadcast(%least), dimensions={{}}
  %given = (s32[], f32[2], f32[3,2]) tuple(%zero.1, %begin, %rows.1)
  %loop = (s32[], f32[2], f32[3,2]) while(%given), condition=%goes_on, body=%turn, sharding={{replicated}}
  ROOT %most.1 = f32[2] get-tuple-element(%loop), index=1
}}
"""


def running(least, made, partitions=1):
    return RUNNING.format(least=least, made=made, partitions=partitions)


def test_a_running_maximum_is_proved(asked):
    texts = {"before": running("-1000", "copy(%more)"), "after": running("-1000", "maximum(%flat, %most)", 2)}
    assert verdict_of(induction(asked(2, **texts, shardings=texts["before"]))) is Verdict.PROVED


def test_a_state_that_may_be_infinite_is_not_cut(asked):
    """Of real numbers both turns make the same; of what the loop begins with they do not."""
    more = "  %none = f32[2] subtract(%most, %most)\n  %made"
    texts = {"before": running("-inf", "copy(%more)"), "after": running("-inf", "add(%more, %none)", 2)}
    texts["after"] = texts["after"].replace("  %made", more)
    assert induction(asked(2, **texts, shardings=texts["before"])) is None
    finite = {side: text.replace("-inf", "-1000") for side, text in texts.items()}
    assert verdict_of(induction(asked(2, **finite, shardings=finite["before"]))) is Verdict.PROVED


def test_a_parameter_that_is_called_as_what_is_cut_is_no_trap(asked):
    texts = {side: changed(text_of(2, side), 'op_name="x"', 'op_name="loop 0 of 2 turns: is 0"')
             for side in ("before", "after", "shardings")}  # fmt: skip
    assert induction(asked(2, **texts)) is None
