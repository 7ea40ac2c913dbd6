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

Section GlobalChecks.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).
Notation sq := (sq dot).

(* J: the agents, with their estimates ghat; H: the honest ones, with their true gradients G at the
   model in question. *)
Variables (J : finType) (H : pred J) (G ghat : J -> V).
Notation n := (#|J|%:R : R).
Notation apart := (Num.sqrt (\sum_(h | H h) nrm (ghat h - G h) ^+ 2)).

Lemma relaxed_wider e1 e1' level level' : e1 <= e1' -> level <= level' ->
  relaxed dot H G e1 level -> relaxed dot H G e1' level'.
Proof.
by move=> le le' [g [bal small]]; exists g; split; [apply: le_trans le|apply: le_trans le'].
Qed.

(** The checks passed on the estimates, and the honest estimates are altogether within nu of the
    true gradients at the model. Then the model lies in the relaxed set of the honest agents. *)
(* Proves: AN-9, A14, A17 *)
Theorem global_checks_imply_relaxed eps_opt level nu : apart <= nu ->
  nrm (\sum_v ghat v) <= n * eps_opt ->
  \sum_v sq (ghat v) <= n * level ->
  relaxed dot H G (n * eps_opt + Num.sqrt #|H|%:R * nu) ((Num.sqrt (n * level) + nu) ^+ 2).
Proof.
move=> near opt het; have nu0 : 0 <= nu by apply: le_trans near; rewrite sqrtr_ge0.
exists ghat; split.
  have -> : \sum_(u | H u) G u + \sum_(v | ~~ H v) ghat v =
      \sum_v ghat v - \sum_(h | H h) (ghat h - G h).
    by rewrite [X in _ = X - _](bigID H) /= sumrB opprB [RHS]addrC addrA subrK.
  apply: le_trans (triangleB I _ _) _; apply: ler_add => //.
  apply: (@le_trans _ _ (Num.sqrt #|H|%:R * apart)); last by rewrite ler_wpmul2l ?sqrtr_ge0.
  rewrite -sqrtrM ?ler0n //; apply: ler_wsqrtr; apply: le_trans (sq_sum_le I _ _) _.
  by rewrite ler_wpmul2l ?ler0n //; apply: ler_sum => h _; rewrite nrm_sq // lexx.
pose off v := if H v then nrm (ghat v - G v) else 0.
pose final v := if H v then G v else ghat v.
have each v : 0 <= nrm (final v) <= nrm (ghat v) + off v.
  rewrite nrm_ge0 /final /off; case: ifP => Hv; last by rewrite addr0 lexx.
  have e : ghat v - (ghat v - G v) = G v by rewrite opprB addrCA subrr addr0.
  by rewrite -[X in nrm X <= _]e triangleB.
have -> : \sum_(u | H u) sq (G u) + \sum_(v | ~~ H v) sq (ghat v) = \sum_v nrm (final v) ^+ 2.
  rewrite [RHS](bigID H) /=; congr (_ + _); apply: eq_bigr => v Hv; rewrite nrm_sq // /final ?Hv //.
  by rewrite (negbTE Hv).
have S0 : 0 <= \sum_v nrm (final v) ^+ 2 by apply: sumr_ge0 => v _; rewrite sqr_ge0.
rewrite -[X in X <= _]sqr_sqrtr // ler_pexpn2r ?nnegrE ?sqrtr_ge0 ?addr_ge0 ?sqrtr_ge0 //.
apply: le_trans (@root_sum_le _ _ predT _ _ (fun v _ => each v)) _.
apply: le_trans (minkowski _ _) _; apply: ler_add.
  by apply: ler_wsqrtr; apply: le_trans het; apply: ler_sum => v _; rewrite nrm_sq // lexx.
apply: le_trans near; apply: ler_wsqrtr; rewrite [X in _ <= X]big_mkcond; apply: ler_sum => v _.
by rewrite /off; case: ifP; rewrite ?expr0n.
Qed.

(** With one bound nu for each honest agent. *)
(* Proves: AN-9 *)
Theorem near_each_imply_relaxed eps_opt level nu : 0 <= nu ->
  (forall h, H h -> nrm (ghat h - G h) <= nu) ->
  nrm (\sum_v ghat v) <= n * eps_opt ->
  \sum_v sq (ghat v) <= n * level ->
  relaxed dot H G (n * eps_opt + #|H|%:R * nu) (n * (Num.sqrt level + nu) ^+ 2).
Proof.
move=> nu0 near opt het; have n0 : 0 <= n by rewrite ler0n.
have all_ : apart <= Num.sqrt #|H|%:R * nu.
  by rewrite -root_sum_const //; apply: root_sum_le => h Hh; rewrite nrm_ge0 near.
apply: relaxed_wider (global_checks_imply_relaxed all_ opt het).
  by rewrite mulrA -expr2 sqr_sqrtr ?ler0n.
rewrite -[X in _ <= X * _]sqr_sqrtr // -exprMn.
rewrite ler_pexpn2r ?nnegrE ?addr_ge0 ?mulr_ge0 ?addr_ge0 ?sqrtr_ge0 //.
rewrite mulrDr sqrtrM // ler_add2l ler_wpmul2r //; apply: ler_wsqrtr.
by rewrite ler_nat max_card.
Qed.

(** Who passes the printed test, which adds the squares of averages of lengths, passes the one that
    adds the squared lengths of averages. *)
(* Proves: P27 *)
Theorem printed_test_asks_more (lhat : J -> R) level :
  (forall v, nrm (ghat v) <= lhat v) ->
  \sum_v lhat v ^+ 2 <= level -> \sum_v sq (ghat v) <= level.
Proof. by move=> long; apply: le_trans; apply: ler_sum => v _; apply: sq_le. Qed.

End GlobalChecks.

(** * How near the estimates are *)

Section Near.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).
Variables (J : finType) (H : pred J) (rounds : finType).

(* Weights of rounds, points at which gradients were taken, last models, noise and read-off. *)
Variables (omega : rounds -> R) (y : J -> rounds -> V) (x : J -> V).
Variables (noise slack : J -> rounds -> V) (grad : J -> V -> V) (beta : R) (h : rounds -> R).
Hypothesis omega0 : forall i, 0 <= omega i.
Hypothesis omega1 : \sum_i omega i = 1.
Hypothesis beta0 : 0 <= beta.
Hypothesis smooth : forall u a b, H u -> nrm (grad u a - grad u b) <= beta * nrm (a - b).
Hypothesis small : forall u i, H u -> nrm (slack u i) <= h i.

Definition estimate u : V := \sum_i omega i *: (grad u (y u i) + noise u i + slack u i).

(* What an honest agent knows of its own path. *)
Definition drift u : R := \sum_i omega i * nrm (y u i - x u).

Notation root f := (Num.sqrt (\sum_(u | H u) f u ^+ 2)).

Lemma one_estimate z u : H u ->
  nrm (estimate u - grad u z) <=
  beta * (drift u + nrm (x u - z)) + nrm (\sum_i omega i *: noise u i) + \sum_i omega i * h i.
Proof.
move=> Hu.
have -> : estimate u - grad u z = \sum_i omega i *: (grad u (y u i) - grad u z) +
    \sum_i omega i *: noise u i + \sum_i omega i *: slack u i.
  rewrite -[X in _ - X]scale1r -omega1 scaler_suml -sumrB -!big_split /=; apply: eq_bigr => i _.
  rewrite -scalerBr -!scalerDr; congr (_ *: _); rewrite [LHS]addrAC; congr (_ + _).
  by rewrite [LHS]addrAC.
apply: le_trans (triangle I _ _) _; apply: ler_add; last first.
  apply: le_trans (triangle_sum I _ _ _) _; apply: ler_sum => i _.
  by rewrite nrmZ // ger0_norm // ler_wpmul2l // small.
apply: le_trans (triangle I _ _) _; rewrite ler_add2r.
apply: le_trans (triangle_sum I _ _ _) _.
apply: (@le_trans _ _ (\sum_i omega i * (beta * (nrm (y u i - x u) + nrm (x u - z))))).
  apply: ler_sum => i _; rewrite nrmZ // ger0_norm // ler_wpmul2l //.
  apply: le_trans (smooth _ _ Hu) _; rewrite ler_wpmul2l //.
  have -> : y u i - z = (y u i - x u) + (x u - z) by rewrite addrA subrK.
  exact: triangle.
rewrite /drift mulrDr -[X in _ <= _ + beta * X]mul1r -omega1 mulr_suml !mulr_sumr -big_split /=.
by apply: ler_sum => i _; apply: (le_by (lexx 0)); ring.
Qed.

(** The honest estimates are altogether as near to the gradients at z as the paths, the distances of
    the last models from z, the noise and the rounding say. *)
(* Proves: AN-9 *)
Theorem estimates_are_near z :
  root (fun u => nrm (estimate u - grad u z)) <=
  beta * (root drift + root (fun u => nrm (x u - z))) +
  root (fun u => nrm (\sum_i omega i *: noise u i)) + Num.sqrt #|H|%:R * \sum_i omega i * h i.
Proof.
have [u0 Hu0|none] := pickP H; last first.
  have H0 : #|H| = 0%N by apply: eq_card0 => u; apply: none.
  have none_ (f : J -> R) : \sum_(u | H u) f u = 0 by rewrite big_pred0.
  by rewrite H0 !none_ !sqrtr0 mul0r !(addr0, mulr0).
have h0 : 0 <= \sum_i omega i * h i.
  by apply: sumr_ge0 => i _; rewrite mulr_ge0 // (le_trans (nrm_ge0 dot _) (small i Hu0)).
pose total u := beta * (drift u + nrm (x u - z)) + nrm (\sum_i omega i *: noise u i) +
  \sum_i omega i * h i.
apply: (@le_trans _ _ (root total)).
  by apply: root_sum_le => u Hu; rewrite nrm_ge0 one_estimate.
apply: le_trans (minkowski_on _ _ _) _; rewrite root_sum_const // ler_add2r.
apply: le_trans (minkowski_on _ _ _) _; rewrite root_sum_scaled // ler_add2r.
by rewrite ler_wpmul2l // minkowski_on.
Qed.

(** The two together: nu is made of paths, of the disagreement of the last models (l2 times their
    squared distances from z is at most what edges show), of noise and of rounding. The estimates of
    Byzantine agents are whatever they said. *)
(* Proves: AN-9 *)
Theorem measured_nu_implies_relaxed (z : V) (ghat : J -> V) (eps_opt level l2 edges chance : R)
    (n := #|J|%:R : R)
    (nu := beta * (root drift + Num.sqrt (edges / l2)) + chance +
           Num.sqrt #|H|%:R * \sum_i omega i * h i) :
  (forall u, H u -> ghat u = estimate u) ->
  0 < l2 -> l2 * (\sum_(u | H u) nrm (x u - z) ^+ 2) <= edges ->
  root (fun u => nrm (\sum_i omega i *: noise u i)) <= chance ->
  nrm (\sum_v ghat v) <= n * eps_opt ->
  \sum_v sq dot (ghat v) <= n * level ->
  relaxed dot H (fun u => grad u z) (n * eps_opt + Num.sqrt #|H|%:R * nu)
    ((Num.sqrt (n * level) + nu) ^+ 2).
Proof.
move=> honest l0 agree rare opt het.
have near : root (fun u => nrm (ghat u - grad u z)) <= nu.
  rewrite (eq_bigr (fun u => nrm (estimate u - grad u z) ^+ 2)); last by move=> u /honest ->.
  apply: le_trans (estimates_are_near z) _; rewrite ler_add2r; apply: ler_add => //.
  by rewrite ler_wpmul2l // ler_add2l; apply: ler_wsqrtr; rewrite ler_pdivl_mulr // mulrC.
exact: (global_checks_imply_relaxed I near opt het).
Qed.

End Near.
