(** Rounding entry by entry: any rounding with a bound, in norm. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Rounding.
Variables (R : rcfType) (d : nat).
Notation V := 'rV[R]_d.
Notation nrm := (Inner.nrm (@frobenius R 1 d)).
Let I := frobenius_inner R 1 d.

(* Clause: AR-3. A rounding with bound h: whatever it does with ties, no number moves by more than h. *)
Definition rounds_within (h : R) (rd : R -> R) : Prop := forall x, `|rd x - x| <= h.

Lemma small_entries (x : V) (c : R) : 0 <= c -> (forall j, `|x 0 j| <= c) ->
  nrm x <= Num.sqrt d%:R * c.
Proof.
move=> c0 small; apply: (nrm_le I); first by rewrite mulr_ge0 ?sqrtr_ge0.
rewrite exprMn sqr_sqrtr ?ler0n // /sq /frobenius big_ord1 mulr_natl.
have -> : c ^+ 2 *+ d = \sum_(j < d) c ^+ 2 by rewrite sumr_const card_ord.
apply: ler_sum => j _; rewrite -expr2 -real_normK ?num_real //.
by rewrite ler_pexpn2r ?nnegrE ?normr_ge0.
Qed.

(** A gradient that a source gives within tau of the exact one, and that is rounded with bound h, is
    within h + tau in every entry and within sqrt d (h + tau) in norm. *)
(* Proves: AN-6 *)
Theorem rounded_gradient (rd : R -> R) (h tau : R) (exact given : V) : 0 <= h -> 0 <= tau ->
  rounds_within h rd -> (forall j, `|given 0 j - exact 0 j| <= tau) ->
  (forall j, `|rd (given 0 j) - exact 0 j| <= h + tau) /\
  nrm (map_mx rd given - exact) <= Num.sqrt d%:R * (h + tau).
Proof.
move=> h0 t0 close near.
have entry j : `|rd (given 0 j) - exact 0 j| <= h + tau.
  have -> : rd (given 0 j) - exact 0 j = (rd (given 0 j) - given 0 j) + (given 0 j - exact 0 j).
    by rewrite addrA subrK.
  by apply: le_trans (ler_norm_add _ _) _; apply: ler_add.
split=> //; apply: small_entries => [|j]; first by rewrite addr_ge0.
by rewrite !mxE.
Qed.

(** One step on the lattice, in units of 2^-f: the model is rounded with bound hx, the gradient with
    bound hg; the step is off the exact one by at most hx + alpha (hg + tau) in every entry, and by
    the slack s of GU-8 in norm. *)
(* Proves: AN-6 *)
Theorem rounded_step (rx rg : R -> R) (hx hg tau alpha : R) (y exact given : V) :
  0 <= hx -> 0 <= hg -> 0 <= tau -> 0 <= alpha ->
  rounds_within hx rx -> rounds_within hg rg -> (forall j, `|given 0 j - exact 0 j| <= tau) ->
  nrm (map_mx rx (y - alpha *: map_mx rg given) - (y - alpha *: exact)) <=
    Num.sqrt d%:R * (hx + alpha * (hg + tau)).
Proof.
move=> hx0 hg0 t0 a0 cx cg near; have [entry _] := rounded_gradient hg0 t0 cg near.
apply: small_entries => [|j]; first by rewrite addr_ge0 ?mulr_ge0 ?addr_ge0.
rewrite !mxE; set z := y 0 j - alpha * rg (given 0 j).
have -> : rx z - (y 0 j - alpha * exact 0 j) = (rx z - z) - alpha * (rg (given 0 j) - exact 0 j).
  by rewrite /z; ring.
apply: le_trans (ler_norm_sub _ _) _; apply: ler_add; first exact: cx.
by rewrite normrM ger0_norm // ler_wpmul2l.
Qed.

(** What is read off a message: Gamma = A ghat + rho absorbs the rounding rho of the model, at most
    half of unit = 2^k, and the quotient by A is rounded with bound hq (1 for rounding down). *)
(* Proves: AN-6, AR-9 *)
Theorem rounded_reading (rg rq : R -> R) (hg hq tau A unit : R) (exact given rho : V) :
  0 < A -> 0 <= unit -> 0 <= hg -> 0 <= hq -> 0 <= tau ->
  rounds_within hg rg -> rounds_within hq rq -> (forall j, `|given 0 j - exact 0 j| <= tau) ->
  (forall j, `|rho 0 j| <= unit / 2%:R) ->
  let g := \row_j rq (rg (given 0 j) + rho 0 j / A) in
  (forall j, `|g 0 j - exact 0 j| <= unit / (2%:R * A) + hq + hg + tau) /\
  nrm (g - exact) <= Num.sqrt d%:R * (unit / (2%:R * A) + hq + hg + tau).
Proof.
move=> A0 u0 hg0 hq0 t0 cg cq near small g.
have [entry _] := rounded_gradient hg0 t0 cg near.
have each j : `|g 0 j - exact 0 j| <= unit / (2%:R * A) + hq + hg + tau.
  rewrite mxE; set a := rg (given 0 j) in entry *; set z := a + rho 0 j / A.
  have -> : rq z - exact 0 j = rho 0 j / A + (rq z - z) + (a - exact 0 j) by rewrite /z; ring.
  apply: le_trans (ler_norm_add _ _) _; rewrite -!addrA [X in _ <= X]addrA; apply: ler_add.
    apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last exact: cq.
    rewrite normrM (gtr0_norm (_ : 0 < A^-1)) ?invr_gt0 // ler_pdivr_mulr //.
    apply: le_trans (small j) _; apply: (le_by (lexx 0)); field.
    by rewrite gt_eqF.
  exact: entry.
split=> //; apply: small_entries => [|j]; last by have := each j; rewrite !mxE.
by rewrite !addr_ge0 // divr_ge0 // mulr_ge0 ?ler0n // ltW.
Qed.
End Rounding.
