(** Extraction of the oracle to OCaml, with zarith for integers and machine words for indices. *)
From Coq Require Import ZArith Extraction ExtrOcamlBasic ExtrOcamlNatInt ExtrOcamlZBigInt.
From ValidRef Require Import Oracle.

(* Division rounds down, as in Coq, and by 0 as there: x / 0 = 0, x mod 0 = x. *)
Extract Constant Z.div =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then Big_int_Z.zero_big_int else Z.fdiv a b)".
Extract Constant Z.modulo =>
 "(fun a b -> if Big_int_Z.sign_big_int b = 0 then a else Z.sub a (Z.mul b (Z.fdiv a b)))".

Extraction "extraction/valid_oracle.ml" oracle.
