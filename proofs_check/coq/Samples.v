(** The rate on samples: LearnModel with mini-batches that are drawn independently, every agent from its
    own law over finitely many data. The space is a product, and what `rate` supposes of the noise holds. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Expectation Mixing Rate Product.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Samples.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J D : finType).
Hypothesis I : inner dot.
Notation sq := (sq dot).
Notation nrm := (nrm dot).
Notation F := {ffun J -> V}.
Notation n := (#|J|%:R : R).

(* the graph *)
Variable N : rel J.
Hypothesis N_sym : symmetric N.
Hypothesis agents : (0 < #|J|)%N.
Variables (l2 lM : R).
Hypothesis l2_pos : 0 < l2.
Hypothesis low : forall X : F, total X = 0 -> l2 * Inner.sq (@fdot R V dot J) X <= fdot dot (lap N X) X.
Hypothesis high : forall X : F, fdot dot (lap N X) X <= lM * Inner.sq (@fdot R V dot J) X.
Hypothesis lM_pos : 0 < lM.
Hypothesis l2_le : l2 <= lM.

(* the data: the law of agent v, and the gradient of its loss at y for the datum d *)
Variables (q : J -> D -> R) (grad : J -> V -> D -> V).
Hypothesis q_pos : forall v d, 0 <= q v d.
Hypothesis q_one : forall v, \sum_d q v d = 1.
(* Clause: MO-9. The mean gradient. *)
Definition G v y : V := \sum_d q v d *: grad v y d.

(* Assumptions 3 and 4 with the axiom of co-coercivity, for the mean losses *)
Variables (mu beta : R) (star : V).
Hypothesis mu_pos : 0 < mu.
Hypothesis mu_beta : mu <= beta.
Hypothesis convex : forall v y z, mu * sq (y - z) <= dot (G v y - G v z) (y - z).
Hypothesis smooth : forall v y z, dot (G v y - G v z) (y - z) <= beta * sq (y - z).
Hypothesis cocoercive : forall v y z,
  sq (G v y - G v z) + mu * beta * sq (y - z) <= (mu + beta) * dot (G v y - G v z) (y - z).
Hypothesis optimum : \sum_v G v star = 0.
(* Assumption 6: the variance of one datum's gradient *)
Variable sigma2 : R.
Hypothesis variance : forall v y, \sum_d q v d * sq (grad v y d - G v y) <= sigma2.

(* the shifted steps *)
Variables (t0 e0 : R).
Hypothesis t0_kappa : 2%:R * beta <= mu * t0.
Hypothesis t0_graph : lM <= l2 * t0.
Hypothesis e0E : e0 = Num.sqrt (1 + t0) / lM.

(* T rounds with K data each; the datum of slot (t, v, k) is drawn from the law of v *)
Variables (T K : nat) (x0 : V) (C : R).
Hypothesis K_pos : (0 < K)%N.
Notation slot := ('I_T * J * 'I_K)%type.
Notation O := {ffun slot -> D}.
Definition P : O -> R := weight (fun i : slot => q i.1.2).

(* Clause: LM-2. The mini-batch gradient of v at y in round t + 1. *)
Definition batch (w : O) (t : nat) v (y : V) : V :=
  if insub t is Some i then K%:R^-1 *: \sum_(k < K) grad v y (w (i, v, k)) else 0.

(* Clause: AR-4. Without rounding: mix, then a step along the mini-batch gradient. *)
Fixpoint x (t : nat) (w : O) : F :=
  if t is t'.+1 then
    let mixed := mixing N (eta t0 e0 t'.+1) (x t' w) in
    mixed - alpha mu t0 t'.+1 *: [ffun v => batch w t' v (mixed v)]
  else [ffun _ => x0].
Notation y t w := (y N t0 e0 x t w).

(* C bounds the gradient of every datum at every point of the run. *)
Hypothesis bounded : forall t w v d, (t < T)%N -> nrm (grad v (y t w v) d) <= C.

Let slot_pos (i : slot) d : 0 <= q i.1.2 d. Proof. exact: q_pos. Qed.
Let slot_one (i : slot) : \sum_d q i.1.2 d = 1. Proof. exact: q_one. Qed.
Let K0 : (K%:R : R) != 0. Proof. by rewrite pnatr_eq0 -lt0n. Qed.
Let Kp : 0 < (K%:R : R). Proof. by rewrite ltr0n. Qed.

Definition xi (t : nat) (w : O) : F :=
  if t is t'.+1 then [ffun v => batch w t' v (y t' w v) - G v (y t' w v)] else 0.

(* What has been drawn before round t + 1. *)
Definition past (t : nat) (w : O) : {ffun slot -> option D} :=
  [ffun i : slot => if (i.1.1 < t)%N then Some (w i) else None].

Lemma past_tells t w w' (i : slot) : past t w = past t w' -> (i.1.1 < t)%N -> w i = w' i.
Proof. by move/ffunP/(_ i); rewrite !ffunE => e it; rewrite it in e; case: e. Qed.

Lemma past_earlier t w w' : past t.+1 w = past t.+1 w' -> past t w = past t w'.
Proof.
move=> e; apply/ffunP => i; rewrite !ffunE; case: ifP => // it; congr Some.
by apply: (past_tells e); apply: leqW.
Qed.

Lemma known t w w' : past t w = past t w' -> x t w = x t w'.
Proof.
elim: t => // t IH e; rewrite /= (IH (past_earlier e)); congr (_ - _ *: _).
apply/ffunP => v; rewrite !ffunE /batch; case: insubP => // i _ ti; congr (_ *: _).
by apply: eq_bigr => k _; congr (grad _ _ _); apply: (past_tells e); rewrite /= ti.
Qed.

Lemma past_redraw t w (i : slot) d : ~~ (i.1.1 < t)%N -> past t (redraw w i d) = past t w.
Proof.
move=> it; apply/ffunP => j; rewrite !ffunE; case: eqP => [->|//].
by rewrite (negbTE it).
Qed.

(* The noise of one datum. *)
Definition noise (i : slot) (w : O) (d : D) : V :=
  grad i.1.2 (y i.1.1 w i.1.2) d - G i.1.2 (y i.1.1 w i.1.2).

Lemma y_redraw w (i : slot) (t : nat) d : ~~ (i.1.1 < t)%N -> y t (redraw w i d) = y t w.
Proof. by move=> it; rewrite /Rate.y (known (past_redraw w d it)). Qed.

Lemma noise_mean i w : \sum_d q i.1.2 d *: noise i w d = 0.
Proof.
rewrite (eq_bigr (fun d => q i.1.2 d *: grad i.1.2 (y i.1.1 w i.1.2) d -
    q i.1.2 d *: G i.1.2 (y i.1.1 w i.1.2))) => [|d _]; last exact: scalerBr.
by rewrite sumrB -scaler_suml q_one scale1r subrr.
Qed.

Lemma slots_sum (W : zmodType) (t : 'I_T) (f : slot -> W) :
  \sum_(i : slot | i.1.1 == t) f i = \sum_v \sum_(k < K) f (t, v, k).
Proof.
transitivity (\sum_(i : slot) (if i.1.1 == t then f (i.1.1, i.1.2, i.2) else 0)).
  by rewrite big_mkcond; apply: eq_bigr => -[[s v] k] _.
rewrite -(pair_bigA _ (fun (a : 'I_T * J) k => if a.1 == t then f (a.1, a.2, k) else 0)) /=.
rewrite -(pair_bigA _ (fun (s : 'I_T) v => \sum_(k < K) (if s == t then f (s, v, k) else 0))) /=.
rewrite (bigD1 t) //= [X in _ + X]big1 ?addr0 => [|s /negbTE st]; last first.
  by rewrite big1 // => v _; rewrite big1 // => k _; rewrite st.
by apply: eq_bigr => v _; apply: eq_bigr => k _; rewrite eqxx.
Qed.

Lemma batchE w (t : 'I_T) v z : batch w t v z = K%:R^-1 *: \sum_(k < K) grad v z (w (t, v, k)).
Proof. by rewrite /batch valK. Qed.

Lemma total_noise w (t : 'I_T) :
  total (xi t.+1 w) = K%:R^-1 *: \sum_(i : slot | i.1.1 == t) noise i w (w i).
Proof.
rewrite slots_sum /total scaler_sumr; apply: eq_bigr => v _; rewrite ffunE batchE /noise /=.
by rewrite sumrB scalerBr sumr_const card_ord -scaler_nat scalerA mulVf // scale1r.
Qed.

Lemma fair t c : (t < T)%N -> \sum_(w | past t w == c) P w *: total (xi t.+1 w) = 0.
Proof.
move=> tT; rewrite (eq_bigr (fun w => K%:R^-1 *: \sum_(i : slot | i.1.1 == Ordinal tT)
    P w *: noise i w (w i))) => [|w _]; last first.
  by rewrite (total_noise w (Ordinal tT)) scalerA mulrC -scalerA scaler_sumr.
rewrite -scaler_sumr exchange_big /= big1 ?scaler0 // => i /eqP it.
have none : ~~ (i.1.1 < t)%N by rewrite it /= ltnn.
have h := fair_given_the_rest slot_one (known := fun w => past t w == c) (xi := noise i) (i := i).
apply: h => [w d|w d d'|w _]; last exact: noise_mean.
  by rewrite past_redraw.
by rewrite /noise y_redraw // it /= ltnn.
Qed.

Lemma slots_count (t : 'I_T) : #|[pred i : slot | i.1.1 == t]|%:R = n * K%:R :> R.
Proof.
rewrite -sum1_card natr_sum slots_sum sumr_const -mulr_natl; congr (_ * _).
by rewrite sumr_const card_ord.
Qed.

Lemma noise_variance t : (t < T)%N ->
  E P (fun w => sq (n^-1 *: total (xi t.+1 w))) <= sigma2 / (n * K%:R).
Proof.
move=> tT; pose s := Ordinal tT; have n0 : 0 < n by rewrite ltr0n.
rewrite (@E_eq _ _ P _ (fun w => (n^-1 / K%:R) ^+ 2 *
    sq (\sum_(i : slot | i.1.1 == s) noise i w (w i)))) => [|w]; last first.
  by rewrite (total_noise w s) scalerA (sqZ I).
rewrite E_scale.
have le : E P (fun w => sq (\sum_(i : slot | i.1.1 == s) noise i w (w i))) <= n * K%:R * sigma2.
  rewrite -(slots_count s).
  have h := independent_noise_adds slot_pos slot_one I (slots := [pred i : slot | i.1.1 == s])
    (xi := noise) (var := sigma2).
  apply: h => [i j w d d' /eqP it /eqP jt|i w _|i w _].
  - by rewrite /noise y_redraw // it jt ltnn.
  - exact: noise_mean.
  - exact: variance.
apply: le_trans (ler_wpmul2l (sqr_ge0 _) le) _; apply: (le_by (lexx 0)); field.
by rewrite K0 gt_eqF.
Qed.

Lemma P_pos w : 0 <= P w. Proof. by apply: weight_pos => i d; apply: q_pos. Qed.
Lemma P_one : \sum_w P w = 1. Proof. by apply: weight_one => i; apply: q_one. Qed.

Lemma batch_short t w v : (t < T)%N -> nrm (batch w t v (y t w v)) <= C.
Proof.
move=> tT; rewrite (batchE w (Ordinal tT)) (nrmZ I) ger0_norm ?invr_ge0 ?(ltW Kp) //.
rewrite ler_pdivr_mull //; apply: le_trans (triangle_sum I _ _ _) _.
rewrite mulr_natl -[X in _ *+ X](card_ord K) -sumr_const; apply: ler_sum => k _.
exact: bounded.
Qed.

(** The corrected Theorem 3 for independent mini-batches. *)
(* Proves: AN-8 *)
Theorem rate_on_samples t : (t <= T)%N -> n^-1 * E P (fun w => \sum_v sq (x t w v - star)) <=
  (R0 dot l2 mu beta star t0 e0 x0 C (sigma2 / (n * K%:R)) +
   4%:R * C ^+ 2 * a mu ^+ 2 / (l2 ^+ 2 * e0 ^+ 2)) / s t0 t.
Proof.
have gE u w : g N G t0 e0 x xi u w = [ffun v => batch w u v (y u w v)].
  by apply/ffunP => v; rewrite !ffunE addrC subrK.
apply: (@rate R V dot J I N N_sym agents l2 lM l2_pos low high lM_pos mu beta G star mu_pos mu_beta
  convex smooth cocoercive optimum t0 e0 t0_kappa t0_graph e0E _ P _ past P_pos P_one T x xi x0 C) => //.
- by move=> u w _; rewrite gE.
- by move=> u w w' _; apply: known.
- exact: fair.
- exact: noise_variance.
- by move=> u w v uT; rewrite gE ffunE; apply: batch_short.
Qed.
End Samples.
