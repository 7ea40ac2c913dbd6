(** Admissible models: the closed form, the relaxed set, and what the global checks imply. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Admissible.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).
Notation sq := (sq dot).

(* J: the agents; U: those whose gradients are known, G u at the model in question. *)
Variables (J : finType) (U : pred J) (G : J -> V).
Notation free := (predC U).
Notation b := (#|predC U|%:R : R).
Notation known := (\sum_(u | U u) G u).
Notation energy := (\sum_(u | U u) sq (G u)).

(* Clause: GU-2 *)
Definition admissible (level : R) : Prop :=
  exists ghat : J -> V, known + \sum_(v | free v) ghat v = 0 /\
    energy + \sum_(v | free v) sq (ghat v) <= level.

(* Clause: GU-4 *)
Definition relaxed (e1 level : R) : Prop :=
  exists ghat : J -> V, nrm (known + \sum_(v | free v) ghat v) <= e1 /\
    energy + \sum_(v | free v) sq (ghat v) <= level.

Lemma free_sum (a : V) : \sum_(v | free v) a = b *: a.
Proof. by rewrite sumr_const scaler_nat. Qed.

Lemma free_sumR (a : R) : \sum_(v | free v) a = b * a.
Proof. by rewrite sumr_const mulr_natl. Qed.

(** With at least one free vector: x is admissible if and only if the known energy plus |s|^2 / b
    does not exceed the level; equal vectors -s/b show it. *)
(* Proves: GU-3 *)
Theorem admissible_closed_form level : (0 < #|predC U|)%N ->
  admissible level <-> energy + sq known / b <= level.
Proof.
move=> b0; have bp : 0 < b by rewrite ltr0n.
split=> [[ghat [bal le]]|le].
  apply: le_trans le; rewrite ler_add2l ler_pdivr_mulr // mulrC.
  have -> : known = - \sum_(v | free v) ghat v by apply/eqP; rewrite -addr_eq0 bal.
  by rewrite sqN // sq_sum_le.
exists (fun _ => - b^-1 *: known); split.
  by rewrite free_sum scalerA mulrN mulfV ?gt_eqF // scaleN1r subrr.
apply: le_trans le; rewrite ler_add2l free_sumR sqZ //.
by apply: (le_by (lexx 0)); field; rewrite gt_eqF.
Qed.

(** Without one: the known gradients must balance themselves. *)
(* Proves: GU-3 *)
Theorem admissible_without_free level : #|predC U| = 0%N ->
  admissible level <-> known = 0 /\ energy <= level.
Proof.
move=> b0; have none v : free v = false by have := card0_eq b0 v; rewrite !inE.
have e0 (f : J -> V) : \sum_(v | free v) f v = 0 by rewrite big_pred0.
have e1 (f : J -> R) : \sum_(v | free v) f v = 0 by rewrite big_pred0.
split=> [[ghat]|[bal le]]; first by rewrite e0 e1 !addr0.
by exists (fun _ => 0); rewrite e0 e1 !addr0.
Qed.

(** The relaxed set in closed form. *)
(* Proves: GU-4 *)
Theorem relaxed_closed_form e1 level : 0 <= e1 -> (0 < #|predC U|)%N ->
  relaxed e1 level <-> energy + Num.max (nrm known - e1) 0 ^+ 2 / b <= level.
Proof.
move=> e0 b0; have bp : 0 < b by rewrite ltr0n.
have m0 : 0 <= Num.max (nrm known - e1) 0 by rewrite le_maxr lexx orbT.
split=> [[ghat [bal le]]|le].
  apply: le_trans le; rewrite ler_add2l ler_pdivr_mulr // mulrC.
  apply: le_trans (sq_sum_le I free ghat).
  rewrite -nrm_sq // ler_pexpn2r ?nnegrE ?nrm_ge0 // le_maxl nrm_ge0 andbT.
  set h := \sum_(v | free v) ghat v in bal *.
  have e : (known + h) - h = known by rewrite addrK.
  rewrite ler_subl_addr -[X in nrm X <= _]e; apply: le_trans (triangleB I _ _) _.
  by rewrite addrC ler_add2l.
have [small|large] := leP (nrm known) e1.
  exists (fun _ => 0); rewrite free_sum scaler0 addr0; split=> //.
  have z : sq (0 : V) = 0 by rewrite /Inner.sq dot0l.
  by rewrite free_sumR z mulr0; move: le; rewrite max_r ?subr_le0 // expr0n mul0r.
have k0 : 0 < nrm known := le_lt_trans e0 large.
pose l := (nrm known - e1) / nrm known.
exists (fun _ => (- l / b) *: known); split.
  rewrite free_sum scalerA.
  have -> : b * (- l / b) = - l by field; rewrite gt_eqF.
  rewrite -[X in nrm (X + _)]scale1r -scalerDl.
  rewrite nrmZ // ger0_norm; last first.
    by rewrite subr_ge0 ler_pdivr_mulr // mul1r ler_subl_addr ler_addl.
  by apply: (le_by (lexx 0)); rewrite /l; field; rewrite gt_eqF.
apply: le_trans le; rewrite ler_add2l free_sumR sqZ // -nrm_sq // max_l ?subr_ge0 ?(ltW large) //.
by apply: (le_by (lexx 0)); rewrite /l; field; rewrite !gt_eqF.
Qed.

End Admissible.

(** More known agents, fewer admissible models. *)
(* Proves: GU-7 *)
Theorem admissible_antitone (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType)
    (U U' : pred J) (G : J -> V) (e1 level : R) :
  (forall u, U u -> U' u) -> relaxed dot U' G e1 level -> relaxed dot U G e1 level.
Proof.
move=> sub [ghat [bal le]]; pose h v := if U' v then G v else ghat v.
have split_ (W : zmodType) (f : V -> W) :
    \sum_(u | U u) f (G u) + \sum_(v | ~~ U v) f (h v) =
    \sum_(u | U' u) f (G u) + \sum_(v | ~~ U' v) f (ghat v).
  transitivity (\sum_v f (h v)).
    rewrite [RHS](bigID U) /=; congr (_ + _); apply: eq_bigr => u Uu.
    by rewrite /h sub.
  rewrite (bigID U') /=; congr (_ + _); apply: eq_bigr => u Uu; rewrite /h ?Uu //.
  by rewrite (negbTE Uu).
exists h; split.
  by have := split_ V id; rewrite /= => ->.
by have := split_ R (sq dot); rewrite /= => ->.
Qed.

(** * What the global checks imply *)

(** The checks passed on the estimates ghat and lhat; honest estimates are within nu of the true
    gradients G at the model. Then the model lies in the relaxed set of the honest agents. *)
(* Proves: AN-9, A14, A17 *)
Theorem global_checks_imply_relaxed (R : rcfType) (V : lmodType R) (dot : V -> V -> R)
    (I : inner dot) (J : finType) (H : pred J) (G ghat : J -> V) (lhat : J -> R)
    (eps_opt level nu : R) (n := #|J|%:R : R) :
  0 <= nu -> 0 <= level ->
  (forall h, H h -> nrm dot (ghat h - G h) <= nu) ->
  (forall v, nrm dot (ghat v) <= lhat v) ->
  nrm dot (\sum_v ghat v) <= n * eps_opt ->
  \sum_v lhat v ^+ 2 <= n * level ->
  relaxed dot H G (n * eps_opt + #|H|%:R * nu) (n * (Num.sqrt level + nu) ^+ 2).
Proof.
move=> nu0 lev0 near long opt het; have n0 : 0 <= n by rewrite ler0n.
exists ghat; split.
  have -> : \sum_(u | H u) G u + \sum_(v | ~~ H v) ghat v =
      \sum_v ghat v - \sum_(h | H h) (ghat h - G h).
    by rewrite [X in _ = X - _](bigID H) /= sumrB opprB [RHS]addrC addrA subrK.
  apply: le_trans (triangleB I _ _) _; apply: ler_add => //.
  apply: le_trans (triangle_sum I _ _ _) _.
  apply: le_trans (ler_sum _ (fun h Hh => near h Hh)) _.
  by rewrite sumr_const mulr_natl.
pose k v : R := if H v then nu else 0.
have each v : nrm dot (if H v then G v else ghat v) <= lhat v + k v.
  rewrite /k; case: ifP => Hv; last by rewrite addr0.
  have e : ghat v - (ghat v - G v) = G v by rewrite opprB addrCA subrr addr0.
  rewrite -[X in nrm dot X <= _]e; apply: le_trans (triangleB I _ _) _.
  by apply: ler_add; [apply: long|apply: near].
have l0 v : 0 <= lhat v := le_trans (nrm_ge0 dot _) (long v).
have k0 v : 0 <= k v by rewrite /k; case: ifP.
have -> : \sum_(u | H u) sq dot (G u) + \sum_(v | ~~ H v) sq dot (ghat v) =
    \sum_v nrm dot (if H v then G v else ghat v) ^+ 2.
  rewrite [RHS](bigID H) /=; congr (_ + _); apply: eq_bigr => v Hv; rewrite nrm_sq // ?Hv //.
  by rewrite (negbTE Hv).
apply: (@le_trans _ _ (\sum_v (lhat v + k v) ^+ 2)).
  by apply: ler_sum => v _; rewrite ler_pexpn2r ?nnegrE ?nrm_ge0 ?addr_ge0.
have mink := minkowski lhat k.
have s1 : Num.sqrt (\sum_v lhat v ^+ 2) <= Num.sqrt n * Num.sqrt level.
  by rewrite -sqrtrM // ler_wsqrtr.
have s2 : Num.sqrt (\sum_v k v ^+ 2) <= Num.sqrt n * nu.
  rewrite -[nu]ger0_norm // -sqrtr_sqr -sqrtrM // ler_wsqrtr //.
  have -> : n * nu ^+ 2 = \sum_(v : J) nu ^+ 2 by rewrite sumr_const mulr_natl.
  apply: ler_sum => v _.
  by rewrite /k; case: ifP => // _; rewrite expr0n sqr_ge0.
have all_ : Num.sqrt (\sum_v (lhat v + k v) ^+ 2) <= Num.sqrt n * (Num.sqrt level + nu).
  by apply: le_trans mink _; rewrite mulrDr ler_add.
have S0 : 0 <= \sum_v (lhat v + k v) ^+ 2 by apply: sumr_ge0 => v _; rewrite sqr_ge0.
rewrite -[X in X <= _]sqr_sqrtr // -[n]sqr_sqrtr // -exprMn.
by rewrite ler_pexpn2r ?nnegrE ?sqrtr_ge0 // mulr_ge0 ?addr_ge0 ?sqrtr_ge0.
Qed.
