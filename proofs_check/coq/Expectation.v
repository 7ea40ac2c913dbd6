(** Families of vectors, one for each agent, and expectations over finite probability spaces. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From ValidRef Require Import Inner.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

(** * Families of vectors *)
Section Families.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType).
Hypothesis I : inner dot.
Notation sq := (sq dot).
Notation nrm := (nrm dot).

Definition fdot (f g : {ffun J -> V}) : R := \sum_j dot (f j) (g j).

Lemma fdot_inner : inner fdot.
Proof.
split=> [f g|f g h|a f g|f].
- by apply: eq_bigr => j _; apply: (dot_sym I).
- by rewrite /fdot -big_split; apply: eq_bigr => j _; rewrite ffunE (dot_add I).
- by rewrite /fdot mulr_sumr; apply: eq_bigr => j _; rewrite ffunE (dot_scale I).
- by apply: sumr_ge0 => j _; apply: (dot_pos I).
Qed.

Lemma dot_suml (l : seq J) (Q : pred J) (f : J -> V) y :
  dot (\sum_(j <- l | Q j) f j) y = \sum_(j <- l | Q j) dot (f j) y.
Proof.
elim/big_rec2: _ => [|j a b _ h]; first by rewrite (dot0l I).
by rewrite (dot_add I) h.
Qed.
End Families.

(** * A finite probability space *)
Section Expectation.
Variables (R : rcfType) (O : finType) (P : O -> R).
Hypothesis P_pos : forall w, 0 <= P w.
Hypothesis P_one : \sum_w P w = 1.

Definition E (f : O -> R) : R := \sum_w P w * f w.

Lemma E_le f g : (forall w, f w <= g w) -> E f <= E g.
Proof. by move=> h; apply: ler_sum => w _; rewrite ler_wpmul2l. Qed.
Lemma E_add f g : E (fun w => f w + g w) = E f + E g.
Proof. by rewrite /E -big_split; apply: eq_bigr => w _; rewrite mulrDr. Qed.
Lemma E_scale c f : E (fun w => c * f w) = c * E f.
Proof. by rewrite /E mulr_sumr; apply: eq_bigr => w _; rewrite mulrCA. Qed.
Lemma E_const c : E (fun _ => c) = c.
Proof. by rewrite /E -mulr_suml P_one mul1r. Qed.
Lemma E_eq f g : f =1 g -> E f = E g.
Proof. by move=> h; apply: eq_bigr => w _; rewrite h. Qed.

(* Markov: the weight of the outcomes at which f reaches r. *)
Lemma markov f r : 0 < r -> (forall w, 0 <= f w) -> \sum_(w | r <= f w) P w <= E f / r.
Proof.
move=> r0 f0; rewrite ler_pdivl_mulr // mulr_suml /E [X in _ <= X](bigID (fun w => r <= f w)) /=.
apply: ler_paddr; first by apply: sumr_ge0 => w _; rewrite mulr_ge0.
by apply: ler_sum => w rw; rewrite ler_wpmul2l.
Qed.

Variables (V : lmodType R) (dot : V -> V -> R).
Hypothesis I : inner dot.

(* What is known splits the outcomes; on every part the noise has mean 0. *)
Variables (A : finType) (past : O -> A) (xi u : O -> V).
Hypothesis known : forall w w', past w = past w' -> u w = u w'.
Hypothesis fair : forall a, \sum_(w | past w == a) P w *: xi w = 0.

Lemma orthogonal : E (fun w => dot (u w) (xi w)) = 0.
Proof.
rewrite /E (partition_big past xpredT) //=; apply: big1 => a _.
case: (pickP (fun w => past w == a)) => [w0 /eqP pa|none]; last by rewrite big_pred0.
rewrite (eq_bigr (fun w => dot (P w *: xi w) (u w0))) => [|w /eqP pw].
  by rewrite -(dot_suml I) fair (dot0l I).
by rewrite (dot_scale I) (dot_sym I (xi w)) (@known w w0) // pw pa.
Qed.

(** Noise of mean 0 given the past adds its variance. *)
Theorem noise_adds : E (fun w => sq dot (u w - xi w)) = E (fun w => sq dot (u w)) + E (fun w => sq dot (xi w)).
Proof.
rewrite (E_eq (g := fun w => (sq dot (u w) + sq dot (xi w)) + (- 2%:R) * dot (u w) (xi w))).
  by rewrite E_add E_scale orthogonal mulr0 addr0 E_add.
by move=> w; rewrite (sqB I); ring.
Qed.
End Expectation.
