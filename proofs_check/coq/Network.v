(** Synchronous rounds: every agent is a send and a receive function, the network is a fold.
    Byzantine agents say on each edge in each round what the adversary wants. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Network.

(* S: states, W: messages; s0 stands in the place of agents that do not exist. *)
Variables (S W : Type) (s0 : S).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable send : nat -> S -> W.
Variable receive : nat -> S -> seq (nat * W) -> S.

(* Clause: AD-4. What a Byzantine agent says: a function of round, sender and receiver. *)
Definition adversary := nat -> nat -> nat -> W.

(* Clause: MO-4, MO-6 *)
Definition on_edge (adv : adversary) (r : nat) (ss : seq S) (u v : nat) : W :=
  if H u then send r (nth s0 ss u) else adv r u v.

Definition inbox (adv : adversary) (r : nat) (ss : seq S) (v : nat) : seq (nat * W) :=
  [seq (u, on_edge adv r ss u v) | u <- nb v].

(* Clause: MO-3 *)
Definition next (adv : adversary) (r : nat) (ss : seq S) : seq S :=
  mkseq (fun v => receive r (nth s0 ss v) (inbox adv r ss v)) n.

(* The states of all agents after r rounds. *)
Fixpoint run (adv : adversary) (start : seq S) (r : nat) : seq S :=
  if r is r'.+1 then next adv r (run adv start r') else start.

Definition state_of adv start r v := nth s0 (run adv start r) v.

Lemma state_ofS adv start r v : v < n ->
  state_of adv start r.+1 v =
  receive r.+1 (state_of adv start r v) (inbox adv r.+1 (run adv start r) v).
Proof. by move=> vn; rewrite /state_of /= nth_mkseq. Qed.


(* Clause: AD-2, AD-3. An adaptive rushing adversary sees the states of all agents at the
   beginning of every round so far, the present one included; honest messages of this round are
   functions of them, and so is everything it has said itself. *)
Definition strategy := seq (seq S) -> nat -> nat -> nat -> W.

Fixpoint history (strat : strategy) (start : seq S) (r : nat) : seq (seq S) :=
  if r is r'.+1 then
    let past := history strat start r' in
    next (fun q u v => strat past q u v) r (head start past) :: past
  else [:: start].

Definition adaptive_run strat start r := head start (history strat start r).

(** Every adaptive rushing adversary has a function of round and edge that does the same, so what
    is proved against all of those is proved against all adaptive rushing adversaries. *)
(* Proves: AD-2 *)
Theorem rushing_reduces (strat : strategy) (start : seq S) :
  exists adv : adversary, forall r, run adv start r = adaptive_run strat start r.
Proof.
exists (fun r u v => strat (history strat start r.-1) r u v).
elim=> //= r ->; rewrite /adaptive_run /= /next; apply: eq_mkseq => v.
by congr receive; apply: eq_map => u; rewrite /on_edge.
Qed.

End Network.
