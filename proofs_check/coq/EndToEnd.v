(** From the transcripts to the verdict: what misbehaves is caught by all honest agents, except for
    few tuples of keys; what does not is not. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Lemma eqZ x y : reflect (x = y) (Z.eqb x y).
Proof. exact: Z.eqb_spec. Qed.

Section Slots.
Variables (n : nat) (nb : nat -> seq nat).
Hypothesis Gok : graph_ok n nb.

Lemma slot_mem u v : v < n -> u \in nb v -> (u, v) \in slots n nb.
Proof.
move=> vn uv; have un := proj1 Gok v u vn uv.
apply/allpairsPdep; exists u, v; split=> //; first by rewrite mem_iota.
exact: (proj2 Gok).
Qed.

Lemma slot_nth u v : v < n -> u \in nb v ->
  index (u, v) (slots n nb) < size (slots n nb) /\
  nth (0, 0) (slots n nb) (index (u, v) (slots n nb)) = (u, v).
Proof. by move=> vn uv; rewrite index_mem nth_index slot_mem. Qed.

Lemma slot_agent t : t < size (slots n nb) ->
  exists u v, [/\ nth (0, 0) (slots n nb) t = (u, v), u < n & v \in nb u].
Proof.
move=> tk; have := mem_nth (0, 0) tk; case/allpairsPdep => u [v [uin vu E]].
by exists u, v; split=> //; move: uin; rewrite mem_iota.
Qed.

End Slots.

Section EndToEnd.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).

Variables (d k T : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].

Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
Variables (once all_keys : bool).

Notation is_agent := (is_agent n H).

(** * With Byzantine agents *)
Section Detection.

Hypothesis dominated : assumption_1_plus n nb H.
Hypothesis honest_sent : forall v u, v < n -> H v -> v \in nb u -> tr v u = own v.
Hypothesis tr_shaped : forall v u, v < n -> u \in nb v -> H u -> shaped d T (tr v u).
Hypothesis own_shaped : forall v, v < n -> H v -> shaped d T (own v).

Variables (xmax gmax amax : Z) (deg : nat).
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis tr_range : forall v u, v < n -> u \in nb v -> H u -> in_range xmax gmax (tr v u).
Hypothesis own_range : forall v, v < n -> H v -> in_range xmax gmax (own v).
Hypothesis deg_ok : forall v, v < n -> size (nb v) <= deg.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.

Section FixedKeys.

Variable keys : nat -> Z.
Variables (advK : adversary (wire Z)) (advR : adversary (wire (seq Z))).

Notation key_state := (key_state P n nb H once keys advK).
Notation keys_held := (keys_held P n nb H once keys advK).
Notation report_state := (report_state P d x0 steps n nb H once tr keys advK advR).
Notation reports_held := (reports_held P d x0 steps n nb H once tr keys advK advR).
Notation own_report := (own_report P d x0 steps n nb H once own keys advK).

Hypothesis quiet_keys : forall v, is_agent v -> alarms (key_state v) = [::].
Hypothesis quiet_reports : forall v, is_agent v -> alarms (report_state v) = [::].

Let conn : assumption_1 n nb H := proj1 dominated.

Lemma keys_equal u v : is_agent u -> is_agent v -> keys_held u = keys_held v.
Proof.
move=> uA vA; apply: (@eq_from_nth _ 0%Z); rewrite ?size_mkseq // => t tn.
rewrite !nth_mkseq //.
have [m [hm _]] := V2 eqZ Gok conn tn quiet_keys.
by rewrite /Protocol.key_state !hm.
Qed.

Lemma keys_own w : is_agent w -> at_ (keys_held w) w = keys w.
Proof.
move=> wA; have wn : w < n by case/andP: wA.
rewrite /at_ nth_mkseq // /Protocol.key_state (source_holds _ _ _ _ _ _ _ _ _ wn wn) //.
Qed.

Lemma reports_there w v u : is_agent w -> v < n -> u \in nb v -> isSome (reports_held w u v).
Proof.
move=> wA vn uv; have [tk _] := slot_nth Gok vn uv.
have [m [hm _]] := V2 eqzP Gok conn tk quiet_reports.
by rewrite /Protocol.reports_held /Protocol.report_state hm.
Qed.

Lemma reports_true w v u : is_agent w -> v < n -> u \in nb v -> H u ->
  reports_held w u v = Some (report P d x0 steps (keys_held w) (tr v u)).
Proof.
move=> wA vn uv Hu; have [tk E] := slot_nth Gok vn uv.
have uA : is_agent u by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
have [m [hm src]] := V2 eqzP Gok conn tk quiet_reports.
rewrite /Protocol.reports_held /Protocol.report_state hm //; congr Some.
by rewrite src ?E // /report_value E (keys_equal uA wA).
Qed.

Lemma quiet_root v D : v < n ->
  (forall keys R all_keys w, size keys = n ->
      (forall v u, v < n -> u \in nb v -> isSome (R u v)) ->
      (forall v u, v < n -> u \in nb v -> H u ->
         R u v = Some (report P d x0 steps keys (tr v u))) ->
      is_agent w ->
      local_alarm P k nb R all_keys n w (report P d x0 steps keys (own w)) = false ->
      hash P (at_ keys w) D = 0%Z) ->
  forall w, is_agent w -> local_alarm P k nb (reports_held w) all_keys n w (own_report w) = false ->
  hash P (keys w) D = 0%Z.
Proof.
move=> vn DE w wA quiet; rewrite -(keys_own wA).
apply: (DE (keys_held w) (reports_held w) all_keys) => //.
- by rewrite size_mkseq.
- by move=> v' u v'n uv; apply: reports_there.
- by move=> v' u v'n uv Hu; apply: reports_true.
Qed.

End FixedKeys.

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.

(* The key of an agent in a tuple of honest keys; those of Byzantine agents are never used, since
   what Byzantine agents say is the adversary's. *)
Definition key_of (t : key_tuple) (v : nat) : Z :=
  oapp (fun w : honest => key (t w)) 0%Z (obind insub (insub v : option 'I_n)).

Lemma key_ofE t (w : honest) : key_of t (val (val w)) = key (t w).
Proof. by rewrite /key_of valK /= valK. Qed.

(** Any equivocation and any broken relation ends with all honest agents invalid, except for at
    most (dT-1)^|H| of the p^|H| tuples of honest keys; everything Byzantine agents say in the
    three runs, and the alarms of all other phases, may depend on all honest keys. *)
(* Proves: L2, L3 *)
Theorem misbehaviour_is_caught v
    (advK : key_tuple -> adversary (wire Z)) (advR : key_tuple -> adversary (wire (seq Z)))
    (advA : key_tuple -> adversary word) (before after : key_tuple -> nat -> bool) :
  v < n -> misbehaved d k T x0 steps n nb H tr own v ->
  #|[set t : key_tuple | ~~ [forall w : honest,
       ends_invalid P d k x0 steps n nb H once all_keys tr own (key_of t) (advK t) (advR t) (advA t)
         (before t) (after t) (val (val w))]]| <= (d * T).-1 ^ honest_count n H.
Proof.
move=> vn bad.
have [D [szD nzD DE]] := misbehaviour_vector p_pr x0_ok steps_ok Gok nobody_alone dominated
  honest_sent tr_shaped own_shaped x0_range tr_range own_range deg_ok steps_range limits_pos
  range_rule gammas_rule vn bad.
rewrite -(card_honest n H).
have le : forall i : honest, #|colliding p D| <= (d * T).-1.
  by move=> _; rewrite -szD; apply: few_collisions.
apply: leq_trans (few_tuples le); apply/subset_leq_card/subsetP => t; rewrite !inE.
move=> /forallPn[z not_invalid]; apply/forallP => w; rewrite inE; apply/eqP; rewrite -key_ofE.
have quiet u : is_agent u -> objected P d k x0 steps n nb H once all_keys tr own (key_of t)
    (advK t) (advR t) (before t) (after t) u = false.
  move=> uA; apply/negbTE/negP => ob; move/negP: not_invalid; apply.
  exact: (S2 Gok (advA t) (proj1 dominated) uA ob (honest_agent z)).
have wA := honest_agent w.
have qk u : is_agent u -> alarms (key_state P n nb H once (key_of t) (advK t) u) = [::].
  by move=> /quiet /norP[_ /norP[/negPn/nilP ->]].
have qr u : is_agent u ->
    alarms (report_state P d x0 steps n nb H once tr (key_of t) (advK t) (advR t) u) = [::].
  by move=> /quiet /norP[_ /norP[_ /norP[/negPn/nilP ->]]].
apply: (quiet_root qk qr vn DE wA).
by have := quiet _ wA => /norP[_ /norP[_ /norP[_ /norP[/negbTE ->]]]].
Qed.

End Detection.

(** * Without Byzantine agents *)
Section NoFalseAlarm.

Hypothesis everybody : forall v, v < n -> H v.
Hypothesis connected : assumption_1 n nb H.
Hypothesis sent : forall v u, v < n -> u \in nb v -> tr v u = own v.
Hypothesis own_shaped : forall v, v < n -> shaped d T (own v).
(* Everybody satisfies AR-6 in every round; see step_satisfies_relation. *)
Hypothesis relation : forall v, v < n ->
  flatten (residuals d k x0 steps (own v) [seq own u | u <- nb v]) = nseq (d * T) 0%Z.

Variable keys : nat -> Z.
Hypothesis keys_ok : forall v, v < n -> (0 <= keys v < P)%Z.
Variables (advK : adversary (wire Z)) (advR : adversary (wire (seq Z))) (advA : adversary word).

Notation key_state := (key_state P n nb H once keys advK).
Notation keys_held := (keys_held P n nb H once keys advK).
Notation report_state := (report_state P d x0 steps n nb H once tr keys advK advR).
Notation reports_held := (reports_held P d x0 steps n nb H once tr keys advK advR).

Lemma L1_keys v : v < n -> alarms (key_state v) = [::] /\ keys_held v = mkseq keys n.
Proof.
move=> vn.
have ok t : t < n -> id t < n /\ is_key P t (keys t).
  by move=> tn; split=> //; rewrite /is_key; have := keys_ok tn; lia.
have [quiet all_hold] := V1 eqZ Gok once advK everybody ok connected vn.
split=> //; rewrite /Protocol.keys_held; apply/eq_in_map => t; rewrite mem_iota => /andP[_ tn].
by rewrite /Protocol.key_state all_hold.
Qed.

Lemma report_ok ks t : size ks = n -> shaped d T t -> is_report P n 0 (report P d x0 steps ks t).
Proof.
move=> szk sh; rewrite /is_report /report; apply/andP; split.
  rewrite -{}szk; elim: ks => //= s ks IH.
  by rewrite (eqP IH) mulnS.
apply/allP => x /flattenP[h /mapP[s _ ->]]; rewrite (four_hashes_correct p_pr x0_ok steps_ok) //.
have hr xs : is_key P 0 (hash P s xs) by have := hash_range p_pr s xs; rewrite /is_key; lia.
by rewrite !inE => /or4P[] /eqP ->.
Qed.

Lemma L1_reports v : v < n -> alarms (report_state v) = [::] /\
  forall w u, w < n -> u \in nb w ->
    reports_held v u w = Some (report P d x0 steps (mkseq keys n) (own w)).
Proof.
move=> vn.
have ok t : t < size (slots n nb) -> (nth (0, 0) (slots n nb) t).1 < n /\
    is_report P n t (report_value P d x0 steps n nb H once tr keys advK t).
  move=> tk; have [u [w [E un wu]]] := slot_agent tk; rewrite /report_value E; split=> //.
  have wn := proj1 Gok u w un wu; rewrite sent //; last exact: (proj2 Gok).
  by apply: report_ok; [rewrite size_mkseq|apply: own_shaped].
have [quiet all_hold] := V1 eqzP Gok once advR everybody ok connected vn.
split=> // w u wn uw; have [tk E] := slot_nth Gok wn uw.
have un := proj1 Gok w u wn uw.
rewrite /Protocol.reports_held /Protocol.report_state all_hold // /report_value E.
by rewrite (proj2 (L1_keys un)) sent.
Qed.

(** If nobody is Byzantine and everybody follows its relation, LocalValidate raises no alarm,
    whatever the keys are. *)
(* Proves: L1 *)
Theorem L1 v : v < n ->
  [/\ alarms (key_state v) = [::], alarms (report_state v) = [::] &
   local_alarm P k nb (reports_held v) all_keys n v
     (own_report P d x0 steps n nb H once own keys advK v) = false].
Proof.
move=> vn; have [qk Ek] := L1_keys vn; have [qr Er] := L1_reports vn; split=> //.
have there w u : w < n -> u \in nb w -> isSome (reports_held v u w) by move=> wn uw; rewrite Er.
have under_ w u : w < n -> under w (report P d x0 steps (mkseq keys n) (own u)) =
    four_hashes P (keys w) d x0 steps (own u).
  by move=> wn; rewrite under_report ?size_mkseq // /at_ nth_mkseq.
have fine w u : w < n -> u < n -> inconsistent nb (reports_held v) w u = false.
  move=> wn un; rewrite /inconsistent (seen_all there) //.
  have: {in nb u, forall x, under w (odflt [::] (reports_held v x u)) =
    four_hashes P (keys w) d x0 steps (own u)} by move=> x xu; rewrite Er //= under_.
  case: (nb u) => //= x l eqs; apply/negbTE; rewrite negbK; apply/allP => h /mapP[y yl ->].
  by apply/eqzP; rewrite !eqs // ?mem_head // inE yl orbT.
have ag w u : w < n -> u < n -> agreed nb (reports_held v) w u =
    Some (four_hashes P (keys w) d x0 steps (own u)).
  move=> wn un; have /hasP[x xu _] : has predT (nb u) by rewrite has_predT lt0n size_eq0 nobody_alone.
  by rewrite (agreed_said there un (fine w u wn un) xu) Er //= under_.
apply/negbTE/hasPn => w win.
have wn : w < n by move: win; case: all_keys; rewrite ?mem_iota // inE => /eqP ->.
rewrite /check_fails negb_or; apply/andP; split; apply/hasPn.
  move=> u; rewrite mem_iota => un; rewrite fine //= /broken ag //.
  have nbn x : x \in nb u -> x < n by apply: (proj1 Gok).
  have -> : all (fun x => isSome (agreed nb (reports_held v) w x)) (nb u).
    by apply/allP => x xu; rewrite ag // nbn.
  have -> : pmap (agreed nb (reports_held v) w) (nb u) =
     [seq four_hashes P (keys w) d x0 steps x | x <- [seq own x | x <- nb u]].
    rewrite pmap_there; last by apply/allP => x xu; rewrite ag // nbn.
    by rewrite -map_comp; apply/eq_in_map => x xu; rewrite ag // nbn.
  rewrite (hash_of_residual p_pr k x0_ok steps_ok); last 2 first.
  - exact: own_shaped.
  - by apply/allP => x /mapP[y yu ->]; apply: own_shaped; apply: nbn.
  rewrite negbK relation //; apply/Z.eqb_spec.
  by elim: (d * T) => //= m ->; rewrite Z.mul_0_r Z.mod_0_l //; have := prime_gt0 p_pr; lia.
move=> u uv; rewrite (reported_said there) // negbK; apply/eqzP.
by rewrite Er //= /own_report Ek.
Qed.

(** And then, if no other phase objects either, everybody ends valid. *)
(* Proves: L1 *)
Theorem honest_run_is_valid (before after : nat -> bool) v :
  (forall u, u < n -> before u = false) -> (forall u, u < n -> after u = false) -> v < n ->
  ends_invalid P d k x0 steps n nb H once all_keys tr own keys advK advR advA before after v = false.
Proof.
move=> noB noA vn; apply: (S3 Gok) => // u un.
have [qk qr ql] := L1 un.
by rewrite /objected noB // noA // /alarmed qk qr ql.
Qed.

End NoFalseAlarm.

End EndToEnd.
