"""Tests that README's command leaves out by name: what takes longest of its file, beside others that remain."""

from collections.abc import Mapping

BESIDE: Mapping[str, str] = {
    # A program is recorded, run and verified for each: a right and a wrong one of each file remain, which take least.
    "torch/test_adams.py": "a_number_that_is_off_by_a_quotient_is_told_as_what_it_must_be",
    "torch/test_advised.py":
        "targets_that_are_ignored_are_named_with_the_range_that_rules_them_out "
        "one_mask_on_all_ranks_is_one_finding_at_the_line_of_the_dropout",
    "torch/test_blockwise.py":
        "a_total_that_is_not_corrected_is_no_missing_sum_of_minus_infinity "
        "rows_that_a_block_masks_as_a_whole_are_proved_where_they_are_left_out",
    "torch/test_chosen.py": "a_class_that_there_is_not_is_no_number_without_effect",
    "torch/test_confirm.py": "a_signal_leaves_neither_processes_nor_folders",
    "torch/test_convolved.py": "batch_norm_of_each_ranks_own_images_is_refuted_where_it_takes_the_mean",
    "torch/test_emptied.py": "where_no_loss_is_a_number_no_gradient_is_compared",
    "torch/test_exchanged.py": "a_sum_of_truth_values_is_true_where_one_of_them_is",
    "torch/test_fooling.py":
        "runs_see_what_the_recording_does_not "
        "what_is_drawn_and_seems_to_decide_nothing_is_an_assumption",
    "torch/test_forms.py":
        "a_gradient_that_is_not_averaged_and_another_ignored_class_are_refuted "
        "means_that_are_added_are_refuted "
        "another_table_than_the_one_on_the_gpu_is_refuted "
        "narrow_gradients_that_are_added_are_refuted "
        "a_fused_optimizer_with_another_beta_is_refuted "
        "another_state_before_the_step_is_refuted "
        "scattered_gradients_that_are_no_sums_are_refuted "
        "a_view_of_what_was_multiplied_by_another_number_is_refuted",
    "torch/test_heard.py": "a_run_of_all_ranks_knows_it",
    "torch/test_held.py": "another_number_is_told",
    "torch/test_in_groups.py": "smaller_groups_are_refuted_at_their_line",
    "torch/test_live.py": "a_library_that_makes_sure_of_shapes_by_itself",
    "torch/test_logged.py": "a_rank_that_counts_its_own_is_not_proved a_text_of_a_number_is_an_assumption",
    "torch/test_lying.py": "tensors_of_unequal_parts_are_followed_or_refused",
    "torch/test_masked_quotients.py":
        "what_is_divided_by_no_zero_is_proved "
        "what_goes_otherwise_where_a_row_is_zero_is_refuted_by_such_rows",
    "torch/test_normed.py": "a_norm_of_all_shards_is_proved",
    "torch/test_odd_numbers.py": "gradients_of_each_row_are_added_up",
    "torch/test_otherwise.py": "a_fault_beside_draws_of_the_other_sign_is_refuted draws_of_another_law_are_refuted",
    "torch/test_overflow.py":
        "a_step_under_a_scaler_is_proved_where_data_chooses_so "
        "a_wrong_step_under_a_scaler_is_refuted "
        "what_cannot_be_followed_is_no_proof",
    "torch/test_paired.py": "what_is_not_known_of_them_is_open",
    "torch/test_positioned.py":
        "what_is_read_is_told_with_the_line_that_makes_it "
        "the_right_window_is_proved "
        "a_shift_of_positions_that_one_device_has_not_is_told",
    "torch/test_preloaded.py":
        "a_package_is_imported_once_for_each_of_two_draws "
        "what_no_rank_can_tell_leaves_no_trace "
        "a_package_that_asks_which_rank_it_is_is_imported_by_each",
    "torch/test_random.py":
        "masks_of_which_each_rank_uses_another_part_are_no_wrong_copies "
        "one_device "
        "states_that_are_restored_and_truth_values "
        "the_law_can_be_denied "
        "plans_with_draws_are_run_and_verified "
        "a_draw_says_from_which_state",
    "torch/test_recorded.py":
        "a_rank_is_recorded_alike_whatever_else_is_recorded "
        "all_ranks_together_compute_what_one_device_computes "
        "gpt2_on_ranks_computes_what_one_device_computes",
    "torch/test_rooted.py": "a_sum_that_one_rank_has_is_what_it_tells_the_others",
    "torch/test_rows.py": "a_gradient_that_nobody_reduces_is_refuted",
    "torch/test_seen.py":
        "a_change_of_what_was_seen_is_noticed "
        "all_variables_count_where_all_are_read "
        "what_cannot_be_looked_at_again_is_told "
        "the_network_is_told "
        "a_file_that_a_program_writes_and_reads_is_its_own_matter",
    "torch/test_slips.py":
        "a_norm_of_each_ranks_own_rows_is_one_cause_forward_and_backward "
        "what_a_line_does_to_each_weight_is_searched_for_once",
    "torch/test_stated.py": "buffers_lie_in_the_range_that_is_stated_of_them",
    "torch/test_step.py":
        "what_is_inferred_of_a_right_step_is_proved "
        "a_model_whose_gradients_nobody_averages_is_refuted",
    "torch/test_unlike.py":
        "what_is_a_multiple_on_each_rank_is_not_where_gradients_go_astray "
        "a_loss_of_wrong_values_is_not_told_to_be_of_too_few "
        "lengths_that_torch_refuses_are_refused",
    "torch/test_unwritten.py": "rows_of_the_wrong_experts_are_refuted",
    "torch/test_waited_for.py": "one_that_looks_for_unused_parameters_does_not_wait",
    "torch/test_wrapped.py":
        "buffers_that_rank_0_broadcasts_are_what_they_were "
        "what_the_wrapper_sends_when_it_is_made_in_the_step_is_its_own "
        "gradients_that_are_accumulated_are_those_of_the_whole_batch "
        "parameters_that_a_pass_does_not_use_are_found "
        "states_that_torch_divides_among_ranks",
    "torch/test_written.py": "what_torch_rounds_is_what_was_written",
    # Of one way to find a proof, or a cause, one plan remains that is right and one that is wrong, the smaller ones.
    "backends/hlo/test_induction.py": "a_guess_that_does_not_fit_is_made_anew",
    "backends/hlo/test_manual_loops.py": "a_number_that_chooses_twice_in_a_turn_is_one_number",
    "backends/test_nnscaler.py": "llama_mlp_and_adapted_llama_use_known_operators_only",
    "backends/test_nnscaler_hostile.py": "damage_gives_a_plan_or_a_message",
    "batches/test_batch.py": "results_that_do_not_fit_are_refused merged_shards_are_the_whole_but_for_times",
    "batches/test_cache.py":
        "any_damage_to_an_entry_changes_nothing "
        "a_sampled_entry_that_comes_out_otherwise_discredits_the_cache",
    "batches/test_check.py": "the_page_shows_a_project_that_is_proved",
    "batches/test_cluster.py": "a_task_that_its_worker_never_survives_is_unknown the_command_tells_the_same_report",
    "batches/test_recordings.py": "a_real_program_is_recorded_once_and_told_the_same",
    "campaigns/test_spread.py": "questions_that_are_spread_have_the_same_answers",
    "campaigns/test_ways.py": "all_ways_agree",
    "diagnose/test_repro.py": "nothing_to_show_is_no_script a_script_without_a_mismatch_exits_0",
    "diagnose/test_told_first.py": "the_cause_is_told_first_of_experts",
    "graph/test_looks.py": "a_plan_that_was_pickled_has_looks_of_its_own",
    "layers/test_by_layers.py": "the_story_asks_few_layers_first_and_then_the_whole",
    "lineage/test_blind_spots.py": "what_changes_no_value_is_not_refuted",
    "lineage/test_replicas.py": "what_is_proved_does_not_grow_with_the_replicas",
    "lineage/test_resumed.py": "the_search_walks_on_from_the_plan_that_it_repairs",
    "lineage/test_updates.py": "parts_that_are_added_before_their_sum_are_open_and_not_wrong",
    "ops/test_aten_shares.py": "comparisons_of_reals_meet_in_the_step",
    "ops/test_windows.py": "a_part_along_the_split_dimension_is_not_that_of_the_parts",
    "oracle/test_torch_engine.py": "the_engine_runs_where_nothing_of_the_proof_can_be_imported",
    "reduction/test_reach.py": "rows_and_features_of_layer_norms_shrink",
    "reduction/test_scattered.py": "what_is_put_there_matters",
    "report/test_consumers.py": "junitparser_reads_a_list",
    "report/test_determinism.py": "any_seed_of_the_hash_gives_one_report",
    "residue/test_added_losses.py": "copies_of_a_part_are_the_same",
    "residue/test_between.py": "of_what_numbers_tell_apart_no_proof_is_asked_and_none_is_believed",
    "residue/test_by_blocks.py": "ring_attention_on_two_pieces_is_decided_between_cut_points",
    "residue/test_early.py":
        "no_fault_is_proved_behind_an_early_look "
        "what_is_wrong_in_each_layer_costs_one_look_at_the_first",
    "residue/test_flat.py": "no_fault_is_proved",
    "residue/test_rows.py": "shares_that_are_intervals_stay_as_they_are",
    "residue/test_thin.py":
        "laws_without_a_proof_leave_islands_as_they_are "
        "large_islands_are_asked_at_one_sample_and_head",
    "residue/test_tiles.py": "no_fault_is_proved_on_tiles ring_attention_is_one_pair_of_all_tensor_parallel_ranks",
    "solver/test_decide.py": "what_is_found_besides_a_proof_stands_against_it",
    "sweep/test_match.py": "values_that_occur_often_are_looked_up_once",
    "sweep/test_reduced.py": "what_is_not_declared_is_missing_at_all_shapes",
    "test_certify.py": "the_sweep_proves_what_it_can",
    "test_install.py": "commands_of_an_installed_wheel_run_in_another_folder",
    "test_parallelisms_page.py": "the_smallest_and_the_largest_row_are_generated",
    "test_progress.py":
        "a_terminal_sees_the_claims_of_a_sweep_and_the_ranks_of_a_recording "
        "a_terminal_sees_counts_and_what_is_left_of_every_long_phase",
    "test_replica.py": "one_replica_is_swept_where_the_walk_cannot_follow_and_all_where_asked_for",
    "test_shared_plans.py": "the_exhaustive_mode_agrees distinct_stages_do_not_grow_with_replicas_or_microbatches",
    "values/test_masked_rows.py": "not_below_is_above_where_each_row_has_an_element_that_is_not_masked",
    "values/test_reduced.py":
        "what_is_counted_in_each_column_is_seen_in_one "
        "what_differs_at_reduced_shapes_alone_refutes_nothing",
}
"""The file -> the names of tests, without what all begin with. CI runs each of them."""
