"""The costly families, and of how many cases of each a run takes a few (see `tests/sampled.py`)."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.beside import BESIDE
from tests.sampled import EVERY_TEST, spread

COLLECTED = pytest.StashKey[list[str]]()
"""The ids of all tests that were found, below `tests/`."""
LEFT_OUT = pytest.StashKey[int]()
"""How many of them are not run."""

ALL = 10**9
"""What is cheap."""
NONE = 0
"""A test that stands for no family: what it does is done by others, too, at less cost."""
FEW: Mapping[str, int | tuple[str, ...]] = {
    **{f"{file}::test_{name}": NONE for file, names in BESIDE.items() for name in names.split()},
    "": ALL,
    # Faults of each kind in a plan of many layers, and such plans the slow way, too.
    "layers/test_by_layers.py::test_a_fault_is_never_proved_by_the_other_layers": 2,
    "layers/test_by_layers.py::test_it_says_of_all_layers_what_is_said_without_it": ("plain", "microbatches"),
    "layers/test_by_layers.py::test_so_it_does_of_blocks_in_the_order_of_ranks": NONE,
    "layers/test_moved.py::test_rows_that_are_home_after_few_layers_are_not_proved": ("9",),
    "layers/test_fewer.py::test_a_pair_has_few_of_its_layers_and_is_proved_as_such": ("clipped", "gpt", "plain"),
    # Programs are recorded, run and verified: one of each test, so that a right and a wrong one remain of each file.
    "torch/": 1,
    "torch/test_counted.py::test_a_loss_that_nobody_returns": ("build-PROVED", "build_uncounted-REFUTED"),
    "torch/test_decomposed.py": ALL,
    "torch/test_decomposed.py::test_rows_of_a_batch_are_proved": ("bends",),
    "torch/test_decomposed.py::test_gradients_that_are_not_reduced_are_refuted": ("bends",),
    "torch/test_door.py": ALL,
    "torch/test_experts.py::test_counts_are_what_torch_computes": ALL,
    "torch/test_experts.py::test_grouped_products_are_what_torch_computes": ALL,
    "torch/test_experts.py::test_rows_that_are_sorted_by_expert_on_each_rank_are_proved": ("build_copied",),
    "torch/test_experts.py::test_rows_at_the_wrong_expert_or_place_are_refuted": ("build_copied_turned",),
    "torch/test_fooling.py::test_a_program_that_fools_a_recording_is_not_proved": 3,
    "torch/test_fooling.py::test_its_right_twin_is_proved": 3,
    "torch/test_fused.py": ALL,
    "torch/test_held.py::test_what_was_wrong_once_is_what_torch_computes": ("further1-20",),
    "torch/test_in_groups.py::test_images_and_whole_groups_of_channels_are_proved": ("build_channels",),
    "torch/test_listed.py": ALL,
    "torch/test_odd_numbers.py::test_numbers_beside": ("build_first-PROVED", "build_first_otherwise-REFUTED"),
    "torch/test_padding_ids.py::test_padding_within_a_large_vocabulary_is_proved": ("equal",),
    "torch/test_padding_ids.py::test_one_id_of_many_that_a_rank_takes_otherwise_is_refuted": ("neighbour",),
    "torch/test_probe.py": ALL,
    "torch/test_recorded.py": ALL,
    "torch/test_subclassed.py": ALL,
    "torch/test_subtle.py": ("build_reduced", "build_reduced_right", "build_dealt", "build_dealt_right"),
    "torch/test_covered.py::test_what_is_wrong_beside_them_is_refuted": ("build_summed",),
    "torch/test_examples.py::test_right_programs_are_proved": ("gpt_tokens-build-2",),
    "torch/test_zigzags.py::test_two_pieces_on_each_rank_are_proved": ("build_indexed",),
    "torch/test_unlike.py::test_sequences_are_packed_as_torch_packs_them": ALL,
    "torch/test_unordered.py": ALL,
    "torch/test_unwritten.py::test_what_was_never_written": ALL,
    "torch/test_versions.py": ALL,
    "torch/test_versions.py::test_nothing_is_recorded_with_another_version": 1,
    "torch/test_written.py::test_another_number_is_not": ("build_scale",),
    "torch/test_written.py::test_other_numbers_are_as_they_are": ALL,
    "torch/test_written.py::test_the_nearest_number_of_32_bits_is_the_decimal": ALL,
    # What takes longest beside what is done alike at less cost.
    "torch/test_adams.py::test_another_adam_is_refuted": ("build_uncorrected",),
    "torch/test_adams.py::test_who_denies_the_assumption_is_told_no_such_thing": NONE,
    "torch/test_confirm.py::test_a_program_that_hangs_is_not_proved": NONE,
    "torch/test_confirm.py::test_what_runs_say_of_a_recording": NONE,
    "torch/test_confirm.py::test_limits_hold_for_recordings_and_runs": NONE,
    "torch/test_examples.py::test_one_layer_of_8b_is_proved_between_cut_points": NONE,
    "torch/test_exchanged.py::test_an_exchange_into_memory_of_another_shape_goes_by_what_lies_there": NONE,
    "torch/test_exchanged.py::test_ends_of_communication_may_see_its_memory_in_unlike_shapes": NONE,
    "torch/test_heard.py::test_whom_ranks_meet_that_depends_on_what_they_read_is_not_refuted": NONE,
    "torch/test_live.py::test_tokens_that_travel_by_data": NONE,
    "torch/test_made.py::test_a_mask_that_is_made_in_the_likeness_of_scores_is_no_choice": NONE,
    "torch/test_masked_quotients.py::test_another_mask_is_not": NONE,
    "torch/test_masked_quotients.py::test_what_goes_otherwise_where_a_row_is_zero": ("ones",),
    "torch/test_no_count.py::test_another_bound_is_not_proved": NONE,
    "torch/test_parts.py::test_quiet_prints_the_verdict_alone": NONE,
    "torch/test_preloaded.py::test_what_an_import_draws_is_drawn_otherwise_in_a_second_recording": NONE,
    "torch/test_preloaded.py::test_what_needs_numbers_is_recorded_again_by_the_same_processes": NONE,
    "torch/test_preloaded.py::test_what_an_import_draws_and_no_run_comes_to_is_not_known": NONE,
    "torch/test_preloaded.py::test_what_one_program_of_two_imports_late_is_imported_once_before_its_runs": NONE,
    "torch/test_preloaded.py::test_what_comes_behind_other_code_is_imported_by_each_rank": NONE,
    "torch/test_preloaded.py::test_a_program_that_a_package_imports_is_imported_by_each_rank": NONE,
    "torch/test_random.py::test_examples": NONE,
    "torch/test_saved.py::test_training_that_goes_on_from_a_checkpoint": NONE,
    "torch/test_preloaded.py::test_runs_with_other_draws_of_an_import_stand_for_a_second_recording": NONE,
    "torch/test_rings.py::test_a_causal_ring_of_four_ranks_is_proved": NONE,
    "torch/test_rings.py::test_blocks_that_are_masked_in_another_order_are_refuted": NONE,
    "torch/test_rooted.py::test_chances_are_multiplied": NONE,
    "torch/test_seen.py::test_a_library_that_torch_loads_is_told": NONE,
    "torch/test_seen.py::test_what_python_torch_and_verdict_read_is_not_told": NONE,
    "torch/test_stated.py::test_variances_are_not_negative_where_the_programs_own_are_not": NONE,
    "torch/test_step.py::test_a_fused_optimizer_of_shards_is_taken_apart": NONE,
    "torch/test_step.py::test_gradients_that_are_zero_but_for_rounding_lie_amid_others_in_one_buffer": NONE,
    "torch/test_step.py::test_what_a_library_does_while_no_code_of_the_users_runs_is_told": NONE,
    "torch/test_step.py::test_two_axes_of_which_one_divides_the_batch": NONE,
    "torch/test_wrapped.py::test_one_that_is_alone_has_nobody_to_broadcast_to": NONE,
    "torch/test_wrapped.py::test_what_other_ranks_used_is_known_to_a_run_of_all_of_them": NONE,
    # Two nodes are begun for each that is killed; plans on two nodes remain.
    "batches/test_cluster.py::test_a_node_is_killed": NONE,
    "batches/test_cluster.py::test_the_same_cases_as_local": NONE,
    "batches/test_cluster.py::test_programs_of_a_project_are_recorded_on_the_cluster": NONE,
    "batches/test_cluster.py::test_ranks_of_a_large_program_are_recorded_on_both_nodes": NONE,
    "batches/test_cluster.py::test_questions_of_a_campaign_are_asked_on_the_cluster": NONE,
    "batches/test_blocks.py::test_the_whole_is_what_one_task_records": NONE,
    "batches/test_recordings.py::test_what_cannot_be_recorded_without_numbers_is_recorded_on_them": NONE,
    "batches/test_blocks.py::test_the_first_rank_that_cannot_be_recorded_is_told": NONE,
    # Loops of XLA, each once by induction and once unrolled.
    "backends/hlo/test_induction.py::test_no_induction_proves_what_is_wrong": 4,
    "backends/hlo/test_induction.py::test_induction_and_unrolling_prove_what_is_right": 1,
    "backends/hlo/test_induction.py::test_the_command_tells_of_an_induction": NONE,
    "backends/hlo/test_induction.py::test_what_induction_does_not_prove_is_proved_by_unrolling": ("factors of one-2",),
    "backends/hlo/test_manual_loops.py::test_no_induction_proves_what_is_wrong": 3,
    "backends/hlo/test_manual_loops.py::test_no_induction_proves_what_is_wrong_as_traced": 1,
    "backends/hlo/test_manual_loops.py::test_induction_and_unrolling_prove_what_is_right": 1,
    # What XLA's partitioner makes: the right module and one with a fault of the same computations.
    "backends/hlo/test_mutants.py::test_verdict_and_the_oracle_agree": (
        "fwd_tp, all-reduce dropped", "mlp_fs, groups of neighbours", "mlp_fs, contraction", "reshard, scale",
        "roll, permutation", "softmax, reducer",
    ),
    "backends/hlo/test_pair.py::test_what_the_partitioner_makes_is_proved": (
        "cumsum", "fwd_tp", "halo", "mlp_dp", "mlp_tp", "reshard", "roll", "scan", "softmax",
    ),
    "backends/hlo/test_pair.py::test_a_fault_is_refuted": 5,
    "backends/hlo/test_steps.py::test_a_step_by_hand_is_proved": ("hashed", "partly", "sorted"),
    "backends/hlo/test_steps.py::test_a_fault_in_it_is_refuted": ("hashed", "partly", "sorted"),
    "backends/hlo/test_adam.py::test_a_fault_is_refuted": ("an all-reduce dropped",),
    "backends/hlo/test_random_bits.py::test_a_mask_of_its_own_on_each_device_is_another_one": 1,
    "backends/hlo/test_folds.py::test_a_fault_is_refuted": 3,
    # Published plans, each of many shapes or with one of many faults.
    "backends/test_corpus.py::test_a_few_hundred_mutants_end_in_a_plan_or_a_sentence": NONE,
    "backends/test_nnscaler.py::test_what_is_held_is_made_and_claims_to_be_whole": 12,
    "backends/test_nnscaler.py::test_wiring_is_regular": 12,
    "backends/test_nnscaler.py::test_mesh_and_microbatches_come_from_the_content": 12,
    "backends/test_nnscaler.py::test_the_plan_for_8192_ranks": NONE,
    "backends/test_nnscaler.py::test_every_plan_is_read_in_ssa_form": 12,
    "backends/test_nnscaler.py::test_a_fault_of_a_plan_survives_reading": 4,
    "backends/test_text.py::test_nnscaler_plans_are_read_back": 7,
    "concrete/test_oracle.py::test_plans_of_a_real_tool": 2,
    "diagnose/test_published_bugs.py::test_the_fault_is_named": 1,
    "repair/test_published.py::test_a_published_bug_gets_one_repair_that_is_proved": 1,
    "repair/test_published.py::test_permuted_activations_are_repaired": 1,
    "test_shared_plans.py::test_small_plans_get_their_verdict": 2,
    "test_shared_plans.py::test_distinct_stages_do_not_grow_with_layers": NONE,
    "test_shared_plans.py::test_permuted_activations_are_one_finding": 1,
    "test_shared_experts.py": 1,
    # Real bugs, of which all are judged without a search for their causes elsewhere.
    "bugs/test_bugs.py::test_exactly_that_is_missed_which_the_file_says": 25,
    "bugs/test_programs.py": 1,
    "interpreter/test_interpreter.py::test_real_bugs_and_their_right_twins": 45,
    "oracle/test_torch_engine.py::test_both_engines_say_the_same_of_real_bugs": 40,
    # Plans by hand and generated ones, with many faults or on many meshes.
    "diagnose/test_repro.py::test_the_script_shows_the_mismatch": ("missing_reduction",),
    "diagnose/test_told_first.py": 5,
    "diagnose/test_told_first.py::test_the_cause_is_told_first_of_experts": 1,
    "graph/test_looks.py::test_faults_are_found_as_in_each_node_by_itself": 20,
    "lineage/test_blind_spots.py::test_no_fault_is_proved": (
        "narrowed_everywhere", "chunks_reversed_on_rank_0", "without_reducers", "transposed_same_shape",
        "fed_with_another_microbatch", "duplicate_node",
    ),
    "lineage/test_resumed.py::test_mutants_and_right_plans_are_followed_as_they_are_walked": 1,
    "mutate/test_campaign.py::test_no_fault_that_changes_a_value_is_proved": 3,
    "residue/test_between.py::test_no_fault_is_proved_between_cut_points": 1,
    "mutate/test_campaign.py::test_what_is_known_of_stages_changes_no_judgement": NONE,
    "solver/test_minimize.py::test_of_many_variables_few_points_are_asked": NONE,
    "sweep/test_engine.py::test_a_piece_has_the_size_that_its_group_makes": ("group",),
    "sweep/test_engine.py::test_what_is_sifted_on_numbers_would_have_no_proof": 1,
    "sweep/test_infinite.py::test_what_is_equal_for_real_numbers_alone_is_not_proved": 6,
    "residue/test_tiles.py::test_ring_attention_at_the_widths_of_a_large_model": NONE,
    "sweep/test_permission.py": 3,
    "values/test_numbers_again.py": 3,
    "values/test_numbers_again.py::test_what_is_equal_of_numbers_is_not_where_a_number_is_made_again": 12,
    "values/test_normed.py::test_a_norm_is_not_zero_where_the_loss_is_a_number": 5,
    "values/test_types.py::test_a_sum_in_a_narrower_type_wraps_around": ("int8-False", "int16-True"),
    "test_experts.py::test_experts_that_two_ranks_hold_are_counted_twice": NONE,
    "test_experts.py::test_a_shifted_range_is_refuted": ("-1-moe_gmm", "1-moe_gmm"),
    "test_generated_plans.py::test_both_modes_agree": NONE,
    "test_generated_plans.py::test_every_mesh_is_proved": 8,
    "test_generated_plans.py::test_faults_are_refuted": 5,
    "test_generated_plans.py::test_distinct_stages_do_not_grow": ("gpt-microbatches8-batch32", "deepseek-layers9"),
    "test_generated_proofs.py": 4,
    "test_metamorphic.py::test_a_change_that_changes_nothing_keeps_the_verdict": 42,
    "test_metamorphic.py::test_a_plan_against_itself_is_proved": ("mlp",),
    "test_metamorphic.py::test_every_stage_by_itself_gives_the_same_verdict": 6,
    "test_metamorphic.py::test_seed_and_workers_change_nothing": ("mlp-right", "mlp-another operator"),
    "test_random.py": 2,
    "test_random.py::test_another_attention_is_refuted": ("self_attention.grad-{'dropout_p': 0.5}",),
    "test_silenced.py": 2,
    # Attributes of operators.
    "ops/test_attributes.py::test_torch_at_other_attributes": 123,
    # Processes that are begun, killed and waited for.
    "campaigns/test_campaigns.py::test_the_command": NONE,
    "campaigns/test_campaigns.py::test_programs_are_recorded_run_and_judged": NONE,
    "campaigns/test_ways.py::test_a_way_that_has_no_time_or_does_not_decide_is_no_contradiction": NONE,
    "campaigns/test_campaigns.py::test_programs_are_python_and_have_edits_of_many_kinds": 3,
    "report/test_determinism.py::test_any_number_of_workers_gives_one_report": 2,
    "test_faults.py::test_a_worker_that_fails_leaves_its_stage_unknown_and_the_others_proved": (
        "1-killed", "1-out of memory", "2-killed",
    ),
    "test_faults.py::test_a_full_disk_is_a_sentence": 1,
    "test_faults.py::test_a_closed_pipe_is_no_verdict": 1,
    "test_child.py::test_a_pool_works_in_either": ("one thread",),
    "test_workers.py::test_a_task_that_kills_its_process": 2,
    "test_workers.py::test_outcomes_stand_in_the_order_of_the_tasks": 2,
    "test_cli.py::test_json_is_versioned_and_the_same_for_any_number_of_workers": NONE,
    "test_progress.py::test_a_pipe_sees_nothing_but_one_line_a_phase_with_its_counts": NONE,
    "test_command_line.py::test_two_files_are_the_two_plans": 2,
    "test_command_line.py::test_colours_are_for_terminals_or_where_they_are_asked_for": 2,
    # Reports of each of the small pairs.
    "report/test_golden.py::test_a_report_reads_as_kept": 8,
    "report/test_formats.py::test_json_of_every_pair_fits_the_schema": 3,
    "report/test_width.py::test_no_line_of_a_finding_is_wider_than_the_terminal": 3,
    # Pages and figures, which are made as a whole.
    "test_docs.py::test_the_site_is_built_without_a_warning": NONE,
    "test_docs.py::test_the_tutorial_shows_what_happens": NONE,
    "test_evaluation.py::test_generated_plans_stand_for_published_ones": NONE,
    "test_evaluation.py::test_a_demonstration_writes_its_rows": NONE,
}
"""Where a test stands, of which the longest that fits counts -> how many cases of each test there, or which ones."""


def leave_out(config: Any, items: list[Any], folder: Path) -> None:
    """Of the tests that were found those that are not run, where all of the folder are asked for, and not by name."""
    ids = config.stash[COLLECTED] = [item.nodeid.removeprefix("tests/") for item in items]
    asked = [(config.invocation_params.dir / each).resolve() for each in config.args]
    if EVERY_TEST or asked != [folder] or config.option.keyword:
        return
    both = list(zip(items, kept(ids), strict=True))
    left_out = [item for item, runs in both if not runs]
    items[:] = [item for item, runs in both if runs]
    config.hook.pytest_deselected(items=left_out)
    config.stash[LEFT_OUT] = len(left_out)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(left_out)


def kept(tests: Iterable[str]) -> list[bool]:
    """Which tests are run, of their ids (below `tests/`). A test is kept or left out with all that it is compared to:
    where some cases of a test remain, others do of the tests beside it.
    """
    every = list(tests)
    cases = dict[str, list[str]]()
    for each in every:
        cases.setdefault(test_of(each), []).append(case_of(each))
    remain = {test: set(few(test, of)) for test, of in cases.items()}
    return [case_of(each) in remain[test_of(each)] for each in every]


def few(test: str, cases: Sequence[str]) -> Sequence[str]:
    """Those cases of a test that are run."""
    said = said_of(test)
    return spread(cases, said) if isinstance(said, int) else [each for each in cases if each in said]


def said_of(test: str) -> int | tuple[str, ...]:
    """What is said of a test."""
    return FEW[max((each for each in FEW if test.startswith(each)), key=len)]


def test_of(test: str) -> str:
    """A test's id without its case."""
    return test.partition("[")[0]


def case_of(test: str) -> str:
    """What is behind it."""
    return test.partition("[")[2].removesuffix("]")
