(** The rate: the mean squared distance from the optimum falls as 1/t, for every graph, every number of
    agents, every inner product space and every finite probability space. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Contraction Consensus Expectation Mixing.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Theorem3.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType).
Hypothesis I : inner dot.
Notation sq := (sq dot).
Notation nrm := (nrm dot).
Notation F := {ffun J -> V}.
Notation fdot := (@fdot R V dot J).
Notation fsq := (Inner.sq fdot).
Notation fnrm := (Inner.nrm fdot).
Let FI : inner fdot := fdot_inner J I.

(* the graph *)
Variable N : rel J.
Hypothesis N_sym : symmetric N.
Hypothesis agents : (0 < #|J|)%N.
Notation n := (#|J|%:R : R).
Variables (l2 lM : R).
Hypothesis l2_pos : 0 < l2.
Hypothesis low : forall D : F, total D = 0 -> l2 * fsq D <= fdot (lap N D) D.
Hypothesis high : forall D : F, fdot (lap N D) D <= lM * fsq D.
Hypothesis lM_pos : 0 < lM.

(* the losses: mean gradients G v, Assumptions 3 and 4 with the axiom of co-coercivity *)
Variables (mu beta : R) (G : J -> V -> V) (star : V).
Hypothesis mu_pos : 0 < mu.
Hypothesis mu_beta : mu <= beta.
Hypothesis convex : forall v x y, mu * sq (x - y) <= dot (G v x - G v y) (x - y).
Hypothesis smooth : forall v x y, dot (G v x - G v y) (x - y) <= beta * sq (x - y).
Hypothesis cocoercive : forall v x y,
  sq (G v x - G v y) + mu * beta * sq (x - y) <= (mu + beta) * dot (G v x - G v y) (x - y).
Hypothesis optimum : \sum_v G v star = 0.

(* the shifted steps *)
Variables (t0 e0 : R).
Hypothesis t0_kappa : 2%:R * beta <= mu * t0.
Hypothesis t0_graph : lM <= l2 * t0.
Definition s (t : nat) : R := t%:R + t0.
Definition a : R := 2%:R / mu.
Definition alpha t : R := a / s t.
Definition eta t : R := e0 / Num.sqrt (s t).
Hypothesis e0E : e0 = Num.sqrt (1 + t0) / lM.

(* the probability space; past t is what is known before round t+1 *)
Variables (O : finType) (P : O -> R) (A : finType) (past : nat -> O -> A).
Hypothesis P_pos : forall w, 0 <= P w.
Hypothesis P_one : \sum_w P w = 1.
Notation E := (E P).

(* models and noise of T rounds; round t+1 maps x t to x t.+1 *)
Variables (T : nat) (x xi : nat -> O -> F) (x0 : V) (C var : R).
Definition y t w : F := mixing N (eta t.+1) (x t w).
Definition g t w : F := [ffun v => G v (y t w v) + xi t.+1 w v].
Hypothesis start : forall w, x 0 w = [ffun _ => x0].
Hypothesis step : forall t w, (t < T)%N -> x t.+1 w = y t w - alpha t.+1 *: g t w.
Hypothesis known : forall t w w', (t < T)%N -> past t w = past t w' -> x t w = x t w'.
Hypothesis fair : forall t c, (t < T)%N -> \sum_(w | past t w == c) P w *: total (xi t.+1 w) = 0.
Hypothesis noise : forall t, (t < T)%N -> E (fun w => sq (n^-1 *: total (xi t.+1 w))) <= var.
Hypothesis bounded : forall t w v, (t < T)%N -> nrm (g t w v) <= C.

Definition mean (X : F) : V := n^-1 *: total X.
Definition off (X : F) : F := X - [ffun _ => mean X].
Definition b0 : R := (beta - mu) * C * a / (l2 * e0).   (* b0 of AN-8 over sqrt 2 *)
Definition R0 : R := Num.max (t0 * sq (x0 - star)) (a ^+ 2 * (b0 ^+ 2 / 2%:R + var)).

Let n0 : 0 < n. Proof. by rewrite ltr0n. Qed.
Let nN : n != 0. Proof. by rewrite gt_eqF. Qed.

Lemma total_const c : total ([ffun _ => c] : F) = n *: c.
Proof. by rewrite /total (eq_bigr (fun _ => c)) ?sumr_const ?scaler_nat // => v _; rewrite ffunE. Qed.
Lemma totalD (X Y : F) : total (X + Y) = total X + total Y.
Proof. by rewrite /total -big_split; apply: eq_bigr => v _; rewrite ffunE. Qed.
Lemma totalZ c (X : F) : total (c *: X) = c *: total X.
Proof. by rewrite /total scaler_sumr; apply: eq_bigr => v _; rewrite ffunE. Qed.
Lemma totalN (X : F) : total (- X) = - total X.
Proof. by rewrite -scaleN1r totalZ scaleN1r. Qed.
Lemma mean_const c : mean [ffun _ => c] = c.
Proof. by rewrite /mean total_const scalerA mulVf // scale1r. Qed.
Lemma off_total X : total (off X) = 0.
Proof. by rewrite /off totalD totalN total_const /mean scalerA mulfV // scale1r subrr. Qed.
Lemma meanD X Y : mean (X + Y) = mean X + mean Y. Proof. by rewrite /mean totalD scalerDr. Qed.
Lemma meanZ c X : mean (c *: X) = c *: mean X. Proof. by rewrite /mean totalZ !scalerA mulrC. Qed.
Lemma meanN X : mean (- X) = - mean X. Proof. by rewrite -scaleN1r meanZ scaleN1r. Qed.
Lemma offD X Y : off (X + Y) = off X + off Y.
Proof. by apply/ffunP => v; rewrite /off meanD !ffunE opprD addrACA. Qed.
Lemma offZ c X : off (c *: X) = c *: off X.
Proof. by apply/ffunP => v; rewrite /off meanZ !ffunE scalerBr. Qed.

Lemma mean_mixing h (X : F) : mean (mixing N h X) = mean X.
Proof. by rewrite /mean mixing_total. Qed.

Lemma lap_const c : lap N ([ffun _ => c] : F) = 0.
Proof. by apply/ffunP => v; rewrite !ffunE big1 // => u _; rewrite !ffunE subrr. Qed.

Lemma off_mixing h (X : F) : off (mixing N h X) = mixing N h (off X).
Proof.
rewrite /off mean_mixing -[- [ffun _ => mean X]]scaleN1r mixingD mixingZ.
by rewrite {3}/mixing lap_const scaler0 subr0.
Qed.

(** Pythagoras: the part off the mean and the mean. *)
Lemma pythagoras (X : F) c : \sum_v sq (X v - c) = n * sq (mean X - c) + fsq (off X).
Proof.
have e v : sq (X v - c) = sq (mean X - c) + 2%:R * dot (mean X - c) (off X v) + sq (off X v).
  rewrite -(sqD I) !ffunE; congr (Inner.sq _ _).
  by rewrite [RHS]addrC addrA subrK.
rewrite (eq_bigr _ (fun v _ => e v)) !big_split /= sumr_const mulr_natl.
have -> : \sum_v 2%:R * dot (mean X - c) (off X v) = 0.
  rewrite -mulr_sumr -(@dot_sumr _ _ _ _ I _ xpredT) -[\sum_v _]/(total (off X)) off_total.
  by rewrite (dot_sym I) (dot0l I) mulr0.
by rewrite addr0.
Qed.

Lemma off_short (X : F) : fnrm (off X) <= fnrm X.
Proof.
apply: (nrm_le FI); first exact: nrm_ge0; rewrite (nrm_sq FI).
have -> : fsq X = n * sq (mean X - 0) + fsq (off X).
  by rewrite -pythagoras; apply: eq_bigr => v _; rewrite subr0.
by rewrite ler_addr mulr_ge0 ?(ltW n0) ?(sq_ge0 I).
Qed.

(** * Step sizes *)
Lemma beta_pos : 0 < beta. Proof. exact: lt_le_trans mu_pos mu_beta. Qed.
Lemma t0_pos : 0 < t0.
Proof. by rewrite -(pmulr_rgt0 _ mu_pos) (lt_le_trans _ t0_kappa) // mulr_gt0 ?ltr0n // beta_pos. Qed.
Lemma s_pos t : 0 < s t. Proof. by rewrite /s ltr_paddl ?ler0n ?t0_pos. Qed.
Lemma a_pos : 0 < a. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Lemma alpha_pos t : 0 < alpha t. Proof. by rewrite divr_gt0 ?a_pos ?s_pos. Qed.
Lemma e0_pos : 0 < e0.
Proof. by rewrite e0E divr_gt0 // sqrtr_gt0 addr_gt0 ?ltr01 ?t0_pos. Qed.
Lemma eta_pos t : 0 < eta t. Proof. by rewrite divr_gt0 ?e0_pos // sqrtr_gt0 s_pos. Qed.
Lemma eta_lM t : (0 < t)%N -> eta t * lM <= 1.
Proof.
move=> t1; rewrite /eta e0E.
have -> : Num.sqrt (1 + t0) / lM / Num.sqrt (s t) * lM = Num.sqrt (1 + t0) / Num.sqrt (s t).
  by field; rewrite (gt_eqF lM_pos) gt_eqF // sqrtr_gt0 s_pos.
by rewrite ler_pdivr_mulr ?sqrtr_gt0 ?s_pos // mul1r ler_wsqrtr // /s ler_add2r ler1n.
Qed.

Hypothesis l2_le : l2 <= lM.
Lemma eta_l2 t : (0 < t)%N -> eta t * l2 <= 1.
Proof. by move=> t1; apply: le_trans (eta_lM t1); rewrite ler_wpmul2l // ltW // eta_pos. Qed.

Lemma slow t : (0 < t)%N -> (1 - eta t.+1 * l2) * (alpha t / eta t) <=
   (1 - eta t.+1 * l2 / 2%:R) * (alpha t.+1 / eta t.+1).
Proof.
move=> tp; have p u : alpha u / eta u = a / e0 * (Num.sqrt (s u))^-1.
  have r0 : Num.sqrt (s u) != 0 by rewrite gt_eqF // sqrtr_gt0 s_pos.
  have ss : s u = Num.sqrt (s u) ^+ 2 by rewrite sqr_sqrtr // ltW // s_pos.
  by rewrite /alpha /eta {1}ss; field; rewrite r0 gt_eqF // e0_pos.
rewrite !p; set c := a / e0; have c0 : 0 <= c by rewrite divr_ge0 // ltW ?a_pos ?e0_pos.
have S : s t = s t.+1 - 1 by rewrite /s -addn1 natrD addrAC addrK.
have key : (1 - eta t.+1 * l2) * (Num.sqrt (s t.+1 - 1))^-1 <=
   (1 - eta t.+1 * l2 / 2%:R) * (Num.sqrt (s t.+1))^-1.
  apply: shifted_steps_are_slow; last 2 first.
  - exact: eta_l2.
  - have s1 : 1 + t0 <= s t.+1 by rewrite /s ler_add2r ler1n.
    have q0 : 0 < 1 + t0 by rewrite addr_gt0 ?ltr01 ?t0_pos.
    have -> : eta t.+1 * l2 * s t.+1 = Num.sqrt (1 + t0) * Num.sqrt (s t.+1) * (l2 / lM).
      have ss : s t.+1 = Num.sqrt (s t.+1) ^+ 2 by rewrite sqr_sqrtr // ltW // s_pos.
      rewrite /eta e0E {2}ss; field; rewrite (gt_eqF lM_pos) gt_eqF // sqrtr_gt0 s_pos //.
    apply: (@le_trans _ _ ((1 + t0) * (l2 / lM))); last first.
      rewrite ler_wpmul2r ?divr_ge0 ?(ltW l2_pos) ?(ltW lM_pos) // -{1}[1 + t0]sqr_sqrtr ?(ltW q0) //.
      by rewrite expr2 ler_wpmul2l ?sqrtr_ge0 ?ler_wsqrtr.
    rewrite mulrA ler_pdivl_mulr // mul1r mulrDl mul1r mulrC.
    by apply: le_trans t0_graph _; rewrite [X in _ <= X]addrC ler_addl ltW.
  - by rewrite /s ltr_spaddr ?t0_pos // ler1n.
rewrite S mulrCA [X in _ <= X]mulrCA; exact: ler_wpmul2l.
Qed.

(** * Consensus *)
Let rn : R := Num.sqrt n.
Let rn0 : 0 < rn. Proof. by rewrite sqrtr_gt0. Qed.
Let rnn : rn ^+ 2 = n. Proof. by rewrite sqr_sqrtr // ltW. Qed.
Let eta1 t := if t is 0 then eta 1 else eta t.

Lemma C_pos : (0 < T)%N -> 0 <= C.
Proof.
move=> T0; case/card_gt0P: agents => v _; case: (pickP (fun _ : O => true)) => [w _|none].
  exact: le_trans (nrm_ge0 dot _) (bounded w v T0).
by have := P_one; rewrite big_pred0 // => /eqP; rewrite eq_sym oner_eq0.
Qed.

Lemma g_short t w : (t < T)%N -> fnrm (g t w) <= rn * C.
Proof.
move=> tT; have C0 := C_pos (leq_ltn_trans (leq0n t) tT).
apply: (nrm_le FI); first by rewrite mulr_ge0 ?(ltW rn0).
rewrite exprMn rnn mulr_natl -sumr_const; apply: ler_sum => v _.
exact: (sq_le I (bounded w v tT)).
Qed.

Lemma off_start w : off (x 0 w) = 0.
Proof. by apply/ffunP => v; rewrite /off start mean_const !ffunE subrr. Qed.

Lemma off_step t w : (t < T)%N ->
  off (x t.+1 w) = mixing N (eta t.+1) (off (x t w)) - alpha t.+1 *: off (g t w).
Proof. by move=> tT; rewrite step // offD -scaleN1r !offZ off_mixing scaleN1r. Qed.

Lemma contracts t (D : F) : total D = 0 -> fnrm (mixing N (eta t.+1) D) <= (1 - eta t.+1 * l2) * fnrm D.
Proof.
move=> D0; have h0 : 0 <= eta t.+1 by rewrite ltW // eta_pos.
have le : eta t.+1 * (l2 + lM) <= 2%:R.
  by rewrite mulrDr -[2%:R]/(1 + 1) ler_add ?eta_l2 ?eta_lM.
by rewrite -(small_mixing_steps l2_le h0 le) (mixing_contracts I N_sym low high l2_le h0).
Qed.

(** Consensus for the models of a run: its contraction is proved, not supposed. *)
(* Proves: AN-7 *)
Theorem near_mean t w : (t < T)%N -> fnrm (off (x t.+1 w)) <= 2%:R * (rn * C) / l2 * (alpha t.+1 / eta t.+1).
Proof.
move=> tT; have C0 := C_pos (leq_ltn_trans (leq0n t) tT).
have e1 u : eta1 u.+1 = eta u.+1 by [].
pose D u := if (u <= T)%N then fnrm (off (x u w)) else 0.
have -> : fnrm (off (x t.+1 w)) = D t.+1 by rewrite /D tT.
apply: (@consensus_abstract _ l2 (rn * C) alpha eta1 D) => //.
- by rewrite mulr_ge0 ?(ltW rn0).
- by move=> [|u]; rewrite ?alpha_pos ?eta_pos.
- by move=> [|u]; apply: eta_l2.
- by rewrite /D /= off_start (nrm0 FI).
- move=> u; rewrite /D; have [uT|_] := ltnP u T; last first.
    apply: addr_ge0; last by apply: mulr_ge0; [exact: ltW (alpha_pos _)|rewrite mulr_ge0 ?(ltW rn0)].
    apply: mulr_ge0; last by case: ifP => _; rewrite ?nrm_ge0.
    by rewrite subr_ge0; apply: eta_l2.
  rewrite (ltnW uT) off_step //; apply: le_trans (triangleB FI _ _) _; apply: ler_add.
    exact/contracts/off_total.
  rewrite (nrmZ FI) ger0_norm ?(ltW (alpha_pos _)) // ler_wpmul2l ?(ltW (alpha_pos _)) //.
  exact: le_trans (off_short _) (g_short w uT).
- by case=> // u _; rewrite !e1; apply: slow.
Qed.

Lemma ratio t : alpha t / eta t = a / e0 / Num.sqrt (s t).
Proof.
have r0 : Num.sqrt (s t) != 0 by rewrite gt_eqF // sqrtr_gt0 s_pos.
have ss : s t = Num.sqrt (s t) ^+ 2 by rewrite sqr_sqrtr // ltW // s_pos.
by rewrite /alpha /eta {1}ss; field; rewrite r0 gt_eqF // e0_pos.
Qed.

Lemma ratio_pos t : 0 <= alpha t / eta t.
Proof. by rewrite divr_ge0 // ltW ?alpha_pos ?eta_pos. Qed.

Lemma near_mean_y t w : (t < T)%N ->
  fnrm (off (y t w)) <= 2%:R * (rn * C) / l2 * (alpha t.+1 / eta t.+1).
Proof.
move=> tT; have C0 := C_pos (leq_ltn_trans (leq0n t) tT).
have K0 : 0 <= 2%:R * (rn * C) / l2.
  by rewrite divr_ge0 ?(ltW l2_pos) // !mulr_ge0 ?ler0n ?(ltW rn0).
rewrite /y off_mixing; apply: le_trans (contracts t (off_total _)) _.
case: t tT => [|t] tT; first by rewrite off_start (nrm0 FI) mulr0 mulr_ge0 ?ratio_pos.
have c0 : 0 <= 1 - eta t.+2 * l2 by rewrite subr_ge0 eta_l2.
apply: le_trans (ler_wpmul2l c0 (near_mean w (ltnW tT))) _.
rewrite mulrCA; apply: ler_wpmul2l => //.
apply: le_trans (slow (ltn0Sn t)) _; rewrite ler_pimull ?ratio_pos //.
by rewrite ger_addl oppr_le0 divr_ge0 ?ler0n // mulr_ge0 ?(ltW l2_pos) // ltW // eta_pos.
Qed.

(** * The mean *)
Notation m t w := (nrm (mean (x t w) - star)).
Definition bias t w : V := n^-1 *: \sum_v (G v (y t w v) - G v (mean (x t w))).
Definition u t w : V :=
  (mean (x t w) - alpha t.+1 *: (n^-1 *: \sum_v G v (mean (x t w))) - star) - alpha t.+1 *: bias t w.

Lemma mean_step t w : (t < T)%N ->
  mean (x t.+1 w) - star = u t w - alpha t.+1 *: mean (xi t.+1 w).
Proof.
move=> tT; rewrite step // meanD meanN meanZ mean_mixing /u /bias.
have -> : mean (g t w) = n^-1 *: (\sum_v G v (mean (x t w))) +
    n^-1 *: (\sum_v (G v (y t w v) - G v (mean (x t w)))) + mean (xi t.+1 w).
  rewrite /mean -!scalerDr -big_split /=; congr (_ *: _).
  rewrite (eq_bigr (fun v => G v (y t w v))) => [|v _]; last by rewrite addrC subrK.
  by rewrite /total -big_split /=; apply: eq_bigr => v _; rewrite ffunE.
have alg (z b c d e : V) : z - (b + c + d) - e = z - b - e - c - d.
  by rewrite !opprD !addrA [LHS]addrAC; congr (_ - _); rewrite addrAC.
by rewrite !scalerDr alg.
Qed.

Lemma centred v p q : nrm (G v p - G v q - ((beta + mu) / 2%:R) *: (p - q)) <=
  (beta - mu) / 2%:R * nrm (p - q).
Proof.
have r0 : 0 <= (beta - mu) / 2%:R by rewrite divr_ge0 ?subr_ge0 ?ler0n.
apply: (nrm_le I); first by rewrite mulr_ge0 ?nrm_ge0.
rewrite exprMn (nrm_sq I) (sqB I (G v p - G v q)) (sqZ I) (dotZr I).
have := cocoercive v p q; set S := sq (p - q); set d := dot _ _; set gg := sq (G v p - _) => h.
apply: (@le_by _ ((mu + beta) * d - (gg + mu * beta * S))); first by rewrite subr_ge0.
by field.
Qed.

Lemma real_inner : inner (fun p q : R^o => p * q : R).
Proof.
split=> [p q|p q r|c p q|p]; rewrite ?mulrDl //; first by rewrite mulrC.
  by rewrite mulrA.
by rewrite -expr2 sqr_ge0.
Qed.

Lemma bias_small t w : (t < T)%N -> nrm (bias t w) <= b0 / Num.sqrt (s t.+1).
Proof.
move=> tT; set z := mean (x t w); pose Y := off (y t w).
have mz : mean (y t w) = z by rewrite /y mean_mixing.
have Yv v : Y v = y t w v - z by rewrite /Y /off !ffunE mz.
have -> : bias t w = n^-1 *: \sum_v (G v (y t w v) - G v z - ((beta + mu) / 2%:R) *: (y t w v - z)).
  have z0 : \sum_v (y t w v - z) = 0.
    by rewrite (eq_bigr (fun v => Y v)) => [|v _]; [apply: off_total|rewrite Yv].
  by rewrite [in RHS]sumrB -[in RHS]scaler_sumr z0 scaler0 subr0.
rewrite (nrmZ I) ger0_norm ?invr_ge0 ?(ltW n0) //.
set rad := (beta - mu) / 2%:R; have rad0 : 0 <= rad by rewrite divr_ge0 ?subr_ge0 ?ler0n.
have h1 : nrm (\sum_v (G v (y t w v) - G v z - ((beta + mu) / 2%:R) *: (y t w v - z))) <=
    rad * \sum_v nrm (Y v).
  apply: le_trans (triangle_sum I _ _ _) _; rewrite mulr_sumr; apply: ler_sum => v _.
  by rewrite Yv; apply: centred.
have h2 : \sum_v nrm (Y v) <= rn * fnrm Y.
  have p0 : 0 <= rn * fnrm Y by rewrite mulr_ge0 ?(ltW rn0) ?nrm_ge0.
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?sumr_ge0 // => [|v _]; last exact: nrm_ge0.
  rewrite exprMn rnn (nrm_sq FI).
  have := sq_sum_le real_inner xpredT (fun v => nrm (Y v)); rewrite /Inner.sq -expr2 => h.
  apply: le_trans h _; rewrite ler_wpmul2l ?(ltW n0) //; apply: ler_sum => v _.
  by rewrite -expr2 (nrm_sq I).
have h3 := near_mean_y w tT; rewrite -/Y ratio in h3.
have q0 : 0 < Num.sqrt (s t.+1) by rewrite sqrtr_gt0 s_pos.
apply: (@le_trans _ _ (n^-1 * (rad * (rn * (2%:R * (rn * C) / l2 * (a / e0 / Num.sqrt (s t.+1))))))).
  rewrite ler_wpmul2l ?invr_ge0 ?(ltW n0) //; apply: le_trans h1 _; rewrite ler_wpmul2l //.
  by apply: le_trans h2 _; rewrite ler_wpmul2l ?(ltW rn0).
apply: (le_by (lexx 0)); rewrite /b0 /rad -rnn; field.
by rewrite !gt_eqF // e0_pos.
Qed.

Lemma two_le_s t : 2%:R <= s t.
Proof.
have h : 2%:R <= t0.
  rewrite -(ler_pmul2l mu_pos); apply: le_trans t0_kappa; rewrite mulrC ler_wpmul2l ?ler0n //.
by apply: le_trans h _; rewrite /s ler_addr ler0n.
Qed.

Lemma factorE t : factor mu beta (alpha t) = 1 - 2%:R / s t.
Proof.
have am : alpha t * mu = 2%:R / s t by rewrite /alpha /a; field; rewrite !gt_eqF // s_pos.
have ab : alpha t * beta <= 2%:R - alpha t * mu.
  rewrite ler_subr_addr -mulrDr /alpha /a.
  have -> : 2%:R / mu / s t * (beta + mu) = 2%:R * ((beta + mu) / (mu * s t)).
    by field; rewrite !gt_eqF // s_pos.
  rewrite ger_pmulr ?ltr0n // ler_pdivr_mulr ?mulr_gt0 ?s_pos // mul1r.
  apply: (@le_trans _ _ (2%:R * beta)); first by rewrite mulr_natl mulr2n ler_add2l.
  by apply: le_trans t0_kappa _; rewrite ler_wpmul2l ?(ltW mu_pos) // /s ler_addr ler0n.
have p : 0 <= 1 - alpha t * mu.
  by rewrite subr_ge0 am ler_pdivr_mulr ?s_pos // mul1r two_le_s.
rewrite /factor (ger0_norm p) -am; apply/max_idPl.
rewrite ler_norml; apply/andP; split.
  rewrite -subr_ge0; apply: le_trans (_ : 0 <= 2%:R - alpha t * mu - alpha t * beta) _.
    by rewrite subr_ge0.
  by apply: (le_by (lexx 0)); ring.
by rewrite ler_add2l ler_opp2 ler_wpmul2l // ltW // alpha_pos.
Qed.

Lemma u_small t w : (t < T)%N ->
  nrm (u t w) <= (1 - 2%:R / s t.+1) * m t w + alpha t.+1 * (b0 / Num.sqrt (s t.+1)).
Proof.
move=> tT; rewrite /u; apply: le_trans (triangleB I _ _) _; apply: ler_add; last first.
  by rewrite (nrmZ I) ger0_norm ?(ltW (alpha_pos _)) // ler_wpmul2l ?(ltW (alpha_pos _)) // bias_small.
set z := mean (x t w).
have -> : z - alpha t.+1 *: (n^-1 *: \sum_v G v z) - star =
    n^-1 *: \sum_v ((z - star) - alpha t.+1 *: (G v z - G v star)).
  have e1 : \sum_(v : J) (z - star) = n *: (z - star) by rewrite sumr_const scaler_nat.
  have e2 : \sum_v (G v z - G v star) = \sum_v G v z by rewrite sumrB optimum subr0.
  rewrite [in RHS]sumrB e1 -[in RHS]scaler_sumr e2 [in RHS]scalerBr [in RHS]scalerA mulVf // scale1r.
  by rewrite [LHS]addrAC !scalerA [n^-1 * _]mulrC.
rewrite (nrmZ I) ger0_norm ?invr_ge0 ?(ltW n0) // ler_pdivr_mull //.
apply: le_trans (triangle_sum I _ _ _) _.
rewrite [X in _ <= X]mulr_natl -[X in _ <= X]sumr_const; apply: ler_sum => v _; rewrite -factorE.
by apply: contraction_sharp => //; rewrite ltW // alpha_pos.
Qed.

Lemma u_square t w : (t < T)%N -> sq (u t w) <=
  (1 - 2%:R / s t.+1) * sq (mean (x t w) - star) + a ^+ 2 * (b0 ^+ 2 / 2%:R) / s t.+1 ^+ 2.
Proof.
move=> tT; have := sq_le I (u_small w tT) => h; apply: le_trans h _.
rewrite -(nrm_sq I (mean (x t w) - star)); set M := m t w; set r := Num.sqrt (s t.+1).
have r0 : 0 < r by rewrite sqrtr_gt0 s_pos.
have ss : s t.+1 = r ^+ 2 by rewrite sqr_sqrtr // ltW // s_pos.
have q0 : 0 <= 1 - 2%:R / s t.+1.
  by rewrite subr_ge0 ler_pdivr_mulr ?s_pos // mul1r two_le_s.
rewrite /alpha ss in q0 *.
apply: (@le_by _ ((1 - 2%:R / r ^+ 2) * (2%:R * (M / r - a * b0 / (2%:R * r ^+ 2)) ^+ 2))).
  by rewrite mulr_ge0 // mulr_ge0 ?ler0n ?sqr_ge0.
by field; rewrite gt_eqF.
Qed.

Definition T3 : R := a ^+ 2 * (b0 ^+ 2 / 2%:R + var).

Lemma expected_step t : (t < T)%N -> E (fun w => sq (mean (x t.+1 w) - star)) <=
  (1 - 2%:R / s t.+1) * E (fun w => sq (mean (x t w) - star)) + T3 / s t.+1 ^+ 2.
Proof.
move=> tT; rewrite (@E_eq _ _ P _ ( fun w => sq (u t w - alpha t.+1 *: mean (xi t.+1 w)))); last first.
  by move=> w; rewrite mean_step.
rewrite (@noise_adds _ _ P _ _ I _ (past t) (fun w => alpha t.+1 *: mean (xi t.+1 w)) (u t)); last 2 first.
- by move=> w w' e; rewrite /u /bias /y (known tT e).
- move=> c; rewrite (eq_bigr (fun w => (alpha t.+1 / n) *: (P w *: total (xi t.+1 w)))) => [|w _].
    by rewrite -scaler_sumr fair // scaler0.
  by rewrite /mean !scalerA -[P w * _ / _]mulrA [P w * _]mulrC.
have hu : E (fun w => sq (u t w)) <=
    (1 - 2%:R / s t.+1) * E (fun w => sq (mean (x t w) - star)) + a ^+ 2 * (b0 ^+ 2 / 2%:R) / s t.+1 ^+ 2.
  apply: le_trans (E_le P_pos (fun w => u_square w tT)) _.
  by rewrite E_add (E_const P_one) E_scale.
have hn : E (fun w => sq (alpha t.+1 *: mean (xi t.+1 w))) <= a ^+ 2 * var / s t.+1 ^+ 2.
  rewrite (@E_eq _ _ P _ ( fun w => alpha t.+1 ^+ 2 * sq (mean (xi t.+1 w)))) => [|w]; last by rewrite (sqZ I).
  rewrite E_scale; apply: le_trans (ler_wpmul2l (sqr_ge0 _) (noise tT)) _.
  by apply: (le_by (lexx 0)); rewrite /alpha; field; rewrite gt_eqF // s_pos.
apply: le_trans (ler_add hu hn) _; rewrite -addrA ler_add2l.
by apply: (le_by (lexx 0)); rewrite /T3; field; rewrite gt_eqF // s_pos.
Qed.

Lemma expected_mean t : (t <= T)%N -> E (fun w => sq (mean (x t w) - star)) <= R0 / s t.
Proof.
elim: t => [_|t IH tT].
  rewrite ler_pdivl_mulr ?s_pos // mulrC (@E_eq _ _ P _ ( fun _ => sq (x0 - star))) => [|w].
    by rewrite (E_const P_one) /R0 /s add0r le_maxr lexx.
  by rewrite start mean_const.
apply: le_trans (expected_step tT) _.
have q0 : 0 <= 1 - 2%:R / s t.+1 by rewrite subr_ge0 ler_pdivr_mulr ?s_pos // mul1r two_le_s.
have S : s t = s t.+1 - 1 by rewrite /s -addn1 natrD addrAC addrK.
have TR : T3 <= R0 by rewrite /R0 le_maxr lexx orbT.
have RE : 0 <= R0 by rewrite /R0 le_maxr mulr_ge0 ?(sq_ge0 I) // ltW // t0_pos.
apply: le_trans (ler_add (ler_wpmul2l q0 (IH (ltnW tT))) (lexx _)) _.
apply: (@le_trans _ _ ((1 - 2%:R / s t.+1) * (R0 / s t) + R0 / s t.+1 ^+ 2)).
  by rewrite ler_add2l ler_wpmul2r // invr_ge0 exprn_ge0 // ltW // s_pos.
have p0 := s_pos t; rewrite S in p0 *; have p1 := s_pos t.+1.
apply: (@le_by _ (R0 / (s t.+1 ^+ 2 * (s t.+1 - 1)))).
  by rewrite divr_ge0 // mulr_ge0 ?exprn_ge0 // ltW.
by field; rewrite !gt_eqF.
Qed.

(** The corrected Theorem 3. *)
(* Proves: AN-8 *)
Theorem rate t : (t <= T)%N -> n^-1 * E (fun w => \sum_v sq (x t w v - star)) <=
  (R0 + 4%:R * C ^+ 2 * a ^+ 2 / (l2 ^+ 2 * e0 ^+ 2)) / s t.
Proof.
move=> tT; rewrite (@E_eq _ _ P _ ( fun w => n * sq (mean (x t w) - star) + fsq (off (x t w)))); last first.
  by move=> w; apply: pythagoras.
rewrite E_add E_scale mulrDr mulKf // mulrDl; apply: ler_add; first exact: expected_mean.
rewrite ler_pdivr_mull //; set B := _ / (l2 ^+ 2 * e0 ^+ 2).
have B0 : 0 <= n * (B / s t).
  have l20 : 0 <= l2 := ltW l2_pos; have a0 : 0 <= a := ltW a_pos; have e00 : 0 <= e0 := ltW e0_pos.
  apply: mulr_ge0; first exact: ler0n.
  apply: divr_ge0; last exact: ltW (s_pos t).
  exact: divr_ge0 (mulr_ge0 (mulr_ge0 (ler0n _ 4) (sqr_ge0 C)) (sqr_ge0 a)) (mulr_ge0 (sqr_ge0 l2) (sqr_ge0 e0)).
rewrite -[X in _ <= X](E_const P_one); apply: (E_le P_pos) => w.
case: t tT B0 => [|t] tT B0; first by rewrite off_start /Inner.sq (dot0l FI).
have := sq_le FI (near_mean w tT); rewrite ratio => h; apply: le_trans h _.
apply: (le_by (lexx 0)); rewrite /B -rnn.
have ss : s t.+1 = Num.sqrt (s t.+1) ^+ 2 by rewrite sqr_sqrtr // ltW // s_pos.
rewrite [s t.+1 in X in X - _]ss; field.
by rewrite !gt_eqF // ?e0_pos // sqrtr_gt0 s_pos.
Qed.
End Theorem3.

(** Where the rate starts: a loss that is strongly convex, nowhere negative and at most F0 at the origin
    has its minimiser within sqrt (2 F0 / mu) of the origin. *)
(* Proves: AN-8 *)
Theorem optimum_is_near (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (I : inner dot)
    (f : V -> R) (mu F0 : R) (star x0 : V) : 0 < mu -> 0 <= f star -> f 0 <= F0 ->
  f star + mu / 2%:R * sq dot (0 - star) <= f 0 ->
  sq dot (x0 - star) <= (nrm dot x0 + Num.sqrt (2%:R * F0 / mu)) ^+ 2.
Proof.
move=> mu0 f0 fF conv; have e : sq dot (0 - star) = sq dot star by rewrite sub0r (sqN I).
rewrite e in conv; have h : sq dot star <= 2%:R * F0 / mu.
  rewrite ler_pdivl_mulr //.
  apply: (@le_by _ (2%:R * ((F0 - f 0) + (f 0 - (f star + mu / 2%:R * sq dot star)) + f star))).
    apply: mulr_ge0; first exact: ler0n.
    by apply: addr_ge0 => //; apply: addr_ge0; rewrite subr_ge0.
  by field.
apply: (sq_le I); apply: le_trans (triangleB I _ _) _; rewrite ler_add2l /nrm.
exact: ler_wsqrtr.
Qed.

(** AN-7 for any gradients that are reported, honest or not: they need only be bounded. *)
(* Proves: AN-7 *)
Theorem reported_gradients_near_mean (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType)
    (I : inner dot) (N : rel J) (l2 lM c t0 e0 C : R) (x g : nat -> {ffun J -> V}) (x0 : V) :
  symmetric N -> (0 < #|J|)%N -> 0 < l2 -> l2 <= lM ->
  (forall D : {ffun J -> V}, total D = 0 -> l2 * sq (@fdot R V dot J) D <= fdot dot (lap N D) D) ->
  (forall D : {ffun J -> V}, fdot dot (lap N D) D <= lM * sq (@fdot R V dot J) D) ->
  0 < c -> 2%:R <= t0 -> lM <= l2 * t0 -> e0 = Num.sqrt (1 + t0) / lM ->
  x 0%N = [ffun _ => x0] ->
  (forall t, x t.+1 = mixing N (e0 / Num.sqrt (t.+1%:R + t0)) (x t) - (c / (t.+1%:R + t0)) *: g t) ->
  (forall t v, nrm dot (g t v) <= C) ->
  forall t, nrm (@fdot R V dot J) (x t.+1 - [ffun _ => #|J|%:R^-1 *: total (x t.+1)]) <=
    2%:R * (Num.sqrt #|J|%:R * C) / l2 * (c / (t.+1%:R + t0) / (e0 / Num.sqrt (t.+1%:R + t0))).
Proof.
move=> N_sym agents l20 l2M low high c0 t02 t0l e0E start step bounded t.
pose mu := 2%:R / c; have mu0 : 0 < mu by rewrite divr_gt0 ?ltr0n.
have aE : a mu = c by rewrite /a /mu; field; rewrite gt_eqF.
have lM0 : 0 < lM := lt_le_trans l20 l2M.
have kappa : 2%:R * mu <= mu * t0 by rewrite mulrC ler_wpmul2l // ltW.
have one : \sum_(w : unit) 1 = 1 :> R by rewrite sumr_const card_unit.
have := @near_mean R V dot J I N N_sym agents l2 lM l20 low high lM0 mu mu (fun _ _ => 0) mu0 (lexx _)
  t0 e0 kappa t0l e0E unit_finType (fun _ => 1) one t.+1 (fun u _ => x u) (fun u _ => g u.-1) x0 C.
rewrite /alpha aE; apply=> //.
  move=> u w _; rewrite step; congr (_ - _ *: _).
  by apply/ffunP => v; rewrite ffunE add0r.
by move=> u w v _; rewrite ffunE add0r.
Qed.
