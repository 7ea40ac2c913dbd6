(** Mixing contracts what is off the mean, for every graph: from the bounds l_2 and l_M of the quadratic
    form of the Laplacian, without the spectral theorem. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Contraction Expectation.

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

(** The quadratic form of the Laplacian is half the sum of all squared differences of neighbours. *)
Lemma lap_form D : 2%:R * fdot (lap D) D = \sum_v \sum_(u | N v u) sq dot (D v - D u).
Proof.
have e : fdot (lap D) D = \sum_v \sum_(u | N v u) dot (D v - D u) (D v).
  by apply: eq_bigr => v _; rewrite ffunE (dot_suml I).
rewrite mulr2n mulrDl mul1r {1}e e [X in _ + X]swap -big_split; apply: eq_bigr => v _.
rewrite -big_split; apply: eq_bigr => u _; rewrite /sq (dotDr I) (dotNr I) -(dotNl I (D v - D u)).
by rewrite opprB.
Qed.

Lemma lap_pos D : 0 <= fdot (lap D) D.
Proof.
rewrite -(@pmulr_rge0 _ 2%:R) ?ltr0n // lap_form; apply: sumr_ge0 => v _.
by apply: sumr_ge0 => u _; apply: (sq_ge0 I).
Qed.

(** A form between l and lM times the square, on families closed under the Laplacian, makes the
    Laplacian co-coercive there: (L - l)(lM - L) is not negative. *)
Lemma lap_cocoercive (K : F -> Prop) (l lM : R) D : l <= lM ->
  (forall E, K E -> K (lap E)) -> (forall E G a b, K E -> K G -> K (a *: E - b *: G)) ->
  (forall E, K E -> l * fsq E <= fdot (lap E) E) -> (forall E, fdot (lap E) E <= lM * fsq E) ->
  K D -> fsq (lap D) + l * lM * fsq D <= (l + lM) * fdot (lap D) D.
Proof.
move=> llM Kl Kc low high KD; set c := lM - l; have c0 : 0 <= c by rewrite subr_ge0.
pose form E G := fdot (lap E) G - l * fdot E G.
have formB E G : form (E - G) (E - G) = form E E - 2%:R * form E G + form G G.
  have lB : lap (E - G) = lap E - lap G by rewrite -(scaleN1r G) lapD lapZ !scaleN1r.
  rewrite /form lB !(dot_add FI) !(dotNl FI) !(dotDr FI) !(dotNr FI).
  by rewrite (lap_sym G E) (dot_sym FI G (lap E)) (dot_sym FI G E); ring.
set A := lap D - l *: D; have AE : 1 *: lap D - l *: D = A by rewrite scale1r.
have KA : K A by rewrite -AE; apply: Kc => //; apply: Kl.
have fDA a : form (a *: D) A = a * fsq A.
  rewrite /form lapZ !(dot_scale FI) /fsq {3}/A (dot_add FI) (dotNl FI) (dot_scale FI); ring.
have fAA : form A A <= c * fsq A by rewrite /form mulrBl ler_add2r.
have fDD : form D D <= c * fsq D by rewrite /form mulrBl ler_add2r.
have pos E : K E -> 0 <= form E E by move=> KE; rewrite subr_ge0; apply: low.
have key : fsq A <= c * form D D.
  have [c00|cN] := eqVneq c 0.
    have := pos _ (Kc D A 1 1 KD KA); rewrite !scale1r formB -[D in form D A]scale1r fDA mul1r.
    move: fAA fDD; rewrite c00 !mul0r => aa dd h.
    have : 0 <= - (2%:R * fsq A).
      apply: le_trans h _; apply: (@le_by _ (- form D D - form A A)); last by ring.
      by rewrite addr_ge0 ?oppr_ge0.
    by rewrite oppr_ge0 pmulr_rle0 ?ltr0n.
  have cp : 0 < c by rewrite lt_def cN.
  have := pos _ (Kc D A c 1 KD KA); rewrite scale1r formB fDA => h.
  have e : form (c *: D) (c *: D) = c ^+ 2 * form D D.
    by rewrite /form lapZ !(dot_scale FI) !(dotZr FI); ring.
  rewrite e in h; rewrite -(ler_pmul2l cp) -subr_ge0; apply: le_trans h _.
  by apply: (@le_by _ (c * fsq A - form A A)); [rewrite subr_ge0|ring].
apply: (@le_by _ (c * form D D - fsq A)); first by rewrite subr_ge0.
by rewrite /form /A /c (sqB FI) (sqZ FI) (dotZr FI) /sq; ring.
Qed.

(* l2 and lM by what they mean: bounds of the quadratic form of the Laplacian. *)
Variables (l2 lM eta : R).
Hypothesis low : forall D, total D = 0 -> l2 * fsq D <= fdot (lap D) D.
Hypothesis high : forall D, fdot (lap D) D <= lM * fsq D.
Hypothesis l2_lM : l2 <= lM.
Hypothesis eta_pos : 0 <= eta.

(** Mixing contracts what is off the mean, for every step. *)
(* Proves: AN-4 *)
Theorem mixing_contracts D : total D = 0 -> fnrm (mixing eta D) <= factor l2 lM eta * fnrm D.
Proof.
move=> D0; apply: (contraction_sharp FI) => //; first exact: low.
apply: (@lap_cocoercive (fun E => total E = 0)) => // [E _|E G a b E0 G0]; first exact: lap_total.
rewrite /total; under eq_bigr do rewrite !ffunE.
by rewrite sumrB -!scaler_sumr -[\sum_i E i]/(total E) -[\sum_i G i]/(total G) E0 G0 !scaler0 subr0.
Qed.

(** Up to 2 / (l2 + lM) the factor is 1 - eta l2. *)
(* Proves: AN-4 *)
Theorem small_mixing_steps : eta * (l2 + lM) <= 2%:R -> factor l2 lM eta = 1 - eta * l2.
Proof.
move=> le; have h : eta * l2 <= eta * lM by rewrite ler_wpmul2l.
have p : 0 <= 1 - eta * l2.
  rewrite subr_ge0 -(@ler_pmul2l _ 2%:R) ?ltr0n // mulr1; apply: le_trans le.
  by rewrite mulr2n mulrDl mul1r mulrDr ler_add2l.
rewrite /factor (ger0_norm p); apply/max_idPl; rewrite ler_norml ler_add2l ler_opp2 h andbT.
by apply: (@le_by _ (2%:R - eta * (l2 + lM))); [rewrite subr_ge0|ring].
Qed.

(** Mixing makes no family longer up to 2 / lM. *)
(* Proves: AN-4 *)
Theorem mixing_is_short D : eta * lM <= 2%:R -> fnrm (mixing eta D) <= fnrm D.
Proof.
move=> le; have [L0|LN] := eqVneq (fsq (lap D)) 0.
  apply: (nrm_le FI); rewrite ?nrm_ge0 // (nrm_sq FI) /mixing (sqB FI) (sqZ FI) L0 mulr0 addr0.
  by rewrite (dotZr FI) (sq_dot_null FI D L0) !mulr0 subr0.
have Lp : 0 < fsq (lap D) by rewrite lt_def LN (sq_ge0 FI).
have lM0 : 0 <= lM by rewrite -(pmulr_lge0 _ Lp); apply: le_trans (high _); apply: lap_pos.
have co : fsq (lap D) + 0 * lM * fsq D <= (0 + lM) * fdot (lap D) D.
  by apply: (@lap_cocoercive (fun _ => True)) => // E _; rewrite mul0r lap_pos.
rewrite mul0r mul0r addr0 add0r in co.
apply: (nrm_le FI); rewrite ?nrm_ge0 // (nrm_sq FI) /mixing (sqB FI) (sqZ FI) (dotZr FI).
rewrite (dot_sym FI D); apply: (@le_by _ (eta * (2%:R * fdot (lap D) D - eta * fsq (lap D)))).
  rewrite mulr_ge0 // subr_ge0; apply: le_trans (ler_wpmul2l eta_pos co) _.
  by rewrite mulrA; apply: (ler_wpmul2r (lap_pos D)).
by ring.
Qed.

(** Beyond 2 / lM the family that attains lM grows. *)
(* Proves: AN-4 *)
Theorem longer_steps_expand D : lap D = lM *: D -> 0 < fsq D -> 2%:R < eta * lM ->
  fnrm D < fnrm (mixing eta D).
Proof.
move=> eig Dp lt; have -> : mixing eta D = (1 - eta * lM) *: D.
  by rewrite /mixing eig scalerA scalerBl scale1r.
rewrite (nrmZ FI) ltr_pmull ?sqrtr_gt0 // ltr_normr; apply/orP; right.
by rewrite opprB ltr_subr_addr -[1 + 1]/(2%:R).
Qed.
End Mixing.

(** What the models of neighbours differ by bounds how far all are from their mean. *)
Section Spread.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType).
Hypothesis I : inner dot.
Variables (N : rel J) (l2 : R).
Hypothesis N_sym : symmetric N.
Hypothesis low : forall D : {ffun J -> V}, total D = 0 -> l2 * sq (@fdot R V dot J) D <= fdot dot (lap N D) D.

(* Proves: AN-18 *)
Theorem edges_bound_the_spread (x : J -> V) (m := (#|J|%:R : R)^-1 *: \sum_v x v) : (0 < #|J|)%N ->
  l2 * (\sum_v sq dot (x v - m)) <= (\sum_v \sum_(u | N v u) sq dot (x v - x u)) / 2%:R.
Proof.
move=> J0; pose D : {ffun J -> V} := [ffun v => x v - m].
have D0 : total D = 0.
  rewrite /total (eq_bigr (fun v => x v - m)) => [|v _]; last by rewrite ffunE.
  by rewrite sumrB sumr_const -scaler_nat scalerA mulfV ?scale1r ?subrr // pnatr_eq0 -lt0n.
rewrite ler_pdivl_mulr ?ltr0n // mulrC.
have -> : \sum_v \sum_(u | N v u) sq dot (x v - x u) = \sum_v \sum_(u | N v u) sq dot (D v - D u).
  apply: eq_bigr => v _; apply: eq_bigr => u _; congr sq; rewrite !ffunE opprB addrA subrK.
  by [].
rewrite -(lap_form I N_sym) ler_pmul2l ?ltr0n //; apply: le_trans (low D0).
by rewrite /sq /fdot; under [X in _ <= _ * X]eq_bigr do rewrite ffunE.
Qed.
End Spread.
