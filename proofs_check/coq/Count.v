(** How often an agent says a value in a broadcast: every value once in the flood, to all neighbours,
    and once in the compare round. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast BroadcastProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Count.
Variables (M : Type) (eqm : M -> M -> bool).
Hypothesis eqmP : forall x y, reflect (x = y) (eqm x y).
Variables (k : nat) (wf : nat -> M -> bool).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis two : 1 < n.
Variables (source : nat -> nat) (value : nat -> M).
Variable adv : adversary (wire M).
Notation st := (broadcast_state eqm k wf n true true n nb H source value adv).

(* Clause: VB-10. Whether the message that v sends in round r has a value for tag t. *)
Definition says r v t : bool := isSome (entry (send n true true r (st r.-1 v)) t).

(* How often v says the value of tag t to each of its neighbours. *)
Definition times v t : nat := \sum_(1 <= r < n.+1) says r v t.

(* Clause: VB-10. What v sends: every message goes to every neighbour; a value of tag t is c t scalars. *)
Definition scalars (c : nat -> nat) v : nat :=
  \sum_(u <- nb v) \sum_(1 <= r < n.+1) \sum_(t < k) c t * says r v t.

Lemma says_fresh r v t : 0 < r < n -> says r v t = isSome (nth None (fresh (st r.-1 v)) t).
Proof.
by case/andP=> _ rn; rewrite /says /entry /send /compares /= (ltn_eqF rn).
Qed.

Lemma says_held v t : says n v t = isSome (holds (st n.-1 v) t).
Proof. by rewrite /says /entry /send /compares /= eqxx. Qed.

Lemma held_stays r v t : v < n -> t < k -> isSome (holds (st r v) t) -> isSome (holds (st r.+1 v) t).
Proof.
move=> vn tk; case hr: (holds (st r v) t) => [m|//] _.
by rewrite stS // (receive_keep _ _ _ _ _ _ tk hr).
Qed.

Lemma fresh_is_new r v t : v < n -> t < k -> isSome (nth None (fresh (st r.+1 v)) t) =
  isSome (holds (st r.+1 v) t) && ~~ isSome (holds (st r v) t).
Proof.
move=> vn tk; rewrite stS //; case hr: (holds (st r v) t) => [m|].
  by rewrite (receive_fresh_kept _ _ _ _ _ _ tk hr) andbF.
by rewrite receive_fresh // andbT.
Qed.

Lemma flood_times v t r : v < n -> t < k -> r.+1 < n ->
  \sum_(1 <= q < r.+2) says q v t = isSome (holds (st r v) t).
Proof.
move=> vn tk; elim: r => [|r IH] rn.
  by rewrite big_nat1 says_fresh ?rn //= st0.
rewrite big_nat_recr //= IH ?(ltnW rn) // says_fresh ?rn //= fresh_is_new //.
have := @held_stays r v t vn tk.
by case: (isSome (holds (st r v) t)) => [->|] //; rewrite andbT.
Qed.

Lemma timesE v t : v < n -> t < k ->
  times v t = isSome (holds (st n.-2 v) t) + isSome (holds (st n.-1 v) t).
Proof.
move=> vn tk; rewrite /times big_nat_recr ?(ltnW two) //= says_held; congr (_ + _).
have e : n.-2.+2 = n by case: n two => [|[|m]].
have lt : n.-2.+1 < n by case: n two => [|[|m]].
by have := flood_times vn tk lt; rewrite e.
Qed.

(** Against any adversary an agent says a value at most twice to a neighbour. *)
(* Proves: VB-10 *)
Theorem at_most_twice v c : v < n -> scalars c v <= 2 * (size (nb v) * \sum_(t < k) c t).
Proof.
move=> vn; rewrite /scalars big_const_seq count_predT iter_addn_0 [X in _ <= X]mulnA [2 * _]mulnC.
rewrite -mulnA [X in X <= _]mulnC leq_mul2l; apply/orP; right.
rewrite exchange_big big_distrr /= leq_sum // => t _.
rewrite -big_distrr /= mulnC leq_mul2r -/(times v t) timesE // orbC.
by case: (isSome _); case: (isSome _).
Qed.

(** Without Byzantine agents it says it exactly twice, but for agents at distance n-1 from the source,
    the two ends of a path: these say it in the compare round alone. *)
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis sources_ok : forall t, t < k -> source t < n /\ wf t (value t).

Lemma held_is_near r v t : v < n -> t < k -> isSome (holds (st r v) t) ->
  exists p, [/\ path (hop nb H) (source t) p, last (source t) p = v & size p <= r].
Proof.
elim: r v => [|r IH] v vn tk.
  by rewrite st0 // /holds nth_mkseq //; case: eqP => // sv _; exists [::].
case hr: (holds (st r v) t) => [m|].
  by move=> _; have [|p [pp lp sp]] := IH v vn tk; [rewrite hr|exists p; split=> //; apply: leqW].
rewrite stS //; case h: holds => [m|//] _.
have [u [w [/heard_out[uv ->]]]] := receive_some tk hr h.
have un : u < n := proj1 Gok v u vn uv; rewrite everybody // /usable.
case e: entry => [m'|//] _.
have hu : isSome (holds (st r u) t).
  move: e; rewrite /entry /send; case: ifP => _ e; first by rewrite /holds e.
  by rewrite (fresh_held un tk e).
have [p [pp lp sp]] := IH u un tk hu; exists (rcons p v).
rewrite last_rcons size_rcons rcons_path pp lp /hop everybody // andbT; split=> //.
exact: (proj2 Gok).
Qed.

(* Proves: VB-10 *)
Theorem exactly_twice v t : assumption_1 n nb H -> v < n -> t < k ->
  (times v t = 2 <-> exists p,
     [/\ path (hop nb H) (source t) p, last (source t) p = v & size p <= n.-2]) /\
  (times v t = 2 \/ times v t = 1).
Proof.
move=> conn vn tk; rewrite timesE //.
have reaches r p : r < n -> path (hop nb H) (source t) p -> size p <= r ->
    isSome (holds (st r (last (source t) p)) t).
  by move=> rn pp sp; rewrite (_ : holds _ _ = Some (value t)) //; apply: flood_reaches.
have end_ : isSome (holds (st n.-1 v) t).
  have [_ reach] := conn; have [sn _] := sources_ok tk.
  have sA : is_agent n H (source t) by rewrite /is_agent sn everybody.
  have vA : is_agent n H v by rewrite /is_agent vn everybody.
  have [p0 sp0 lp0] := reach _ _ sA vA.
  have [p [sp lp szp]] := walk_shortens Gok sA sp0.
  rewrite -lp0 -lp; apply: reaches => //; first by rewrite ltn_predL (ltnW two).
  apply: leq_trans szp _; rewrite -!subn1; apply: leq_sub2r; exact: honest_count_le.
rewrite end_; split; last by case: (isSome _); [left|right].
split=> [h|[p [pp lp sp]]].
  by apply: held_is_near => //; move: h; case: (isSome _).
rewrite -{1}lp reaches //.
by apply: leq_ltn_trans (leq_pred _) _; rewrite ltn_predL (ltnW two).
Qed.

(** What a whole broadcast costs an agent when every source is within n - 2 steps. *)
(* Proves: VB-10, AN-11 *)
Theorem broadcast_cost v c : assumption_1 n nb H -> v < n ->
  (forall t, t < k -> exists p,
     [/\ path (hop nb H) (source t) p, last (source t) p = v & size p <= n.-2]) ->
  scalars c v = 2 * (size (nb v) * \sum_(t < k) c t).
Proof.
move=> conn vn near; rewrite /scalars big_const_seq count_predT iter_addn_0 [RHS]mulnA [2 * _]mulnC.
rewrite -mulnA [LHS]mulnC; congr (_ * _).
rewrite exchange_big big_distrr /=; apply: eq_bigr => t _.
rewrite -big_distrr /= mulnC -/(times v t); congr (_ * _).
by have [[_ ->]] := exactly_twice conn vn (ltn_ord t); last exact: near.
Qed.
End Count.
