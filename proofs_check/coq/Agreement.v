(** ValidationStateAgreement: the machine. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: SA-4. Nothing, something that is no boolean, or an alarm state. *)
Inductive word := NoWord | NoBoolean | Word of bool.

Record astate := AState { invalid : bool; raised_alarms : seq alarm }.

Definition astart (already : bool) : astate := AState already [::].

(* Clause: SA-2 *)
Definition asend (_ : nat) (s : astate) : word := Word (invalid s).

(* Clause: SA-3, SA-4 *)
Definition objection (w : word) : option reason :=
  match w with
  | NoWord => Some MissingMessage
  | NoBoolean => Some MalformedMessage
  | Word b => if b then Some NeighbourAlarm else None
  end.

Definition reason_code (w : reason) : nat :=
  match w with
  | MissingMessage => 0 | MalformedMessage => 1 | UnknownTag => 2 | MalformedValue => 3
  | DifferentValue => 4 | NoValue => 5 | NeighbourAlarm => 6 | EarlyValue => 7
  | LateValue => 8 | OutOfRange => 9 | OwnUpdateOutOfRange => 10 | ModelNorm => 11
  | GradientNorm => 12 | InconsistentHashes => 13 | BrokenRelation => 14 | SelfMismatch => 15
  | InconsistentEstimates => 16 | SelfEstimateMismatch => 17 | NotOptimal => 18
  | TooOptimal => 19 | TooHeterogeneous => 20 | TooHomogeneous => 21
  end.

Definition same_cause (a b : alarm) : bool :=
  (reason_code (why a) == reason_code (why b)) &&
  match sender a, sender b with
  | Some u, Some v => u == v | None, None => true | _, _ => false
  end.

Definition objections (r : nat) (inbox : seq (nat * word)) : seq alarm :=
  pmap (fun uw => omap (fun w => Alarm w r (Some uw.1) None) (objection uw.2)) inbox.

(* Clause: SA-3. persist = false is the printed listing, read as "reset otherwise". *)
Definition areceive (persist : bool) (r : nat) (s : astate) (inbox : seq (nat * word)) : astate :=
  let raised := objections r inbox in
  AState (~~ nilp raised || (persist && invalid s))
         (raised_alarms s ++
          [seq a <- raised | ~~ has (same_cause a) (raised_alarms s)]).

(* The states of all agents after r rounds; as SA-1 says, the protocol takes n-1 of them. *)
Definition agreement persist n nb H (already : nat -> bool) adv r : seq astate :=
  run (astart false) n nb H asend (areceive persist) adv (mkseq (fun v => astart (already v)) n) r.

Definition agreement_state persist n nb H already adv r v : astate :=
  nth (astart false) (agreement persist n nb H already adv r) v.

(* Clause: SA-1 *)
Definition agreement_rounds (n : nat) : nat := n.-1.
