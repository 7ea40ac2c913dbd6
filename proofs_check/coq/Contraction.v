(** One gradient step contracts; when it does not; and what mixing does to norms. Over any real
    closed field and any inner product space. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

(* Clause: AN-1 *)
Definition factor (R : rcfType) (mu beta alpha : R) : R :=
  Num.max `|1 - alpha * mu| `|1 - alpha * beta|.

Section Contraction.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation sq := (sq dot).
Notation nrm := (nrm dot).

Variables (mu beta alpha : R) (D G : V).
Hypothesis alpha_pos : 0 <= alpha.

(** Strong convexity and a Lipschitz gradient alone. *)
(* Proves: AN-1, A04 *)
Theorem contraction_plain : mu * sq D <= dot G D -> sq G <= beta ^+ 2 * sq D ->
  sq (D - alpha *: G) <= (1 - 2%:R * alpha * mu + alpha ^+ 2 * beta ^+ 2) * sq D.
Proof.
move=> convex lip; rewrite sqB // sqZ // dotZr // (dot_sym I D G).
apply: (@le_by _ (2%:R * alpha * (dot G D - mu * sq D) + alpha ^+ 2 * (beta ^+ 2 * sq D - sq G))).
  by apply: addr_ge0; rewrite !mulr_ge0 ?subr_ge0 ?exprn_ge0 ?ler0n.
by ring.
Qed.

(** With co-coercivity (of f minus mu |x|^2 / 2), the sharp factor. *)
(* Proves: AN-1, A04 *)
Theorem contraction_sharp :
  mu * sq D <= dot G D -> dot G D <= beta * sq D ->
  sq G + mu * beta * sq D <= (mu + beta) * dot G D ->
  nrm (D - alpha *: G) <= factor mu beta alpha * nrm D.
Proof.
move=> convex smooth coco.
have q0 : 0 <= factor mu beta alpha by rewrite /factor le_maxr normr_ge0.
apply: nrm_le; rewrite ?mulr_ge0 ?nrm_ge0 // exprMn nrm_sq // sqB // sqZ // dotZr // (dot_sym I D G).
set S := sq D in convex smooth coco *; set d := dot G D in convex smooth coco *.
set g := sq G in coco *; have S0 : 0 <= S := sq_ge0 I D.
have bound (x : R) : `|x| <= factor mu beta alpha -> x ^+ 2 * S <= factor mu beta alpha ^+ 2 * S.
  by move=> h; rewrite ler_wpmul2r // -[x ^+ 2]ger0_norm ?sqr_ge0 // normrX ler_pexpn2r ?nnegrE.
have c2 : 0 <= alpha ^+ 2 * ((mu + beta) * d - (g + mu * beta * S)).
  by rewrite mulr_ge0 ?exprn_ge0 ?subr_ge0.
have [small|large] := leP (alpha * (mu + beta)) 2%:R.
  apply: le_trans (bound (1 - alpha * mu) _); last by rewrite /factor le_maxr lexx.
  apply: (@le_by _ (alpha ^+ 2 * ((mu + beta) * d - (g + mu * beta * S)) +
     alpha * (2%:R - alpha * (mu + beta)) * (d - mu * S))); last by ring.
  by rewrite addr_ge0 // !mulr_ge0 ?subr_ge0.
apply: le_trans (bound (1 - alpha * beta) _); last by rewrite /factor le_maxr lexx orbT.
apply: (@le_by _ (alpha ^+ 2 * ((mu + beta) * d - (g + mu * beta * S)) +
   alpha * (alpha * (mu + beta) - 2%:R) * (beta * S - d))); last by ring.
by rewrite addr_ge0 // !mulr_ge0 ?subr_ge0 // ltW.
Qed.

End Contraction.

(** The factor is below 1 exactly for steps between 0 and 2/beta. *)
(* Proves: AN-1, A03 *)
Theorem factor_below_one (R : rcfType) (mu beta alpha : R) : 0 < mu -> mu <= beta ->
  (factor mu beta alpha < 1) = (0 < alpha < 2%:R / beta).
Proof.
move=> mu0 mb; have b0 : 0 < beta := lt_le_trans mu0 mb.
rewrite /factor lt_maxl !ltr_norml.
have one (c : R) : 0 < c -> (-1 < 1 - alpha * c < 1) = (0 < alpha) && (alpha * c < 2%:R).
  move=> c0; rewrite andbC; congr (_ && _).
    by rewrite ltr_subl_addr -subr_gt0 addrAC subrr add0r pmulr_lgt0.
  by rewrite ltr_subr_addr -ltr_subr_addl opprK -[2%:R]/(1 + 1).
rewrite !one // ltr_pdivl_mulr // andbACA andbb.
case: (ltP 0 alpha) => //= a0; apply: andb_idl => ab.
by apply: le_lt_trans ab; rewrite ler_pmul2l.
Qed.

(** * A03: the printed range and the printed factor *)

(** beta = mu = 10 and alpha = 9/10 < max(1, mu/beta^2): the step expands eightfold. *)
(* Proves: A03 *)
Theorem A03_expands (R : rcfType) (x : R) :
  let alpha := 9%:R / 10%:R : R in
  0 < alpha < Num.max 1 (10%:R / 10%:R ^+ 2) /\ `|x - alpha * (10%:R * x)| = 8%:R * `|x|.
Proof.
move=> alpha; have t0 : (10%:R : R) != 0 by rewrite pnatr_eq0.
split; last first.
  have -> : x - alpha * (10%:R * x) = - (8%:R * x) by rewrite /alpha; field.
  by rewrite normrN normrM normr_nat.
rewrite /alpha divr_gt0 ?ltr0n // lt_maxr ltr_pdivr_mulr ?ltr0n // mul1r.
by rewrite ltr_nat.
Qed.

(** mu = 1/4, beta = 1, alpha = 1/2 lies in the printed range; the printed factor is 9/8. *)
(* Proves: A03 *)
Theorem A03_factor (R : rcfType) :
  let mu := 4%:R^-1 : R in let alpha := 2%:R^-1 : R in
  0 < alpha < Num.max 1 (mu / 1 ^+ 2) /\ 1 < 1 - alpha * mu + alpha ^+ 2 * 1 ^+ 2.
Proof.
split; first by rewrite invr_gt0 ltr0n lt_maxr invf_lt1 ?ltr0n // ltr1n.
have -> : 1 - 2%:R^-1 * 4%:R^-1 + 2%:R^-1 ^+ 2 * 1 ^+ 2 = 1 + 8%:R^-1 :> R.
  by field.
by rewrite ltr_addl invr_gt0 ltr0n.
Qed.

(** * Mixing *)
Section Mixing.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).

Definition mixed (eta : R) (x : V) (us : seq V) : V := x + eta *: (\sum_(u <- us) (u - x)).

(** If eta deg <= 1, mixing takes convex combinations: no norm grows. *)
(* Proves: A06 *)
Theorem mixing_keeps_bounds eta x us B : 0 <= eta -> eta * (size us)%:R <= 1 ->
  nrm x <= B -> (forall u, u \in us -> nrm u <= B) -> nrm (mixed eta x us) <= B.
Proof.
move=> e0 e1 xB usB.
have -> : mixed eta x us = (1 - eta * (size us)%:R) *: x + eta *: (\sum_(u <- us) u).
  rewrite /mixed sumrB big_const_seq count_predT iter_addr_0 scalerBr scalerBl scale1r.
  by rewrite -[x *+ _]scaler_nat scalerA addrA addrAC.
apply: le_trans (triangle I _ _) _; rewrite !nrmZ // ger0_norm ?subr_ge0 // ger0_norm //.
have s : nrm (\sum_(u <- us) u) <= (size us)%:R * B.
  apply: le_trans (triangle_sum I _ _ _) _.
  elim: us usB {e1} => [|u l IH] ok; first by rewrite big_nil mul0r.
  rewrite big_cons /= -addn1 natrD mulrDl mul1r addrC ler_add ?ok ?mem_head //.
  by apply: IH => y yl; apply: ok; rewrite inE yl orbT.
apply: (@le_trans _ _ ((1 - eta * (size us)%:R) * B + eta * ((size us)%:R * B))).
  by rewrite ler_add // ler_wpmul2l ?subr_ge0.
by apply: (le_by (lexx 0)); ring.
Qed.

End Mixing.

(** A star with 8 leaves at eta = 2/9 = 2/l_max: hub -1, leaves 1; the hub moves to 23/9. *)
(* Proves: A06 *)
Theorem A06_star (R : rcfType) :
  (-1) + (2%:R / 9%:R) * (\sum_(u <- nseq 8 1) (u - (-1))) = 23%:R / 9%:R :> R.
Proof. by rewrite !big_cons big_nil; field. Qed.

(** K2 at eta deg = 1: mixing swaps the two models for ever. *)
(* Proves: A06 *)
Theorem A06_no_consensus (R : rcfType) (x y : R) (t : nat) :
  iter t (fun z : R * R => (z.1 + 1 * (z.2 - z.1), z.2 + 1 * (z.1 - z.2))) (x, y) =
  if odd t then (y, x) else (x, y).
Proof.
elim: t => //= t ->; case: (odd t) => /=; congr (_, _); ring.
Qed.
