(** Consensus from bounded gradients: what locally consistent reports force, honest or not. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Consensus.

Variable R : rcfType.
Variables (l2 c : R) (alpha eta x : nat -> R).
Hypothesis l2_pos : 0 < l2.
Hypothesis c_pos : 0 <= c.
Hypothesis steps_pos : forall t, 0 < alpha t /\ 0 < eta t.
Hypothesis eta_small : forall t, eta t * l2 <= 1.
(* x t stands for |X_perp(t)|, c for sqrt(n) C. *)
Hypothesis start : x 0%N = 0.
Hypothesis recursion : forall t, x t.+1 <= (1 - eta t.+1 * l2) * x t + alpha t.+1 * c.

(** For any step sizes whose quotient does not fall faster than mixing contracts. *)
(* Proves: AN-7, A15 *)
Theorem consensus_abstract :
  (forall t, (0 < t)%N -> (1 - eta t.+1 * l2) * (alpha t / eta t) <=
                          (1 - eta t.+1 * l2 / 2%:R) * (alpha t.+1 / eta t.+1)) ->
  forall t, x t.+1 <= 2%:R * c / l2 * (alpha t.+1 / eta t.+1).
Proof.
move=> slow; elim=> [|t IH]; last first.
  have [a0 e0] := steps_pos t.+2.
  apply: le_trans (recursion t.+1) _.
  have k0 : 0 <= 1 - eta t.+2 * l2 by rewrite subr_ge0.
  have h1 := ler_wpmul2l k0 IH.
  have d0 : 0 <= 2%:R * c / l2 by rewrite divr_ge0 ?mulr_ge0 ?ler0n // ltW.
  have h2 := ler_wpmul2l d0 (slow t.+1 isT).
  apply: (@le_trans _ _ (2%:R * c / l2 * ((1 - eta t.+2 * l2 / 2%:R) * (alpha t.+2 / eta t.+2)) +
     alpha t.+2 * c)).
    rewrite ler_add2r; apply: le_trans h1 _; apply: le_trans h2.
    by apply: (le_by (lexx 0)); ring.
  by apply: (le_by (lexx 0)); field; rewrite !gt_eqF.
have [a0 e0] := steps_pos 1; apply: le_trans (recursion 0) _; rewrite start mulr0 add0r.
apply: (@le_by _ (alpha 1%N * c * (2%:R - eta 1%N * l2) / (eta 1%N * l2))).
  rewrite divr_ge0 ?mulr_ge0 ?(ltW a0) ?(ltW e0) ?(ltW l2_pos) // subr_ge0.
  by apply: le_trans (eta_small 1) _; rewrite ler1n.
by field; rewrite !gt_eqF.
Qed.

End Consensus.

(** For vectors: W contracts what is off the mean, and the reported gradients are bounded. *)
(* Proves: AN-7, A15 *)
Theorem consensus (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (I : inner dot)
    (l2 c : R) (alpha eta : nat -> R) (W : nat -> V -> V) (X G : nat -> V) :
  0 < l2 -> (forall t, 0 < alpha t /\ 0 < eta t) -> (forall t, eta t * l2 <= 1) ->
  (* the spectral fact: mixing contracts the part off the mean *)
  (forall t x, nrm dot (W t x) <= (1 - eta t * l2) * nrm dot x) ->
  X 0%N = 0 -> (forall t, X t.+1 = W t.+1 (X t) - alpha t.+1 *: G t.+1) ->
  (forall t, nrm dot (G t) <= c) ->
  (forall t, (0 < t)%N -> (1 - eta t.+1 * l2) * (alpha t / eta t) <=
                          (1 - eta t.+1 * l2 / 2%:R) * (alpha t.+1 / eta t.+1)) ->
  forall t, nrm dot (X t.+1) <= 2%:R * c / l2 * (alpha t.+1 / eta t.+1).
Proof.
move=> l0 pos small mix start rec bound slow.
have c0 : 0 <= c := le_trans (nrm_ge0 dot (G 0%N)) (bound 0%N).
apply: (@consensus_abstract _ l2 c alpha eta (fun t => nrm dot (X t))) => //.
  by rewrite start nrm0.
move=> t; rewrite rec; apply: le_trans (triangleB I _ _) _; apply: ler_add; first exact: mix.
have [a0 _] := pos t.+1; by rewrite nrmZ // ger0_norm ?(ltW a0) // ler_wpmul2l // ltW.
Qed.

(** The schedule of the shifted steps satisfies it: with s = t + t_0, alpha = a/s, eta = e0/sqrt s,
    so that alpha/eta = (a/e0)/sqrt s; t_0 >= l_M/l_2 gives h s >= 1 for h = eta l_2. *)
(* Proves: AN-7 *)
Theorem shifted_steps_are_slow (R : rcfType) (s h : R) : 1 < s -> h <= 1 -> 1 <= h * s ->
  (1 - h) * (Num.sqrt (s - 1))^-1 <= (1 - h / 2%:R) * (Num.sqrt s)^-1.
Proof.
move=> s1 h1 hs; have s0 : 0 < s := lt_trans ltr01 s1; have p0 : 0 < s - 1 by rewrite subr_gt0.
have r0 : 0 < Num.sqrt s by rewrite sqrtr_gt0.
have q0 : 0 < Num.sqrt (s - 1) by rewrite sqrtr_gt0.
set r := Num.sqrt s in r0 *; set q := Num.sqrt (s - 1) in q0 *.
have rr : r ^+ 2 = s by rewrite sqr_sqrtr // ltW.
have qq : q ^+ 2 = s - 1 by rewrite sqr_sqrtr // ltW.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr //.
(* r <= q + 1/(2q), hence (1 - h) r <= (1 - h/2) q *)
have rq : r <= q + (2%:R * q)^-1.
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?addr_ge0 ?invr_ge0 ?mulr_ge0 ?ler0n ?(ltW r0) ?(ltW q0) //.
  apply: (@le_by _ ((2%:R * q)^-1 ^+ 2)); first by rewrite sqr_ge0.
  by rewrite rr -[s](subrK 1) -qq; field; rewrite gt_eqF.
have k0 : 0 <= 1 - h by rewrite subr_ge0.
apply: le_trans (ler_wpmul2l k0 rq) _.
apply: (@le_by _ ((h * s - 1) / (2%:R * q))).
  by rewrite divr_ge0 ?subr_ge0 // mulr_ge0 ?ler0n ?(ltW q0).
rewrite -[s](subrK 1) -qq; by field; rewrite gt_eqF.
Qed.
