(** Graphs of agents 0..n-1, given by neighbour lists, and walks through the honest agents. *)
From mathcomp Require Import all_ssreflect.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: MO-1. Agents are 0..n-1; nb v lists the neighbours of v; edges have no direction. *)
Definition graph_ok (n : nat) (nb : nat -> seq nat) : Prop :=
  (forall u v, u < n -> v \in nb u -> v < n) /\
  (forall u v, u < n -> v \in nb u -> u \in nb v).

Section Walks.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.

Definition is_agent (v : nat) : bool := (v < n) && H v.

(* One step of a walk in G[H]: to a neighbour that is honest. *)
Definition hop (u v : nat) : bool := (v \in nb u) && H v.

(* Clause: AD-5. G[H] is connected and not empty. *)
Definition assumption_1 : Prop :=
  (exists v, is_agent v) /\
  forall u v, is_agent u -> is_agent v -> exists2 p, path hop u p & last u p = v.

(* Clause: AD-6. Moreover every Byzantine agent has an honest neighbour. *)
Definition assumption_1_plus : Prop :=
  assumption_1 /\ forall v, v < n -> ~~ H v -> exists2 u, u \in nb v & H u.

(* |H| *)
Definition honest_count : nat := count H (iota 0 n).

Lemma walk_agents u p : is_agent u -> path hop u p -> all is_agent p.
Proof.
elim: p u => //= v p IH u /andP[un Hu] /andP[/andP[uv Hv] vp].
have vA : is_agent v by rewrite /is_agent Hv (proj1 Gok u v un uv).
by rewrite vA (IH v vA vp).
Qed.

Lemma walk_end u p : is_agent u -> path hop u p -> is_agent (last u p).
Proof.
move=> uA up; have /allP pA := walk_agents uA up.
by have := mem_last u p; rewrite inE => /orP[/eqP ->|/pA].
Qed.

(** A walk through honest agents shortens to one of at most |H|-1 steps. *)
Theorem walk_shortens u p : is_agent u -> path hop u p ->
  exists q, [/\ path hop u q, last u q = last u p & size q <= honest_count.-1].
Proof.
move=> uA up; case: (shortenP up) => q uq Uq _; exists q; split=> //.
have qA := walk_agents uA uq.
have sub : {subset u :: q <= [seq v <- iota 0 n | H v]}.
  move=> v; rewrite mem_filter mem_iota add0n leq0n /=.
  have: all is_agent (u :: q) by rewrite /= uA qA.
  by move=> /allP/(_ v) A vin; case/andP: (A vin) => -> ->.
have := uniq_leq_size Uq sub; rewrite size_filter /=.
by rewrite -/honest_count; case: honest_count.
Qed.

Lemma honest_count_le : honest_count <= n.
Proof. by rewrite /honest_count -[X in _ <= X](size_iota 0 n) count_size. Qed.

Lemma honest_count_gt0 u : is_agent u -> 0 < honest_count.
Proof.
case/andP=> un Hu; rewrite /honest_count -has_count; apply/hasP.
by exists u => //; rewrite mem_iota.
Qed.

(** What holds at u after round r and moves one hop a round is everywhere |H|-1 rounds later. *)
Lemma spreads (P : nat -> nat -> Prop) (R r : nat) :
  (forall r v, r < R -> is_agent v -> P r v -> P r.+1 v) ->
  (forall r u v, r < R -> is_agent u -> hop u v -> P r u -> P r.+1 v) ->
  forall p u, is_agent u -> path hop u p -> P r u -> r + size p <= R ->
  P (r + size p) (last u p).
Proof.
move=> stay move_; elim/last_ind=> [|p w IH] u uA; first by rewrite addn0.
rewrite rcons_path last_rcons size_rcons addnS => /andP[up hw] Pu le.
have lA := walk_end uA up.
by apply: (move_ _ (last u p)) => //; apply: IH => //; apply: ltnW.
Qed.

End Walks.

(** In the whole graph everybody counts as honest. *)
Lemma honest_countT n : honest_count n xpredT = n.
Proof. by rewrite /honest_count count_predT size_iota. Qed.
