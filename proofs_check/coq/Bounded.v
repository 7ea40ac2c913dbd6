(** Bounded iterates: the bounds B_t and C_t of the norm checks hold for honest agents, rounding
    included. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Contraction.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Bounded.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.
Notation nrm := (nrm dot).
Notation sq := (sq dot).

Variables (mu beta F0 G0 : R).
Hypothesis mu_pos : 0 < mu.
Hypothesis mu_beta : mu <= beta.
Hypothesis F0_pos : 0 <= F0.
Hypothesis G0_pos : 0 <= G0.

(* What the assumptions on the loss say about the value f and the gradient g at y, and the gradient
   g0 at the origin. Means over a mini-batch keep all of it. *)
Record loss_at (y g g0 : V) (f : R) : Prop := LossAt {
  nonnegative : 0 <= f;
  small_gradient : sq g <= 2%:R * beta * f;
  below : f - dot g y + mu / 2%:R * sq y <= F0;
  lipschitz : nrm (g - g0) <= beta * nrm y;
  at_origin : nrm g0 <= G0;
  convex0 : mu * sq y <= dot (g - g0) y;
  smooth0 : dot (g - g0) y <= beta * sq y;
  cocoercive0 : sq (g - g0) + mu * beta * sq y <= (mu + beta) * dot (g - g0) y
}.

Section Step.
Variables (y g g0 : V) (f alpha : R).
Hypothesis L : loss_at y g g0 f.
Hypothesis alpha_pos : 0 <= alpha.

(* The first form of B_t, without co-coercivity. *)
Lemma step_root : alpha * beta <= 1 ->
  sq (y - alpha *: g) <= (1 - alpha * mu) * sq y + 2%:R * alpha * F0.
Proof.
move=> ab; rewrite sqB // sqZ // dotZr // (dot_sym I y g).
apply: (@le_by _ (2%:R * alpha * (F0 - (f - dot g y + mu / 2%:R * sq y)) +
   (alpha ^+ 2 * (2%:R * beta * f - sq g) + 2%:R * alpha * (1 - alpha * beta) * f))); last by field.
apply: addr_ge0; last apply: addr_ge0.
- by rewrite !mulr_ge0 ?ler0n ?subr_ge0 ?(below L).
- by rewrite mulr_ge0 ?exprn_ge0 ?subr_ge0 ?(small_gradient L).
- by rewrite !mulr_ge0 ?ler0n ?subr_ge0 ?(nonnegative L).
Qed.

(* The second form, for any step size. *)
Lemma step_linear : nrm (y - alpha *: g) <= factor mu beta alpha * nrm y + alpha * G0.
Proof.
have -> : y - alpha *: g = (y - alpha *: (g - g0)) - alpha *: g0.
  by rewrite scalerBr opprB addrA addrAC addrK.
apply: le_trans (triangleB I _ _) _; apply: ler_add.
  by apply: contraction_sharp => //; [apply: convex0 L|apply: smooth0 L|apply: cocoercive0 L].
by rewrite nrmZ // ger0_norm // ler_wpmul2l // (at_origin L).
Qed.

Lemma gradient_bound : nrm g <= G0 + beta * nrm y.
Proof.
have e : g0 + (g - g0) = g by rewrite addrC subrK.
rewrite -[X in nrm X <= _]e; apply: le_trans (triangle I _ _) _.
by rewrite ler_add ?(at_origin L) ?(lipschitz L).
Qed.

End Step.

(** One round of an honest agent: if the models it mixes obey B, its next model and the gradient
    read off its message obey B' and C; e is the rounding of the model and of the gradient, g' the
    gradient read off. *)
(* Proves: AN-5, AN-6, A18 *)
Theorem honest_round B B' C s r eta alpha (x : V) (us : seq V) (g g0 g' e : V) (f : R)
    (y := mixed eta x us) :
  0 <= eta -> eta * (size us)%:R <= 1 -> 0 <= alpha -> 0 <= B ->
  nrm x <= B -> (forall u, u \in us -> nrm u <= B) ->
  loss_at y g g0 f -> nrm e <= s -> nrm (g' - g) <= r ->
  (alpha * beta <= 1 /\ Num.sqrt ((1 - alpha * mu) * B ^+ 2 + 2%:R * alpha * F0) + s <= B') \/
    factor mu beta alpha * B + alpha * G0 + s <= B' ->
  G0 + beta * B + r <= C ->
  nrm (y - alpha *: g + e) <= B' /\ nrm g' <= C.
Proof.
move=> e0 e1 a0 B0 xB usB L es gr BB CC.
have yB : nrm y <= B by apply: mixing_keeps_bounds.
have b0 : 0 <= beta := le_trans (ltW mu_pos) mu_beta.
split; last first.
  have ee : g + (g' - g) = g' by rewrite addrC subrK.
  rewrite -[X in nrm X <= _]ee.
  apply: le_trans CC; apply: le_trans (triangle I _ _) _; rewrite ler_add //.
  apply: le_trans (gradient_bound L) _.
  by rewrite ler_add2l ler_wpmul2l.
apply: le_trans (triangle I _ _) _.
case: BB => [[ab rt]|lin].
  apply: le_trans rt; apply: ler_add => //; apply: (nrm_le I); first exact: sqrtr_ge0.
  have am : 0 <= 1 - alpha * mu.
    by rewrite subr_ge0; apply: le_trans ab; rewrite ler_wpmul2l.
  rewrite sqr_sqrtr; last by rewrite addr_ge0 ?mulr_ge0 ?exprn_ge0 ?ler0n.
  apply: le_trans (step_root L a0 ab) _; rewrite ler_add2r ler_wpmul2l //.
  exact: sq_le.
apply: le_trans lin; apply: ler_add => //; apply: le_trans (step_linear L a0) _.
by rewrite ler_add2r ler_wpmul2l // /factor le_maxr normr_ge0.
Qed.

(** If nobody is Byzantine, nobody trips over the norm checks, in any round. *)
(* Proves: AN-5, AN-6 *)
Theorem norm_checks_never_trip (n : nat) (nb : nat -> seq nat) (x g g0 g' e : nat -> nat -> V)
    (f : nat -> nat -> R) (eta alpha B C s r : nat -> R) :
  (forall v u, (v < n)%N -> u \in nb v -> (u < n)%N) ->
  (forall t, 0 <= eta t /\ 0 <= alpha t /\ 0 <= B t) ->
  (forall t v, (v < n)%N -> eta t * (size (nb v))%:R <= 1) ->
  (forall v, (v < n)%N -> nrm (x 0%N v) <= B 0%N) ->
  (forall t v, (v < n)%N ->
     let y := mixed (eta t) (x t v) [seq x t u | u <- nb v] in
     [/\ loss_at y (g t v) (g0 t v) (f t v), x t.+1 v = y - alpha t *: g t v + e t v,
         nrm (e t v) <= s t & nrm (g' t v - g t v) <= r t]) ->
  (forall t, (alpha t * beta <= 1 /\
       Num.sqrt ((1 - alpha t * mu) * B t ^+ 2 + 2%:R * alpha t * F0) + s t <= B t.+1) \/
     factor mu beta (alpha t) * B t + alpha t * G0 + s t <= B t.+1) ->
  (forall t, G0 + beta * B t + r t <= C t) ->
  forall t v, (v < n)%N -> nrm (x t v) <= B t /\ nrm (g' t v) <= C t.
Proof.
move=> nbn pos deg start round BB CC.
have xB t : forall v, (v < n)%N -> nrm (x t v) <= B t.
  elim: t => // t IH v vn; have [L -> es gr] := round t v vn.
  have [e0 [a0 B0]] := pos t.
  have usB u : u \in [seq x t u | u <- nb v] -> nrm u <= B t.
    by case/mapP => w wv ->; apply: IH; apply: nbn wv.
  have dg : eta t * (size [seq x t u | u <- nb v])%:R <= 1 by rewrite size_map deg.
  by have [] := honest_round e0 dg a0 B0 (IH v vn) usB L es gr (BB t) (CC t).
move=> t v vn; split; first exact: xB.
have [L _ es gr] := round t v vn; have [e0 [a0 B0]] := pos t.
have usB u : u \in [seq x t u | u <- nb v] -> nrm u <= B t.
  by case/mapP => w wv ->; apply: xB; apply: nbn wv.
have dg : eta t * (size [seq x t u | u <- nb v])%:R <= 1 by rewrite size_map deg.
by have [] := honest_round e0 dg a0 B0 (xB t v vn) usB L es gr (BB t) (CC t).
Qed.

(** The invariant ball: if B_0^2 <= 2 F0/mu and all alpha <= 1/beta, so it stays. *)
(* Proves: AN-5 *)
Theorem invariant_ball alpha B2 : 0 <= alpha -> alpha * beta <= 1 -> B2 <= 2%:R * F0 / mu ->
  (1 - alpha * mu) * B2 + 2%:R * alpha * F0 <= 2%:R * F0 / mu.
Proof.
move=> a0 ab h; have am : 0 <= 1 - alpha * mu.
  by rewrite subr_ge0; apply: le_trans ab; rewrite ler_wpmul2l.
apply: (@le_by _ ((1 - alpha * mu) * (2%:R * F0 / mu - B2))).
  by apply: mulr_ge0 => //; rewrite subr_ge0.
by field; rewrite gt_eqF.
Qed.

End Bounded.
