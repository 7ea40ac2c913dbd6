(** GlobalValidate as a machine, and the paper's validation phase in one theorem: for every graph with
    Assumption 1+, every adversary, every tuple of honest keys outside a counted bad set, all honest
    agents end invalid, or everybody said one thing, follows its relation, obeys the norm checks, and
    the statistics of the common transcripts pass. Estimate, its form, norm check and statistics are
    parameters. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Section Global.
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (once : bool).
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
(* Clause: GV-2, GV-3, GV-5 with GV-6: the estimate, its form, and whether the statistics pass *)
Variables (est : transcript -> seq Z) (is_est : nat -> seq Z -> bool) (stat_ok : seq (seq Z) -> bool).
Variable adv : adversary (wire (seq Z)).
Notation slots := (slots n nb).
Notation is_agent := (is_agent n H).

Definition est_value (t : nat) : seq Z := let: (u, v) := nth (0, 0) slots t in est (tr v u).
Definition est_state (v : nat) : bstate (seq Z) :=
  broadcast_state eqz (size slots) is_est n true once n nb H (fun t => (nth (0, 0) slots t).1) est_value adv n v.
Definition ests (v u u' : nat) : option (seq Z) := holds (est_state v) (index (u, u') slots).
(* Clause: GV-4, GV-8 *)
Definition est_seen v u' := pmap (fun u => ests v u u') (nb u').
Definition est_differ v u' := if est_seen v u' is h :: rest then ~~ all (eqz h) rest else false.
Definition est_agreed v u' := if est_seen v u' is h :: _ then Some h else None.
Definition est_self v := has (fun u => if ests v u v is Some h then ~~ eqz h (est (own v)) else false) (nb v).
Definition est_stat v :=
  if all (fun u => isSome (est_agreed v u)) (iota 0 n)
  then ~~ stat_ok (pmap (est_agreed v) (iota 0 n)) else false.
Definition global_alarm v :=
  [|| alarmed (est_state v), has (est_differ v) (iota 0 n), est_self v | est_stat v].

Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Hypothesis dominated : assumption_1_plus n nb H.
Hypothesis honest_sent : forall v u, v < n -> H v -> v \in nb u -> tr v u = own v.
Hypothesis quiet : forall v, is_agent v -> global_alarm v = false.
Notation common := (common nb H tr own).

Let calm v : is_agent v -> alarms (est_state v) = [::].
Proof. by move=> /quiet /norP[/negPn/nilP ->]. Qed.

Lemma ests_there w v u : is_agent w -> v < n -> u \in nb v -> isSome (ests w u v).
Proof.
move=> wA vn uv; have [tk _] := slot_nth Gok vn uv.
by have [m [hm _]] := V2 eqzP Gok (proj1 dominated) tk calm; rewrite /ests /est_state hm.
Qed.

Lemma ests_true w v u : is_agent w -> v < n -> u \in nb v -> H u -> ests w u v = Some (est (tr v u)).
Proof.
move=> wA vn uv Hu; have [tk E] := slot_nth Gok vn uv.
have uA : is_agent u by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
have [m [hm src]] := V2 eqzP Gok (proj1 dominated) tk calm.
by rewrite /ests /est_state hm // src ?E // /est_value E.
Qed.

Lemma agreed_is w v u h : is_agent w -> v < n -> u \in nb v -> ests w u v = Some h ->
  est_agreed w v = Some h.
Proof.
move=> wA vn uv E.
have same : est_differ w v = false.
  by have /norP[_ /norP[/hasPn/(_ v)]] := quiet wA; rewrite mem_iota vn => /(_ isT)/negbTE.
have: h \in est_seen w v by rewrite mem_pmap; apply/mapP; exists u.
move: same; rewrite /est_differ /est_agreed; case: (est_seen w v) => // h0 l /negbFE/allP eqs.
by rewrite inE => /orP[/eqP ->|/eqs/eqzP ->].
Qed.

Lemma agreed_common w v : is_agent w -> v < n -> est_agreed w v = Some (est (common v)).
Proof.
move=> wA vn; case Hv: (H v); last first.
  have [uv Hu] := head_honest dominated vn (negbT Hv).
  rewrite /LocalProof.common Hv; apply: (agreed_is wA vn uv); exact: ests_true.
rewrite /LocalProof.common Hv.
case hb: (has H (nb v)).
  case/hasP: hb => u uv Hu; apply: (agreed_is wA vn uv); rewrite ests_true //.
  by rewrite honest_sent //; apply: (proj2 Gok) uv.
(* nobody honest around v: v is the only honest agent, and checks itself *)
have vA : is_agent v by rewrite /Graph.is_agent vn Hv.
have wv : w = v.
  have [p vp <-] := proj2 (proj1 dominated) v w vA wA.
  case: p vp => //= u p /andP[/andP[uv Hu] _].
  by move/hasP: hb; case; exists u.
subst w; have /hasP[u uv _] : has predT (nb v) by rewrite has_predT lt0n size_eq0 nobody_alone.
have := ests_there vA vn uv; case E: (ests v u v) => [h|//] _.
rewrite (agreed_is vA vn uv E).
have /norP[_ /norP[_ /norP[/hasPn/(_ u uv)]]] := quiet vA.
by rewrite E => /negPn/eqzP ->.
Qed.

(** What passes GlobalValidate passes it with the true estimates of the common transcripts. *)
(* Proves: GV-4, GV-8 *)
Theorem global_passes : stat_ok [seq est (common v) | v <- iota 0 n].
Proof.
have [w wA] := proj1 (proj1 dominated).
have /norP[_ /norP[_ /norP[_]]] := quiet wA; rewrite /est_stat.
have all_ : all (fun u => isSome (est_agreed w u)) (iota 0 n).
  by apply/allP => u; rewrite mem_iota => un; rewrite agreed_common.
rewrite all_ => /negPn; congr (is_true (stat_ok _)).
have : {in iota 0 n, forall u, est_agreed w u = Some (est (common u))}.
  by move=> u; rewrite mem_iota => un; apply: agreed_common.
elim: (iota 0 n) => //= u l IH all1; rewrite all1 ?mem_head //= IH // => z zl.
by apply: all1; rewrite inE zl orbT.
Qed.
End Global.

Section Whole.
Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k T : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript) (once all_keys : bool).
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

Variables (est : transcript -> seq Z) (is_est : nat -> seq Z -> bool) (stat_ok : seq (seq Z) -> bool).
(* Clause: LV-2, as a test of one received transcript; and alarms of the learning phase *)
Variables (norms_ok : transcript -> bool) (learned : nat -> bool).

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.
Notation common := (common nb H tr own).
Notation is_agent := (is_agent n H).

Definition norm_alarm v := learned v || has (fun u => ~~ norms_ok (tr u v)) (nb v).

Variables (advK : key_tuple -> adversary (wire Z)) (advR advE : key_tuple -> adversary (wire (seq Z)))
  (advA : key_tuple -> adversary word).

Definition invalid_at (t : key_tuple) (v : nat) : bool :=
  ends_invalid P d k x0 steps n nb H once all_keys tr own (key_of t) (advK t) (advR t) (advA t)
    norm_alarm (global_alarm n nb H once tr own est is_est stat_ok (advE t)) v.
Definition all_invalid (t : key_tuple) : bool := [forall w : honest, invalid_at t (val (val w))].

(* The violations are decidable. *)
Definition two_faced v := has (fun u => has (fun u' => [&& H u, H u' & tr v u != tr v u']) (nb v)) (nb v).
Definition off_relation v :=
  flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v]) != nseq (d * T) 0%Z.
Definition violated := has two_faced (iota 0 n) || has off_relation (iota 0 n).

Lemma violated_misbehaved : violated -> exists2 v, v < n & misbehaved d k T x0 steps n nb H tr own v.
Proof.
have eq v : v < n -> two_faced v -> equivocated n nb H tr v.
  move=> vn /hasP[u uv /hasP[u' uv' /and3P[Hu Hu' /eqP ne]]]; exists u, u'.
  by split=> //; rewrite /Graph.is_agent ?Hu ?Hu' andbT; [apply: (proj1 Gok) uv|apply: (proj1 Gok) uv'].
case tf: (has two_faced (iota 0 n)); rewrite /violated tf /=.
  case/hasP: tf => v; rewrite mem_iota => vn tf _; exists v => //; left; exact: eq.
case/hasP=> v; rewrite mem_iota => vn /eqP off; exists v => //; right; split=> // -[u [un]].
case=> a [b [/andP[_ Ha] /andP[_ Hb] au bu ne]].
move/hasPn: tf => /(_ u); rewrite mem_iota => /(_ un)/hasPn/(_ a au)/hasPn/(_ b bu).
by rewrite Ha Hb /= => /negPn/eqP.
Qed.

Definition bad : {set key_tuple} := [set t | violated && ~~ all_invalid t].

(** The set of key tuples that let a violation pass is small. *)
(* Proves: L2, L3 *)
Theorem few_bad : #|bad| <= (d * T).-1 ^ honest_count n H.
Proof.
case viol: violated; last first.
  rewrite (_ : bad = set0) ?cards0 //; apply/setP => t.
  by rewrite !inE viol.
have [v vn mis] := violated_misbehaved viol.
have := misbehaviour_is_caught p_pr x0_ok steps_ok Gok nobody_alone once all_keys dominated honest_sent
  tr_shaped own_shaped x0_range tr_range own_range deg_ok steps_range limits_pos range_rule gammas_rule
  advK advR advA (fun _ => norm_alarm)
  (fun t => global_alarm n nb H once tr own est is_est stat_ok (advE t)) vn mis.
by congr (_ <= _); congr #|pred_of_set _|; apply/setP => t; rewrite !inE viol.
Qed.

(** For every other tuple: all honest agents end invalid, or nothing is wrong with what was said. *)
(* Proves: L2, L3, GV-4 *)
Theorem whole t : t \notin bad -> all_invalid t \/
  [/\ forall v u u', v < n -> u \in nb v -> u' \in nb v -> H u -> H u' -> tr v u = tr v u',
      forall v, v < n -> flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v]) = nseq (d * T) 0%Z,
      forall v, v < n -> ~~ H v -> norms_ok (common v) &
      stat_ok [seq est (common v) | v <- iota 0 n]].
Proof.
rewrite inE negb_and negbK; case ai: (all_invalid t); first by left.
rewrite orbF => ok; right; move/norP: ok => [/hasPn tf /hasPn rel].
have one v u u' : v < n -> u \in nb v -> u' \in nb v -> H u -> H u' -> tr v u = tr v u'.
  move=> vn uv uv' Hu Hu'; have := tf v; rewrite mem_iota => /(_ vn)/hasPn/(_ u uv)/hasPn/(_ u' uv').
  by rewrite Hu Hu' => /negPn/eqP.
have quiet u : is_agent u -> objected P d k x0 steps n nb H once all_keys tr own (key_of t)
    (advK t) (advR t) norm_alarm (global_alarm n nb H once tr own est is_est stat_ok (advE t)) u = false.
  move=> uA; apply/negbTE/negP => ob; move/negP: ai; apply; apply/forallP => z.
  exact: (S2 Gok (advA t) (proj1 dominated) uA ob (honest_agent z)).
split=> //.
- by move=> v vn; have := rel v; rewrite mem_iota => /(_ vn)/negPn/eqP.
- move=> v vn nH; have [uv Hu] := head_honest dominated vn nH; rewrite /LocalProof.common (negbTE nH).
  set u := head _ _ in uv Hu *; have un := proj1 Gok v u vn uv.
  have uA : is_agent u by rewrite /Graph.is_agent un Hu.
  have /norP[/norP[_ /hasPn/(_ v)]] := quiet u uA.
  by move=> /(_ (proj2 Gok v u vn uv))/negPn.
- apply: (@global_passes n nb H once tr own est is_est stat_ok (advE t)) => // v.
  by move=> /quiet /norP[_ /norP[_ /norP[_ /norP[_ /negbTE]]]].
Qed.
End Whole.
