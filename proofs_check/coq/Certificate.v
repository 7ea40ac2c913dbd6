(** The certificate of GU-9 for the path: how far from the optimum a run with exact gradients can be, in the
    mean, off the mean and in all. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Contraction Expectation Mixing Rate.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Certificate.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType).
Hypothesis I : inner dot.
Notation sq := (sq dot).
Notation nrm := (nrm dot).
Notation F := {ffun J -> V}.
Notation fdot := (@fdot R V dot J).
Notation fsq := (Inner.sq fdot).
Notation fnrm := (Inner.nrm fdot).
Let FI : inner fdot := fdot_inner J I.
Notation n := (#|J|%:R : R).

Variable N : rel J.
Hypothesis N_sym : symmetric N.
Hypothesis agents : (0 < #|J|)%N.
Variables (l2 lM : R).
Hypothesis l2_le : l2 <= lM.
Hypothesis low : forall X : F, total X = 0 -> l2 * fsq X <= fdot (lap N X) X.
Hypothesis high : forall X : F, fdot (lap N X) X <= lM * fsq X.

Variables (mu beta : R) (G : J -> V -> V) (star : V).
Hypothesis mu_beta : mu <= beta.
Hypothesis convex : forall v x y, mu * sq (x - y) <= dot (G v x - G v y) (x - y).
Hypothesis smooth : forall v x y, dot (G v x - G v y) (x - y) <= beta * sq (x - y).
Hypothesis cocoercive : forall v x y,
  sq (G v x - G v y) + mu * beta * sq (x - y) <= (mu + beta) * dot (G v x - G v y) (x - y).
Hypothesis optimum : \sum_v G v star = 0.
(* Assumption 7: the gradients at the optimum; D^2 = n delta *)
Variable D : R.
Hypothesis heterogeneity : fnrm [ffun v => G v star] <= D.

Let rn : R := Num.sqrt n.
Let n0 : 0 < n. Proof. by rewrite ltr0n. Qed.
Let rn0 : 0 < rn. Proof. by rewrite sqrtr_gt0. Qed.
Let rnn : rn ^+ 2 = n. Proof. by rewrite sqr_sqrtr // ltW. Qed.

Definition S : F := [ffun _ => star].
Definition gradients (Y : F) : F := [ffun v => G v (Y v)].
Definition o : R := (beta - mu) / 2%:R.
Definition middle : R := (beta + mu) / 2%:R.

Let o_pos : 0 <= o. Proof. by rewrite divr_ge0 ?subr_ge0 ?ler0n. Qed.

(* What the gradients are off their middle part. *)
Definition rest (Y : F) : F := gradients Y - gradients S - middle *: (Y - S).

Lemma rest_short Y : fnrm (rest Y) <= o * fnrm (Y - S).
Proof.
apply: (nrm_le FI); first by rewrite mulr_ge0 ?nrm_ge0.
rewrite exprMn (nrm_sq FI) mulr_sumr; apply: ler_sum => v _.
rewrite -[dot (rest Y v) _]/(sq (rest Y v)) -[dot ((Y - S) v) _]/(sq ((Y - S) v)).
rewrite -(nrm_sq I ((Y - S) v)) -exprMn; apply: (sq_le I); rewrite /rest !ffunE.
exact: centred.
Qed.

Lemma mean_size X : rn * nrm (mean X) <= fnrm X.
Proof.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?nrm_ge0 ?(ltW rn0) // exprMn rnn (nrm_sq I) (nrm_sq FI).
have -> : fsq X = n * sq (mean X - 0) + fsq (off X).
  by rewrite -(pythagoras I agents); apply: eq_bigr => v _; rewrite subr0.
by rewrite subr0 ler_addl (sq_ge0 FI).
Qed.

Lemma split_size X : fsq (X - S) = n * sq (mean X - star) + fsq (off X).
Proof. by rewrite -(pythagoras I agents); apply: eq_bigr => v _; rewrite !ffunE. Qed.

Lemma mean_gradients_S : mean (gradients S) = 0.
Proof.
rewrite /mean /total (eq_bigr (fun v => G v star)) => [|v _]; last by rewrite !ffunE.
by rewrite optimum scaler0.
Qed.

Lemma mean_S : mean S = star. Proof. exact: mean_const. Qed.

Section Round.
Variables (eta alpha : R) (X : F).
Hypothesis eta_pos : 0 <= eta.
Hypothesis alpha_pos : 0 <= alpha.
Definition Y : F := mixing N eta X.
Definition X' : F := Y - alpha *: gradients Y.
Definition c : R := `|1 - alpha * middle|.
Definition m : R := factor l2 lM eta.

Lemma stepE : X' - S = (1 - alpha * middle) *: (Y - S) - alpha *: rest Y - alpha *: gradients S.
Proof.
have alg (A s a b e : F) : A - a - s = A - s - e - (a - b - e) - b.
  have h : a - b - e + b = a - e by rewrite addrAC subrK.
  rewrite -[A - s - e - (a - b - e) - b]addrA -opprD h opprB (addrA (A - s - e)) (subrK e (A - s)).
  exact: addrAC.
rewrite /X' /rest scalerBl scale1r [alpha *: (_ - _ - _)]scalerBr [alpha *: (_ - _)]scalerBr scalerA.
exact: alg.
Qed.

Lemma off_S : off S = 0.
Proof. by apply/ffunP => v; rewrite /off mean_S !ffunE subrr. Qed.

Lemma off_from_S Z : off (Z - S) = off Z.
Proof. by rewrite -[Z - S]/(Z + - S) offD -scaleN1r offZ off_S scaler0 addr0. Qed.

Lemma mean_from_S Z : mean (Z - S) = mean Z - star.
Proof. by rewrite meanD meanN mean_S. Qed.

(* The mean: displacements by the middle part, the rest, and nothing of the gradients at the optimum. *)
Lemma mean_moves : nrm (mean X' - star) <= c * nrm (mean X - star) + alpha * o * (fnrm (Y - S) / rn).
Proof.
have e : mean X' - star = (1 - alpha * middle) *: (mean X - star) - alpha *: mean (rest Y).
  rewrite -mean_from_S stepE; move: (rest Y) => r.
  by rewrite !meanD !meanN !meanZ mean_gradients_S scaler0 subr0 mean_from_S /Y mean_mixing.
rewrite e; apply: le_trans (triangleB I _ _) _; apply: ler_add; first by rewrite (nrmZ I).
rewrite (nrmZ I) (ger0_norm alpha_pos) -mulrA ler_wpmul2l // -(ler_pmul2l rn0).
have -> : rn * (o * (fnrm (Y - S) / rn)) = o * fnrm (Y - S).
  by rewrite mulrCA [rn * _]mulrC divfK // gt_eqF.
exact: le_trans (mean_size _) (rest_short _).
Qed.

Lemma off_moves : fnrm (off X') <= c * (m * fnrm (off X)) + alpha * (o * fnrm (Y - S) + D).
Proof.
have e : off X' = (1 - alpha * middle) *: off Y - (alpha *: off (rest Y) + alpha *: off (gradients S)).
  have offN (Z : F) : off (- Z) = - off Z by rewrite -scaleN1r offZ scaleN1r.
  have off3 (p q r : F) : off (p - q - r) = off p - (off q + off r).
    by rewrite !offD !offN -addrA -opprD.
  by rewrite -off_from_S stepE off3 !offZ off_from_S.
rewrite e; apply: le_trans (triangleB FI _ _) _; apply: ler_add.
  rewrite (nrmZ FI) ler_wpmul2l //.
  rewrite /Y off_mixing //; apply: (mixing_contracts I N_sym low high l2_le eta_pos).
  exact: off_total.
apply: le_trans (triangle FI _ _) _; rewrite !(nrmZ FI) (ger0_norm alpha_pos) -mulrDr ler_wpmul2l //.
apply: ler_add; first exact: le_trans (off_short I agents _) (rest_short _).
apply: le_trans (off_short I agents _) _; apply: le_trans heterogeneity.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (Inner.nrm _ _); apply/ffunP => v; rewrite !ffunE.
Qed.

Lemma all_move : fnrm (X' - S) <= factor mu beta alpha * fnrm (Y - S) + alpha * D.
Proof.
have alg (A s a b : F) : A - a - s = (A - s) - (a - b) - b.
  by rewrite -[A - s - (a - b) - b]addrA -opprD (subrK b a) addrAC.
have e : X' - S = ((Y - S) - alpha *: (gradients Y - gradients S)) - alpha *: gradients S.
  by rewrite /X' scalerBr; apply: alg.
rewrite e; apply: le_trans (triangleB FI _ _) _; apply: ler_add; last first.
  rewrite (nrmZ FI) (ger0_norm alpha_pos) ler_wpmul2l //; apply: le_trans heterogeneity.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (Inner.nrm _ _); apply/ffunP => v; rewrite !ffunE.
apply: (contraction_sharp FI) => //.
- by rewrite mulr_sumr; apply: ler_sum => v _; rewrite !ffunE; apply: convex.
- by rewrite mulr_sumr; apply: ler_sum => v _; rewrite !ffunE; apply: smooth.
- rewrite !mulr_sumr -big_split; apply: ler_sum => v _; rewrite !ffunE; exact: cocoercive.
Qed.

Lemma mixed_split : fnrm (Y - S) <= Num.sqrt (n * nrm (mean X - star) ^+ 2 + (m * fnrm (off X)) ^+ 2).
Proof.
apply: ler_wsqrtr; rewrite split_size /Y mean_mixing // (nrm_sq I) ler_add2l off_mixing //.
apply: (sq_le FI); apply: (mixing_contracts I N_sym low high l2_le eta_pos); exact: off_total.
Qed.

Lemma mixed_all : fnrm (Y - S) <= Num.max 1 m * fnrm (X - S).
Proof.
have M1 : 1 <= Num.max 1 m by rewrite le_maxr lexx.
have Mm : m <= Num.max 1 m by rewrite le_maxr lexx orbT.
have m0 : 0 <= m by rewrite /m /factor le_maxr normr_ge0.
have M0 : 0 <= Num.max 1 m := le_trans ler01 M1.
apply: (nrm_le FI); first by rewrite mulr_ge0 ?nrm_ge0.
rewrite exprMn (nrm_sq FI) !split_size /Y mean_mixing // mulrDr; apply: ler_add.
  by rewrite ler_pemull ?mulr_ge0 ?ler0n ?(sq_ge0 I) // expr_ge1.
rewrite off_mixing // -(nrm_sq FI (off X)) -exprMn; apply: (sq_le FI).
apply: le_trans (mixing_contracts I N_sym low high l2_le eta_pos (off_total _ _)) _ => //.
by rewrite ler_wpmul2r ?nrm_ge0.
Qed.
End Round.

(* Clause: GU-9. The recursions of the path: bounds of the mean, off the mean, and in all. *)
Record bounds := Bounds { at_mean : R; off_mean : R; in_all : R }.
Definition mixed_bound (eta : R) (b : bounds) : R :=
  Num.min (Num.sqrt (n * at_mean b ^+ 2 + (m eta * off_mean b) ^+ 2)) (Num.max 1 (m eta) * in_all b).
Definition all_bound (eta alpha : R) (b : bounds) : R :=
  factor mu beta alpha * mixed_bound eta b + alpha * D.
Definition next_bounds (eta alpha : R) (b : bounds) : bounds :=
  let root := mixed_bound eta b in let all := all_bound eta alpha b in
  Bounds (Num.min (c alpha * at_mean b + alpha * o * (root / rn)) (all / rn))
         (Num.min (c alpha * (m eta * off_mean b) + alpha * (o * root + D)) all) all.

Definition within (b : bounds) (X : F) : Prop :=
  [/\ nrm (mean X - star) <= at_mean b, fnrm (off X) <= off_mean b & fnrm (X - S) <= in_all b].

(** A round with exact gradients keeps the bounds of GU-9. *)
(* Proves: GU-9 *)
Theorem path_stays_within eta alpha b X : 0 <= eta -> 0 <= alpha -> within b X ->
  within (next_bounds eta alpha b) (X' eta alpha X).
Proof.
move=> e0 a0 [hm ho ha]; have m0 : 0 <= m eta by rewrite /m /factor le_maxr normr_ge0.
set root := mixed_bound eta b; set all := all_bound eta alpha b.
have yr : fnrm (Y eta X - S) <= root.
  rewrite le_minr; apply/andP; split.
    apply: le_trans (mixed_split X e0) _; apply: ler_wsqrtr; apply: ler_add.
      by rewrite ler_wpmul2l ?ler0n // ler_pexpn2r ?nnegrE ?nrm_ge0 // (le_trans (nrm_ge0 dot _) hm).
    have p0 : 0 <= off_mean b := le_trans (nrm_ge0 fdot _) ho.
    by rewrite ler_pexpn2r ?nnegrE ?mulr_ge0 ?nrm_ge0 // ler_wpmul2l.
  apply: le_trans (mixed_all X e0) _; rewrite ler_wpmul2l //.
  by apply: le_trans ler01 _; rewrite le_maxr lexx.
have xa : fnrm (X' eta alpha X - S) <= all.
  apply: le_trans (all_move eta X a0) _; rewrite /all /all_bound ler_add2r ler_wpmul2l //.
  by rewrite /factor le_maxr normr_ge0.
split=> //=; rewrite le_minr; apply/andP; split.
- apply: le_trans (mean_moves eta X a0) _; apply: ler_add.
    by rewrite ler_wpmul2l /c ?normr_ge0.
  apply: ler_wpmul2l; first exact: mulr_ge0.
  by rewrite ler_pmul2r ?invr_gt0.
- rewrite ler_pdivl_mulr // mulrC -mean_from_S; exact: le_trans (mean_size _) xa.
- apply: le_trans (off_moves X e0 a0) _; apply: ler_add.
    by rewrite ler_wpmul2l /c ?normr_ge0 // ler_wpmul2l.
  by rewrite ler_wpmul2l // ler_add2r ler_wpmul2l.
- by rewrite -off_from_S; apply: le_trans (off_short I agents _) xa.
Qed.

(** So does every round of a run from one point within R_0 of the optimum. *)
(* Proves: GU-9 *)
Theorem certificate_of_the_path (eta alpha : nat -> R) (x : nat -> F) (x0 : V) (R_0 : R) :
  (forall t, 0 <= eta t /\ 0 <= alpha t) -> nrm (x0 - star) <= R_0 -> x 0%N = [ffun _ => x0] ->
  (forall t, x t.+1 = X' (eta t.+1) (alpha t.+1) (x t)) ->
  forall t, within (iteri t (fun u => next_bounds (eta u.+1) (alpha u.+1)) (Bounds R_0 0 (rn * R_0))) (x t).
Proof.
move=> pos near start step; elim=> [|t IH]; last first.
  by rewrite step; apply: path_stays_within => //; case: (pos t.+1).
have off0 : off (x 0%N) = 0 by apply/ffunP => v; rewrite /off start mean_const // !ffunE subrr.
have mean0 : mean (x 0%N) = x0 by rewrite start mean_const.
split=> /=; rewrite ?mean0 ?off0 ?(nrm0 FI) //.
apply: (nrm_le FI); first by rewrite mulr_ge0 ?(ltW rn0) // (le_trans (nrm_ge0 dot _) near).
rewrite split_size mean0 off0 /Inner.sq (dot0l FI) addr0 exprMn rnn ler_wpmul2l ?ler0n //.
exact: (sq_le I near).
Qed.
End Certificate.
