(** Lean validation as a whole: fix, open, report, compare, agree. Its executable definition, with an
    ideal commitment. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Agreement Arith Protocol Flood TreeSum.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* Equality of optional and of nested lists of integers. *)
Definition eq_option (A : Type) (eqa : A -> A -> bool) (x y : option A) : bool :=
  match x, y with Some a, Some b => eqa a b | None, None => true | _, _ => false end.
Fixpoint eq_list (A : Type) (eqa : A -> A -> bool) (xs ys : seq A) : bool :=
  match xs, ys with
  | [::], [::] => true
  | x :: xs', y :: ys' => eqa x y && eq_list eqa xs' ys'
  | _, _ => false
  end.

Section Lean.

Variables (P : Z) (d k kappa : nat) (x0 steps : seq Z).
(* The graph, the root of the tree, and how many rounds a flood takes. *)
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (root rounds : nat).
(* What was received (tr v u: by u from v) and what stands in an agent's own record. *)
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
(* For each of m weightings the estimate, of length d; the numbers q; the bounds of a summand; and
   whether the statistics of a total and of all q pass. *)
Variables (m : nat) (ghat : nat -> transcript -> seq Z) (numbers : transcript -> seq Z).
Variables (is_numbers : seq Z -> bool) (bound : nat -> Z) (stat_ok : seq Z -> seq (seq Z) -> bool).

(* An ideal commitment is a closed box. The box of an honest agent has its number; what is in any
   other box, and whose name is on it, was fixed when it was made. *)
Variable content : nat -> nat * seq Z.
Variable shares : nat -> seq Z.
Definition in_box (c : nat) : nat * seq Z := if is_agent n H c then (c, shares c) else content c.
Definition fits (c v : nat) (s : seq Z) : bool := ((in_box c).1 == v) && eqz (in_box c).2 s.

(* What Byzantine agents say in the floods, along the tree, in the comparison and the agreement. *)
Definition fixed := (nat * seq Z)%type.
Variables (advF : adversary (wire fixed)) (advS : adversary addressed).
Variables (advO : adversary (wire (seq Z))) (advR : adversary (wire (seq (seq Z)))).
Variable digest : seq (option fixed) * seq (option (seq Z)) * seq (option (seq (seq Z))) -> seq Z.
Variables (advC : nat -> nat -> option (seq Z)) (advA : adversary word).
(* Alarms of other phases. *)
Variables before after : nat -> bool.

(** ** Fix *)

Definition eq_fixed (x y : fixed) : bool := (x.1 == y.1) && eqz x.2 y.2.
Definition fix_rounds : nat := maxn rounds (height n nb root).*2.
Definition fix_state (v : nat) : bstate fixed :=
  flood_state eq_fixed (fun _ x => is_numbers x.2) n nb rounds fix_rounds H
    (fun v => (v, numbers (own v))) advF fix_rounds v.

Definition estimates (t : transcript) : seq Z := flatten [seq ghat i t | i <- iota 0 m].
Definition sum_end_state (v : nat) : sum_state :=
  sum_state_of n nb root (m * d) fix_rounds bound H (fun v => estimates (own v)) advS fix_rounds v.

(* S, as v received it, and the part of it for one weighting. The root's own total is in range by
    construction; everybody else checked the form on receiving it. *)
Definition total_held (v : nat) : seq Z := odflt [::] (total (sum_end_state v)).
Definition total_unfit (v : nat) : bool := ~~ is_sum n nb root (m * d) bound root (total_held v).
Definition slice (i : nat) (xs : seq Z) : seq Z := take d (drop (i * d) xs).

(** ** Open *)

Definition is_share (_ : nat) (s : seq Z) : bool := (size s == kappa) && all (is_key P 0) s.
Definition open_state (v : nat) : bstate (seq Z) :=
  flood_state eqz is_share n nb rounds rounds H shares advO rounds v.

Definition bad_opening (v : nat) : bool :=
  has (fun u => match holds (fix_state v) u, holds (open_state v) u with
                | Some c, Some s => ~~ fits c.1 u s
                | _, _ => false
                end) (iota 0 n).

(* Key i is the sum of everybody's share i; one that is null counts as 0. *)
Definition common_keys (v : nat) : seq Z :=
  mkseq (fun i => Z.modulo
    (sumz [seq at_ (odflt [::] (holds (open_state v) u)) i | u <- iota 0 n]) P) kappa.

(** ** Report *)

(* Four hashes of the transcript and those of its estimates, under one key and under all. *)
Definition hashes (s : Z) (t : transcript) : seq Z :=
  four_hashes P s d x0 steps t ++ [seq hash P s (ghat i t) | i <- iota 0 m].
Definition lean_report (keys : seq Z) (t : transcript) : seq (seq Z) := [seq hashes s t | s <- keys].

Definition is_lean_report (_ : nat) (r : seq (seq Z)) : bool :=
  (size r == kappa) && all (fun h => (size h == 4 + m) && all (is_key P 0) h) r.
Definition report_end_state (v : nat) : bstate (seq (seq Z)) :=
  flood_state (eq_list eqz) is_lean_report n nb rounds rounds H
    (fun v => lean_report (common_keys v) (own v)) advR rounds v.

Definition said_under (v j u : nat) : seq Z := nth [::] (odflt [::] (holds (report_end_state v) u)) j.

(* A neighbour's numbers and report are those of what it sent. *)
Definition record_differs (v : nat) : bool :=
  has (fun u =>
    (if holds (fix_state v) u is Some c then ~~ eqz c.2 (numbers (tr u v)) else false) ||
    (if holds (report_end_state v) u is Some r
     then ~~ eq_list eqz r (lean_report (common_keys v) (tr u v)) else false)) (nb v).

Definition relation_fails (v : nat) : bool :=
  has (fun u => has (fun j =>
    ~~ Z.eqb (Z.modulo (difference k (said_under v j u) [seq said_under v j x | x <- nb u]) P) 0)
    (iota 0 kappa)) (iota 0 n).

Definition total_differs (v : nat) : bool :=
  has (fun i => has (fun j =>
    ~~ Z.eqb (hash P (at_ (common_keys v) j) (slice i (total_held v)))
         (Z.modulo (sumz [seq at_ (said_under v j u) (4 + i) | u <- iota 0 n]) P))
    (iota 0 kappa)) (iota 0 m).

Definition statistics_fail (v : nat) : bool :=
  ~~ stat_ok (total_held v)
       (mkseq (fun u => if holds (fix_state v) u is Some c then c.2 else [::]) n).

(** ** Compare *)

Definition everything (v : nat) :=
  (held (fix_state v), held (open_state v), held (report_end_state v)).

Definition digest_differs (v : nat) : bool :=
  has (fun u => ~~ eq_option eqz (if H u then Some (digest (everything u)) else advC u v)
                     (Some (digest (everything v)))) (nb v).

(** ** The verdict *)

Definition lean_objected (v : nat) : bool :=
  [|| before v, alarmed (fix_state v), amiss (sum_end_state v), total_unfit v, alarmed (open_state v),
      bad_opening v, alarmed (report_end_state v), record_differs v, relation_fails v, total_differs v,
      statistics_fail v, digest_differs v | after v].

Definition lean_ends_invalid (v : nat) : bool :=
  invalid (agreement_state true n nb H lean_objected advA (agreement_rounds n) v).

End Lean.
