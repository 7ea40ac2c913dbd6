(** GlobalValidate: estimates, their form, the two statistics, and all alarms. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Arith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Clause: GV-1, GV-7, GV-13. w_1..w_T and the thresholds from above and below. *)
Record weighting := Weighting {
  weights : seq Z;
  optimality_high : Z;
  optimality_low : Z;
  heterogeneity_high : Z;
  heterogeneity_low : Z
}.

Section Estimates.

Variables (d : nat) (rates : seq Z) (gmax : Z) (ws : seq weighting).

Definition no_weighting : weighting := Weighting [::] 0 0 0 0.

(* Clause: AR-8 *)
Definition read_off (tr : transcript) : seq (seq Z) :=
  [seq read_gradient Ag.1 Ag.2 | Ag <- zip rates (gammas tr)].

(* Clause: GV-2. ghat = sum_t w_t g(t) *)
Definition ghat (w : weighting) (tr : transcript) : seq Z :=
  mkseq (fun j => sumz [seq (wg.1 * at_ wg.2 j)%Z | wg <- zip (weights w) (read_off tr)]) d.

(* Clause: GV-2, GV-12 *)
Definition estimate (tr : transcript) : seq Z := flatten [seq ghat w tr | w <- ws].

(* The entries that belong to the weighting of index i. *)
Definition part_of (i : nat) (e : seq Z) : seq Z := take d (drop (i * d) e).

(* Clause: GV-3 *)
Definition largest (w : weighting) : Z := (sumz (weights w) * gmax)%Z.

(* Clause: GV-3 *)
Definition is_estimate (_ : nat) (e : seq Z) : bool :=
  (size e == size ws * d) &&
  all (fun i => all (fun x => Z.leb (Z.abs x) (largest (nth no_weighting ws i))) (part_of i e))
    (iota 0 (size ws)).

(* Clause: GV-5, GV-9. |sum_u ghat_u|^2 *)
Definition optimality (i : nat) (es : seq (seq Z)) : Z :=
  squared_norm (mkseq (fun j => sumz [seq at_ (part_of i e) j | e <- es]) d).

(* Clause: GV-6, GV-9. sum_u |ghat_u|^2 *)
Definition heterogeneity (i : nat) (es : seq (seq Z)) : Z :=
  sumz [seq squared_norm (part_of i e) | e <- es].

(* Clause: GV-5, GV-6, GV-13. Why the statistics under one weighting do not pass. *)
Definition wrong_statistics (es : seq (seq Z)) (i : nat) : seq reason :=
  let w := nth no_weighting ws i in
  (if Z.ltb (Z.square (optimality_high w)) (optimality i es) then [:: NotOptimal] else [::]) ++
  (if Z.ltb (optimality i es) (Z.square (optimality_low w)) then [:: TooOptimal] else [::]) ++
  (if Z.ltb (heterogeneity_high w) (heterogeneity i es) then [:: TooHeterogeneous] else [::]) ++
  (if Z.ltb (heterogeneity i es) (heterogeneity_low w) then [:: TooHomogeneous] else [::]).

(* Clause: GV-5, GV-6, GV-13 *)
Definition statistics_ok (es : seq (seq Z)) : bool :=
  all (fun i => nilp (wrong_statistics es i)) (iota 0 (size ws)).

(** * The alarms of one agent *)

(* Estimates as an agent holds them: by reporter and agent reported on, None for null. *)
Variables (n : nat) (nb : nat -> seq nat) (E : nat -> nat -> option (seq Z)).

(* Clause: GV-4 *)
Definition reported_on (u : nat) : seq (seq Z) := pmap (fun v => E v u) (nb u).
Definition reporters_differ (u : nat) : bool :=
  if reported_on u is h :: rest then ~~ all (eqz h) rest else false.
(* Clause: GV-4, GV-8. Of the lowest-numbered reporter that has one. *)
Definition counts (u : nat) : option (seq Z) := if reported_on u is h :: _ then Some h else None.

(* Clause: GV-8 *)
Definition denies (v : nat) (own : seq Z) (u : nat) : bool :=
  if E u v is Some h then ~~ eqz h own else false.

(* Clause: GV-4, GV-5, GV-6, GV-8, GV-13, MO-7 *)
Definition estimate_alarms (v : nat) (own : seq Z) : seq alarm :=
  [seq Alarm InconsistentEstimates n None (Some u) | u <- iota 0 n & reporters_differ u] ++
  [seq Alarm SelfEstimateMismatch n (Some u) (Some v) | u <- nb v & denies v own u] ++
  (if all (fun u => isSome (counts u)) (iota 0 n) then
     flatten [seq [seq Alarm w n None (Some i) | w <- wrong_statistics (pmap counts (iota 0 n)) i]
             | i <- iota 0 (size ws)]
   else [::]).

End Estimates.
