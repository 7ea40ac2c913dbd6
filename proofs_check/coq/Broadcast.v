(** ValidatedBroadcast: the machine. All tags run in parallel; tags are 0..k-1. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: MO-7. Why, in which round, over whose message, about which tag. *)
Inductive reason :=
  MissingMessage | MalformedMessage | UnknownTag | MalformedValue | DifferentValue | NoValue
| NeighbourAlarm | EarlyValue | LateValue
| OutOfRange | OwnUpdateOutOfRange | ModelNorm | GradientNorm
| InconsistentHashes | BrokenRelation | SelfMismatch
| InconsistentEstimates | SelfEstimateMismatch
| NotOptimal | TooOptimal | TooHeterogeneous | TooHomogeneous.

Record alarm := Alarm {
  why : reason;
  in_round : nat;
  sender : option nat;
  about : option nat
}.

Section Machine.

(* M: whatever may stand in a message in the place of a value; eqm decides its equality. *)
Variables (M : Type) (eqm : M -> M -> bool).
(* Clause: VB-1. The number of tags, and which values have the form that a tag demands. *)
Variables (k : nat) (well_formed : nat -> M -> bool).
(* Clause: VB-2. The number of rounds; as printed (repaired = false) all of them adopt, and null
   at the end is no alarm. *)
Variables (rounds : nat) (repaired : bool).
(* Clause: VB-4, VB-11. Whether a held value is sent once, or again in every flood round. *)
Variable once : bool.

(* Clause: VB-9. Nothing, no mapping, or a mapping: whether it has an unknown tag, and its values
   by tag, where None is null. *)
Inductive wire := Silent | Garbage | Packet of bool & seq (option M).

(* Clause: VB-3 *)
Record bstate := BState {
  held : seq (option M);
  fresh : seq (option M);
  alarms : seq alarm
}.

Definition nobody : bstate := BState [::] [::] [::].

Definition compares (r : nat) : bool := repaired && (r == rounds).

Definition start (source : nat -> nat) (value : nat -> M) (v : nat) : bstate :=
  let own := mkseq (fun t => if source t == v then Some (value t) else None) k in
  BState own own [::].

(* Clause: VB-4, VB-7 *)
Definition send (r : nat) (s : bstate) : wire :=
  Packet false (if compares r || ~~ once then held s else fresh s).

Definition entry (w : wire) (t : nat) : option M :=
  if w is Packet _ es then nth None es t else None.

Definition usable (w : wire) (t : nat) : option M :=
  if entry w t is Some m then (if well_formed t m then Some m else None) else None.

Definition malformed (w : wire) (t : nat) : bool :=
  if entry w t is Some m then ~~ well_formed t m else false.

(* Clause: VB-9, MO-8 *)
Definition wire_alarms (r u : nat) (w : wire) : seq alarm :=
  match w with
  | Silent => [:: Alarm MissingMessage r (Some u) None]
  | Garbage => [:: Alarm MalformedMessage r (Some u) None]
  | Packet unknown _ =>
      (if unknown then [:: Alarm UnknownTag r (Some u) None] else [::]) ++
      [seq Alarm MalformedValue r (Some u) (Some t) | t <- iota 0 k & malformed w t]
  end.

(* Clause: VB-6 *)
Definition differs (s : bstate) (w : wire) (t : nat) : bool :=
  if nth None (held s) t is Some m then
    if usable w t is Some m' then ~~ eqm m m' else false
  else false.

(* Clause: VB-5 *)
Definition adopt (r : nat) (w : wire) (t : nat) (was : option M) : option M :=
  if was is Some m then Some m else if compares r then None else usable w t.

(* Clause: VB-5, VB-6, VB-7. What one sender's message does. *)
Definition hear (r : nat) (s : bstate) (uw : nat * wire) : bstate :=
  let: (u, w) := uw in
  BState
    (mkseq (fun t => adopt r w t (nth None (held s) t)) k)
    (mkseq (fun t => if nth None (held s) t is Some _ then nth None (fresh s) t
                     else adopt r w t None) k)
    (alarms s ++ wire_alarms r u w ++
     [seq Alarm DifferentValue r (Some u) (Some t) | t <- iota 0 k & differs s w t]).

(* Clause: VB-8 *)
Definition null_alarms (r : nat) (s : bstate) : seq alarm :=
  if compares r
  then [seq Alarm NoValue r None (Some t) | t <- iota 0 k & ~~ isSome (nth None (held s) t)]
  else [::].

Definition receive (r : nat) (s : bstate) (inbox : seq (nat * wire)) : bstate :=
  let heard := foldl (hear r) (BState (held s) (nseq k None) (alarms s)) inbox in
  BState (held heard) (fresh heard) (alarms heard ++ null_alarms r heard).

Definition holds (s : bstate) (t : nat) : option M := nth None (held s) t.
Definition alarmed (s : bstate) : bool := ~~ nilp (alarms s).

(* The states of all agents after r rounds. *)
Definition broadcast n nb H source value adv r : seq bstate :=
  run nobody n nb H send receive adv (mkseq (start source value) n) r.

Definition broadcast_state n nb H source value adv r v : bstate :=
  nth nobody (broadcast n nb H source value adv r) v.

End Machine.

Arguments Silent {M}.
Arguments Garbage {M}.
Arguments nobody {M}.
