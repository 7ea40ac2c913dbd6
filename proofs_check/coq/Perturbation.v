(** The perturbation lemma, corrected. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Contraction.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Perturbation.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).
Notation sq := (sq dot).

Variables (mu beta : R).
Hypothesis mu_pos : 0 < mu.
Hypothesis mu_beta : mu <= beta.

(* Step s maps X(s) to X(s+1): mixing W, then a gradient step of size alpha. *)
Variables (W : nat -> V -> V) (G : nat -> V -> V) (alpha : nat -> R).
(* eta <= 2/l_max: mixing does not expand. *)
Hypothesis W_short : forall s x y, nrm (W s x - W s y) <= nrm (x - y).
(* Strong convexity, smoothness and co-coercivity, summed over the rows. *)
Hypothesis convex : forall s x y, mu * sq (x - y) <= dot (G s x - G s y) (x - y).
Hypothesis smooth : forall s x y, dot (G s x - G s y) (x - y) <= beta * sq (x - y).
Hypothesis cocoercive : forall s x y,
  sq (G s x - G s y) + mu * beta * sq (x - y) <= (mu + beta) * dot (G s x - G s y) (x - y).
Hypothesis alpha_pos : forall s, 0 <= alpha s.

Definition descend (s : nat) (y : V) : V := y - alpha s *: G s y.
Notation q s := (factor mu beta (alpha s)).

Lemma descend_contracts s x y : nrm (descend s x - descend s y) <= q s * nrm (x - y).
Proof.
have -> : descend s x - descend s y = (x - y) - alpha s *: (G s x - G s y).
  by rewrite /descend scalerBr !opprB addrACA [RHS]addrACA [- _ - y]addrC.
exact: contraction_sharp.
Qed.

Variables (X Xhat Z : nat -> V).
Hypothesis same_start : Xhat 1 = X 1.
(* Clause: AN-2. The two evolutions: without and with a perturbation Z. *)
Hypothesis X_step : forall s, X s.+1 = descend s (W s (X s)).
Hypothesis Xhat_step : forall s, Xhat s.+1 = descend s (W s (Xhat s) + Z s).

Lemma one_step s : nrm (Xhat s.+1 - X s.+1) <= q s * (nrm (Xhat s - X s) + nrm (Z s)).
Proof.
rewrite X_step Xhat_step; apply: le_trans (descend_contracts s _ _) _.
rewrite ler_wpmul2l //; first by rewrite /factor le_maxr normr_ge0.
rewrite addrAC; apply: le_trans (triangle I _ _) _.
by rewrite ler_add2r W_short.
Qed.

Lemma factor_ge0 s : 0 <= q s.
Proof. by rewrite /factor le_maxr normr_ge0. Qed.

(** |Xhat(t+1) - X(t+1)| <= sum over tau = 1..t of (prod over s = tau..t of q_s) |Z(tau)|. *)
(* Proves: AN-2, A03 *)
Theorem perturbation t : nrm (Xhat t.+1 - X t.+1) <=
  \sum_(1 <= tau < t.+1) (\prod_(tau <= s < t.+1) q s) * nrm (Z tau).
Proof.
elim: t => [|t IH]; first by rewrite same_start subrr nrm0 // big_geq.
apply: le_trans (one_step t.+1) _; rewrite big_nat_recr //= big_nat1 mulrDr ler_add2r.
rewrite (eq_big_nat _ _ (F2 := fun tau =>
  q t.+1 * ((\prod_(tau <= s < t.+1) q s) * nrm (Z tau)))) => [|tau /andP[_ h]].
  by rewrite -mulr_sumr ler_wpmul2l ?factor_ge0.
by rewrite big_nat_recr ?(ltnW h) //= [RHS]mulrA [q t.+1 * _]mulrC.
Qed.

(** With all factors at most gamma < 1, a persistent perturbation z leaves z gamma / (1 - gamma),
    which does not fall with t. *)
(* Proves: AN-2 *)
Theorem persistent_perturbation gamma z t : 0 <= gamma -> gamma < 1 ->
  (forall s, q s <= gamma) -> (forall s, nrm (Z s) <= z) ->
  nrm (Xhat t.+1 - X t.+1) <= z * gamma / (1 - gamma).
Proof.
move=> g0 g1 qg Zz; have z0 : 0 <= z := le_trans (nrm_ge0 dot (Z 0%N)) (Zz 0%N).
have d0 : 0 < 1 - gamma by rewrite subr_gt0.
have b0 : 0 <= z * gamma / (1 - gamma) by rewrite divr_ge0 ?mulr_ge0 // ltW.
elim: t => [|t IH]; first by rewrite same_start subrr nrm0.
apply: le_trans (one_step t.+1) _.
apply: (@le_trans _ _ (gamma * (z * gamma / (1 - gamma) + z))).
  by rewrite ler_pmul ?factor_ge0 ?addr_ge0 ?nrm_ge0 // ler_add.
by apply: (le_by (lexx 0)); field; rewrite gt_eqF.
Qed.

End Perturbation.

(** * A05: with decreasing steps there is no uniform factor *)
Section Polynomial.

Variable R : archiFieldType.

Lemma product_lower (c : R) t : 0 <= c -> c <= 1 ->
  t.+1%:R^-1 <= \prod_(1 <= s < t.+1) (1 - c / s.+1%:R).
Proof.
move=> c0 c1; elim: t => [|t IH]; first by rewrite big_geq // invr1.
rewrite big_nat_recr //=.
have n0 (m : nat) : (m.+1%:R : R) != 0 by rewrite pnatr_eq0.
have e1 : t.+2%:R^-1 = t.+1%:R^-1 * (1 - 1 / t.+2%:R) :> R.
  have e : (t.+2%:R : R) = 1 + t.+1%:R by rewrite -[t.+2]add1n natrD.
  have s1 : 1 + t%:R = t.+1%:R :> R by rewrite -add1n natrD.
  by rewrite e; field; rewrite s1 -e !n0.
rewrite [X in X <= _]e1 {e1}.
rewrite ler_pmul ?invr_ge0 ?ler0n //.
  by rewrite subr_ge0 mul1r invf_le1 ?ltr0n // ler1n.
by rewrite ler_add2l ler_opp2 ler_wpmul2r // invr_ge0 ler0n.
Qed.

Lemma bernoulli (h : R) m : 0 <= h -> 1 + m%:R * h <= (1 + h) ^+ m.
Proof.
move=> h0; elim: m => [|m IH]; first by rewrite mul0r addr0.
rewrite exprS; apply: le_trans (ler_wpmul2l (addr_ge0 ler01 h0) IH).
rewrite -[m.+1]add1n natrD; apply: (@le_by _ (m%:R * h ^+ 2)); last by ring.
by rewrite mulr_ge0 ?ler0n ?exprn_ge0.
Qed.

(** For steps a/(s+1) with 0 < a mu <= 1 the product of the factors 1 - a mu/(s+1) is in the end
    larger than C gamma^t, whatever gamma < 1 and C are. *)
(* Proves: A05 *)
Theorem A05_no_uniform_factor (c gamma C : R) : 0 <= c -> c <= 1 -> 0 < gamma -> gamma < 1 ->
  0 <= C -> exists t, C * gamma ^+ t < \prod_(1 <= s < t.+1) (1 - c / s.+1%:R).
Proof.
move=> c0 c1 g0 g1 C0; pose h := gamma^-1 - 1.
have h0 : 0 < h by rewrite subr_gt0 invf_gt1.
have gE : gamma = (1 + h)^-1 by rewrite /h addrC subrK invrK.
have hh : 0 < h ^+ 2 by rewrite exprn_gt0.
pose m := (Num.bound (3%:R * C / h ^+ 2)).+1.
have mb : 3%:R * C < m%:R * h ^+ 2.
  rewrite -ltr_pdivr_mulr //; apply: lt_le_trans (archi_boundP _) _.
    by rewrite divr_ge0 ?mulr_ge0 ?ler0n // ltW.
  by rewrite ler_nat leqnSn.
exists (2 * m)%N; apply: lt_le_trans (product_lower _ c0 c1).
have p0 : 0 < (1 + h) ^+ (2 * m) by apply: exprn_gt0; apply: addr_gt0 => //; apply: ltr01.
rewrite gE exprVn ltr_pdivr_mulr //.
rewrite mulrC ltr_pdivl_mulr ?ltr0n //.
have b1 : m%:R * h <= (1 + h) ^+ m.
  by apply: le_trans (bernoulli m (ltW h0)); rewrite ler_addr ler01.
have b : (m%:R * h) ^+ 2 <= (1 + h) ^+ (2 * m).
  rewrite mulnC exprM ler_pexpn2r // nnegrE; first by rewrite mulr_ge0 ?ler0n ?(ltW h0).
  by apply: le_trans b1; rewrite mulr_ge0 ?ler0n ?(ltW h0).
apply: lt_le_trans b; rewrite exprMn expr2 -mulrA.
have m1 : 1 <= m%:R :> R by rewrite ler1n.
apply: (@le_lt_trans _ _ (m%:R * (3%:R * C))); last by rewrite ltr_pmul2l // (lt_le_trans ltr01).
rewrite -[(2 * m).+1]add1n natrD natrM.
apply: (@le_by _ (C * (m%:R - 1))); last by ring.
by rewrite mulr_ge0 ?subr_ge0.
Qed.

End Polynomial.
