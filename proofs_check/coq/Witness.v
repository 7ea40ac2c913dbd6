(** The smallest runs in which the printed text goes wrong. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Agreement Arith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** * P01: a source that is silent until the last round and then says two things *)

Definition triangle (v : nat) : seq nat :=
  if v is 0 then [:: 1; 2] else if v is 1 then [:: 0; 2] else [:: 0; 1].
Definition all_but_0 (v : nat) : bool := v != 0.
Definition late (R : nat) : adversary (wire bool) :=
  fun r _ v => Packet false [:: if r == R then Some (v == 2) else None].
Notation printed R once r v :=
  (broadcast_state eqb 1 (fun _ _ => true) R false once 3 triangle all_but_0
     (fun _ => 0) (fun _ => false) (late R) r v).

Definition ignorant : bstate bool := BState [:: None] [:: None] [::].

Lemma printed_silence R once r : r < R ->
  printed R once r 1 = ignorant /\ printed R once r 2 = ignorant.
Proof.
elim: r => [|r IH] rR; first by [].
have [e1 e2] := IH (ltnW rR).
rewrite /broadcast_state /broadcast in e1 e2 *; rewrite [run _ _ _ _ _ _ _ _ _]/=.
set ss := run _ _ _ _ _ _ _ _ _ in e1 e2 *.
rewrite /next /mkseq /= /inbox /= /on_edge /= e1 e2 /receive /= /late ltn_eqF //.
by case: (once).
Qed.

(** As printed, for every number of rounds: two honest neighbours end with different values and
    without an alarm. *)
(* Proves: P01 *)
Theorem P01_printed R once : 0 < R ->
  [/\ holds (printed R once R 1) 0 = Some false, holds (printed R once R 2) 0 = Some true,
      alarms (printed R once R 1) = [::] & alarms (printed R once R 2) = [::]].
Proof.
case: R => // R _; have [e1 e2] := printed_silence once (ltnSn R).
rewrite /broadcast_state /broadcast in e1 e2 *; rewrite ![run _ _ _ _ _ _ _ _ R.+1]/=.
set ss := run _ _ _ _ _ _ _ _ _ in e1 e2 *.
rewrite /next /mkseq /= /inbox /= /on_edge /= e1 e2 /receive /= /late eqxx.
by case: (once).
Qed.

(** * P02: the guarantee per agent is false, even for an honest source *)

Definition star (v : nat) : seq nat := if v is 1 then [:: 0; 2; 3] else [:: 1].
Definition forged : adversary (wire bool) := fun _ _ _ => Packet false [:: Some true].

(** Source 2 is honest and says false; agent 3 ends with true and has not alarmed, in the printed
    and in the repaired broadcast; the hub has. *)
(* Proves: P02, V5 *)
Theorem P02_forged repaired once :
  let s := broadcast_state eqb 1 (fun _ _ => true) 4 repaired once 4 star all_but_0
             (fun _ => 2) (fun _ => false) forged 4 in
  [/\ holds (s 3) 0 = Some true, alarmed (s 3) = false & alarmed (s 1) = true].
Proof. by case: repaired; case: once. Qed.

(** * P04: an alarm that does not persist swaps sides for ever *)

Definition pair_ (v : nat) : seq nat := if v is 0 then [:: 1] else [:: 0].

(** K2, nobody Byzantine, agent 0 has an alarm: after r rounds exactly one agent has it. *)
(* Proves: P04 *)
Theorem P04_reset r (adv : adversary word) :
  let s := agreement_state false 2 pair_ xpredT (fun v => v == 0) adv r in
  invalid (s 0) = ~~ odd r /\ invalid (s 1) = odd r.
Proof.
rewrite /agreement_state /agreement /=; elim: r => [//|r [e0 e1]].
rewrite [run _ _ _ _ _ _ _ _ _]/=; set ss := run _ _ _ _ _ _ _ _ _ in e0 e1 *.
rewrite /next /mkseq /= /inbox /= /on_edge /= /asend e0 e1 /objections /=.
by case: (odd r).
Qed.

(** * P18: the printed collision probability is too small *)

Definition bad_difference : seq Z := [:: -1; 0; -1; 1; 0; 1]%Z.
Definition keys_of (p : nat) : seq Z := [seq Z.of_nat s | s <- iota 0 p].
Definition misses (p : nat) (xs : seq Z) : seq Z :=
  [seq s <- keys_of p | Z.eqb (hash (Z.of_nat p) s xs) 0].

(** Five of 13 keys miss it; two keys both do in 25 of 169 cases, where the paper allows 13. *)
(* Proves: P18 *)
Theorem P18_five_of_thirteen :
  misses 13 bad_difference = [:: 1; 3; 5; 8; 9]%Z /\
  size [seq (s, s') | s <- misses 13 bad_difference, s' <- misses 13 bad_difference] = 25 /\
  size [seq (s, s') | s <- keys_of 13, s' <- keys_of 13] = 169 /\ 169 < 25 * 13.
Proof. by vm_compute. Qed.

(** * P19: integer representatives of an extension field break the bound *)

(* Multiplication of GF(8) with modulus x^3 + x + 1, elements as integers 0..7. *)
Definition gf8_mul (a b : Z) : Z :=
  let t i := if Z.testbit b i then Z.shiftl a i else 0%Z in
  let c := Z.lxor (t 0%Z) (Z.lxor (t 1%Z) (t 2%Z)) in
  let c := if Z.testbit c 4 then Z.lxor c 22 else c in
  if Z.testbit c 3 then Z.lxor c 11 else c.
Fixpoint gf8_hash (s power : Z) (xs : seq Z) : Z :=
  if xs is x :: rest then (x * power + gf8_hash s (gf8_mul power s) rest)%Z else 0%Z.

(** In GF(8) a difference of length 3 is missed by 4 keys, one of length 4 by 6. *)
(* Proves: P19 *)
Theorem P19_extension_field :
  [seq s <- keys_of 8 | Z.eqb (gf8_hash s 1 [:: -2; -1; 1]%Z) 0] = [:: 2; 3; 4; 5]%Z /\
  [seq s <- keys_of 8 | Z.eqb (gf8_hash s 1 [:: 0; -1; -1; 2]%Z) 0] = [:: 0; 1; 2; 3; 4; 5]%Z.
Proof. by vm_compute. Qed.

(** * P20: without a range the hash is blind to a multiple of p *)

(* Proves: P20 *)
Theorem P20_wrap p s x xs : (p <> 0)%Z -> hash p s ((x + p)%Z :: xs) = hash p s (x :: xs).
Proof.
move=> p0; rewrite /hash /=.
have -> : forall y, (x + p + y = x + y + 1 * p)%Z.
  by move=> y; rewrite -Z.add_assoc (Z.add_comm p y) Z.add_assoc Z.mul_1_l.
by rewrite Z.mod_add.
Qed.

(** * P14: with the step of the wrong round an honest agent fails the relation *)

Definition four_hashes_printed (p s : Z) (d : nat) (x0 steps : seq Z) (tr : transcript) : seq Z :=
  four_hashes p s d x0 (head 0%Z steps :: steps) tr.

(* Two agents, d = 1, k = 1, a = (1, 2), A = 1, gradients -2 and 0 in both rounds. *)
Definition p14_steps : seq Z := [:: 1; 2]%Z.
Definition p14_trs : seq transcript :=
  let Y1 := mix 1 1 1 [:: 0%Z] [:: [:: 0%Z]] in
  let a1 := odflt ([::], [::]) (step 1 1 100 100 Y1 [:: (-2)%Z]) in
  let b1 := odflt ([::], [::]) (step 1 1 100 100 Y1 [:: 0%Z]) in
  let a2 := odflt ([::], [::]) (step 1 1 100 100 (mix 1 1 2 a1.1 [:: b1.1]) [:: (-2)%Z]) in
  let b2 := odflt ([::], [::]) (step 1 1 100 100 (mix 1 1 2 b1.1 [:: a1.1]) [:: 0%Z]) in
  [:: [:: a1; a2]; [:: b1; b2]].

(** With eta(t) in the place of eta(t+1) honest agents alarm; with eta(t+1) they do not. *)
(* Proves: P14 *)
Theorem P14_wrong_round :
  let d h := Z.modulo (difference 1 (h (nth [::] p14_trs 0)) [:: h (nth [::] p14_trs 1)]) 1009 in
  d (four_hashes_printed 1009 7 1 [:: 0%Z] p14_steps) <> 0%Z /\
  d (four_hashes 1009 7 1 [:: 0%Z] p14_steps) = 0%Z.
Proof. by vm_compute. Qed.
