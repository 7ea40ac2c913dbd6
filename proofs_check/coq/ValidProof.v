(** Valid as one machine is its phases one after the other, and what the validation phase guarantees
    holds for whole runs, from the first gradient to the verdict. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd Whole.
From ValidRef Require Import Learn Estimates Valid LearnProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Lemma eq_mkseq_in (A : Type) (f g : nat -> A) n : (forall v, v < n -> f v = g v) ->
  mkseq f n = mkseq g n.
Proof. by move=> eq; apply/eq_in_map => v; rewrite mem_iota; apply: eq. Qed.

Lemma nilp_flatten (A : Type) (ss : seq (seq A)) : nilp (flatten ss) = all (@nilp A) ss.
Proof. by elim: ss => //= s ss IH; rewrite cat_nilp IH. Qed.

Lemma nilp_filtered (A B : Type) (f : A -> B) (a : pred A) l :
  nilp [seq f x | x <- l & a x] = ~~ has a l.
Proof. by rewrite /nilp size_map size_filter has_count lt0n negbK. Qed.

(** * A phase of a larger machine runs as the machine of the phase alone *)
Section Phase.

Variables (S W S' W' M : Type) (s0 : S) (s0' : S').
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variables (snd : nat -> S -> W) (rcv : nat -> S -> seq (nat * W) -> S).
Variables (bsnd : nat -> S' -> W') (brcv : nat -> S' -> seq (nat * W') -> S').
Variables (inj : W -> W') (prj : W' -> W).
Variables (inside leave : M -> S -> S') (mem : nat -> M) (first : nat -> S).
Variables (base R : nat) (adv : adversary W') (begin : seq S').
Hypothesis Gok : graph_ok n nb.
Hypothesis prj_inj : forall w, prj (inj w) = w.
Hypothesis sends : forall q m s, 0 < q <= R -> bsnd (base + q) (inside m s) = inj (snd q s).
Hypothesis receives : forall q m s box, 0 < q <= R -> brcv (base + q) (inside m s) box =
  if q == R then leave m (rcv q s (read prj box)) else inside m (rcv q s (read prj box)).

Definition phase_adversary : adversary W := fun q u v => prj (adv (base + q) u v).
Notation phases := (run s0' n nb H bsnd brcv adv begin).
Notation alone := (run s0 n nb H snd rcv phase_adversary (mkseq first n)).
Hypothesis enters : forall v, v < n -> nth s0' (phases base) v = inside (mem v) (first v).

Lemma phase_round r : r < R -> (forall v, v < n ->
    nth s0' (phases (base + r)) v = inside (mem v) (nth s0 (alone r) v)) ->
  forall v, v < n -> nth s0' (phases (base + r.+1)) v =
    if r.+1 == R then leave (mem v) (nth s0 (alone r.+1) v)
    else inside (mem v) (nth s0 (alone r.+1) v).
Proof.
move=> rR IH v vn; rewrite addnS /= nth_mkseq // IH // -addnS receives // nth_mkseq //.
have -> : read prj (inbox s0' nb H bsnd adv (base + r.+1) (phases (base + r)) v) =
    inbox s0 nb H snd phase_adversary r.+1 (alone r) v.
  rewrite /read /inbox -map_comp; apply/eq_in_map => u uv /=; congr pair.
  have un : u < n := proj1 Gok v u vn uv.
  by rewrite /on_edge; case: ifP => // _; rewrite (IH _ un) sends // prj_inj.
by [].
Qed.

Lemma phase_within r v : r < R -> v < n ->
  nth s0' (phases (base + r)) v = inside (mem v) (nth s0 (alone r) v).
Proof.
elim: r v => [|r IH] v rR vn; first by rewrite addn0 enters //= nth_mkseq.
by rewrite (phase_round (ltnW rR)) ?ltn_eqF // => u; apply: IH; apply: ltnW.
Qed.

Lemma phase_end v : 0 < R -> v < n ->
  nth s0' (phases (base + R)) v = leave (mem v) (nth s0 (alone R) v).
Proof.
case: R phase_within phase_round => // R' within round _ vn.
by rewrite round ?eqxx // => u un; apply: within.
Qed.

End Phase.

Lemma start_eq (A : Type) k (source : nat -> nat) (value value' : nat -> A) v :
  (forall t, t < k -> source t = v -> value t = value' t) ->
  start k source value v = start k source value' v.
Proof.
move=> eq; rewrite /start.
have -> : mkseq (fun t => if source t == v then Some (value t) else None) k =
    mkseq (fun t => if source t == v then Some (value' t) else None) k.
  by apply: eq_mkseq_in => t tk; case: eqP => // /eq ->.
by [].
Qed.

Section Run.

Variables (P : Z) (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).
Variables (keys : nat -> Z) (adv : adversary vword).
Hypothesis Gok : graph_ok n nb.
Hypothesis some_rounds : 0 < T.
Hypothesis not_alone : 1 < n.

Notation slots := (slots n nb).
Notation slot := (nth (0, 0) slots).
Notation keys_end := (keys_end T n).
Notation hashes_end := (hashes_end T n).
Notation estimates_end := (estimates_end T n).

(* What Byzantine agents say in each phase. *)
Definition adv_learn : adversary lword := fun q u v => as_learn (adv q u v).
Definition adv_keys : adversary (wire Z) := fun q u v => as_keys (adv (T + q) u v).
Definition adv_hashes : adversary (wire (seq Z)) := fun q u v => as_lists (adv (keys_end + q) u v).
Definition adv_estimates : adversary (wire (seq Z)) :=
  fun q u v => as_lists (adv (hashes_end + q) u v).
Definition adv_words : adversary word := fun q u v => as_word (adv (estimates_end + q) u v).

(** What each phase leaves behind. *)
Definition learned_by (v : nat) : lstate :=
  learned_state d k steps rates T xmax gmax x0 nb gradient n H adv_learn T v.
(* What u received from v, and what v says it sent. *)
Definition sent (v u : nat) : transcript := received_from d nb (learned_by u) v.
Definition own (v : nat) : transcript := said_so_far (learned_by v).

Definition before (v : nat) : bool :=
  ~~ nilp (learn_alarms (learned_by v)) ||
  has (fun u => ~~ norms_ok d rates bounds (sent u v)) (nb v).
Definition after (v : nat) : bool :=
  global_alarm n nb H once sent own (estimate d rates ws) (is_estimate d gmax ws)
    (statistics_ok d ws) adv_estimates v.

Definition memory0 v := Memory v (keys v) [::] [::] [::] [::] false.
Definition memory1 v := after_learning d rates nb bounds (memory0 v) (learned_by v).
Definition keys_of v := key_state P n nb H once keys adv_keys v.
Definition memory2 v := after_keys n (memory1 v) (keys_of v).
Definition reports_of v := report_state P d x0 steps n nb H once sent keys adv_keys adv_hashes v.
Definition memory3 v := after_hashes P d k steps x0 n nb all_keys (memory2 v) (reports_of v).
Definition estimates_of v :=
  est_state n nb H once sent (estimate d rates ws) (is_estimate d gmax ws) adv_estimates v.
Definition memory4 v := after_estimates d rates n nb ws (memory3 v) (estimates_of v).
Definition words_of v :=
  agreement_state true n nb H (fun v => ~~ nilp (objections (memory4 v))) adv_words
    (agreement_rounds n) v.

Notation phases := (valid_run P d k steps rates T xmax gmax x0 n nb gradient bounds ws once all_keys
  H keys adv).

Lemma from_memory m v w : who m = v -> received m = received (memory1 v) -> w \in nb v ->
  from nb m w = sent w v.
Proof.
by move=> wm rm wv; rewrite /from wm rm /= (nth_map 0) ?index_mem // nth_index.
Qed.

Lemma after_T v : v < n -> nth vnobody (phases T) v =
  Keying (memory1 v) (key_phase n (memory1 v)).
Proof.
move=> vn; rewrite -[T in phases T]add0n.
rewrite (@phase_end lstate lword vstate vword memory lnobody vnobody n nb H
  lsend (lreceive d k steps rates T xmax gmax gradient)
  (vsend T n once)
  (vreceive P d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
  of_learn as_learn Learning (fun m s => let m' := after_learning d rates nb bounds m s in
    Keying m' (key_phase n m')) memory0 (lstart d k steps rates xmax gmax x0 nb gradient)) //.
- by case.
- by move=> u un; rewrite nth_mkseq.
Qed.

Lemma after_key_rounds v : v < n -> nth vnobody (phases keys_end) v =
  Hashing (memory2 v) (hash_phase P d steps x0 n nb (memory2 v)).
Proof.
move=> vn; rewrite (@phase_end (bstate Z) (wire Z) vstate vword memory nobody vnobody n nb H
  (send n true once) (receive Z.eqb n (is_key P) n true)
  (vsend T n once)
  (vreceive P d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
  of_keys as_keys Keying (fun m s => let m' := after_keys n m s in
    Hashing m' (hash_phase P d steps x0 n nb m')) memory1 (fun v => key_phase n (memory1 v))) //.
- have -> : mkseq (fun v => key_phase n (memory1 v)) n = mkseq (start n id keys) n.
    by apply: eq_mkseq_in => u un; apply: start_eq => t _ ->.
  by [].
- by case.
- by move=> q m s /andP[q0 _]; rewrite /= addKn.
- by move=> q m s box /andP[q0 _]; rewrite /= addKn /Valid.keys_end eqn_add2l.
- exact: after_T.
- exact: ltnW.
Qed.

Lemma slot_own t v : t < size slots -> (slot t).1 = v -> (slot t).2 \in nb v.
Proof. by move=> /slot_agent[u [w [E _ wu]]]; rewrite E /= => <-. Qed.

Lemma after_hash_rounds v : v < n -> nth vnobody (phases hashes_end) v =
  Estimating (memory3 v) (estimate_phase d rates n nb ws (memory3 v)).
Proof.
move=> vn; rewrite (@phase_end (bstate (seq Z)) (wire (seq Z)) vstate vword memory nobody vnobody
  n nb H (send n true once) (receive eqz (size slots) (is_report P n) n true)
  (vsend T n once)
  (vreceive P d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
  of_lists as_lists Hashing (fun m s => let m' := after_hashes P d k steps x0 n nb all_keys m s in
    Estimating m' (estimate_phase d rates n nb ws m')) memory2
  (fun v => hash_phase P d steps x0 n nb (memory2 v))) //.
- have -> : mkseq (fun v => hash_phase P d steps x0 n nb (memory2 v)) n =
      mkseq (start (size slots) (fun t => (slot t).1)
        (report_value P d x0 steps n nb H once sent keys adv_keys)) n.
    apply: eq_mkseq_in => u un; apply: start_eq => t tk st; rewrite /report_value.
    have wu := slot_own tk st; case: (slot t) st wu => a b /= -> wu.
    by rewrite (@from_memory (memory2 u) u).
  by [].
- by case.
- by move=> q m s /andP[q0 _]; rewrite /= addKn.
- by move=> q m s box /andP[q0 _]; rewrite /= addKn /Valid.hashes_end eqn_add2l.
- exact: after_key_rounds.
- exact: ltnW.
Qed.

Lemma after_estimate_rounds v : v < n -> nth vnobody (phases estimates_end) v =
  Agreeing (memory4 v) (agreement_phase (memory4 v)).
Proof.
move=> vn; rewrite (@phase_end (bstate (seq Z)) (wire (seq Z)) vstate vword memory nobody vnobody
  n nb H (send n true once) (receive eqz (size slots) (is_estimate d gmax ws) n true)
  (vsend T n once)
  (vreceive P d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
  of_lists as_lists Estimating (fun m s => let m' := after_estimates d rates n nb ws m s in
    Agreeing m' (agreement_phase m')) memory3
  (fun v => estimate_phase d rates n nb ws (memory3 v))) //.
- have -> : mkseq (fun v => estimate_phase d rates n nb ws (memory3 v)) n =
      mkseq (start (size slots) (fun t => (slot t).1)
        (est_value n nb sent (estimate d rates ws))) n.
    apply: eq_mkseq_in => u un; apply: start_eq => t tk st; rewrite /est_value.
    have wu := slot_own tk st; case: (slot t) st wu => a b /= -> wu.
    by rewrite (@from_memory (memory3 u) u).
  by [].
- by case.
- by move=> q m s /andP[q0 _]; rewrite /= addKn.
- by move=> q m s box /andP[q0 _]; rewrite /= addKn /Valid.estimates_end eqn_add2l.
- exact: after_hash_rounds.
- exact: ltnW.
Qed.

(** Whole runs are the phases one after the other. *)
(* Proves: VA-1 *)
Theorem phases_in_order v : v < n -> nth vnobody (phases (valid_rounds T n)) v =
  Done (after_agreement (memory4 v) (words_of v)).
Proof.
move=> vn; rewrite (@phase_end astate word vstate vword memory (astart false) vnobody n nb H
  asend (areceive true)
  (vsend T n once)
  (vreceive P d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
  of_word as_word Agreeing (fun m s => Done (after_agreement m s)) memory4
  (fun v => agreement_phase (memory4 v))) //.
- by case.
- by move=> q m s box /andP[q0 _]; rewrite /= addKn /valid_rounds eqn_add2l.
- exact: after_estimate_rounds.
- by rewrite /agreement_rounds -ltnS prednK // ltnW.
Qed.

(** * Alarms and the tests behind them *)

Lemma nilp_norms u tr : nilp (norm_alarms d rates bounds u tr) = norms_ok d rates bounds tr.
Proof.
rewrite nilp_flatten all_map; apply: eq_all => i /=; rewrite cat_nilp.
by case: (model_long _ _ _); case: (gradient_long _ _ _ _).
Qed.

Lemma nilp_hashes R v o : nilp (hash_alarms P k n nb all_keys R v o) =
  ~~ local_alarm P k nb R all_keys n v o.
Proof.
rewrite nilp_flatten all_map /local_alarm -all_predC; apply: eq_all => w /=.
rewrite !cat_nilp !nilp_filtered /check_fails negb_or -!negb_or orbA; congr (~~ (_ || _)).
by rewrite has_predU.
Qed.

Lemma nilp_statistics es : nilp (flatten [seq [seq Alarm w n None (Some i) |
    w <- wrong_statistics d ws es i] | i <- iota 0 (size ws)]) = statistics_ok d ws es.
Proof. by rewrite nilp_flatten all_map; apply: eq_all => i /=; rewrite /nilp size_map. Qed.

Lemma nilp_estimates v :
  nilp (alarms (estimates_of v) ++
    estimate_alarms d ws n nb (held_lists n nb (estimates_of v)) v (estimate d rates ws (own v))) =
  ~~ after v.
Proof.
rewrite /after /global_alarm /alarmed !negb_or negbK cat_nilp /estimate_alarms !cat_nilp
  !nilp_filtered; congr [&& _, _, _ & _].
pose agreed := counts nb (held_lists n nb (estimates_of v)).
transitivity (~~ (if all (fun u => isSome (agreed u)) (iota 0 n)
  then ~~ statistics_ok d ws (pmap agreed (iota 0 n)) else false)); last by [].
by rewrite -/agreed; case: (all _ _) => //; rewrite nilp_statistics negbK.
Qed.

Lemma objections_are v : v < n -> ~~ nilp (objections (memory4 v)) =
  objected P d k x0 steps n nb H once all_keys sent own keys adv_keys adv_hashes before after v.
Proof.
move=> vn.
have -> : objections (memory4 v) = objections (memory3 v) ++ (alarms (estimates_of v) ++
    estimate_alarms d ws n nb (held_lists n nb (estimates_of v)) v (estimate d rates ws (own v))).
  by [].
rewrite cat_nilp nilp_estimates.
have -> : objections (memory3 v) = objections (memory2 v) ++ (alarms (reports_of v) ++
    hash_alarms P k n nb all_keys (held_lists n nb (reports_of v)) v
      (own_report P d x0 steps n nb H once own keys adv_keys v)).
  by [].
rewrite !cat_nilp nilp_hashes.
have -> : nilp (flatten [seq norm_alarms d rates bounds u (received_from d nb (learned_by v) u)
    | u <- nb v]) = ~~ has (fun u => ~~ norms_ok d rates bounds (sent u v)) (nb v).
  by rewrite nilp_flatten all_map -all_predC; apply: eq_all => u /=; rewrite negbK nilp_norms.
by rewrite /objected /before /alarmed !negb_and !negbK -!orbA.
Qed.

(** The verdict of the one machine is that of the validation phase on what was learned. *)
(* Proves: VA-2 *)
Theorem verdict_is v : v < n ->
  declares_invalid (nth vnobody (phases (valid_rounds T n)) v) =
  ends_invalid P d k x0 steps n nb H once all_keys sent own keys adv_keys adv_hashes adv_words
    before after v.
Proof.
move=> vn; rewrite phases_in_order // /declares_invalid /= /words_of /ends_invalid.
rewrite /agreement_state /agreement.
by congr (invalid (nth _ (run _ _ _ _ _ _ _ _ _) _)); apply: eq_mkseq_in => u un;
  rewrite objections_are.
Qed.

End Run.
