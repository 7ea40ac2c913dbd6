(** Inner products over any real closed field: Cauchy-Schwarz, the triangle inequality, and the
    two spaces used here, matrices with the Frobenius product and families of numbers. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

(* An inequality by what it leaves over. *)
Lemma le_by (R : numDomainType) (c a b : R) : 0 <= c -> b - a = c -> a <= b.
Proof. by move=> c0 E; rewrite -subr_ge0 E. Qed.

Record inner (R : rcfType) (V : lmodType R) (dot : V -> V -> R) : Prop := Inner {
  dot_sym : forall x y, dot x y = dot y x;
  dot_add : forall x y z, dot (x + y) z = dot x z + dot y z;
  dot_scale : forall a x y, dot (a *: x) y = a * dot x y;
  dot_pos : forall x, 0 <= dot x x
}.

Section Inner.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.

Definition sq (x : V) : R := dot x x.
Definition nrm (x : V) : R := Num.sqrt (sq x).

Lemma dotDr x y z : dot x (y + z) = dot x y + dot x z.
Proof. by rewrite !(dot_sym I x) dot_add. Qed.
Lemma dotZr a x y : dot x (a *: y) = a * dot x y.
Proof. by rewrite !(dot_sym I x) dot_scale. Qed.
Lemma dotNl x y : dot (- x) y = - dot x y.
Proof. by rewrite -scaleN1r dot_scale // mulN1r. Qed.
Lemma dotNr x y : dot x (- y) = - dot x y.
Proof. by rewrite -scaleN1r dotZr mulN1r. Qed.
Lemma dot0l y : dot 0 y = 0.
Proof. by rewrite -(scale0r 0) dot_scale // mul0r. Qed.

Lemma sq_ge0 x : 0 <= sq x. Proof. exact: dot_pos. Qed.
Lemma nrm_ge0 x : 0 <= nrm x. Proof. exact: sqrtr_ge0. Qed.
Lemma nrm_sq x : nrm x ^+ 2 = sq x. Proof. by rewrite sqr_sqrtr ?sq_ge0. Qed.

Lemma sqD x y : sq (x + y) = sq x + 2%:R * dot x y + sq y.
Proof. by rewrite /sq dot_add // !dotDr (dot_sym I y x); ring. Qed.
Lemma sqZ a x : sq (a *: x) = a ^+ 2 * sq x.
Proof. by rewrite /sq dot_scale // dotZr; ring. Qed.
Lemma sqN x : sq (- x) = sq x.
Proof. by rewrite /sq dotNl dotNr opprK. Qed.
Lemma sqB x y : sq (x - y) = sq x - 2%:R * dot x y + sq y.
Proof. by rewrite sqD sqN dotNr; ring. Qed.

Lemma nrm0 : nrm 0 = 0. Proof. by rewrite /nrm /sq dot0l sqrtr0. Qed.
Lemma nrmN x : nrm (- x) = nrm x. Proof. by rewrite /nrm sqN. Qed.
Lemma nrmZ a x : nrm (a *: x) = `|a| * nrm x.
Proof. by rewrite /nrm sqZ sqrtrM ?sqr_ge0 // sqrtr_sqr. Qed.

Lemma sq_dot_null x y : sq y = 0 -> dot x y = 0.
Proof.
move=> y0; apply/eqP; apply/negPn/negP => d0.
pose t := - (sq x + 1) / (2%:R * dot x y).
have := sq_ge0 (x + t *: y); rewrite sqD sqZ y0 mulr0 addr0 dotZr.
have -> : 2%:R * (t * dot x y) = - (sq x + 1).
  by rewrite /t; field; rewrite d0.
by rewrite opprD addrA subrr add0r oppr_ge0 ler10.
Qed.

(** Cauchy-Schwarz. *)
Theorem cauchy_schwarz x y : dot x y ^+ 2 <= sq x * sq y.
Proof.
have [y0|yN] := eqVneq (sq y) 0; first by rewrite (sq_dot_null x y0) y0 expr0n mulr0.
have yp : 0 < sq y by rewrite lt_def yN sq_ge0.
have := sq_ge0 (sq y *: x - dot x y *: y).
rewrite sqB !sqZ dot_scale // dotZr => h.
have : 0 <= sq y * (sq x * sq y - dot x y ^+ 2).
  by apply: le_trans h _; apply: (le_by (lexx 0)); rewrite /sq; ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

Lemma dot_le x y : dot x y <= nrm x * nrm y.
Proof.
have [d0|d0] := leP (dot x y) 0.
  by apply: le_trans d0 _; rewrite mulr_ge0 ?nrm_ge0.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?nrm_ge0 ?(ltW d0) //.
by rewrite exprMn !nrm_sq cauchy_schwarz.
Qed.

(** The triangle inequality. *)
Theorem triangle x y : nrm (x + y) <= nrm x + nrm y.
Proof.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?addr_ge0 ?nrm_ge0 // nrm_sq sqD -!nrm_sq.
by apply: (le_by (c := 2%:R * (nrm x * nrm y - dot x y))); [rewrite mulr_ge0 ?ler0n ?subr_ge0 ?dot_le|ring].
Qed.

Lemma triangleB x y : nrm (x - y) <= nrm x + nrm y.
Proof. by rewrite -(nrmN y) triangle. Qed.

Lemma triangle_sum (J : Type) (l : seq J) (Q : pred J) (f : J -> V) :
  nrm (\sum_(j <- l | Q j) f j) <= \sum_(j <- l | Q j) nrm (f j).
Proof.
elim/big_rec2: _ => [|j a b _ h]; first by rewrite nrm0.
by apply: le_trans (triangle _ _) _; rewrite ler_add2l.
Qed.

Lemma nrm_le x b : 0 <= b -> sq x <= b ^+ 2 -> nrm x <= b.
Proof.
by move=> b0 h; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?nrm_ge0 // nrm_sq.
Qed.

Lemma sq_le x b : nrm x <= b -> sq x <= b ^+ 2.
Proof. by move=> h; rewrite -nrm_sq ler_pexpn2r ?nnegrE ?nrm_ge0 // (le_trans (nrm_ge0 x) h). Qed.

(** The square of a sum of b vectors is at most b times the sum of the squares. *)
Lemma sq_sum_le (J : finType) (Q : pred J) (f : J -> V) :
  sq (\sum_(j | Q j) f j) <= #|Q|%:R * \sum_(j | Q j) sq (f j).
Proof.
have h (c : nat) (l : seq J) : c = count Q l ->
    sq (\sum_(j <- l | Q j) f j) <= c%:R * \sum_(j <- l | Q j) sq (f j).
  elim: l c => [|j l IH] c; first by rewrite !big_nil /sq dot0l mulr0.
  rewrite /= !big_cons; case: ifP => _ -> /=; last by rewrite add0n; apply: IH.
  have := IH _ erefl; set s := \sum_(j <- l | Q j) f j; set S := \sum_(j <- l | Q j) sq (f j).
  set m := count Q l => hs; rewrite sqD natrD.
  have [m0|mp] := posnP m.
    have s0 : sq s = 0 by apply/eqP; rewrite eq_le sq_ge0 andbT; move: hs; rewrite m0 mul0r.
    have S0 : 0 <= S by apply: sumr_ge0 => i _; apply: sq_ge0.
    by rewrite m0 (sq_dot_null _ s0) s0; apply: (le_by S0); ring.
  have mp' : 0 < m%:R :> R by rewrite ltr0n.
  (* 2 <f, s> <= m |f|^2 + |s|^2 / m *)
  have := sq_ge0 (m%:R *: f j - s); rewrite sqB sqZ dot_scale // => h.
  have h2 : m%:R * (2%:R * dot (f j) s) <= m%:R * (m%:R * sq (f j) + S).
    apply: (le_by (addr_ge0 h (_ : 0 <= m%:R * S - sq s))); first by rewrite subr_ge0.
    ring.
  have h3 : 2%:R * dot (f j) s <= m%:R * sq (f j) + S by rewrite -(ler_pmul2l mp').
  have e1 : 0 <= (m%:R * sq (f j) + S - 2%:R * dot (f j) s) + (m%:R * S - sq s).
    by rewrite addr_ge0 ?subr_ge0.
  by apply: (le_by e1); ring.
have -> : #|Q| = count Q (enum J) by rewrite -sum1_card -sum1_count big_enum_cond.
by have := h _ (enum J) erefl; rewrite !big_enum_cond.
Qed.

End Inner.

(** * Matrices: one row for each agent *)
Section Frobenius.

Variables (R : rcfType) (m d : nat).

Definition frobenius (A B : 'M[R]_(m, d)) : R := \sum_i \sum_j A i j * B i j.

Lemma frobenius_inner : inner frobenius.
Proof.
split=> [A B|A B C|a A B|A].
- by apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite mulrC.
- rewrite /frobenius -big_split; apply: eq_bigr => i _; rewrite -big_split.
  by apply: eq_bigr => j _; rewrite !mxE mulrDl.
- rewrite /frobenius mulr_sumr; apply: eq_bigr => i _; rewrite mulr_sumr.
  by apply: eq_bigr => j _; rewrite !mxE mulrA.
- by apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; rewrite -expr2 sqr_ge0.
Qed.

End Frobenius.

(** * Families of numbers, and Minkowski's inequality for them *)
Section Minkowski.

Variables (R : rcfType) (J : finType).

Definition pairing (f g : {ffun J -> R^o}) : R := \sum_j f j * g j.

Lemma pairing_inner : inner pairing.
Proof.
split=> [f g|f g h|a f g|f].
- by apply: eq_bigr => j _; rewrite mulrC.
- by rewrite /pairing -big_split; apply: eq_bigr => j _; rewrite !ffunE mulrDl.
- by rewrite /pairing mulr_sumr; apply: eq_bigr => j _; rewrite !ffunE mulrA.
- by apply: sumr_ge0 => j _; rewrite -expr2 sqr_ge0.
Qed.

Lemma minkowski (a b : J -> R) :
  Num.sqrt (\sum_j (a j + b j) ^+ 2) <=
  Num.sqrt (\sum_j a j ^+ 2) + Num.sqrt (\sum_j b j ^+ 2).
Proof.
have e (c : J -> R) : \sum_j c j ^+ 2 = sq pairing [ffun j => c j : R^o].
  by apply: eq_bigr => j _; rewrite !ffunE expr2.
rewrite !e; have := triangle pairing_inner [ffun j => a j : R^o] [ffun j => b j : R^o].
by rewrite /nrm; congr (Num.sqrt (sq _ _) <= _); apply/ffunP => j; rewrite !ffunE.
Qed.

(** The same over some of them, and vector by vector. *)
Lemma minkowski_on (H : pred J) (a b : J -> R) :
  Num.sqrt (\sum_(j | H j) (a j + b j) ^+ 2) <=
  Num.sqrt (\sum_(j | H j) a j ^+ 2) + Num.sqrt (\sum_(j | H j) b j ^+ 2).
Proof.
have e (c : J -> R) : \sum_(j | H j) c j ^+ 2 = \sum_j (if H j then c j else 0) ^+ 2.
  by rewrite big_mkcond; apply: eq_bigr => j _; case: ifP; rewrite ?expr0n.
rewrite !e; apply: le_trans (minkowski _ _); apply: ler_wsqrtr; apply: ler_sum => j _.
by case: ifP; rewrite ?addr0.
Qed.

Lemma root_sum_le (H : pred J) (a b : J -> R) : (forall j, H j -> 0 <= a j <= b j) ->
  Num.sqrt (\sum_(j | H j) a j ^+ 2) <= Num.sqrt (\sum_(j | H j) b j ^+ 2).
Proof.
move=> le; apply: ler_wsqrtr; apply: ler_sum => j /le /andP[a0 ab].
by rewrite ler_pexpn2r ?nnegrE // (le_trans a0 ab).
Qed.

Lemma root_sum_scaled (H : pred J) (c : R) (a : J -> R) : 0 <= c ->
  Num.sqrt (\sum_(j | H j) (c * a j) ^+ 2) = c * Num.sqrt (\sum_(j | H j) a j ^+ 2).
Proof.
move=> c0; under eq_bigr do rewrite exprMn.
by rewrite -mulr_sumr sqrtrM ?sqr_ge0 // sqrtr_sqr ger0_norm.
Qed.

Lemma root_sum_const (H : pred J) (c : R) : 0 <= c ->
  Num.sqrt (\sum_(j | H j) c ^+ 2) = Num.sqrt #|H|%:R * c.
Proof.
by move=> c0; rewrite sumr_const -mulr_natl sqrtrM ?ler0n // sqrtr_sqr ger0_norm.
Qed.

End Minkowski.
