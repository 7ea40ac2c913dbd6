(** What Valid guarantees for whole runs: one theorem from the first gradient to the verdict, against
    every causal adversary. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd Whole.
From ValidRef Require Import Learn Estimates Valid LearnProof ValidProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

(** Runs against adversaries that say the same so far are the same so far. *)
Lemma run_same (S W : Type) (s0 : S) n nb H (snd : nat -> S -> W) rcv adv adv' begin R :
  (forall r u v, r <= R -> adv r u v = adv' r u v) ->
  run s0 n nb H snd rcv adv begin R = run s0 n nb H snd rcv adv' begin R.
Proof.
elim: R => //= R IH same; rewrite IH; last by move=> r u v rR; apply: same; apply: leqW.
apply: eq_mkseq_in => v _; congr rcv; apply/eq_map => u.
by rewrite /on_edge; case: ifP => // _; rewrite same.
Qed.

Section Guarantee.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).

Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Hypothesis not_alone : 1 < n.
Hypothesis some_rounds : 0 < T.
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Variables (amax : Z) (deg : nat).
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis deg_ok : forall v, v < n -> size (nb v) <= deg.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.
Notation is_agent := (is_agent n H).

(* Clause: AD-2, AD-3, LV-3. What Byzantine agents say while all learn does not depend on the keys of
   honest agents, which are drawn later; everything after may depend on all of them. *)
Variables (lies : adversary vword) (later : key_tuple -> adversary vword).
Definition says (t : key_tuple) : adversary vword :=
  fun r u v => if r <= T then lies r u v else later t r u v.

(* What u received from v, and what v says it sent. *)
Notation sent := (sent d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation own := (own d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation learned_by := (learned_by d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation common := (common nb H sent own).

(* The state of an agent at the end of the run with these keys. *)
Definition final (t : key_tuple) (v : nat) : vstate :=
  nth vnobody (valid_run P d k steps rates T xmax gmax x0 n nb gradient bounds ws once all_keys H
    (key_of t) (says t) (valid_rounds T n)) v.

Definition everybody_invalid (t : key_tuple) : bool :=
  [forall w : honest, declares_invalid (final t (val (val w)))].

Notation est := (estimate d rates ws).
Notation learned v := (~~ nilp (learn_alarms (learned_by v))).
Notation norms := (norms_ok d rates bounds).

Lemma same_learning t :
  Learn.learned d k steps rates T xmax gmax x0 nb gradient n H (adv_learn (says t)) T =
  Learn.learned d k steps rates T xmax gmax x0 nb gradient n H (adv_learn lies) T.
Proof. by apply: run_same => r u v rT; rewrite /adv_learn /says rT. Qed.

Lemma final_verdict t v : v < n -> declares_invalid (final t v) =
  invalid_at d k x0 steps nb sent own once all_keys est (is_estimate d gmax ws)
    (statistics_ok d ws) norms (fun v => learned v)
    (fun t => adv_keys T (says t)) (fun t => adv_hashes T n (says t))
    (fun t => adv_estimates T n (says t)) (fun t => adv_words T n (says t)) t v.
Proof.
move=> vn; rewrite /final (verdict_is _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ Gok some_rounds not_alone vn).
rewrite /ValidProof.before /ValidProof.after.
rewrite /ValidProof.sent /ValidProof.own.
rewrite /ValidProof.learned_by.
rewrite /learned_state.
rewrite same_learning.
reflexivity.
Qed.

Hypothesis dominated : assumption_1_plus n nb H.

Hypothesis no_agent : forall u, n <= u -> nb u = [::].

Let limits : (0 < xmax /\ 0 < gmax)%Z.
Proof. by case: limits_pos => ? []. Qed.

Lemma heard_as_said v u : v < n -> H v -> v \in nb u -> sent v u = own v.
Proof.
move=> vn Hv vu; apply: honest_is_heard => //.
by case: (leqP n u) => // /no_agent nu; rewrite nu in vu.
Qed.

Lemma sent_well v u : v < n -> u \in nb v -> shaped d T (sent v u) /\ in_range xmax gmax (sent v u).
Proof.
move=> vn uv; have un := proj1 Gok v u vn uv.
by apply: received_well => //; apply: (proj2 Gok) uv.
Qed.

Notation bad_keys := (bad d k T x0 steps nb sent own once all_keys est (is_estimate d gmax ws)
    (statistics_ok d ws) norms (fun v => learned v)
    (fun t => adv_keys T (says t)) (fun t => adv_hashes T n (says t))
    (fun t => adv_estimates T n (says t)) (fun t => adv_words T n (says t))).

(** Whatever Byzantine agents do, outside at most (dT-1)^|H| of the p^|H| tuples of honest keys: all
    honest agents end invalid; or everybody told all its honest neighbours the same, every relation
    holds in every round, what Byzantine agents said passes the norm checks, no honest agent objected
    while learning, and the statistics pass on the true estimates. *)
(* Proves: L2, L3, GV-4, GV-5, GV-6, VA-2 *)
Theorem invalid_or_consistent : exists2 unlucky : {set key_tuple},
  #|unlucky| <= (d * T).-1 ^ honest_count n H &
  forall t, t \notin unlucky -> (forall v, is_agent v -> declares_invalid (final t v)) \/
  [/\ forall v u u', v < n -> u \in nb v -> u' \in nb v -> H u -> H u' -> sent v u = sent v u',
      forall v, v < n -> flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v]) =
        nseq (d * T) 0%Z,
      forall v, v < n -> ~~ H v -> norms (common v),
      forall v, is_agent v -> learn_alarms (learned_by v) = [::] &
      statistics_ok d ws [seq est (common v) | v <- iota 0 n]].
Proof.
have shaped_ v u : v < n -> u \in nb v -> H u -> shaped d T (sent v u).
  by move=> vn uv _; case: (sent_well vn uv).
have range_ v u : v < n -> u \in nb v -> H u -> in_range xmax gmax (sent v u).
  by move=> vn uv _; case: (sent_well vn uv).
have own_shaped v : v < n -> H v -> shaped d T (own v).
  by move=> vn _; apply: (proj1 (record_well _ _ _ _ _ _ _ _ _ _ limits _ vn)).
have own_range v : v < n -> H v -> in_range xmax gmax (own v).
  by move=> vn _; apply: (proj2 (record_well _ _ _ _ _ _ _ _ _ _ limits _ vn)).
exists bad_keys.
  exact: (few_bad p_pr x0_ok steps_ok Gok nobody_alone once all_keys dominated heard_as_said
    shaped_ own_shaped x0_range range_ own_range deg_ok steps_range limits_pos range_rule gammas_rule).
move=> t good.
have final_ v : is_agent v -> declares_invalid (final t v) = invalid_at d k x0 steps nb sent own once
    all_keys est (is_estimate d gmax ws) (statistics_ok d ws) norms (fun v => learned v)
    (fun t => adv_keys T (says t)) (fun t => adv_hashes T n (says t))
    (fun t => adv_estimates T n (says t)) (fun t => adv_words T n (says t)) t v.
  by move=> /andP[vn _]; apply: final_verdict.
have [all_|[one rel norms_ stat]] := whole Gok nobody_alone dominated heard_as_said good.
  left=> v vA; rewrite final_ //; case/andP: (vA) => vn Hv.
  pose w : honest := exist (fun v : 'I_n => H v) (Ordinal vn) Hv.
  exact: (forallP all_ w).
case all_: (everybody_invalid t).
  left=> v /andP[vn Hv]; pose w : honest := exist (fun v : 'I_n => H v) (Ordinal vn) Hv.
  exact: (forallP all_ w).
right; split=> // v vA; apply/nilP/negPn/negP => objects.
move/negP: all_; apply; apply/forallP => z.
have zA := honest_agent z; rewrite final_ //.
apply: (S2 Gok _ (proj1 dominated) vA _ zA).
by rewrite /objected /norm_alarm objects.
Qed.

End Guarantee.
