(** From the integers of a run to the relaxed admissible set: what the statistics say over any real
    closed field, and the guarantee with it. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Inner Admissible.
From ValidRef Require Import Graph Network Broadcast Agreement Arith HashProof LatticeProof.
From ValidRef Require Import LocalProof Protocol EndToEnd Whole Learn Estimates Valid.
From ValidRef Require Import LearnProof ValidProof Guarantee HonestRun.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Delimit Scope Z_scope with Z.
Local Open Scope ring_scope.

Section Reals.

Variable R : rcfType.

Definition real (z : Z) : R := (int_of_Z z)%:~R.

Lemma real_add x y : real (x + y)%Z = real x + real y.
Proof. by rewrite /real -rmorphD -rmorphD. Qed.
Lemma real_mul x y : real (x * y)%Z = real x * real y.
Proof. by rewrite /real -rmorphM -rmorphM. Qed.
Lemma real_le x y : (x <= y)%Z -> real x <= real y.
Proof. by move=> xy; rewrite /real ler_int; lia. Qed.
Lemma real_sum xs : real (sumz xs) = \sum_(x <- xs) real x.
Proof. by elim: xs => [|x xs IH]; rewrite ?big_nil // big_cons -IH -real_add. Qed.

Variable d : nat.
Notation dot := (@frobenius R 1 d).
Notation nrm := (nrm dot).
Notation sq := (sq dot).

(* A vector of integers as a vector over the field. *)
Definition vec (e : seq Z) : 'rV[R]_d := \row_j real (at_ e j).

Lemma sq_vec e : size e = d -> sq (vec e) = real (squared_norm e).
Proof.
move=> sz; rewrite /Inner.sq /frobenius big_ord1 /squared_norm real_sum big_map.
rewrite (big_nth 0%Z) big_mkord sz; apply: eq_bigr => j _.
by rewrite !mxE real_mul.
Qed.

Lemma vec_sum (A : Type) (l : seq A) (e : A -> seq Z) :
  vec (mkseq (fun j => sumz [seq at_ (e a) j | a <- l]) d) = \sum_(a <- l) vec (e a).
Proof.
apply/rowP => j; rewrite !mxE /at_ nth_mkseq // real_sum big_map.
by rewrite summxE; apply: eq_bigr => a _; rewrite mxE.
Qed.

Lemma sum_agents (V : zmodType) n (f : nat -> V) : \sum_(v <- iota 0 n) f v = \sum_(v < n) f v.
Proof. by rewrite -(big_mkord xpredT f) /index_iota subn0. Qed.

(** The integer tests of GV-5 and GV-6 over the field, in units of c. *)
Variables (rates : seq Z) (ws : seq weighting) (n : nat) (tr : nat -> transcript).
Hypothesis pass : statistics_ok d ws [seq estimate d rates ws (tr v) | v <- iota 0 n].
Variables (i : nat) (c : R).
Hypothesis i_ok : (i < size ws)%N.
Hypothesis c_pos : 0 <= c.
Notation w := (nth no_weighting ws i).
Hypothesis high_pos : (0 <= optimality_high w)%Z.

Definition scaled (v : nat) : 'rV[R]_d := c *: vec (ghat d rates w (tr v)).

Lemma parts : [seq part_of d i e | e <- [seq estimate d rates ws (tr v) | v <- iota 0 n]] =
  [seq ghat d rates w (tr v) | v <- iota 0 n].
Proof. by rewrite -map_comp; apply: eq_map => v; rewrite /= part_of_estimate. Qed.

Lemma within_thresholds :
  (optimality d i [seq estimate d rates ws (tr v) | v <- iota 0 n] <= optimality_high w ^ 2)%Z /\
  (heterogeneity d i [seq estimate d rates ws (tr v) | v <- iota 0 n] <= heterogeneity_high w)%Z.
Proof.
have := allP pass i; rewrite mem_iota i_ok => /(_ isT); rewrite /wrong_statistics.
rewrite !cat_nilp => /and4P[a _ b _]; split.
  by move: a; case: Z.ltb_spec => // le _; rewrite Z.pow_2_r -Z.square_spec.
by move: b; case: Z.ltb_spec.
Qed.

(* Proves: GV-5, GV-6 *)
Theorem statistics_say :
  nrm (\sum_(v < n) scaled v) <= c * real (optimality_high w) /\
  \sum_(v < n) sq (scaled v) <= c ^+ 2 * real (heterogeneity_high w).
Proof.
have I := frobenius_inner R 1 d; have [opt het] := within_thresholds; split.
  rewrite -scaler_sumr nrmZ // ger0_norm // ler_wpmul2l // nrm_le //.
    by have := real_le high_pos.
  rewrite -(sum_agents n (fun v => vec (ghat d rates w (tr v)))) -vec_sum sq_vec ?size_mkseq //.
  have -> : real (optimality_high w) ^+ 2 = real (optimality_high w ^ 2)%Z.
    by rewrite expr2 Z.pow_2_r real_mul.
  apply: real_le; apply: Z.le_trans opt; rewrite /optimality; apply: Z.eq_le_incl; congr squared_norm.
  apply: eq_mkseq => j; congr sumz.
  by rewrite -map_comp; apply: eq_map => v; rewrite /= part_of_estimate.
have -> : \sum_(v < n) sq (scaled v) = c ^+ 2 * \sum_(v < n) sq (vec (ghat d rates w (tr v))).
  by rewrite mulr_sumr; apply: eq_bigr => v _; rewrite sqZ.
rewrite ler_wpmul2l ?sqr_ge0 //; apply: le_trans (real_le het).
rewrite /heterogeneity real_sum big_map -(sum_agents n (fun v => sq (vec (ghat d rates w (tr v))))).
have -> : \sum_(e <- [seq estimate d rates ws (tr v) | v <- iota 0 n]) real (squared_norm (part_of d i e)) =
    \sum_(g <- [seq ghat d rates w (tr v) | v <- iota 0 n]) real (squared_norm g).
  by rewrite -parts [RHS]big_map.
by rewrite big_map; apply: ler_sum => v _; rewrite sq_vec ?size_mkseq.
Qed.

End Reals.

(** * The whole run and the relaxed set *)
Section Certified.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).

Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, (v < n)%N -> nb v != [::].
Hypothesis not_alone : (1 < n)%N.
Hypothesis some_rounds : (0 < T)%N.
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Variables (amax : Z) (deg : nat).
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis deg_ok : forall v, (v < n)%N -> (size (nb v) <= deg)%N.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.
Hypothesis dominated : assumption_1_plus n nb H.
Hypothesis no_agent : forall u, (n <= u)%N -> nb u = [::].
Hypothesis thresholds : forall i, (i < size ws)%N ->
  (0 <= optimality_high (nth no_weighting ws i))%Z.

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.
Notation is_agent := (is_agent n H).

Variables (lies : adversary vword) (later : key_tuple -> adversary vword).

Notation own := (own d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation sent := (sent d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation common := (common nb H sent own).
Notation final := (final d k steps rates T xmax gmax x0 nb gradient bounds ws once all_keys lies later).

Variable R : rcfType.
Notation dot := (@frobenius R 1 d).
Notation nrm := (nrm dot).
Notation honest_ones := [pred v : 'I_n | H v].

(* The estimate of an agent under the weighting of index i, in units of c. *)
Definition ghat_of (i : nat) (c : R) (v : nat) : 'rV[R]_d :=
  scaled d rates ws common i c v.

(** Every run of Valid, against every causal adversary, outside at most (dT-1)^|H| of the p^|H| tuples
    of honest keys: all honest agents end invalid, or under every weighting, for every point at which
    the honest estimates are altogether within nu of the true gradients, that point lies in the relaxed
    admissible set with e_1 and e_2 made of the thresholds and nu. *)
(* Proves: L2, L3, AN-9, VA-2 *)
Theorem invalid_or_relaxed : exists2 unlucky : {set key_tuple},
  (#|unlucky| <= (d * T).-1 ^ honest_count n H)%N &
  forall t, t \notin unlucky -> (forall v, is_agent v -> declares_invalid (final t v)) \/
  forall i (c nu : R) (G : 'I_n -> 'rV[R]_d) (w := nth no_weighting ws i), (i < size ws)%N -> 0 <= c ->
    Num.sqrt (\sum_(h : 'I_n | H h) nrm (ghat_of i c h - G h) ^+ 2) <= nu ->
    relaxed dot honest_ones G
      (c * real R (optimality_high w) + Num.sqrt #|honest_ones|%:R * nu)
      ((Num.sqrt (c ^+ 2 * real R (heterogeneity_high w)) + nu) ^+ 2).
Proof.
have [unlucky few outside] := invalid_or_consistent p_pr rates gradient bounds ws once all_keys Gok
  nobody_alone not_alone some_rounds x0_ok steps_ok x0_range deg_ok steps_range limits_pos range_rule
  gammas_rule lies later dominated no_agent.
exists unlucky => // t /outside[invalid|[_ _ _ _ pass]]; first by left.
right=> i c nu G w il c0 near.
have [opt het] := statistics_say pass il c0 (thresholds il).
have n0 : (n%:R : R) != 0 by rewrite pnatr_eq0 -lt0n ltnW.
have cancel x : #|'I_n|%:R * (n%:R^-1 * x) = x :> R by rewrite card_ord mulrA divff // mul1r.
have := @global_checks_imply_relaxed R _ dot (frobenius_inner R 1 d) _ honest_ones G
  (fun v => ghat_of i c (val v)) (n%:R^-1 * (c * real R (optimality_high w)))
  (n%:R^-1 * (c ^+ 2 * real R (heterogeneity_high w))) nu near.
by rewrite !cancel; apply.
Qed.

End Certified.
