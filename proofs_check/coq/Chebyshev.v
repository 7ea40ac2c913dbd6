(** The level of a test in Chebyshev's form: martingale noise adds in squares, what drifts adds to its
    root mean square, and the events of a run add up. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Expectation.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Chebyshev.
Variables (R : rcfType) (O : finType) (P : O -> R).
Hypothesis P_pos : forall w, 0 <= P w.
Hypothesis P_one : \sum_w P w = 1.
Notation E := (E P).

Definition chance (A : pred O) : R := \sum_(w | A w) P w.

Lemma chance_le (A B : pred O) : (forall w, A w -> B w) -> chance A <= chance B.
Proof.
move=> sub; rewrite /chance [X in _ <= X](bigID A) /= (eq_bigl (fun w => B w && A w)) => [|w].
  by apply: ler_paddr; rewrite // sumr_ge0.
by case Aw: (A w); rewrite ?(sub w Aw) // andbF.
Qed.

Lemma chance_or (A B : pred O) : chance (fun w => A w || B w) <= chance A + chance B.
Proof.
rewrite /chance (bigID A) /=; apply: ler_add.
  by rewrite (eq_bigl A) // => w; case: (A w); rewrite ?andbF ?orbT.
rewrite [X in _ <= X](bigID A) /= ler_paddl ?sumr_ge0 //.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => w; case: (A w); rewrite ?andbF.
Qed.

Lemma chance_not (A : pred O) : chance (fun w => ~~ A w) = 1 - chance A.
Proof. by rewrite -P_one (bigID A) /= addrC addKr. Qed.

(** What reaches r has at most the mean square over r^2 as its chance. *)
(* Proves: AN-10 *)
Theorem square_tail (f : O -> R) r : 0 < r -> (forall w, 0 <= f w) ->
  chance (fun w => r <= f w) <= E (fun w => f w ^+ 2) / r ^+ 2.
Proof.
move=> r0 f0; apply: le_trans (markov P_pos (exprn_gt0 2 r0) (fun w => sqr_ge0 (f w))).
by apply: chance_le => w h; rewrite ler_pexpn2r ?nnegrE ?(ltW r0).
Qed.

(** Root mean squares add up (Minkowski). *)
Lemma root_mean_square_add (f g : O -> R) :
  Num.sqrt (E (fun w => (f w + g w) ^+ 2)) <=
  Num.sqrt (E (fun w => f w ^+ 2)) + Num.sqrt (E (fun w => g w ^+ 2)).
Proof.
have e (h : O -> R) : E (fun w => h w ^+ 2) = \sum_w (Num.sqrt (P w) * h w) ^+ 2.
  by apply: eq_bigr => w _; rewrite exprMn sqr_sqrtr.
rewrite !e; have := minkowski (fun w => Num.sqrt (P w) * f w) (fun w => Num.sqrt (P w) * g w).
by under eq_bigr do rewrite -mulrDr.
Qed.

(** The threshold of GU-9 in Chebyshev's form: a statistic of at most a path A, noise of mean square v and
    a drift of root mean square A' reaches A + (sqrt v + A') / sqrt theta with chance at most theta. *)
(* Proves: AN-10 *)
Theorem threshold_has_level (stat noise drift : O -> R) (A v A' theta eps : R) :
  0 < theta -> (forall w, 0 <= noise w) -> (forall w, 0 <= drift w) -> 0 <= A' ->
  (forall w, stat w <= A + (noise w + drift w)) ->
  E (fun w => noise w ^+ 2) <= v -> E (fun w => drift w ^+ 2) <= A' ^+ 2 ->
  0 < eps - A -> Num.sqrt v + A' <= Num.sqrt theta * (eps - A) ->
  chance (fun w => eps <= stat w) <= theta.
Proof.
move=> t0 n0 d0 A0 le vn vd r0 small; set r := eps - A in r0 small.
apply: (@le_trans _ _ (chance (fun w => r <= noise w + drift w))).
  apply: chance_le => w h; rewrite /r ler_subl_addl; exact: le_trans h (le w).
apply: le_trans (square_tail r0 _) _ => [w|]; first by rewrite addr_ge0.
rewrite ler_pdivr_mulr ?exprn_gt0 //.
have m0 : 0 <= E (fun w => (noise w + drift w) ^+ 2).
  by apply: sumr_ge0 => w _; rewrite mulr_ge0 ?sqr_ge0.
rewrite -(sqr_sqrtr m0) -[theta](sqr_sqrtr (ltW t0)) -exprMn.
rewrite ler_pexpn2r ?nnegrE ?sqrtr_ge0 ?mulr_ge0 ?sqrtr_ge0 ?(ltW r0) //.
apply: le_trans (root_mean_square_add _ _) _; apply: le_trans small.
apply: ler_add; first exact: ler_wsqrtr.
by rewrite -[X in _ <= X](ger0_norm A0) -sqrtr_sqr ler_wsqrtr.
Qed.

(** Two tests of level theta and a mean square of at most M: all is well with chance at least
    1 - 2 theta - M / eps. *)
(* Proves: AN-10 *)
Theorem honest_success (first second : pred O) (error : O -> R) (theta M eps : R) : 0 < eps ->
  (forall w, 0 <= error w) -> chance first <= theta -> chance second <= theta -> E error <= M ->
  1 - 2%:R * theta - M / eps <= chance (fun w => [&& ~~ first w, ~~ second w & error w < eps]).
Proof.
move=> e0 f0 h1 h2 hM; pose bad w := first w || (second w || (eps <= error w)).
have -> : chance (fun w => [&& ~~ first w, ~~ second w & error w < eps]) = 1 - chance bad.
  by rewrite -chance_not; apply: eq_bigl => w; rewrite /bad !negb_or -ltNge.
rewrite -addrA ler_add2l -opprD ler_opp2.
apply: le_trans (chance_or _ _) _; rewrite mulr2n mulrDl mul1r -addrA; apply: ler_add => //.
apply: le_trans (chance_or _ _) _; apply: ler_add => //.
by apply: le_trans (markov P_pos e0 f0) _; rewrite ler_wpmul2r ?invr_ge0 ?(ltW e0).
Qed.

(** * Martingale noise *)
Variables (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Variables (A : finType) (past : nat -> O -> A) (xi : nat -> O -> V) (omega : nat -> R) (T : nat).
(* xi i is drawn in round i + 1; what is known before decides the earlier ones. *)
Hypothesis known : forall i j w w', (i < j < T)%N -> past j w = past j w' -> xi i w = xi i w'.
Hypothesis fair : forall j c, (j < T)%N -> \sum_(w | past j w == c) P w *: xi j w = 0.

(** The weighted sum of noise of mean 0 given the past has the weighted sum of its variances as its mean
    square, whatever else depends on what. *)
(* Proves: AN-9, AN-10, AN-15, AN-18 *)
Theorem martingale_adds :
  E (fun w => sq dot (\sum_(i < T) omega i *: xi i w)) =
  \sum_(i < T) omega i ^+ 2 * E (fun w => sq dot (xi i w)).
Proof.
have go t : (t <= T)%N -> E (fun w => sq dot (\sum_(i < t) omega i *: xi i w)) =
    \sum_(i < t) omega i ^+ 2 * E (fun w => sq dot (xi i w)).
  elim: t => [_|t IH tT].
    rewrite big_ord0 /E big1 // => w _.
    by rewrite big_ord0 /sq (dot0l I) mulr0.
  rewrite [RHS]big_ord_recr /= -IH ?(ltnW tT) //.
  rewrite (@E_eq _ _ P _ (fun w => sq dot ((\sum_(i < t) omega i *: xi i w) - (- omega t *: xi t w)))).
    rewrite (@noise_adds _ _ P _ _ I _ (past t)); last 2 first.
    - move=> w w' e; apply: eq_bigr => i _; congr (_ *: _).
      by apply: (known (j := t)); rewrite // ltn_ord.
    - move=> c; rewrite (eq_bigr (fun w => - omega t *: (P w *: xi t w))) => [|w _].
        by rewrite -scaler_sumr fair // scaler0.
      by rewrite !scalerA mulrC.
    congr (_ + _); rewrite -E_scale; apply: E_eq => w; rewrite (sqZ I) sqrrN //.
  by move=> w; rewrite big_ord_recr /= scaleNr opprK.
exact: go.
Qed.

(** So in Chebyshev's form the noise of an estimate exceeds sqrt (S_2 var / theta) with chance at most
    theta. *)
(* Proves: AN-9 *)
Theorem noise_of_estimates (var theta r : R) : 0 < theta -> 0 < r ->
  (forall i, (i < T)%N -> E (fun w => sq dot (xi i w)) <= var) ->
  (\sum_(i < T) omega i ^+ 2) * var <= theta * r ^+ 2 ->
  chance (fun w => r <= nrm dot (\sum_(i < T) omega i *: xi i w)) <= theta.
Proof.
move=> t0 r0 small le; apply: le_trans (square_tail r0 (fun w => nrm_ge0 dot _)) _.
rewrite ler_pdivr_mulr ?exprn_gt0 //; apply: le_trans le.
rewrite (@E_eq _ _ P _ (fun w => sq dot (\sum_(i < T) omega i *: xi i w))) => [|w]; last exact: nrm_sq.
rewrite martingale_adds mulr_suml; apply: ler_sum => i _.
by rewrite ler_wpmul2l ?sqr_ge0 // small.
Qed.
End Chebyshev.
