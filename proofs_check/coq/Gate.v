(** Prints the assumptions of every headline theorem; written by gate.py, compared with
    gate.expected by `make check`. *)
From ValidRef Require Import Network BroadcastProof Count Flood AgreementProof HashProof LatticeProof Witness LocalProof TreeSum EndToEnd LeanProof LeanHonest Whole LearnProof ValidProof Guarantee HonestRun Hidden Sanity Rounding Contraction Perturbation Bounded Consensus Mixing Rate Product Samples Certificate Chebyshev Admissible Attack Certified Nearness Calibration.

(* Network.v *)
Goal True. idtac "rushing_reduces". exact I. Qed.
Print Assumptions Network.rushing_reduces.

(* BroadcastProof.v *)
Goal True. idtac "V3_written_once". exact I. Qed.
Print Assumptions BroadcastProof.V3_written_once.
Goal True. idtac "V3_alarms_stay". exact I. Qed.
Print Assumptions BroadcastProof.V3_alarms_stay.
Goal True. idtac "V4". exact I. Qed.
Print Assumptions BroadcastProof.V4.
Goal True. idtac "V2". exact I. Qed.
Print Assumptions BroadcastProof.V2.
Goal True. idtac "V1". exact I. Qed.
Print Assumptions BroadcastProof.V1.
Goal True. idtac "send_once_is_enough". exact I. Qed.
Print Assumptions BroadcastProof.send_once_is_enough.

(* Count.v *)
Goal True. idtac "at_most_twice". exact I. Qed.
Print Assumptions Count.at_most_twice.
Goal True. idtac "exactly_twice". exact I. Qed.
Print Assumptions Count.exactly_twice.
Goal True. idtac "broadcast_cost". exact I. Qed.
Print Assumptions Count.broadcast_cost.

(* Flood.v *)
Goal True. idtac "flood_written_once". exact I. Qed.
Print Assumptions Flood.flood_written_once.
Goal True. idtac "nothing_before_its_time". exact I. Qed.
Print Assumptions Flood.nothing_before_its_time.
Goal True. idtac "little_is_sent_on". exact I. Qed.
Print Assumptions Flood.little_is_sent_on.
Goal True. idtac "diameter_needed". exact I. Qed.
Print Assumptions Flood.diameter_needed.
Goal True. idtac "flood_V1". exact I. Qed.
Print Assumptions Flood.flood_V1.

(* AgreementProof.v *)
Goal True. idtac "S1". exact I. Qed.
Print Assumptions AgreementProof.S1.
Goal True. idtac "S2_honest_rounds". exact I. Qed.
Print Assumptions AgreementProof.S2_honest_rounds.
Goal True. idtac "S2". exact I. Qed.
Print Assumptions AgreementProof.S2.
Goal True. idtac "S3". exact I. Qed.
Print Assumptions AgreementProof.S3.
Goal True. idtac "S4". exact I. Qed.
Print Assumptions AgreementProof.S4.
Goal True. idtac "VS1". exact I. Qed.
Print Assumptions AgreementProof.VS1.

(* HashProof.v *)
Goal True. idtac "integer_form". exact I. Qed.
Print Assumptions HashProof.integer_form.
Goal True. idtac "hash_linear". exact I. Qed.
Print Assumptions HashProof.hash_linear.
Goal True. idtac "few_collisions". exact I. Qed.
Print Assumptions HashProof.few_collisions.
Goal True. idtac "few_colliding_tuples". exact I. Qed.
Print Assumptions HashProof.few_colliding_tuples.
Goal True. idtac "collisions_tight". exact I. Qed.
Print Assumptions HashProof.collisions_tight.
Goal True. idtac "short_prime_is_blind". exact I. Qed.
Print Assumptions HashProof.short_prime_is_blind.

(* LatticeProof.v *)
Goal True. idtac "step_satisfies_relation". exact I. Qed.
Print Assumptions LatticeProof.step_satisfies_relation.
Goal True. idtac "step_in_range". exact I. Qed.
Print Assumptions LatticeProof.step_in_range.
Goal True. idtac "half_even_error". exact I. Qed.
Print Assumptions LatticeProof.half_even_error.
Goal True. idtac "half_even_tie". exact I. Qed.
Print Assumptions LatticeProof.half_even_tie.
Goal True. idtac "read_off_error". exact I. Qed.
Print Assumptions LatticeProof.read_off_error.
Goal True. idtac "early_test_is_safe". exact I. Qed.
Print Assumptions LatticeProof.early_test_is_safe.
Goal True. idtac "conservation". exact I. Qed.
Print Assumptions LatticeProof.conservation.
Goal True. idtac "range_gammas_mod". exact I. Qed.
Print Assumptions LatticeProof.range_gammas_mod.
Goal True. idtac "range_step_no_overflow". exact I. Qed.
Print Assumptions LatticeProof.range_step_no_overflow.
Goal True. idtac "range_no_overflow". exact I. Qed.
Print Assumptions LatticeProof.range_no_overflow.
Goal True. idtac "range_residual_mod". exact I. Qed.
Print Assumptions LatticeProof.range_residual_mod.
Goal True. idtac "range_models_mod". exact I. Qed.
Print Assumptions LatticeProof.range_models_mod.
Goal True. idtac "learned_relation". exact I. Qed.
Print Assumptions LatticeProof.learned_relation.
Goal True. idtac "four_hashes_correct". exact I. Qed.
Print Assumptions LatticeProof.four_hashes_correct.
Goal True. idtac "hash_of_residual". exact I. Qed.
Print Assumptions LatticeProof.hash_of_residual.

(* Witness.v *)
Goal True. idtac "P01_printed". exact I. Qed.
Print Assumptions Witness.P01_printed.
Goal True. idtac "P02_forged". exact I. Qed.
Print Assumptions Witness.P02_forged.
Goal True. idtac "P04_reset". exact I. Qed.
Print Assumptions Witness.P04_reset.
Goal True. idtac "P18_five_of_thirteen". exact I. Qed.
Print Assumptions Witness.P18_five_of_thirteen.
Goal True. idtac "P19_extension_field". exact I. Qed.
Print Assumptions Witness.P19_extension_field.
Goal True. idtac "P20_wrap". exact I. Qed.
Print Assumptions Witness.P20_wrap.
Goal True. idtac "P14_wrong_round". exact I. Qed.
Print Assumptions Witness.P14_wrong_round.

(* LocalProof.v *)
Goal True. idtac "L2_L3". exact I. Qed.
Print Assumptions LocalProof.L2_L3.

(* TreeSum.v *)
Goal True. idtac "tree_sum_right". exact I. Qed.
Print Assumptions TreeSum.tree_sum_right.

(* EndToEnd.v *)
Goal True. idtac "misbehaviour_is_caught". exact I. Qed.
Print Assumptions EndToEnd.misbehaviour_is_caught.
Goal True. idtac "L1". exact I. Qed.
Print Assumptions EndToEnd.L1.
Goal True. idtac "honest_run_is_valid". exact I. Qed.
Print Assumptions EndToEnd.honest_run_is_valid.

(* LeanProof.v *)
Goal True. idtac "same_everything". exact I. Qed.
Print Assumptions LeanProof.same_everything.
Goal True. idtac "statistics_pass". exact I. Qed.
Print Assumptions LeanProof.statistics_pass.
Goal True. idtac "lean_detects". exact I. Qed.
Print Assumptions LeanProof.lean_detects.
Goal True. idtac "share_tuples". exact I. Qed.
Print Assumptions LeanProof.share_tuples.

(* LeanHonest.v *)
Goal True. idtac "lean_honest_run_is_valid". exact I. Qed.
Print Assumptions LeanHonest.lean_honest_run_is_valid.

(* Whole.v *)
Goal True. idtac "global_passes". exact I. Qed.
Print Assumptions Whole.global_passes.
Goal True. idtac "few_bad". exact I. Qed.
Print Assumptions Whole.few_bad.
Goal True. idtac "whole". exact I. Qed.
Print Assumptions Whole.whole.

(* LearnProof.v *)
Goal True. idtac "received_well". exact I. Qed.
Print Assumptions LearnProof.received_well.
Goal True. idtac "record_well". exact I. Qed.
Print Assumptions LearnProof.record_well.
Goal True. idtac "honest_is_heard". exact I. Qed.
Print Assumptions LearnProof.honest_is_heard.
Goal True. idtac "quiet_record". exact I. Qed.
Print Assumptions LearnProof.quiet_record.
Goal True. idtac "nobody_objects". exact I. Qed.
Print Assumptions LearnProof.nobody_objects.

(* ValidProof.v *)
Goal True. idtac "phases_in_order". exact I. Qed.
Print Assumptions ValidProof.phases_in_order.
Goal True. idtac "verdict_is". exact I. Qed.
Print Assumptions ValidProof.verdict_is.

(* Guarantee.v *)
Goal True. idtac "invalid_or_consistent". exact I. Qed.
Print Assumptions Guarantee.invalid_or_consistent.

(* HonestRun.v *)
Goal True. idtac "estimate_has_form". exact I. Qed.
Print Assumptions HonestRun.estimate_has_form.
Goal True. idtac "no_global_alarm". exact I. Qed.
Print Assumptions HonestRun.no_global_alarm.
Goal True. idtac "honest_run". exact I. Qed.
Print Assumptions HonestRun.honest_run.

(* Hidden.v *)
Goal True. idtac "hidden_agent_unconstrained". exact I. Qed.
Print Assumptions Hidden.hidden_agent_unconstrained.
Goal True. idtac "without_self_check_unconstrained". exact I. Qed.
Print Assumptions Hidden.without_self_check_unconstrained.
Goal True. idtac "P07_lone_agent". exact I. Qed.
Print Assumptions Hidden.P07_lone_agent.

(* Sanity.v *)
Goal True. idtac "two_faced_is_caught". exact I. Qed.
Print Assumptions Sanity.two_faced_is_caught.

(* Rounding.v *)
Goal True. idtac "rounded_gradient". exact I. Qed.
Print Assumptions Rounding.rounded_gradient.
Goal True. idtac "rounded_step". exact I. Qed.
Print Assumptions Rounding.rounded_step.
Goal True. idtac "rounded_reading". exact I. Qed.
Print Assumptions Rounding.rounded_reading.

(* Contraction.v *)
Goal True. idtac "contraction_plain". exact I. Qed.
Print Assumptions Contraction.contraction_plain.
Goal True. idtac "contraction_sharp". exact I. Qed.
Print Assumptions Contraction.contraction_sharp.
Goal True. idtac "factor_below_one". exact I. Qed.
Print Assumptions Contraction.factor_below_one.
Goal True. idtac "A03_expands". exact I. Qed.
Print Assumptions Contraction.A03_expands.
Goal True. idtac "A03_factor". exact I. Qed.
Print Assumptions Contraction.A03_factor.
Goal True. idtac "mixing_keeps_bounds". exact I. Qed.
Print Assumptions Contraction.mixing_keeps_bounds.
Goal True. idtac "A06_star". exact I. Qed.
Print Assumptions Contraction.A06_star.
Goal True. idtac "A06_no_consensus". exact I. Qed.
Print Assumptions Contraction.A06_no_consensus.

(* Perturbation.v *)
Goal True. idtac "perturbation". exact I. Qed.
Print Assumptions Perturbation.perturbation.
Goal True. idtac "persistent_perturbation". exact I. Qed.
Print Assumptions Perturbation.persistent_perturbation.
Goal True. idtac "A05_no_uniform_factor". exact I. Qed.
Print Assumptions Perturbation.A05_no_uniform_factor.

(* Bounded.v *)
Goal True. idtac "honest_round". exact I. Qed.
Print Assumptions Bounded.honest_round.
Goal True. idtac "norm_checks_never_trip". exact I. Qed.
Print Assumptions Bounded.norm_checks_never_trip.
Goal True. idtac "invariant_ball". exact I. Qed.
Print Assumptions Bounded.invariant_ball.

(* Consensus.v *)
Goal True. idtac "consensus_abstract". exact I. Qed.
Print Assumptions Consensus.consensus_abstract.
Goal True. idtac "consensus". exact I. Qed.
Print Assumptions Consensus.consensus.
Goal True. idtac "shifted_steps_are_slow". exact I. Qed.
Print Assumptions Consensus.shifted_steps_are_slow.

(* Mixing.v *)
Goal True. idtac "mixing_contracts". exact I. Qed.
Print Assumptions Mixing.mixing_contracts.
Goal True. idtac "small_mixing_steps". exact I. Qed.
Print Assumptions Mixing.small_mixing_steps.
Goal True. idtac "mixing_is_short". exact I. Qed.
Print Assumptions Mixing.mixing_is_short.
Goal True. idtac "longer_steps_expand". exact I. Qed.
Print Assumptions Mixing.longer_steps_expand.
Goal True. idtac "edges_bound_the_spread". exact I. Qed.
Print Assumptions Mixing.edges_bound_the_spread.

(* Rate.v *)
Goal True. idtac "near_mean". exact I. Qed.
Print Assumptions Rate.near_mean.
Goal True. idtac "rate". exact I. Qed.
Print Assumptions Rate.rate.
Goal True. idtac "optimum_is_near". exact I. Qed.
Print Assumptions Rate.optimum_is_near.
Goal True. idtac "reported_gradients_near_mean". exact I. Qed.
Print Assumptions Rate.reported_gradients_near_mean.

(* Product.v *)
Goal True. idtac "fair_given_the_rest". exact I. Qed.
Print Assumptions Product.fair_given_the_rest.
Goal True. idtac "independent_noise_adds". exact I. Qed.
Print Assumptions Product.independent_noise_adds.

(* Samples.v *)
Goal True. idtac "rate_on_samples". exact I. Qed.
Print Assumptions Samples.rate_on_samples.

(* Certificate.v *)
Goal True. idtac "path_stays_within". exact I. Qed.
Print Assumptions Certificate.path_stays_within.
Goal True. idtac "certificate_of_the_path". exact I. Qed.
Print Assumptions Certificate.certificate_of_the_path.

(* Chebyshev.v *)
Goal True. idtac "square_tail". exact I. Qed.
Print Assumptions Chebyshev.square_tail.
Goal True. idtac "threshold_has_level". exact I. Qed.
Print Assumptions Chebyshev.threshold_has_level.
Goal True. idtac "honest_success". exact I. Qed.
Print Assumptions Chebyshev.honest_success.
Goal True. idtac "martingale_adds". exact I. Qed.
Print Assumptions Chebyshev.martingale_adds.
Goal True. idtac "noise_of_estimates". exact I. Qed.
Print Assumptions Chebyshev.noise_of_estimates.

(* Admissible.v *)
Goal True. idtac "admissible_closed_form". exact I. Qed.
Print Assumptions Admissible.admissible_closed_form.
Goal True. idtac "admissible_without_free". exact I. Qed.
Print Assumptions Admissible.admissible_without_free.
Goal True. idtac "relaxed_closed_form". exact I. Qed.
Print Assumptions Admissible.relaxed_closed_form.
Goal True. idtac "admissible_antitone". exact I. Qed.
Print Assumptions Admissible.admissible_antitone.
Goal True. idtac "global_checks_imply_relaxed". exact I. Qed.
Print Assumptions Admissible.global_checks_imply_relaxed.
Goal True. idtac "near_each_imply_relaxed". exact I. Qed.
Print Assumptions Admissible.near_each_imply_relaxed.
Goal True. idtac "printed_test_asks_more". exact I. Qed.
Print Assumptions Admissible.printed_test_asks_more.
Goal True. idtac "estimates_are_near". exact I. Qed.
Print Assumptions Admissible.estimates_are_near.
Goal True. idtac "measured_nu_implies_relaxed". exact I. Qed.
Print Assumptions Admissible.measured_nu_implies_relaxed.

(* Attack.v *)
Goal True. idtac "imitation_is_honest". exact I. Qed.
Print Assumptions Attack.imitation_is_honest.
Goal True. idtac "benign_attack". exact I. Qed.
Print Assumptions Attack.benign_attack.
Goal True. idtac "one_model_for_all". exact I. Qed.
Print Assumptions Attack.one_model_for_all.
Goal True. idtac "attacked_loss_is_no_less". exact I. Qed.
Print Assumptions Attack.attacked_loss_is_no_less.

(* Certified.v *)
Goal True. idtac "statistics_say". exact I. Qed.
Print Assumptions Certified.statistics_say.
Goal True. idtac "invalid_or_relaxed". exact I. Qed.
Print Assumptions Certified.invalid_or_relaxed.

(* Nearness.v *)
Goal True. idtac "read_off_near". exact I. Qed.
Print Assumptions Nearness.read_off_near.
Goal True. idtac "slack_small". exact I. Qed.
Print Assumptions Nearness.slack_small.
Goal True. idtac "invalid_or_admissible". exact I. Qed.
Print Assumptions Nearness.invalid_or_admissible.

(* Calibration.v *)
Goal True. idtac "few_exceed". exact I. Qed.
Print Assumptions Calibration.few_exceed.
Goal True. idtac "distinct_exceed". exact I. Qed.
Print Assumptions Calibration.distinct_exceed.
Goal True. idtac "few_permutations". exact I. Qed.
Print Assumptions Calibration.few_permutations.
Goal True. idtac "distinct_permutations". exact I. Qed.
Print Assumptions Calibration.distinct_permutations.
Goal True. idtac "exceeds_rarely". exact I. Qed.
Print Assumptions Calibration.exceeds_rarely.
Goal True. idtac "exceeds_exactly". exact I. Qed.
Print Assumptions Calibration.exceeds_exactly.
Goal True. idtac "rank_is_least". exact I. Qed.
Print Assumptions Calibration.rank_is_least.
Goal True. idtac "enough_runs". exact I. Qed.
Print Assumptions Calibration.enough_runs.
Goal True. idtac "rank_keeps_level". exact I. Qed.
Print Assumptions Calibration.rank_keeps_level.
Goal True. idtac "rank_for_keeps_level". exact I. Qed.
Print Assumptions Calibration.rank_for_keeps_level.
Goal True. idtac "nineteen_runs". exact I. Qed.
Print Assumptions Calibration.nineteen_runs.
Goal True. idtac "score_is_thresholds". exact I. Qed.
Print Assumptions Calibration.score_is_thresholds.
Goal True. idtac "rounding_is_lax". exact I. Qed.
Print Assumptions Calibration.rounding_is_lax.
Goal True. idtac "false_alarms_given_pilots". exact I. Qed.
Print Assumptions Calibration.false_alarms_given_pilots.
Goal True. idtac "false_alarms_have_level". exact I. Qed.
Print Assumptions Calibration.false_alarms_have_level.
Goal True. idtac "drawn_alike_exchangeable". exact I. Qed.
Print Assumptions Calibration.drawn_alike_exchangeable.
