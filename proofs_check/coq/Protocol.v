(** The validation phase as a whole: keys, reports, checks, agreement. Its executable definition. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Agreement Arith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Protocol.

Variables (P : Z) (d k : nat) (x0 steps : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variables (once all_keys : bool).
(* What was received (tr v u: by u from v) and what stands in an agent's own record. *)
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
(* Private keys; and what Byzantine agents say in the three runs. *)
Variable keys : nat -> Z.
Variables (advK : adversary (wire Z)) (advR : adversary (wire (seq Z))) (advA : adversary word).
(* Alarms of other phases: of learning and the norm checks before, of GlobalValidate after. *)
Variables (before after : nat -> bool).

(* Clause: LV-4 *)
Definition is_key (_ : nat) (z : Z) : bool := Z.leb 0 z && Z.ltb z P.

Definition key_state (v : nat) : bstate Z :=
  broadcast_state Z.eqb n is_key n true once n nb H id keys advK n v.

(* Clause: LV-4. Zero stands in the place of a key that did not come. *)
Definition keys_held (v : nat) : seq Z :=
  mkseq (fun w => odflt 0%Z (holds (key_state v) w)) n.

(* Clause: LV-6. One slot for each reporter and each of its neighbours. *)
Definition slots : seq (nat * nat) := [seq (u, v) | u <- iota 0 n, v <- nb u].

(* Clause: LV-6 *)
Definition is_report (_ : nat) (r : seq Z) : bool :=
  (size r == 4 * n) && all (is_key 0) r.

(* Clause: LV-5, LV-6 *)
Definition report_value (t : nat) : seq Z :=
  let: (u, v) := nth (0, 0) slots t in report P d x0 steps (keys_held u) (tr v u).

Definition report_state (v : nat) : bstate (seq Z) :=
  broadcast_state eqz (size slots) is_report n true once n nb H
    (fun t => (nth (0, 0) slots t).1) report_value advR n v.

Definition reports_held (v u u' : nat) : option (seq Z) :=
  holds (report_state v) (index (u, u') slots).

Definition own_report (v : nat) : seq Z := report P d x0 steps (keys_held v) (own v).

(* Everything an agent may have objected to before the agreement. *)
Definition objected (v : nat) : bool :=
  [|| before v, alarmed (key_state v), alarmed (report_state v),
      local_alarm P k nb (reports_held v) all_keys n v (own_report v) | after v].

(* Does agent v end invalid? *)
Definition ends_invalid (v : nat) : bool :=
  invalid (agreement_state true n nb H objected advA (agreement_rounds n) v).

End Protocol.
