(** Mixing contracts what is off the mean, for every graph: from the bounds l_2 and l_M of the quadratic
    form of the Laplacian, without the spectral theorem. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Expectation.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

Section Mixing.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType).
Hypothesis I : inner dot.
Variable N : rel J.
Hypothesis N_sym : symmetric N.
Notation F := {ffun J -> V}.
Notation fdot := (@fdot R V dot J).
Notation fsq := (sq fdot).
Notation fnrm := (nrm fdot).
Let FI := fdot_inner J I.

Definition lap (D : F) : F := [ffun v => \sum_(u | N v u) (D v - D u)].
Definition mixing (eta : R) (D : F) : F := D - eta *: lap D.
Definition total (D : F) : V := \sum_v D v.

Lemma dot_sumr (y : V) (Q : pred J) (f : J -> V) :
  dot y (\sum_(j | Q j) f j) = \sum_(j | Q j) dot y (f j).
Proof. by rewrite (dot_sym I) (dot_suml I); apply: eq_bigr => j _; apply: (dot_sym I). Qed.

Lemma swap (W : zmodType) (f : J -> J -> W) :
  \sum_v \sum_(u | N v u) f v u = \sum_v \sum_(u | N v u) f u v.
Proof.
rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => v _.
by apply: eq_bigl => u; rewrite N_sym.
Qed.

Lemma lap_sym D E : fdot (lap D) E = fdot D (lap E).
Proof.
have l : fdot (lap D) E = \sum_v \sum_(u | N v u) dot (D v) (E v) - \sum_v \sum_(u | N v u) dot (D u) (E v).
  rewrite /Expectation.fdot -sumrB; apply: eq_bigr => v _; rewrite ffunE (dot_suml I) -sumrB.
  by apply: eq_bigr => u _; rewrite (dot_add I) (dotNl I).
rewrite l swap -[X in _ - X](swap (fun v u => dot (D v) (E u))) [X in X - _]swap.
rewrite /Expectation.fdot -sumrB; apply: eq_bigr => v _; rewrite ffunE dot_sumr -sumrB.
by apply: eq_bigr => u _; rewrite (dotDr I) (dotNr I).
Qed.

Lemma lap_total D : total (lap D) = 0.
Proof.
rewrite /total (eq_bigr (fun v => \sum_(u | N v u) (D v - D u))) => [|v _]; last by rewrite ffunE.
have e : \sum_v \sum_(u | N v u) (D v - D u) = \sum_v \sum_(u | N v u) D v - \sum_v \sum_(u | N v u) D u.
  by rewrite -sumrB; apply: eq_bigr => v _; rewrite sumrB.
by rewrite e [X in X - _]swap subrr.
Qed.

Lemma lapD D E : lap (D + E) = lap D + lap E.
Proof.
apply/ffunP => v; rewrite !ffunE -big_split; apply: eq_bigr => u _.
by rewrite !ffunE opprD addrACA.
Qed.
Lemma lapZ c D : lap (c *: D) = c *: lap D.
Proof.
by apply/ffunP => v; rewrite !ffunE scaler_sumr; apply: eq_bigr => u _; rewrite !ffunE scalerBr.
Qed.
Lemma mixingD eta D E : mixing eta (D + E) = mixing eta D + mixing eta E.
Proof. by rewrite /mixing lapD scalerDr opprD addrACA. Qed.
Lemma mixingZ eta c D : mixing eta (c *: D) = c *: mixing eta D.
Proof. by rewrite /mixing lapZ scalerBr !scalerA mulrC. Qed.

Lemma mixing_total eta D : total (mixing eta D) = total D.
Proof.
have e : total (mixing eta D) = total D - eta *: total (lap D).
  by rewrite /total scaler_sumr -sumrB; apply: eq_bigr => v _; rewrite !ffunE.
by rewrite e lap_total scaler0 subr0.
Qed.

(* l2 and lM by what they mean: bounds of the quadratic form of the Laplacian. *)
Variables (l2 lM eta : R).
Hypothesis low : forall D, total D = 0 -> l2 * fsq D <= fdot (lap D) D.
Hypothesis high : forall D, fdot (lap D) D <= lM * fsq D.
Hypothesis eta_pos : 0 <= eta.
Hypothesis eta_lM : eta * lM <= 1.

Definition form D E := fdot (mixing eta D) E.

Lemma formE D : form D D = fsq D - eta * fdot (lap D) D.
Proof. by rewrite /form /mixing (dot_add FI) (dotNl FI) (dot_scale FI). Qed.

Lemma form_inner : inner form.
Proof.
split=> [D E|D E G|a D E|D].
- rewrite /form /mixing !(dot_add FI) !(dotNl FI) !(dot_scale FI) lap_sym.
  by rewrite (dot_sym FI D E) (dot_sym FI D (lap E)).
- by rewrite /form mixingD (dot_add FI).
- by rewrite /form mixingZ (dot_scale FI).
- rewrite formE subr_ge0; apply: le_trans (ler_wpmul2l eta_pos (high D)) _.
  by rewrite mulrA ler_pimull // (sq_ge0 FI).
Qed.

(** Mixing contracts what is off the mean by 1 - eta l2. *)
(* Proves: AN-4 *)
Theorem mixing_contracts D : total D = 0 -> fnrm (mixing eta D) <= (1 - eta * l2) * fnrm D.
Proof.
move=> D0; set c := 1 - eta * l2; set A := mixing eta D.
have A0 : total A = 0 by rewrite mixing_total.
have le E : total E = 0 -> form E E <= c * fsq E.
  move=> E0; rewrite formE /c mulrBl mul1r ler_add2l ler_opp2 -mulrA.
  exact: ler_wpmul2l (low E0).
have [D00|DN] := eqVneq (fsq D) 0.
  have z : fsq A = 0.
    apply/eqP; rewrite eq_le (sq_ge0 FI) andbT -[fsq A]/(form D A).
    have /eqP := cauchy_schwarz form_inner D A.
    have f0 : form D D = 0.
      by apply/eqP; rewrite eq_le (dot_pos form_inner) andbT (le_trans (le _ D0)) // D00 mulr0.
    have := cauchy_schwarz form_inner D A; rewrite /sq f0 mul0r => h _.
    by rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?lexx ?expr0n //= (dot_pos FI).
  by rewrite /nrm z D00 sqrtr0 mulr0.
have Dp : 0 < fsq D by rewrite lt_def DN (sq_ge0 FI).
have c0 : 0 <= c by rewrite -(pmulr_lge0 _ Dp) (le_trans (dot_pos form_inner D)) // le.
apply: (nrm_le FI); first by rewrite mulr_ge0 ?nrm_ge0.
rewrite exprMn (nrm_sq FI).
have [Az|AN] := eqVneq (fsq A) 0; first by rewrite Az mulr_ge0 ?exprn_ge0 ?(sq_ge0 FI).
have Ap : 0 < fsq A by rewrite lt_def AN (sq_ge0 FI).
have cs := cauchy_schwarz form_inner D A; rewrite /sq -[form D A]/(fsq A) in cs.
rewrite -(ler_pmul2r Ap) -expr2; apply: le_trans cs _.
apply: le_trans (ler_pmul (dot_pos form_inner _) (dot_pos form_inner _) (le _ D0) (le _ A0)) _.
by apply: (le_by (lexx 0)); ring.
Qed.
End Mixing.
