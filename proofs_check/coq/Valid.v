(** Valid: LearnModel, LocalValidate, GlobalValidate and the agreement as one machine. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Agreement Arith Protocol Learn Estimates.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: VA-1. What an agent carries from phase to phase; alarms are only ever added. *)
Record memory := Memory {
  who : nat;
  own_key : Z;
  objections : seq alarm;
  own_record : transcript;
  (* what each neighbour sent, in their order *)
  received : seq transcript;
  keyring : seq Z;
  verdict : bool
}.

(* Clause: VA-1. The phases. *)
Inductive vstate :=
| Learning of memory & lstate
| Keying of memory & bstate Z
| Hashing of memory & bstate (seq Z)
| Estimating of memory & bstate (seq Z)
| Agreeing of memory & astate
| Done of memory.

(* Nothing, something of no form that a phase knows, or the message of a phase. *)
Inductive vword :=
| Mute
| Noise
| Learned of seq Z & seq Z
| Keyed of bool & seq (option Z)
| Listed of bool & seq (option (seq Z))
| State of bool.

Definition as_learn (w : vword) : lword :=
  match w with Mute => Unsaid | Learned x g => Pair x g | _ => NoPair end.
Definition of_learn (w : lword) : vword :=
  match w with Unsaid => Mute | NoPair => Noise | Pair x g => Learned x g end.
Definition as_keys (w : vword) : wire Z :=
  match w with Mute => Silent | Keyed b es => Packet b es | _ => Garbage end.
Definition of_keys (w : wire Z) : vword :=
  match w with Silent => Mute | Garbage => Noise | Packet b es => Keyed b es end.
Definition as_lists (w : vword) : wire (seq Z) :=
  match w with Mute => Silent | Listed b es => Packet b es | _ => Garbage end.
Definition of_lists (w : wire (seq Z)) : vword :=
  match w with Silent => Mute | Garbage => Noise | Packet b es => Listed b es end.
Definition as_word (w : vword) : word :=
  match w with Mute => NoWord | State b => Word b | _ => NoBoolean end.
Definition of_word (w : word) : vword :=
  match w with NoWord => Mute | NoBoolean => Noise | Word b => State b end.

(* A message box as a phase reads it. *)
Definition read (A W : Type) (form : A -> W) (inbox : seq (nat * A)) : seq (nat * W) :=
  [seq (uw.1, form uw.2) | uw <- inbox].

Section Valid.

Variables (P : Z) (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).

Notation slots := (slots n nb).
Notation slot := (nth (0, 0) slots).

Definition alarmed_by (m : memory) (more : seq alarm) : memory :=
  Memory (who m) (own_key m) (objections m ++ more) (own_record m) (received m) (keyring m)
    (verdict m).

Definition from (m : memory) (u : nat) : transcript :=
  nth [::] (received m) (index u (nb (who m))).

(** * The phases: what each begins with, and what its end means *)

(* Clause: LM-5, LV-1, LV-2 *)
Definition after_learning (m : memory) (s : lstate) : memory :=
  let got u := received_from d nb s u in
  Memory (who m) (own_key m)
    (objections m ++ learn_alarms s ++
     flatten [seq norm_alarms d rates bounds u (got u) | u <- nb (who m)])
    (said_so_far s) [seq got u | u <- nb (who m)] (keyring m) (verdict m).

(* Clause: LV-3, LV-4 *)
Definition key_phase (m : memory) : bstate Z := start n id (fun _ => own_key m) (who m).
Definition after_keys (m : memory) (s : bstate Z) : memory :=
  Memory (who m) (own_key m) (objections m ++ alarms s) (own_record m) (received m)
    (mkseq (fun w => odflt 0%Z (holds s w)) n) (verdict m).

(* The values that an agent holds after a broadcast, by reporter and agent reported on. *)
Definition held_lists (s : bstate (seq Z)) (u v : nat) : option (seq Z) :=
  holds s (index (u, v) slots).

(* Clause: LV-5, LV-6 *)
Definition hash_phase (m : memory) : bstate (seq Z) :=
  start (size slots) (fun t => (slot t).1)
    (fun t => report P d x0 steps (keyring m) (from m (slot t).2)) (who m).

(* Clause: LV-7, LV-8, LV-9, LV-10, MO-7. About v under the key of w: v n + w. *)
Definition hash_alarms (R : nat -> nat -> option (seq Z)) (v : nat) (own : seq Z) : seq alarm :=
  flatten [seq
    [seq Alarm InconsistentHashes n None (Some (u * n + w)) | u <- iota 0 n & inconsistent nb R w u]
    ++ [seq Alarm BrokenRelation n None (Some (u * n + w)) | u <- iota 0 n & broken P k nb R w u]
    ++ [seq Alarm SelfMismatch n (Some u) (Some (v * n + w)) | u <- nb v
       & if reported R w u v is Some h then ~~ eqz h (under w own) else false]
  | w <- if all_keys then iota 0 n else [:: v]].

Definition after_hashes (m : memory) (s : bstate (seq Z)) : memory :=
  alarmed_by m (alarms s ++
    hash_alarms (held_lists s) (who m) (report P d x0 steps (keyring m) (own_record m))).

(* Clause: GV-2 *)
Definition estimate_phase (m : memory) : bstate (seq Z) :=
  start (size slots) (fun t => (slot t).1)
    (fun t => estimate d rates ws (from m (slot t).2)) (who m).

(* Clause: GV-4, GV-5, GV-6 *)
Definition after_estimates (m : memory) (s : bstate (seq Z)) : memory :=
  alarmed_by m (alarms s ++
    estimate_alarms d ws n nb (held_lists s) (who m) (estimate d rates ws (own_record m))).

(* Clause: SA-1, VA-2 *)
Definition agreement_phase (m : memory) : astate := astart (~~ nilp (objections m)).
Definition after_agreement (m : memory) (s : astate) : memory :=
  Memory (who m) (own_key m) (objections m ++ raised_alarms s) (own_record m) (received m)
    (keyring m) (invalid s).

(** * The machine *)

(* Clause: LV-3. The private key is there from the start, and not used before its phase. *)
Definition vstart (keys : nat -> Z) (v : nat) : vstate :=
  Learning (Memory v (keys v) [::] [::] [::] [::] false)
    (lstart d k steps rates xmax gmax x0 nb gradient v).

Definition vnobody : vstate := Done (Memory 0 0%Z [::] [::] [::] [::] true).

Definition keys_end : nat := T + n.
Definition hashes_end : nat := keys_end + n.
Definition estimates_end : nat := hashes_end + n.
(* Clause: VA-1 *)
Definition valid_rounds : nat := estimates_end + agreement_rounds n.

(* Clause: VA-1 *)
Definition vsend (r : nat) (st : vstate) : vword :=
  match st with
  | Learning _ s => of_learn (lsend r s)
  | Keying _ s => of_keys (send n true once (r - T) s)
  | Hashing _ s => of_lists (send n true once (r - keys_end) s)
  | Estimating _ s => of_lists (send n true once (r - hashes_end) s)
  | Agreeing _ s => of_word (asend (r - estimates_end) s)
  | Done _ => Mute
  end.

(* Clause: VA-1. One round of a phase; after its last the next one begins. *)
Definition vreceive (r : nat) (st : vstate) (inbox : seq (nat * vword)) : vstate :=
  match st with
  | Learning m s =>
      let s' := lreceive d k steps rates T xmax gmax gradient r s (read as_learn inbox) in
      if r == T then let m' := after_learning m s' in Keying m' (key_phase m') else Learning m s'
  | Keying m s =>
      let s' := receive Z.eqb n (is_key P) n true (r - T) s (read as_keys inbox) in
      if r == keys_end then let m' := after_keys m s' in Hashing m' (hash_phase m')
      else Keying m s'
  | Hashing m s =>
      let s' := receive eqz (size slots) (is_report P n) n true (r - keys_end) s
                  (read as_lists inbox) in
      if r == hashes_end then let m' := after_hashes m s' in Estimating m' (estimate_phase m')
      else Hashing m s'
  | Estimating m s =>
      let s' := receive eqz (size slots) (is_estimate d gmax ws) n true (r - hashes_end) s
                  (read as_lists inbox) in
      if r == estimates_end then let m' := after_estimates m s' in Agreeing m' (agreement_phase m')
      else Estimating m s'
  | Agreeing m s =>
      let s' := areceive true (r - estimates_end) s (read as_word inbox) in
      if r == valid_rounds then Done (after_agreement m s') else Agreeing m s'
  | Done m => st
  end.

(* The states of all agents after r rounds. *)
Definition valid_run (H : pred nat) (keys : nat -> Z) (adv : adversary vword) (r : nat) :
    seq vstate :=
  run vnobody n nb H vsend vreceive adv (mkseq (vstart keys) n) r.

Definition memory_of (st : vstate) : memory :=
  match st with
  | Learning m _ => m | Keying m _ => m | Hashing m _ => m | Estimating m _ => m
  | Agreeing m _ => m | Done m => m
  end.

(* Clause: VA-2. Whether an agent ends invalid. *)
Definition is_done (st : vstate) : bool := if st is Done _ then true else false.
Definition declares_invalid (st : vstate) : bool := is_done st && verdict (memory_of st).

(* Clause: VA-2, LM-6. The last model of an agent's record. *)
Definition last_model (st : vstate) : seq Z := (last (nothing d) (own_record (memory_of st))).1.

End Valid.
