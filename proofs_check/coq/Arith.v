(** The lattice step, the hash and the checks on hashes: the executable definitions. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition sumz (xs : seq Z) : Z := foldr Z.add 0%Z xs.
Definition at_ (v : seq Z) (j : nat) : Z := nth 0%Z v j.
Definition pow2 (k : nat) : Z := Z.pow 2 (Z.of_nat k).

(** * The field and the hash *)

(* Clause: HA-3. Horner's rule; entry i is multiplied by s^i, with 0^0 = 1. *)
Definition hash (p s : Z) (xs : seq Z) : Z :=
  foldr (fun x rest => Z.modulo (x + s * rest) p) 0%Z xs.

(* Clause: HA-4. The integer form: powers of the key reduced, the sum not. *)
Fixpoint hash_integers_from (p s power : Z) (xs : seq Z) : Z :=
  if xs is x :: rest then
    (x * power + hash_integers_from p s (Z.modulo (power * s) p) rest)%Z
  else 0%Z.
Definition hash_integers (p s : Z) (xs : seq Z) : Z := hash_integers_from p s 1 xs.

Definition modpow (p s : Z) (d : nat) : Z := iter d (fun q => Z.modulo (q * s) p) 1%Z.

(** * The lattice *)

(* Clause: AR-4 *)
Definition mix (d k : nat) (a : Z) (own : seq Z) (nbs : seq (seq Z)) : seq Z :=
  mkseq (fun j => (pow2 k * at_ own j + a * sumz [seq (at_ u j - at_ own j)%Z | u <- nbs])%Z) d.

(* Clause: AR-5. Nearest integer to y / 2^k, ties to even. *)
Definition half_even (k : nat) (y : Z) : Z :=
  let q := Z.div y (pow2 k) in
  let r := Z.modulo y (pow2 k) in
  if Z.ltb (pow2 k) (2 * r) then (q + 1)%Z
  else if Z.eqb (pow2 k) (2 * r) then (if Z.even q then q else (q + 1)%Z)
  else q.

Definition inside (limit x : Z) : bool := Z.ltb (Z.abs x) limit.

(* Clause: AR-5, AR-10, AR-14. The next model and the scaled gradient, or None out of range. *)
Definition step (k : nat) (A xmax gmax : Z) (Y G : seq Z) : option (seq Z * seq Z) :=
  if ~~ all (fun g => inside (gmax + pow2 k) (A * g)) G then None
  else
    let x := [seq half_even k (yg.1 - A * yg.2) | yg <- zip Y G] in
    if ~~ all (inside xmax) x then None
    else
      let gamma := [seq (yx.1 - pow2 k * yx.2)%Z | yx <- zip Y x] in
      if ~~ all (inside gmax) gamma then None else Some (x, gamma).

(* Clause: AR-6. Left side minus right side of the relation in one round. *)
Definition residual (d k : nat) (a : Z) (own : seq Z) (nbs : seq (seq Z)) (x gamma : seq Z) :
    seq Z :=
  mkseq (fun j => (pow2 k * at_ x j - at_ (mix d k a own nbs) j + at_ gamma j)%Z) d.

(* Clause: AR-8 *)
Definition read_gradient (A : Z) (gamma : seq Z) : seq Z := [seq Z.div g A | g <- gamma].

(* Clause: AR-12 *)
Definition squared_norm (v : seq Z) : Z := sumz [seq (x * x)%Z | x <- v].

(** * Transcripts and their hashes *)

(* x(t) and Gamma(t) for t = 1..T. *)
Definition transcript := seq (seq Z * seq Z).

Definition models (x0 : seq Z) (tr : transcript) : seq (seq Z) := x0 :: [seq m.1 | m <- tr].
Definition gammas (tr : transcript) : seq (seq Z) := [seq m.2 | m <- tr].

Definition scale (p a x : Z) : Z := Z.modulo (a * x) p.

(* Clause: HA-9, HA-10. H_out, H_in, H_in,eta, H_Gamma from one evaluation per round; round t+1
   multiplies x(t). *)
Definition four_hashes (p s : Z) (d : nat) (x0 : seq Z) (steps : seq Z) (tr : transcript) :
    seq Z :=
  let S := modpow p s d in
  let P := [seq hash p s x | x <- models x0 tr] in
  let Q := [seq hash p s g | g <- gammas tr] in
  [:: hash p S (behead P);
      hash p S (take (size tr) P);
      hash p S [seq scale p aP.1 aP.2 | aP <- zip steps (take (size tr) P)];
      hash p S Q].

(* Clause: LV-5, LV-6. The report on a transcript: four hashes under each key. *)
Definition report (p : Z) (d : nat) (x0 steps : seq Z) (keys : seq Z) (tr : transcript) : seq Z :=
  flatten [seq four_hashes p s d x0 steps tr | s <- keys].

(** * The checks of LocalValidate *)

Fixpoint eqz (xs ys : seq Z) : bool :=
  match xs, ys with
  | [::], [::] => true
  | x :: xs', y :: ys' => Z.eqb x y && eqz xs' ys'
  | _, _ => false
  end.

Section Checks.

(* Reports as one agent holds them: by reporter and agent reported on, None for null. *)
Variables (p : Z) (k : nat) (nb : nat -> seq nat).
Variable reports : nat -> nat -> option (seq Z).

(* The four hashes under the key of w. *)
Definition under (w : nat) (report : seq Z) : seq Z := take 4 (drop (4 * w) report).

Definition reported (w u v : nat) : option (seq Z) := omap (under w) (reports u v).

(* Clause: LV-7, LV-11 *)
Definition inconsistent (w v : nat) : bool :=
  let seen := pmap (fun u => reported w u v) (nb v) in
  if seen is h :: rest then ~~ all (eqz h) rest else false.

(* Clause: LV-8, LV-11. The hashes of the lowest-numbered reporter that has a report. *)
Definition agreed (w v : nat) : option (seq Z) :=
  if pmap (fun u => reported w u v) (nb v) is h :: _ then Some h else None.

(* Clause: LV-8 *)
Definition difference (hv : seq Z) (hus : seq (seq Z)) : Z :=
  (pow2 k * at_ hv 0 - pow2 k * at_ hv 1
   - sumz [seq (at_ hu 2 - at_ hv 2)%Z | hu <- hus] + at_ hv 3)%Z.

(* Clause: LV-8, LV-11 *)
Definition broken (w v : nat) : bool :=
  if agreed w v is Some hv then
    if all (fun u => isSome (agreed w u)) (nb v) then
      ~~ Z.eqb (Z.modulo (difference hv (pmap (agreed w) (nb v))) p) 0
    else false
  else false.

(* Clause: LV-9, LV-11 *)
Definition self_mismatch (w v : nat) (own : seq Z) : bool :=
  has (fun u => if reported w u v is Some h then ~~ eqz h (under w own) else false) (nb v).

(* Clause: LV-7, LV-8, LV-9, LV-10. Does agent v, with n agents in all, alarm under the key of w? *)
Definition check_fails (n w v : nat) (own : seq Z) : bool :=
  has (fun u => inconsistent w u || broken w u) (iota 0 n) || self_mismatch w v own.

(* Clause: LV-10. Own key only, or all keys. *)
Definition local_alarm (all_keys : bool) (n v : nat) (own : seq Z) : bool :=
  has (fun w => check_fails n w v own) (if all_keys then iota 0 n else [:: v]).

End Checks.
