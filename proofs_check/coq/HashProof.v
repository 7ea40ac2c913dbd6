(** The hash is a polynomial over a prime field: linearity, collisions, tightness. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra finfield zify ssrZ.
From ValidRef Require Import Arith.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Delimit Scope Z_scope with Z.
Local Open Scope ring_scope.

(** * From the integers to the field *)
Section Field.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Notation F := 'F_p.

Definition phi (z : Z) : F := (int_of_Z z)%:~R.

Lemma phiD x y : phi (Z.add x y) = phi x + phi y.
Proof. by rewrite /phi -rmorphD -rmorphD. Qed.
Lemma phiN x : phi (Z.opp x) = - phi x.
Proof. by rewrite /phi -rmorphN -rmorphN. Qed.
Lemma phiB x y : phi (Z.sub x y) = phi x - phi y.
Proof. by rewrite /Z.sub phiD phiN. Qed.
Lemma phiM x y : phi (Z.mul x y) = phi x * phi y.
Proof. by rewrite /phi -rmorphM -rmorphM. Qed.
Lemma phi0 : phi 0%Z = 0. Proof. by []. Qed.
Lemma phi1 : phi 1%Z = 1. Proof. by []. Qed.

Lemma phi_nat n : phi (Z.of_nat n) = n%:R.
Proof.
elim: n => [|n IH]; first by rewrite phi0.
by rewrite Nat2Z.inj_succ -Z.add_1_r phiD IH phi1 -[in RHS]addn1 natrD.
Qed.

Lemma phi_p : phi P = 0.
Proof. by rewrite phi_nat; apply: charf0; apply: char_Fp. Qed.

Lemma phi_mod z : phi (Z.modulo z P) = phi z.
Proof. by rewrite Z.mod_eq ?phiB ?phiM ?phi_p ?mul0r ?subr0 //; have := prime_gt0 p_pr; lia. Qed.

Lemma phi_eq0 z : (phi z == 0) = Z.eqb (Z.modulo z P) 0.
Proof.
have p0 : (0 < p)%N := prime_gt0 p_pr.
have [lo hi] : (0 <= Z.modulo z P < P)%Z by apply: Z.mod_pos_bound; lia.
rewrite -phi_mod; set r := Z.modulo z P in lo hi *.
have -> : r = Z.of_nat (Z.to_nat r) by rewrite Z2Nat.id.
rewrite phi_nat; set m := Z.to_nat r; have mp : (m < p)%N by rewrite /m; lia.
apply/eqP/idP => [E|/Z.eqb_spec E]; last by have -> : m = 0%N by lia.
have := congr1 val E; rewrite /= val_Fp_nat // modn_small //= => ->.
by [].
Qed.

Lemma phi_eq x y : (phi x == phi y) = Z.eqb (Z.modulo (x - y) P) 0.
Proof. by rewrite -subr_eq0 -phiB phi_eq0. Qed.

(* A number below p in absolute value that vanishes modulo p vanishes. *)
Lemma phi_small z : (Z.abs z < P)%Z -> phi z = 0 -> z = 0%Z.
Proof.
move=> small /eqP; rewrite phi_eq0 => /Z.eqb_spec.
move=> /Z.mod_divide [|q zq]; first by have := prime_gt0 p_pr; lia.
have p0 := prime_gt0 p_pr.
have [q0|q1] : q = 0%Z \/ (1 <= Z.abs q)%Z by lia.
  by rewrite zq q0.
have := Z.mul_le_mono_nonneg_r 1 (Z.abs q) P ltac:(lia) q1.
rewrite zq Z.abs_mul in small; lia.
Qed.

Lemma phi_inj x y : (0 <= x < P)%Z -> (0 <= y < P)%Z -> phi x = phi y -> x = y.
Proof.
move=> xr yr E; suff: (x - y)%Z = 0%Z by lia.
by apply: phi_small; [lia|rewrite phiB E subrr].
Qed.

Lemma hash_range s xs : (0 <= hash P s xs < P)%Z.
Proof.
have p0 := prime_gt0 p_pr.
by case: xs => [|x xs] /=; [lia|apply: Z.mod_pos_bound; lia].
Qed.

Lemma phi_hash s xs : phi (hash P s xs) = \sum_(i < size xs) phi (at_ xs i) * phi s ^+ i.
Proof.
elim: xs => [|x xs IH]; first by rewrite big_ord0 phi0.
rewrite /= phi_mod phiD phiM IH big_ord_recl expr0 mulr1; congr (_ + _).
by rewrite big_distrr; apply: eq_bigr => i _; rewrite exprS mulrCA.
Qed.

Lemma hash_zero s xs : (hash P s xs == 0%Z) = (phi (hash P s xs) == 0).
Proof.
rewrite phi_eq0 Z.mod_small; last exact: hash_range.
by apply/eqP/Z.eqb_spec.
Qed.

Lemma hash_eq s xs s' ys : (hash P s xs = hash P s' ys) <->
  phi (hash P s xs) = phi (hash P s' ys).
Proof.
by split=> [->//|E]; apply: phi_inj => //; apply: hash_range.
Qed.

Lemma phi_modpow s d : phi (modpow P s d) = phi s ^+ d.
Proof. by elim: d => [|d IH] //; rewrite /modpow iterS phi_mod phiM -/(modpow P s d) IH exprSr. Qed.

(** The residue of the integer form is the hash. *)
(* Proves: HA-5 *)
Theorem integer_form s xs : (0 < size xs)%N -> Z.modulo (hash_integers P s xs) P = hash P s xs.
Proof.
move=> _; have p0 := prime_gt0 p_pr.
have gen ys power : phi (hash_integers_from P s power ys) = phi power * phi (hash P s ys).
  elim: ys power => [|y ys IH] power; first by rewrite phi0 mulr0.
  rewrite /= phiD phiM IH !phi_mod phiD !phiM mulrDr mulrA; congr (_ + _).
  by rewrite mulrC.
have E := gen xs 1%Z; rewrite phi1 mul1r -phi_mod in E.
have : (0 <= Z.modulo (hash_integers P s xs) P < P)%Z by apply: Z.mod_pos_bound; lia.
by move=> r; apply: phi_inj => //; apply: hash_range.
Qed.

(** For a fixed key the hash is linear. *)
(* Proves: HA-6 *)
Theorem hash_linear s c c' xs ys : size xs = size ys ->
  hash P s [seq (c * xy.1 + c' * xy.2)%Z | xy <- zip xs ys] =
  Z.modulo (c * hash P s xs + c' * hash P s ys) P.
Proof.
move=> sz; have p0 := prime_gt0 p_pr.
have E : phi (hash P s [seq (c * xy.1 + c' * xy.2)%Z | xy <- zip xs ys]) =
         phi (Z.modulo (c * hash P s xs + c' * hash P s ys) P).
  rewrite phi_mod phiD !phiM !phi_hash size_map size1_zip -?sz // !big_distrr -big_split /=.
  apply: eq_bigr => i _; rewrite /at_ (nth_map (0%Z, 0%Z)) ?size1_zip ?sz //.
  by rewrite nth_zip //= phiD !phiM mulrDl !mulrA.
by apply: phi_inj E; [apply: hash_range|apply: Z.mod_pos_bound; lia].
Qed.

(** * Roots *)

(* Keys are the numbers below p. *)
Definition key (i : 'I_p) : Z := Z.of_nat i.

Lemma phi_key i : phi (key i) = (i : nat)%:R. Proof. exact: phi_nat. Qed.

Lemma phi_key_inj : injective (fun i => phi (key i)).
Proof.
move=> i j /(congr1 val); rewrite !phi_key /= !val_Fp_nat // !modn_small // => E.
exact: val_inj.
Qed.

Lemma few_roots (q : {poly F}) : q != 0 ->
  (#|[set i : 'I_p | q.[phi (key i)] == 0%R]| <= (size q).-1)%N.
Proof.
move=> q0; rewrite cardE; set rs := enum _.
have := @max_poly_roots _ q [seq phi (key i) | i <- rs] q0; rewrite size_map.
have -> : all (root q) [seq phi (key i) | i <- rs].
  by apply/allP => x /mapP[i]; rewrite mem_enum inE => qi ->.
rewrite map_inj_uniq ?enum_uniq; last exact: phi_key_inj.
by move=> /(_ isT isT); case: (size q).
Qed.

Lemma phi_hash_poly s xs : phi (hash P s xs) = (Poly [seq phi x | x <- xs]).[phi s].
Proof.
elim: xs => [|x xs IH]; first by rewrite /= horner0.
by rewrite /= phi_mod phiD phiM IH horner_cons addrC mulrC.
Qed.

Lemma Poly_neq0 xs i : (i < size xs)%N -> phi (at_ xs i) != 0 ->
  Poly [seq phi x | x <- xs] != 0.
Proof.
move=> ix; apply: contraNneq => E; have := congr1 (fun q : {poly F} => q`_i) E.
by rewrite coef_Poly coef0 (nth_map 0%Z) // => ->.
Qed.

Definition colliding (xs : seq Z) : {set 'I_p} := [set i | hash P (key i) xs == 0%Z].

(* Clause: HA-7. Some entry is not 0 modulo p. *)
Definition nonzero_mod (xs : seq Z) : bool := has (fun x => ~~ Z.eqb (Z.modulo x P) 0) xs.

(** A vector of length n that is not zero modulo p hashes to 0 for at most n-1 keys. *)
(* Proves: HA-7 *)
Theorem few_collisions xs : nonzero_mod xs -> (#|colliding xs| <= (size xs).-1)%N.
Proof.
case/(has_nthP 0%Z) => i ix nz; have q0 : Poly [seq phi x | x <- xs] != 0.
  by apply: (Poly_neq0 ix); rewrite phi_eq0.
have -> : colliding xs = [set i : 'I_p | (Poly [seq phi x | x <- xs]).[phi (key i)] == 0].
  by apply/setP => j; rewrite !inE hash_zero phi_hash_poly.
apply: leq_trans (few_roots q0) _; rewrite -!subn1 leq_sub2r //.
by rewrite (leq_trans (size_Poly _)) // size_map.
Qed.

(** * Tuples of independent keys *)

(** If every component has at most m bad values, at most m^h tuples are bad. *)
Lemma few_tuples (I : finType) (bad : I -> {set 'I_p}) (m : nat) :
  (forall i, #|bad i| <= m)%N ->
  (#|[set ks : {ffun I -> 'I_p} | [forall i, ks i \in bad i]]| <= m ^ #|I|)%N.
Proof.
move=> le; have -> : #|[set ks : {ffun I -> 'I_p} | [forall i, ks i \in bad i]]| =
    #|family (fun i => mem (bad i))|.
  by apply: eq_card => ks; rewrite inE; apply/forallP/familyP.
rewrite card_family -[X in (_ <= m ^ X)%N](size_image (fun i => #|bad i|)).
have: all (fun x => x <= m)%N [seq #|bad i| | i : I] by apply/allP => x /mapP[i _ ->].
elim: [seq #|bad i| | i : I] => //= x l IH /andP[xm lm].
by rewrite expnS leq_mul // IH.
Qed.

(** At most (n-1)^h of the p^h tuples of keys miss a difference. *)
(* Proves: HA-8 *)
Theorem few_colliding_tuples (h : nat) xs : nonzero_mod xs ->
  (#|[set ks : {ffun 'I_h -> 'I_p} | [forall i, hash P (key (ks i)) xs == 0%Z]]|
     <= (size xs).-1 ^ h)%N /\ #|{ffun 'I_h -> 'I_p}| = (p ^ h)%N.
Proof.
move=> nz; split; last by rewrite card_ffun !card_ord.
have := @few_tuples _ (fun _ : 'I_h => colliding xs) _ (fun _ => few_collisions nz).
rewrite card_ord; apply: leq_trans; apply: eq_leq; apply: eq_card => ks; rewrite !inE.
by apply: eq_forallb => i; rewrite inE.
Qed.

(** The bound is attained, for every prime and every length up to p. *)
(* Proves: HA-7, HA-8 *)
Theorem collisions_tight n h : (0 < n <= p)%N -> exists xs,
  [/\ size xs = n, nonzero_mod xs, #|colliding xs| = n.-1 &
   #|[set ks : {ffun 'I_h -> 'I_p} | [forall i, hash P (key (ks i)) xs == 0%Z]]| = (n.-1 ^ h)%N].
Proof.
case/andP=> n0 np.
pose q : {poly F} := \prod_(x <- [seq i%:R | i <- iota 0 n.-1]) ('X - x%:P).
have sq : size q = n by rewrite size_prod_XsubC size_map size_iota prednK.
pose lift (c : F) : Z := Z.of_nat (val c).
have liftK c : phi (lift c) = c by rewrite /lift phi_nat natr_Zp.
pose xs := [seq lift c | c <- q]; exists xs.
have sx : size xs = n by rewrite size_map sq.
have xsq : Poly [seq phi x | x <- xs] = q.
  rewrite -[RHS]polyseqK; congr Poly; rewrite -map_comp -[RHS]map_id.
  by apply: eq_map => c /=; rewrite liftK.
have nz : nonzero_mod xs.
  apply/(has_nthP 0%Z); exists n.-1; first by rewrite sx prednK.
  rewrite -phi_eq0 (nth_map 0) ?sq ?prednK // liftK -[in n.-1]sq -lead_coefE.
  by rewrite (monicP (monic_prod_XsubC _ _ _)) oner_neq0.
have cards : #|colliding xs| = n.-1.
  apply/eqP; rewrite eqn_leq -{1}sx few_collisions //=.
  pose emb (i : 'I_n.-1) : 'I_p := widen_ord (leq_trans (leq_pred n) np) i.
  rewrite -[X in (X <= _)%N](card_ord n.-1) -(card_imset predT (f := emb)); last first.
    by move=> i j /(congr1 val) /= E; apply: val_inj.
  apply/subset_leq_card/subsetP => j /imsetP[i _ ->].
  rewrite inE hash_zero phi_hash_poly xsq phi_key /= /q -rootE root_prod_XsubC.
  by apply: (map_f (fun i : nat => i%:R)); rewrite mem_iota /= add0n ltn_ord.
split=> //; rewrite -cards -[X in (_ ^ X)%N](card_ord h) -card_ffun_on -[RHS]cardsE.
apply: eq_card => ks; rewrite !inE; apply/forallP/ffun_onP => [a i|a i]; move: (a i); rewrite inE //.
Qed.

(** The prime must exceed the length: with n > p one difference is missed by every key. *)
(* Proves: P19 *)
Theorem short_prime_is_blind s :
  hash P s (0%Z :: 1%Z :: nseq (p - 2) 0%Z ++ [:: (-1)%Z]) = 0%Z.
Proof.
have p2 := prime_gt1 p_pr.
apply/eqP; rewrite hash_zero phi_hash /= size_cat size_nseq /= addn1 2!big_ord_recl big_ord_recr /=.
rewrite phi0 mul0r add0r phi1 mul1r.
rewrite big1 => [|i _]; last by rewrite /= /at_ /= nth_cat size_nseq ltn_ord nth_nseq ltn_ord phi0 mul0r.
rewrite add0r /at_ /= nth_cat size_nseq ltnn subnn /= /bump /= !add1n subnSK // subn1 prednK ?(ltnW p2) //.
have -> : phi (-1)%Z = -1 by rewrite -[LHS]/(phi (Z.opp 1)) phiN phi1.
have := expf_card (phi s); rewrite card_Fp // => ->.
by rewrite expr1 mulN1r subrr.
Qed.

End Field.
