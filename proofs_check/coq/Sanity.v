(** The hypotheses of the end-to-end theorem can be met: a triangle in which agent 0 tells its two
    honest neighbours different things, p = 101, d = 1, T = 2. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast Agreement Arith HashProof LatticeProof.
From ValidRef Require Import LocalProof Protocol EndToEnd Witness.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Definition quiet : transcript := [:: ([:: 0%Z], [:: 0%Z]); ([:: 0%Z], [:: 0%Z])].
Definition loud : transcript := [:: ([:: 1%Z], [:: 0%Z]); ([:: 0%Z], [:: 0%Z])].
Definition two_faced (v u : nat) : transcript := if (v == 0) && (u == 2) then loud else quiet.

Lemma triangle_ok : graph_ok 3 triangle.
Proof.
split=> [] [|[|[|u]]] //= v _; rewrite !inE => /orP[] /eqP -> //.
Qed.

Lemma triangle_dominated : assumption_1_plus 3 triangle all_but_0.
Proof.
split; last by case=> [|[|[|v]]] //; exists 1.
split; first by exists 1.
move=> [|[|[|u]]] [|[|[|v]]] //; do ?[by exists [::]].
  by exists [:: 2].
by exists [:: 1].
Qed.

(** With two honest keys at most (dT-1)^2 = 1 of 101^2 = 10201 tuples lets it pass. *)
(* Proves: L2, L3 *)
Theorem two_faced_is_caught once all_keys
    (advK : {ffun {v : 'I_3 | all_but_0 v} -> 'I_101} -> adversary (wire Z)) advR advA before after :
  #|[set t : {ffun {v : 'I_3 | all_but_0 v} -> 'I_101} | ~~ [forall w : {v : 'I_3 | all_but_0 v},
     ends_invalid 101 1 1 [:: 0%Z] [:: 1%Z; 1%Z] 3 triangle all_but_0 once all_keys two_faced
       (fun _ => quiet) (key_of t) (advK t) (advR t) (advA t) (before t) (after t)
       (val (val w))]]| <= 1.
Proof.
have := @misbehaviour_is_caught 101 isT 1 1 2 [:: 0%Z] [:: 1%Z; 1%Z] erefl erefl 3 triangle
  all_but_0 triangle_ok _ two_faced (fun _ => quiet) once all_keys triangle_dominated _ _ _
  8%Z 36%Z 1%Z 2 isT _ _ _ isT _ _ _ 0 advK advR advA before after isT.
apply.
- by case=> [|[|[|v]]].
- by move=> [|[|[|v]]] u.
- by move=> v u _ _ _; rewrite /two_faced; case: ifP.
- by [].
- by move=> v u _ _ _; rewrite /two_faced; case: ifP.
- by [].
- by case=> [|[|[|v]]].
- by [].
- by [].
- by [].
- by left; exists 1, 2.
Qed.
