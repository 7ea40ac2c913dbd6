(** Independent draws: a finite product space, on which noise has mean 0 given the past and adds in
    squares. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Expectation.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Product.
Variables (R : rcfType) (S D : finType).
(* Every slot i is drawn from its own law p i, all slots independently. *)
Variable p : S -> D -> R.
Hypothesis p_pos : forall i d, 0 <= p i d.
Hypothesis p_one : forall i, \sum_d p i d = 1.
Notation O := {ffun S -> D}.

Definition weight (w : O) : R := \prod_i p i (w i).

Lemma weight_pos w : 0 <= weight w.
Proof. by apply: prodr_ge0 => i _; apply: p_pos. Qed.

Lemma weight_one : \sum_w weight w = 1.
Proof. by rewrite -(bigA_distr_bigA p) big1 // => i _; apply: p_one. Qed.

(* The outcome w with slot i drawn again. *)
Definition redraw (w : O) i d : O := [ffun j => if j == i then d else w j].

Lemma redraw_same w i d : redraw w i d i = d.
Proof. by rewrite ffunE eqxx. Qed.
Lemma redraw_other w i d j : j != i -> redraw w i d j = w j.
Proof. by rewrite ffunE => /negbTE ->. Qed.

Lemma redraw_weight w i d : weight w * p i d = weight (redraw w i d) * p i (w i).
Proof.
rewrite /weight (bigD1 i) //= [in RHS](bigD1 i) //= redraw_same -!mulrA [RHS]mulrC -!mulrA.
rewrite [RHS]mulrCA; congr (_ * _); rewrite mulrC [RHS]mulrC; congr (_ * _).
by apply: eq_bigr => j ji; rewrite redraw_other.
Qed.

(** Drawing one slot once more changes no mean. *)
Lemma drawn_again (W : lmodType R) (F : O -> W) i :
  \sum_w weight w *: F w = \sum_w weight w *: (\sum_d p i d *: F (redraw w i d)).
Proof.
pose swap (x : O * D) := (redraw x.1 i x.2, x.1 i).
have swapK : involutive swap.
  case=> w d; rewrite /swap /= redraw_same; congr (_, _); apply/ffunP => j.
  by rewrite ffunE; case: eqP => [->|/eqP ji] //; rewrite redraw_other.
transitivity (\sum_(x : O * D) (weight x.1 * p i x.2) *: F x.1).
  rewrite -(pair_bigA _ (fun w d => (weight w * p i d) *: F w)) /=; apply: eq_bigr => w _.
  by rewrite -scaler_suml -mulr_sumr p_one mulr1.
rewrite (reindex_inj (inv_inj swapK)) /=.
transitivity (\sum_(x : O * D) (weight x.1 * p i x.2) *: F (redraw x.1 i x.2)).
  by apply: eq_bigr => -[w d] _ /=; rewrite -redraw_weight.
rewrite -(pair_bigA _ (fun w d => (weight w * p i d) *: F (redraw w i d))) /=.
by apply: eq_bigr => w _; rewrite scaler_sumr; apply: eq_bigr => d _; rewrite scalerA.
Qed.

(** What has mean 0 under the law of slot i has mean 0 given anything that slot i does not decide. *)
(* Proves: AN-8 *)
Theorem fair_given_the_rest (W : lmodType R) (known : pred O) (xi : O -> D -> W) i :
  (forall w d, known (redraw w i d) = known w) -> (forall w d d', xi (redraw w i d) d' = xi w d') ->
  (forall w, known w -> \sum_d p i d *: xi w d = 0) ->
  \sum_(w | known w) weight w *: xi w (w i) = 0.
Proof.
move=> same keep fair; rewrite big_mkcond.
rewrite (eq_bigr (fun w => weight w *: (if known w then xi w (w i) else 0))) => [|w _]; last first.
  by case: ifP => _; rewrite ?scaler0.
rewrite (drawn_again _ i) big1 // => w _.
rewrite (eq_bigr (fun d => if known w then p i d *: xi w d else 0)) => [|d _]; last first.
  by rewrite same redraw_same; case: ifP => _; rewrite ?keep ?scaler0.
by case kw: (known w); rewrite ?fair ?scaler0 // big1 ?scaler0.
Qed.

Variables (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation sq := (sq dot).

(** Noise of independent slots adds in squares: nobody's noise tells of another slot's, and the
    variance of each is at most var. *)
(* Proves: AN-8 *)
Theorem independent_noise_adds (slots : pred S) (xi : S -> O -> D -> V) (var : R) :
  (forall i j w d d', slots i -> slots j -> xi j (redraw w i d) d' = xi j w d') ->
  (forall i w, slots i -> \sum_d p i d *: xi i w d = 0) ->
  (forall i w, slots i -> \sum_d p i d * sq (xi i w d) <= var) ->
  E weight (fun w => sq (\sum_(i | slots i) xi i w (w i))) <= #|slots|%:R * var.
Proof.
move=> keep fair small.
have cross i j : slots i -> slots j -> i != j ->
    E weight (fun w => dot (xi i w (w i)) (xi j w (w j))) = 0.
  move=> si sj ij; rewrite /E.
  have := drawn_again (fun w => dot (xi i w (w i)) (xi j w (w j)) : R^o) i => h.
  rewrite [LHS]h big1 // => w _.
  rewrite (eq_bigr (fun d => dot (p i d *: xi i w d) (xi j w (w j)) : R^o)) => [|d _]; last first.
    by rewrite redraw_same !keep // redraw_other 1?eq_sym // (dot_scale I).
  by rewrite -(dot_suml I) fair // (dot0l I) scaler0.
have one i : slots i -> E weight (fun w => sq (xi i w (w i))) <= var.
  move=> si; rewrite /E; have := drawn_again (fun w => sq (xi i w (w i)) : R^o) i => h.
  rewrite [X in X <= _]h; apply: (@le_trans _ _ (\sum_w weight w * var)); last first.
    by rewrite -mulr_suml weight_one mul1r.
  apply: ler_sum => w _; apply: ler_wpmul2l; first exact: weight_pos.
  by apply: le_trans (small i w si); apply: ler_sum => d _; rewrite redraw_same keep.
rewrite (@E_eq _ _ weight _ (fun w =>
  \sum_(i | slots i) \sum_(j | slots j) dot (xi i w (w i)) (xi j w (w j)))); last first.
  move=> w; rewrite /Inner.sq (dot_suml I); apply: eq_bigr => i _.
  by rewrite (dot_sym I) (dot_suml I); apply: eq_bigr => j _; rewrite (dot_sym I).
rewrite /E (eq_bigr (fun w => \sum_(i | slots i) weight w *
    \sum_(j | slots j) dot (xi i w (w i)) (xi j w (w j)))) => [|w _]; last by rewrite mulr_sumr.
rewrite exchange_big /= mulr_natl -sumr_const; apply: ler_sum => i si.
apply: le_trans (one i si).
rewrite (eq_bigr (fun w => \sum_(j | slots j) weight w * dot (xi i w (w i)) (xi j w (w j)))) => [|w _].
  rewrite exchange_big (bigD1 i) //= [X in _ + X]big1 ?addr0 // => j /andP[sj ji].
  by apply: cross; rewrite // eq_sym.
by rewrite mulr_sumr.
Qed.
End Product.
