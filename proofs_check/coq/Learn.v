(** LearnModel: the machine, with silence, zeros in the place of what cannot be used, and the range
    tests; and the norm checks of what was received. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Arith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: MO-8. Nothing, something that is no pair of vectors, or a model and a scaled gradient. *)
Inductive lword := Unsaid | NoPair | Pair of seq Z & seq Z.

Record lstate := LState {
  me : nat;
  (* the message of the next round; None after an update left the range *)
  message : option (seq Z * seq Z);
  said_so_far : transcript;
  (* by round what the neighbours said, in their order *)
  heard : seq (seq (seq Z * seq Z));
  learn_alarms : seq alarm
}.

Definition lnobody : lstate := LState 0 None [::] [::] [::].

Section Learn.

(* Dimension, step bits, a_t, A_t, T, limits and the common first model. *)
Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variable nb : nat -> seq nat.
(* Clause: AR-3. The gradient on the lattice, of an agent, in a round, at the point Y. *)
Variable gradient : nat -> nat -> seq Z -> seq Z.

(* Clause: LM-4 *)
Definition nothing : seq Z * seq Z := (nseq d 0%Z, nseq d 0%Z).

(* Clause: LM-2, AR-14 *)
Definition update (v t : nat) (own : seq Z) (nbs : seq (seq Z)) : option (seq Z * seq Z) :=
  let Y := mix d k (at_ steps t.-1) own nbs in
  let G := gradient v t Y in
  if size G == d then step k (at_ rates t.-1) xmax gmax Y G else None.

(* Clause: LM-2, LM-7, AR-14 *)
Definition advance (s : lstate) (t : nat) (own : seq Z) (nbs : seq (seq Z)) : lstate :=
  match update (me s) t own nbs with
  | Some m => LState (me s) (Some m) (said_so_far s) (heard s) (learn_alarms s)
  | None => LState (me s) None (said_so_far s) (heard s)
              (rcons (learn_alarms s) (Alarm OwnUpdateOutOfRange t None (Some (me s))))
  end.

(* Clause: LM-2 *)
Definition lstart (v : nat) : lstate :=
  advance (LState v None [::] [::] [::]) 1 x0 [seq x0 | _ <- nb v].

(* Clause: LM-2, LM-7 *)
Definition lsend (_ : nat) (s : lstate) : lword :=
  if message s is Some m then Pair m.1 m.2 else Unsaid.

(* Clause: MO-8, AR-11, LM-4 *)
Definition problem (w : lword) : option reason :=
  match w with
  | Unsaid => Some MissingMessage
  | NoPair => Some MalformedMessage
  | Pair x g =>
      if ~~ ((size x == d) && (size g == d)) then Some MalformedMessage
      else if all (inside xmax) x && all (inside gmax) g then None else Some OutOfRange
  end.

(* Clause: LM-3, LM-4. What is kept of a message. *)
Definition kept (w : lword) : seq Z * seq Z :=
  match problem w, w with None, Pair x g => (x, g) | _, _ => nothing end.

(* Clause: LM-3, LM-4 *)
Definition lreceive (r : nat) (s : lstate) (inbox : seq (nat * lword)) : lstate :=
  let own := odflt nothing (message s) in
  let row := [seq kept uw.2 | uw <- inbox] in
  let s' := LState (me s) (message s) (rcons (said_so_far s) own) (rcons (heard s) row)
    (learn_alarms s ++
     pmap (fun uw => omap (fun w => Alarm w r (Some uw.1) None) (problem uw.2)) inbox) in
  if (r == T) || ~~ isSome (message s) then s'
  else advance s' r.+1 own.1 [seq m.1 | m <- row].

(* Clause: LM-5. The transcript of a neighbour, as it was received. *)
Definition received_from (s : lstate) (u : nat) : transcript :=
  [seq nth nothing row (index u (nb (me s))) | row <- heard s].

(* The states of all agents after r rounds. *)
Definition learned n H adv r : seq lstate :=
  run lnobody n nb H lsend lreceive adv (mkseq lstart n) r.
Definition learned_state n H adv r v : lstate := nth lnobody (learned n H adv r) v.

(** * The norm checks *)

(* Clause: LV-2. Squares of B_t and C_t, if there are bounds. *)
Variable bounds : option (seq Z * seq Z).

(* Clause: LV-2, AR-8, AR-12 *)
Definition model_long (i : nat) (m : seq Z * seq Z) : bool :=
  if bounds is Some b then Z.ltb (at_ b.1 i) (squared_norm m.1) else false.
Definition gradient_long (i : nat) (m : seq Z * seq Z) : bool :=
  if bounds is Some b then Z.ltb (at_ b.2 i) (squared_norm (read_gradient (at_ rates i) m.2))
  else false.

(* Clause: LV-2 *)
Definition norms_ok (tr : transcript) : bool :=
  all (fun i => ~~ model_long i (nth nothing tr i) && ~~ gradient_long i (nth nothing tr i))
    (iota 0 (size tr)).

(* Clause: LV-2, MO-7 *)
Definition norm_alarms (u : nat) (tr : transcript) : seq alarm :=
  flatten [seq
    (if model_long i (nth nothing tr i) then [:: Alarm ModelNorm i.+1 (Some u) None] else [::]) ++
    (if gradient_long i (nth nothing tr i) then [:: Alarm GradientNorm i.+1 (Some u) None]
     else [::]) | i <- iota 0 (size tr)].

End Learn.
