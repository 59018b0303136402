"""What people get wrong in their programs: the finding names the cause and its line; the right twins are proved."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.sampled import sampled
from tests.torch.verdicts import ALL, answers

HERE = Path(__file__).resolve().parent
SLIPS = {
    "slips_tensor": {
        "build_tensor": ("build_single", ""),
        "build_tensor_divided": ("build_single", "wrong-scale"),
        "build_tensor_doubled": ("build_single", "wrong-scale"),
        "build_tensor_summed": ("build_single", "wrong-constant"),
        "build_sequence": ("build_single", ""),
        "build_sequence_divided": ("build_single", "wrong-scale"),
        "build_sequence_summed": ("build_single", "wrong-constant"),
    },
    "slips_split": {
        "build_gated": ("build_single", ""),
        "build_gate_not_copied": ("build_single", "missing-reduction"),
        "build_added_twice": ("build_single", "reduced-twice"),
        "build_attention": ("build_attention_single", ""),
        "build_scaled_by_all": ("build_attention_single", "wrong-constant"),
        "build_vocabulary": ("build_vocabulary_single", ""),
        "build_exponentials_not_summed": ("build_vocabulary_single", "missing-reduction"),
        "build_logits_not_summed": ("build_vocabulary_single", "missing-reduction"),
    },
    "slips_data": {
        "build": ("build_single", ""),
        "build_one_layer_only": ("build_single", "missing-reduction"),
        "build_step_before": ("build_single", "missing-reduction"),
        "build_not_divided": ("build_single", "mean-instead-of-sum"),
        "build_clipped": ("build_clipped_single", ""),
        "build_clipped_before": ("build_clipped_single", "missing-reduction"),
        "build_normed": ("build_normed_single", ""),
        "build_normed_training": ("build_normed_single", "operator-differs"),
        "build_normed_alone": ("build_batch_norm_single", "missing-reduction"),
        "build_adam": ("build_adam_single", ""),
        "build_adam_betas": ("build_adam_single", "wrong-constant"),
        "build_adam_penalty": ("build_adam_single", "wrong-input"),
        "build_zero": ("build_zero_single", ""),
        "build_zero_first_piece": ("build_zero_single", "wrong-slice"),
        "build_zero_not_reduced": ("build_zero_single", "missing-reduction"),
    },
    "slips_norms": {
        "build_norm": ("build_norm_single", ""),
        "build_norm_added": ("build_norm_single", "reduced-twice"),
        "build_norm_reduced_each": ("build_norm_single", "reduced-twice"),
        "build_norm_stacked": ("build_norm_single", "reduced-twice"),
        "build_norm_flat": ("build_norm_single", "reduced-twice"),
    },
    "slips_words": {
        "build_words": ("build_words_single", ""),
        "build_words_unmasked": ("build_words_single", "wrong-input"),
        "build_words_of_first": ("build_words_single", "wrong-slice"),
        "build_words_without_offset": ("build_words_single", "wrong-slice"),
    },
    "slips_steps": {
        "build_accumulated": ("build_accumulated_single", ""),
        "build_accumulated_not_divided": ("build_accumulated_single", "wrong-scale"),
        "build_piped": ("build_piped_single", ""),
        "build_piped_exchanged": ("build_piped_single", "wrong-order"),
        "build_scheduled": ("build_scheduled_single", ""),
        "build_scheduled_twice": ("build_scheduled_single", "wrong-constant"),
        "build_scheduled_twice_everywhere": ("build_scheduled_single", "wrong-constant"),
    },
    "slips_exchange": {
        "build_context": ("build_context_single", ""),
        "build_gathered_alone": ("build_context_single", "missing-reduction"),
        "build_first_positions": ("build_context_single", "wrong-slice"),
        "build_sequence": ("build_sequence_single", ""),
        "build_norm_not_reduced": ("build_sequence_single", "missing-reduction"),
        "build_sequence_alone": ("build_sequence_single", "missing-reduction"),
        "build_experts": ("build_experts_single", ""),
        "build_gradients_not_sent_back": ("build_experts_single", "wrong-collective"),
        "build_experts_summed": ("build_experts_single", "wrong-collective"),
        "build_router_not_reduced": ("build_experts_single", "missing-reduction"),
        "build_pipeline": ("build_pipeline_single", ""),
        "build_pipeline_not_divided": ("build_pipeline_single", "wrong-scale"),
    },
}
"""By file and builder: the single-device program, and the code of the first finding; "" of what is right."""
SEVERAL = ("build_first_positions", "build_normed_training", "build_normed_alone", "build_adam_penalty")
"""Of these, further findings follow."""
CASES = sampled(((file, builder) for file, builders in SLIPS.items() for builder in builders), 14)


def found(file, builder):
    """The answer to a builder, recorded together with those of its file that are asked for."""
    asked = [name for other, name in CASES if other == file]
    return answers(HERE / f"{file}.py", tuple((name, SLIPS[file][name][0]) for name in asked), causes=ALL)[builder]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "builder"), CASES)
def test_the_first_finding_names_the_slip_and_its_line(file, builder):
    answer, code = found(file, builder), SLIPS[file][builder][1]
    if not code:
        assert answer.verdict == "PROVED", answer.why
        return
    assert answer.verdict == "REFUTED", answer.why
    first, *others = answer.report.findings
    assert first.code == code, first.title
    assert first.source.text.endswith("# place"), first.source
    assert not others or builder in SEVERAL, [finding.title for finding in others]


@pytest.mark.slow
def test_a_norm_of_each_ranks_own_rows_is_one_cause_forward_and_backward():
    pair = (("build_normed_alone", "build_batch_norm_single"),)
    report = answers(HERE / "slips_data.py", pair, causes=ALL)["build_normed_alone"].report
    first, then = report.findings
    assert (first.code, then.code) == ("missing-reduction", "wrong-constant")
    assert "var_mean" in first.title and "alone, where one of all of" in first.title
    assert any(note.startswith("its gradient likewise") for note in first.notes), first.notes
    assert any("updated norm.running_var agrees" in note for note in then.notes), then.notes


@pytest.mark.slow
def test_a_cause_that_leaves_wrong_what_was_right_is_none(monkeypatch):
    module, tried = import_module("verdict.sweep.why.causes"), []
    shares = module._of_own_shares
    monkeypatch.setattr(module, "_of_own_shares", lambda *words: tried.append(shares(*words)) or tried[-1])
    for name in ("_alone", "_one_by_one", "restored", "several"):
        monkeypatch.setattr(module, name, lambda *words: None)
    pair = (("build_normed_alone", "build_batch_norm_single"),)
    report = answers.__wrapped__(HERE / "slips_data.py", pair, causes=ALL)["build_normed_alone"].report
    assert tried[0] is not None and not any(tried[1:])
    assert not any("alone, where one of all of" in finding.title for finding in report.findings)


@pytest.mark.slow
def test_what_a_line_does_to_each_weight_is_searched_for_once(monkeypatch):
    module, searched = import_module("verdict.sweep.why.causes"), []
    search = module._next

    def counted(*words):
        found = search(*words)
        searched.append([cause.fix.code for cause in found[0]])
        return found

    monkeypatch.setattr(module, "_next", counted)
    pair = (("build_adam_penalty", "build_adam_single"),)
    answer = answers(HERE / "slips_data.py", pair, causes=ALL)["build_adam_penalty"]
    assert [each.code for each in answer.report.findings] == ["wrong-input", "wrong-scale"]
    assert searched == [["wrong-input"] * 4, ["wrong-scale"] * 4]
