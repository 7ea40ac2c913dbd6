(** The benign attack: Byzantine agents that run the honest code on other data cannot be told from
    honest ones, so the run has the law of an attack-free run on these data. *)
From mathcomp Require Import all_ssreflect all_algebra.
From ValidRef Require Import Network Inner Admissible Product.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope ring_scope.

(** * One run *)
Section Imitation.
Variables (S W : Type) (s0 : S) (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variables (send : nat -> S -> W) (receive : nat -> S -> seq (nat * W) -> S).
Notation run H := (run s0 n nb H send receive).

(* Clause: GU-11. What the honest code says on the data in start. *)
Definition imitate (nobody : adversary W) (start : seq S) : adversary W :=
  fun r u _ => send r (nth s0 (run xpredT nobody start r.-1) u).

(** The attacked run and the attack-free run on the same data are the same run, Byzantine agents
    included. *)
(* Proves: AN-12 *)
Theorem imitation_is_honest nobody start r :
  run H (imitate nobody start) start r = run xpredT nobody start r.
Proof.
elim: r => //= r ->; rewrite /next; apply: eq_mkseq => v; congr receive.
by apply: eq_map => u; rewrite /on_edge /imitate /=; case: (H u).
Qed.
End Imitation.

(** * Its law *)
Section Law.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J D : finType).
Variables (Hon : pred J).
(* grad v x d: the gradient of agent v at x for the datum d; N data are drawn for every agent. *)
Variables (grad : J -> V -> D -> V) (N : nat).
Notation laws := (J -> D -> R).
Notation data := {ffun J * 'I_N -> D}.

(* G_v(x) = E grad under the law of v *)
Definition mean_gradient (P : laws) v x : V := \sum_d P v d *: grad v x d.
(* P_H x Q_B *)
Definition mixed_laws (P Q : laws) : laws := fun v => if Hon v then P v else Q v.
(* All data of all agents are drawn independently. *)
Definition law (P : laws) : data -> R := weight (fun i : J * 'I_N => P i.1).

Variables (class : laws -> Prop) (level : R).
(* Clause: GU-10 *)
Definition f_complete : Prop := forall P x (ghat : J -> V), class P ->
  \sum_(v | Hon v) mean_gradient P v x + \sum_(v | ~~ Hon v) ghat v = 0 ->
  \sum_(v | Hon v) sq dot (mean_gradient P v x) + \sum_(v | ~~ Hon v) sq dot (ghat v) <= level ->
  exists Q, class (mixed_laws P Q) /\ forall v, ~~ Hon v -> mean_gradient Q v x = ghat v.

(* A protocol: what a run ends with, as a function of the data; every machine is one. *)
Variables (End : Type) (states W : Type) (s0 : states) (agents : nat) (nb : nat -> seq nat).
Variables (send : nat -> states -> W) (receive : nat -> states -> seq (nat * W) -> states).
Variables (start : data -> seq states) (rounds : nat) (honest : pred nat) (nobody : adversary W).
Variable ends_with : seq states -> End.
(* All agents are valid, and in the mean nearer than eps to the model. *)
Variable success : V -> End -> bool.

Definition attack_free (w : data) : End :=
  ends_with (run s0 agents nb xpredT send receive nobody (start w) rounds).
Definition attacked (w : data) : End :=
  ends_with (run s0 agents nb honest send receive (imitate s0 agents nb send receive nobody (start w))
    (start w) rounds).

(** A protocol that succeeds on every attack-free member of a complete class, at the point where the mean
    gradients cancel, lets a benign attack move it to every admissible model. *)
(* Proves: AN-12 *)
Theorem benign_attack theta : f_complete ->
  (forall P x, class P -> \sum_v mean_gradient P v x = 0 ->
     1 - theta <= \sum_(w | success x (attack_free w)) law P w) ->
  forall P xhat, class P -> admissible dot Hon (fun v => mean_gradient P v xhat) level ->
  exists Q, class (mixed_laws P Q) /\
    1 - theta <= \sum_(w | success xhat (attacked w)) law (mixed_laws P Q) w.
Proof.
move=> complete succeeds P xhat cP [ghat [balance budget]].
have [Q [cQ same]] := complete P xhat ghat cP balance budget; exists Q; split=> //.
rewrite (eq_bigl (fun w => success xhat (attack_free w))) => [|w]; last first.
  by rewrite /attacked imitation_is_honest.
have cancels : \sum_v mean_gradient (mixed_laws P Q) v xhat =
    \sum_(v | Hon v) mean_gradient P v xhat + \sum_(v | ~~ Hon v) ghat v.
  rewrite (bigID Hon) /=; congr (_ + _); apply: eq_bigr => v Hv.
    by rewrite /mean_gradient /mixed_laws Hv.
  by rewrite -same // /mean_gradient /mixed_laws (negbTE Hv).
by apply: succeeds => //; rewrite cancels.
Qed.
End Law.

(** * The target is the minimiser *)
Section Minimiser.
Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (J : finType) (G : V -> J -> V).
Hypothesis I : inner dot.
Hypothesis definite : forall x, sq dot x = 0 -> x = 0.
(* The average loss is strictly convex. *)
Hypothesis strict : forall x y, x != y -> 0 < dot (\sum_v G x v - \sum_v G y v) (x - y).

(** If all agents' gradients are known, one model is admissible: that where they cancel. *)
(* Proves: AN-12, AN-14 *)
Theorem one_model_for_all (star : V) level : \sum_v G star v = 0 -> \sum_v sq dot (G star v) <= level ->
  forall x, admissible dot xpredT (G x) level <-> x = star.
Proof.
move=> zero het x; split=> [[ghat [balance _]]|->]; last first.
  by exists (fun _ => 0); rewrite !big_pred0_eq !addr0.
apply/eqP/negPn/negP => /strict; move: balance; rewrite big_pred0_eq addr0 => ->.
by rewrite zero subr0 (dot0l I) ltxx.
Qed.
End Minimiser.

(** Replacing Byzantine data cannot lower the true loss of the minimiser below the true minimum. *)
(* Proves: AN-13 *)
Theorem attacked_loss_is_no_less (T : Type) (R : numDomainType) (loss attacked_loss : T -> R) (best : R) :
  (forall x, best <= loss x) -> forall x, (forall y, attacked_loss x <= attacked_loss y) -> best <= loss x.
Proof. by move=> least x _. Qed.
