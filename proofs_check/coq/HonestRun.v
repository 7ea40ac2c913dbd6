(** Without Byzantine agents everybody ends valid, as long as no update leaves the range and the norm
    checks and the statistics pass on what was learned. *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd Whole.
From ValidRef Require Import Learn Estimates Valid LearnProof ValidProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

(** * The estimate of a record has the form of an estimate *)
Section Form.

Variables (d : nat) (rates : seq Z) (xmax gmax : Z) (ws : seq weighting).
Hypothesis rates_pos : all (Z.ltb 0) rates.
Hypothesis weights_pos : all (fun w => all (Z.leb 0) (weights w)) ws.
Hypothesis gmax_pos : (0 < gmax)%Z.

Lemma at_all (a : pred Z) v j : a 0%Z -> all a v -> a (at_ v j).
Proof.
move=> a0 /allP av; case: (ltnP j (size v)) => jv; first exact/av/mem_nth.
by rewrite /at_ nth_default.
Qed.

Lemma read_off_bounded tr j : in_range xmax gmax tr ->
  all (fun g => Z.leb (Z.abs (at_ g j)) gmax) (read_off rates tr).
Proof.
move=> ok; rewrite /read_off.
have: all (fun g => all (inside gmax) g) (gammas tr).
  by rewrite all_map; apply: sub_all ok => m /andP[].
move: rates_pos; elim: (gammas tr) rates => [|g gs IH] [|A As] //= /andP[A0 As0] /andP[g_ok gs_ok].
rewrite IH // andbT.
case: (ltnP j (size g)) => jg; last by rewrite /at_ nth_default ?size_map //; lia.
rewrite /at_ (nth_map 0%Z) // -/(at_ g j).
have := @at_all (inside gmax) g j; rewrite /inside g_ok => /(_ _ isT) gj.
have {}gj : (Z.abs (at_ g j) < gmax)%Z by have := gj; lia.
have {}A0 : (0 < A)%Z by lia.
have lo : (- gmax <= Z.div (at_ g j) A)%Z by apply: Z.div_le_lower_bound => //; nia.
have hi : (Z.div (at_ g j) A <= gmax)%Z by apply: Z.div_le_upper_bound => //; nia.
by lia.
Qed.

Lemma weighted_bounded us gs j : all (Z.leb 0) us -> all (fun g => Z.leb (Z.abs (at_ g j)) gmax) gs ->
  (Z.abs (sumz [seq wg.1 * at_ wg.2 j | wg <- zip us gs]) <= sumz us * gmax)%Z.
Proof.
elim: us gs => [|u us IH] [|g gs] //=.
  move=> /andP[u0 us0] _; have : (0 <= sumz us)%Z by elim: us us0 {IH} => //= x l IH /andP[]; lia.
  by nia.
move=> /andP[u0 us0] /andP[gj gs_ok]; have := IH gs us0 gs_ok.
set s := sumz _; have : (Z.abs (u * at_ g j) <= u * gmax)%Z by rewrite Z.abs_mul; nia.
by lia.
Qed.

Lemma part_of_estimate tr i : i < size ws ->
  part_of d i (estimate d rates ws tr) = ghat d rates (nth no_weighting ws i) tr.
Proof.
rewrite /part_of /estimate; elim: ws i => //= w l IH [|i] il.
  by rewrite mul0n drop0 take_size_cat // size_mkseq.
by rewrite mulSn addnC -drop_drop drop_size_cat ?size_mkseq // IH.
Qed.

(* Proves: GV-3 *)
Theorem estimate_has_form t tr : in_range xmax gmax tr ->
  is_estimate d gmax ws t (estimate d rates ws tr).
Proof.
move=> ok; apply/andP; split.
  by rewrite /estimate; elim: ws => //= w l IH; rewrite size_cat size_mkseq (eqP IH) mulSn.
apply/allP => i; rewrite mem_iota => il; rewrite part_of_estimate //.
apply/allP => x /mapP[j _ ->]; apply/Z.leb_le; rewrite /largest.
apply: weighted_bounded; last exact: read_off_bounded.
by move/(all_nthP no_weighting): weights_pos; apply.
Qed.

End Form.

(** * GlobalValidate objects to nothing but the statistics *)
Section Quiet.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (once : bool).
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
Variables (est : transcript -> seq Z) (is_est : nat -> seq Z -> bool).
Variable stat_ok : seq (seq Z) -> bool.
Variable adv : adversary (wire (seq Z)).
Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis connected : assumption_1 n nb H.
Hypothesis sent : forall v u, v < n -> u \in nb v -> tr v u = own v.
Hypothesis form : forall t v, v < n -> is_est t (est (own v)).
Hypothesis pass : stat_ok [seq est (own v) | v <- iota 0 n].

(* Proves: GV-4, GV-8 *)
Theorem no_global_alarm v : v < n ->
  global_alarm n nb H once tr own est is_est stat_ok adv v = false.
Proof.
move=> vn.
have ok t : t < size (slots n nb) -> (nth (0, 0) (slots n nb) t).1 < n /\
    is_est t (est_value n nb tr est t).
  move=> tk; have [u [w [E un wu]]] := slot_agent tk; rewrite /est_value E; split=> //.
  have wn := proj1 Gok u w un wu; rewrite sent //; last exact: (proj2 Gok).
  exact: form.
have [quiet all_hold] := V1 eqzP Gok once adv everybody ok connected vn.
have held w u : w < n -> u \in nb w ->
    ests n nb H once tr est is_est adv v u w = Some (est (own w)).
  move=> wn uw; have [tk E] := slot_nth Gok wn uw; rewrite /ests /est_state all_hold //.
  by rewrite /est_value E sent.
have seen w : w < n -> est_seen n nb H once tr est is_est adv v w = [seq est (own w) | u <- nb w].
  move=> wn; rewrite /est_seen pmap_there; last by apply/allP => u uw; rewrite held.
  by apply/eq_in_map => u uw; rewrite held.
have agreed_ w : w < n -> est_agreed n nb H once tr est is_est adv v w = Some (est (own w)).
  by move=> wn; rewrite /est_agreed seen //; have := nobody_alone wn; case: (nb w).
rewrite /global_alarm /alarmed [alarms _]quiet /=; apply/negbTE; rewrite !negb_or; apply/and3P; split.
- apply/hasPn => w; rewrite mem_iota => wn; rewrite /est_differ seen //.
  case: (nb w) => //= u l; rewrite negbK; apply/allP => x /mapP[_ _ ->]; exact/eqzP.
- apply/hasPn => u uv; rewrite held // negbK; exact/eqzP.
rewrite /est_stat.
have all_ : all (fun u => isSome (est_agreed n nb H once tr est is_est adv v u)) (iota 0 n).
  by apply/allP => w; rewrite mem_iota => wn; rewrite agreed_.
rewrite all_ negbK; congr (is_true (stat_ok _)) : pass.
have : {in iota 0 n, forall u, est_agreed n nb H once tr est is_est adv v u = Some (est (own u))}.
  by move=> u; rewrite mem_iota => un; apply: agreed_.
elim: (iota 0 n) => //= u l IH all1; rewrite all1 ?mem_head //= IH // => z zl.
by apply: all1; rewrite inE zl orbT.
Qed.

End Quiet.

Section HonestRun.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).
Variables (keys : nat -> Z) (adv : adversary vword).

Hypothesis Gok : graph_ok n nb.
Hypothesis simple : forall v, v < n -> uniq (nb v).
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Hypothesis not_alone : 1 < n.
Hypothesis some_rounds : 0 < T.
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Hypothesis limits : (0 < xmax /\ 0 < gmax)%Z.
Hypothesis rates_pos : all (Z.ltb 0) rates.
Hypothesis weights_pos : all (fun w => all (Z.leb 0) (weights w)) ws.
Hypothesis keys_ok : forall v, v < n -> (0 <= keys v < P)%Z.
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis connected : assumption_1 n nb H.

Notation state r v := (learned_state d k steps rates T xmax gmax x0 nb gradient n H
  (adv_learn adv) r v).
Notation own := (own d k steps rates T xmax gmax x0 n nb H gradient adv).
Notation sent := (sent d k steps rates T xmax gmax x0 n nb H gradient adv).
Notation est := (estimate d rates ws).

(* Clause: AR-14. Nobody's own update leaves the range. *)
Hypothesis nobody_silent : forall r v, r < T -> v < n -> isSome (message (state r v)).
(* Clause: LV-2, GV-5, GV-6 *)
Hypothesis norms_pass : forall v, v < n -> norms_ok d rates bounds (own v).
Hypothesis statistics_pass : statistics_ok d ws [seq est (own v) | v <- iota 0 n].

(** Then everybody ends valid, whatever the keys are, with the model of its own record. *)
(* Proves: L1, VA-2, LM-6 *)
Theorem honest_run v : v < n ->
  let st := nth vnobody (valid_run P d k steps rates T xmax gmax x0 n nb gradient bounds ws once
    all_keys H keys adv (valid_rounds T n)) v in
  declares_invalid st = false /\ last_model d st = (last (nothing d) (own v)).1.
Proof.
move=> vn st; split; last by rewrite /st phases_in_order.
have heard w u : w < n -> u \in nb w -> sent w u = own w.
  move=> wn uw; have un := proj1 Gok w u wn uw.
  apply: honest_is_heard => //; last exact: everybody.
  exact: (proj2 Gok) uw.
have quiet w : w < n -> learn_alarms (state T w) = [::].
  by move=> wn; apply: nobody_objects.
have shaped_ w : w < n -> shaped d T (own w).
  by move=> wn; apply: (proj1 (record_well _ _ _ _ _ _ _ _ _ _ limits _ wn)).
have range_ w : w < n -> in_range xmax gmax (own w).
  by move=> wn; apply: (proj2 (record_well _ _ _ _ _ _ _ _ _ _ limits _ wn)).
have relation w : w < n ->
    flatten (residuals d k x0 steps (own w) [seq own u | u <- nb w]) = nseq (d * T) 0%Z.
  move=> wn; rewrite -(quiet_record limits wn (simple wn) (quiet w wn)).
  congr (flatten (residuals _ _ _ _ _ _)); apply/eq_in_map => u uw; symmetry.
  by apply: (heard u w); [apply: (proj1 Gok) uw|apply: (proj2 Gok)].
rewrite /st verdict_is //; apply: (honest_run_is_valid p_pr x0_ok steps_ok Gok nobody_alone once all_keys
  everybody connected heard shaped_ relation keys_ok) => // w wn.
  rewrite /ValidProof.before /learned_by quiet //=; apply/negbTE/hasPn => u uw; have un := proj1 Gok w u wn uw.
  by rewrite negbK heard ?norms_pass //; apply: (proj2 Gok).
apply: no_global_alarm => // t u un.
by apply: estimate_has_form (range_ u un); case: limits.
Qed.

End HonestRun.
