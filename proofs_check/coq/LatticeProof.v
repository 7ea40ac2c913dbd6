(** The exact lattice: the relation, conservation, the range rule, and what the hash sees of it. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Arith HashProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Delimit Scope Z_scope with Z.
Local Open Scope Z_scope.

Lemma at_mkseq f d j : (j < d)%N -> at_ (mkseq f d) j = f j.
Proof. exact: nth_mkseq. Qed.

Lemma pow2_gt0 k : 0 < pow2 k.
Proof. by apply: Z.pow_pos_nonneg; lia. Qed.

Lemma sumz_big (xs : seq Z) : sumz xs = (\sum_(x <- xs) x)%R.
Proof. by elim: xs => [|x xs IH]; rewrite ?big_nil // big_cons -IH. Qed.

(** * One round *)

(** The scaled gradient absorbs the rounding, so what a step sends satisfies the relation exactly,
    whatever the neighbours sent. *)
(* Proves: LM-8, AR-6 *)
Theorem step_satisfies_relation d k a A xmax gmax own nbs G x gamma : size G = d ->
  step k A xmax gmax (mix d k a own nbs) G = Some (x, gamma) ->
  [/\ size x = d, size gamma = d & residual d k a own nbs x gamma = nseq d 0].
Proof.
move=> sG; rewrite /step; set Y := mix _ _ _ _ _.
case: ifP => // _; case: ifP => // _; case: ifP => // _ [<- <-].
have sY : size Y = d by rewrite size_mkseq.
have sx : size [seq half_even k (yg.1 - A * yg.2) | yg <- zip Y G] = d.
  by rewrite size_map size1_zip ?sY ?sG.
split=> //; first by rewrite size_map size1_zip ?sY ?sx.
apply: (@eq_from_nth _ 0); first by rewrite size_mkseq size_nseq.
move=> j; rewrite size_mkseq => jd; rewrite nth_mkseq // nth_nseq jd.
move: sx; set xs := [seq half_even _ _ | _ <- _] => sx.
have -> : at_ [seq yx.1 - pow2 k * yx.2 | yx <- zip Y xs] j = at_ Y j - pow2 k * at_ xs j.
  by rewrite /at_ (nth_map (0, 0)) ?nth_zip ?size1_zip ?sY ?sx.
by rewrite -/Y; lia.
Qed.

(** What a step lets through is in range. *)
(* Proves: AR-14 *)
Theorem step_in_range k A xmax gmax Y G x gamma : step k A xmax gmax Y G = Some (x, gamma) ->
  all (inside xmax) x /\ all (inside gmax) gamma.
Proof.
rewrite /step; case: ifP => // _; set xs := [seq half_even _ _ | _ <- _].
by case: ifP => // /negbFE x_ok; case: ifP => // /negbFE g_ok [<- <-].
Qed.

(** Rounding is to a nearest integer. *)
(* Proves: AR-5 *)
Theorem half_even_error k y : 2 * Z.abs (y - pow2 k * half_even k y) <= pow2 k.
Proof.
have k0 := pow2_gt0 k; have := Z.div_mod y (pow2 k); have := Z.mod_pos_bound y (pow2 k) k0.
rewrite /half_even; set q := y / _; set r := y mod _ => rb /(_ ltac:(lia)) yE.
case: Z.ltb_spec => lt; first by nia.
case: Z.eqb_spec => eq; last by nia.
by case: ifP => _; nia.
Qed.

(** A tie goes to the even neighbour. *)
(* Proves: AR-5 *)
Theorem half_even_tie k q : (0 < k)%N ->
  half_even k (pow2 k * q + pow2 k.-1) = if Z.even q then q else q + 1.
Proof.
case: k => // k _; have k0 := pow2_gt0 k; have k1 := pow2_gt0 k.+1.
have E : pow2 k.+1 = 2 * pow2 k.
  by rewrite /pow2 Nat2Z.inj_succ Z.pow_succ_r //; lia.
rewrite /half_even [k.+1.-1]/=.
have -> : (pow2 k.+1 * q + pow2 k) / pow2 k.+1 = q.
  rewrite Z.mul_comm Z.div_add_l ?Z.div_small; lia.
have -> : (pow2 k.+1 * q + pow2 k) mod pow2 k.+1 = pow2 k.
  rewrite Z.add_comm Z.mul_comm Z.mod_add ?Z.mod_small; lia.
by rewrite -E Z.ltb_irrefl Z.eqb_refl.
Qed.

(** The gradient a receiver reads off differs from the one put in by at most 2^k/(2A) + 1. *)
(* Proves: AR-9 *)
Theorem read_off_error k A Y G : 0 < A ->
  let gamma := Y - pow2 k * half_even k (Y - A * G) in
  2 * A * Z.abs (gamma / A - G) <= pow2 k + 2 * A.
Proof.
move=> A0; have := @half_even_error k (Y - A * G).
set x := half_even _ _ => e; set gamma := Y - pow2 k * x.
have gE := Z.div_mod gamma A ltac:(lia); have rb := Z.mod_pos_bound gamma A A0.
move: gE rb; set q := gamma / A; set r := gamma mod A => gE rb gamma'.
have : A * (q - G) = (Y - A * G - pow2 k * x) - r by rewrite /gamma in gE; lia.
move: e; set rho := Y - A * G - pow2 k * x => e E.
have : 2 * (A * Z.abs (q - G)) <= pow2 k + 2 * A.
  by rewrite -(Z.abs_eq A) ?{1}(Z.abs_eq A) -?Z.abs_mul; lia.
by rewrite /gamma' -/gamma -/q -Z.mul_assoc.
Qed.

(** The early test refuses nothing that would have passed. *)
(* Proves: AR-14 *)
Theorem early_test_is_safe k A gmax Y G : gmax + pow2 k <= Z.abs (A * G) ->
  gmax <= Z.abs (Y - pow2 k * half_even k (Y - A * G)).
Proof. by have := @half_even_error k (Y - A * G); have := pow2_gt0 k; lia. Qed.

(** * Conservation *)
Section Conservation.

Variables (n : nat) (nb : nat -> seq nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis simple : forall v, (v < n)%N -> uniq (nb v).

Lemma sum_neighbours (f : nat -> Z) v : (v < n)%N ->
  (\sum_(u <- nb v) f u = \sum_(0 <= u < n | u \in nb v) f u)%R.
Proof.
move=> vn; rewrite -[RHS]big_filter; apply: perm_big; apply: uniq_perm.
- exact: simple.
- by rewrite filter_uniq // iota_uniq.
move=> u; rewrite mem_filter /index_iota subn0 mem_iota /= add0n.
case uv: (u \in nb v) => //=; by rewrite (proj1 Gok v u vn uv).
Qed.

Lemma exchange_cancels (f : nat -> Z) :
  (\sum_(0 <= v < n) \sum_(u <- nb v) (f u - f v) = 0)%R.
Proof.
have split v : (v < n)%N -> (\sum_(u <- nb v) (f u - f v) =
    \sum_(0 <= u < n | u \in nb v) f u - \sum_(0 <= u < n | u \in nb v) f v)%R.
  by move=> vn; rewrite sum_neighbours // sumrB.
rewrite (eq_big_nat _ _ (F2 := fun v => (\sum_(0 <= u < n | u \in nb v) f u -
   \sum_(0 <= u < n | u \in nb v) f v)%R)); last by move=> v /andP[_ vn]; apply: split.
rewrite sumrB (exchange_big_dep_nat xpredT) //=; apply/eqP; rewrite subr_eq0; apply/eqP.
apply: eq_big_nat => v /andP[_ vn]; apply: congr_big_nat => // u /andP[_ un].
by apply/idP/idP => h; apply: (proj2 Gok).
Qed.

(** If everybody satisfies the relation and sends one model to all, the sum of the models moves by
    the sum of the scaled gradients only. *)
(* Proves: AR-7 *)
Theorem conservation k a (x x' g : nat -> Z) :
  (forall v, (v < n)%N ->
     pow2 k * x' v = pow2 k * x v + a * sumz [seq x u - x v | u <- nb v] - g v) ->
  pow2 k * (sumz [seq x' v | v <- iota 0 n] - sumz [seq x v | v <- iota 0 n]) =
  - sumz [seq g v | v <- iota 0 n].
Proof.
move=> rel; rewrite !sumz_big !big_map.
have E := exchange_cancels x.
have: (\sum_(v <- iota 0 n) (pow2 k * x' v) =
       \sum_(v <- iota 0 n) (pow2 k * x v + a * sumz [seq x u - x v | u <- nb v] - g v))%R.
  by apply: eq_big_seq => v; rewrite mem_iota => vn; apply: rel.
rewrite -mulr_sumr sumrB big_split /= -!mulr_sumr.
have -> : (\sum_(v <- iota 0 n) sumz [seq (x u - x v)%Z | u <- nb v] = 0)%R.
  rewrite -[RHS]E /index_iota subn0; apply: eq_bigr => v _.
  by rewrite sumz_big big_map.
rewrite mulr0 addr0 => H; rewrite -[LHS]/(pow2 k * (_ - _))%R mulrBr H.
by rewrite addrAC subrr add0r.
Qed.

End Conservation.

(** * The range rule *)

Lemma sumz_abs (xs : seq Z) : Z.abs (sumz xs) <= sumz [seq Z.abs x | x <- xs].
Proof. by elim: xs => //= x xs IH; lia. Qed.

Lemma sumz_le (c : Z) (xs : seq Z) : (forall x, x \in xs -> x <= c) ->
  sumz xs <= Z.of_nat (size xs) * c.
Proof.
elim: xs => [|x xs IH] le; first by rewrite /=; lia.
have lx := le x (mem_head _ _).
have lxs : sumz xs <= Z.of_nat (size xs) * c by apply: IH => y yx; apply: le; rewrite inE yx orbT.
by rewrite [size _]/= Nat2Z.inj_succ Z.mul_succ_l -[sumz (x :: xs)]/(x + sumz xs); lia.
Qed.

Lemma small_multiple p z : Z.abs z < p -> z mod p = 0 -> z = 0.
Proof.
move=> small /Z.mod_divide h; have [q E] := h ltac:(lia).
have [q0|q1] : q = 0 \/ 1 <= Z.abs q by lia.
  by rewrite E q0.
have p0 : 0 <= p by lia.
have le := @Z.mul_le_mono_nonneg_r 1 (Z.abs q) p p0 q1.
by rewrite E Z.abs_mul (Z.abs_eq p p0) in small; lia.
Qed.

(** Two scaled gradients in range that agree modulo p are equal, if 2 G_max <= p + 1. *)
(* Proves: AR-13 *)
Theorem range_gammas_mod gmax p x y : 2 * gmax <= p + 1 -> 0 < gmax ->
  Z.abs x < gmax -> Z.abs y < gmax -> (x - y) mod p = 0 -> x = y.
Proof.
move=> gp g0 hx hy E; suff: x - y = 0 by lia.
by apply: small_multiple E; lia.
Qed.

Section Range.

Variables (k deg : nat) (amax xmax gmax M : Z).
(* Clause: AR-10 *)
Hypothesis range_rule : xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < M.

(** Nor can one inside the step: mixing and A_t times the gradient, which AR-14 keeps below
    G_max + 2^k. *)
(* Proves: AR-13 *)
Theorem range_step_no_overflow (a own z : Z) (us : seq Z) : 0 <= a <= amax ->
  (size us <= deg)%N -> 0 < xmax -> Z.abs own < xmax ->
  (forall u, u \in us -> Z.abs u < xmax) -> Z.abs z < gmax + pow2 k ->
  pow2 k * Z.abs own + a * sumz [seq Z.abs (u - own) | u <- us] + Z.abs z < M.
Proof.
move=> a_ok few x0 own_ok us_ok z_ok; have k0 := pow2_gt0 k.
have mb : sumz [seq Z.abs (u - own) | u <- us] <= Z.of_nat deg * (2 * xmax).
  have h : forall y, y \in [seq Z.abs (u - own) | u <- us] -> y <= 2 * xmax.
    by move=> y /mapP[u uin ->]; have := us_ok _ uin; lia.
  by have := sumz_le h; rewrite size_map; nia.
have s0 : 0 <= sumz [seq Z.abs (u - own) | u <- us] by elim: (us) => //= u l IH; lia.
have h1 : a * sumz [seq Z.abs (u - own) | u <- us] <= amax * (Z.of_nat deg * (2 * xmax)).
  by apply: Z.mul_le_mono_nonneg; lia.
nia.
Qed.

Section Entry.
Variables (a : Z) (own x g : Z) (us : seq Z).
Hypothesis a_ok : 0 <= a <= amax.
Hypothesis few : (size us <= deg)%N.
Hypotheses (own_ok : Z.abs own < xmax) (x_ok : Z.abs x < xmax) (g_ok : Z.abs g < gmax).
Hypothesis us_ok : forall u, u \in us -> Z.abs u < xmax.

(* One entry of the residual of AR-6. *)
Let res := pow2 k * x - (pow2 k * own + a * sumz [seq u - own | u <- us]) + g.

Lemma mixing_bound : sumz [seq Z.abs (u - own) | u <- us] <= Z.of_nat deg * (2 * xmax).
Proof.
have := @sumz_le (2 * xmax) [seq Z.abs (u - own) | u <- us]; rewrite size_map.
have le : Z.of_nat (size us) * (2 * xmax) <= Z.of_nat deg * (2 * xmax) by nia.
move=> /(_ _); suff h : forall y, y \in [seq Z.abs (u - own) | u <- us] -> y <= 2 * xmax.
  by move=> /(_ h); lia.
by move=> y /mapP[u uin ->]; have := us_ok uin; lia.
Qed.

(** The terms of the relation, taken with their absolute values, stay below M: no order of adding
    them can overflow. *)
(* Proves: AR-13 *)
Theorem range_no_overflow :
  pow2 k * Z.abs x + pow2 k * Z.abs own + a * sumz [seq Z.abs (u - own) | u <- us] + Z.abs g < M.
Proof.
have k0 := pow2_gt0 k; have mb := mixing_bound.
have h1 : a * sumz [seq Z.abs (u - own) | u <- us] <= amax * (Z.of_nat deg * (2 * xmax)).
  have s0 : 0 <= sumz [seq Z.abs (u - own) | u <- us].
    by elim: (us) => //= u l IH; lia.
  by apply: Z.mul_le_mono_nonneg; lia.
nia.
Qed.

Lemma range_residual : Z.abs res < M.
Proof.
have := range_no_overflow; have := @sumz_abs [seq u - own | u <- us]; rewrite -map_comp /comp.
have k0 := pow2_gt0 k.
set S := sumz [seq u - own | u <- us]; set S' := sumz [seq Z.abs (u - own) | u <- us] => SS.
have aS : Z.abs (a * S) <= a * S' by rewrite Z.abs_mul (Z.abs_eq a); nia.
have kx : Z.abs (pow2 k * x) = pow2 k * Z.abs x by rewrite Z.abs_mul (Z.abs_eq (pow2 k)); lia.
have ko : Z.abs (pow2 k * own) = pow2 k * Z.abs own by rewrite Z.abs_mul (Z.abs_eq (pow2 k)); lia.
by rewrite /res -/S; lia.
Qed.

(** A residual that vanishes modulo p vanishes over the integers. *)
(* Proves: AR-13 *)
Theorem range_residual_mod p : M <= p -> res mod p = 0 -> res = 0.
Proof.
by move=> Mp; apply: small_multiple; have := range_residual; lia.
Qed.

End Entry.

(** Two models in range that agree modulo p are equal. *)
(* Proves: AR-13 *)
Theorem range_models_mod p x y : 0 < xmax -> 0 < gmax -> 0 <= amax -> M <= p ->
  Z.abs x < xmax -> Z.abs y < xmax -> (x - y) mod p = 0 -> x = y.
Proof.
move=> x0 g0 a0 Mp hx hy E; have k0 := pow2_gt0 k.
suff: x - y = 0 by lia.
apply: small_multiple E; have : Z.abs (x - y) < 2 * xmax by lia.
have: 0 <= amax * Z.of_nat deg by lia.
nia.
Qed.

End Range.

(** * The hash of a transcript *)

(* Clause: HA-11. The residuals of rounds 1..T, from the transcripts of an agent and of its
   neighbours. *)
Definition residuals (d k : nat) (x0 steps : seq Z) (tr : transcript) (nbs : seq transcript) :
    seq (seq Z) :=
  mkseq (fun t => residual d k (at_ steps t) (nth [::] (models x0 tr) t)
           [seq nth [::] (models x0 u) t | u <- nbs]
           (nth [::] (models x0 tr) t.+1) (nth [::] (gammas tr) t)) (size tr).

(** A record made by steps from what was received satisfies the relation in every round. *)
(* Proves: LM-8, AR-6 *)
Theorem learned_relation d k x0 steps (A : nat -> Z) xmax gmax (G : nat -> seq Z) tr nbs :
  (forall t, (t < size tr)%N -> size (G t) = d /\
     step k (A t) xmax gmax (mix d k (at_ steps t) (nth [::] (models x0 tr) t)
         [seq nth [::] (models x0 u) t | u <- nbs]) (G t)
     = Some (nth [::] (models x0 tr) t.+1, nth [::] (gammas tr) t)) ->
  flatten (residuals d k x0 steps tr nbs) = nseq (d * size tr) 0.
Proof.
move=> made; have -> : residuals d k x0 steps tr nbs = nseq (size tr) (nseq d 0).
  apply: (@eq_from_nth _ [::]); first by rewrite size_mkseq size_nseq.
  move=> t; rewrite size_mkseq => tT; rewrite nth_mkseq // nth_nseq tT.
  have [Gd E] := made t tT.
  by have [_ _ ->] := step_satisfies_relation Gd E.
elim: (size tr) => [|m IH]; first by rewrite muln0.
by rewrite /= IH mulnS nseqD.
Qed.

(* T rounds of d entries. *)
Definition shaped (d T : nat) (tr : transcript) : bool :=
  (size tr == T) && all (fun m => (size m.1 == d) && (size m.2 == d)) tr.

Section Hashes.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Notation phi := (@phi p).

Variables (d k T : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.

Lemma phi_hash_cat s xs ys :
  (phi (hash P s (xs ++ ys)) = phi (hash P s xs) + phi s ^+ size xs * phi (hash P s ys))%R.
Proof.
elim: xs => [|x xs IH]; first by rewrite /= phi0 add0r mul1r.
by rewrite /= !phi_mod // !phiD !phiM IH mulrDr exprS mulrA addrA.
Qed.

Lemma hash_blocks s (B : seq (seq Z)) : all (fun b => size b == d) B ->
  hash P (modpow P s d) [seq hash P s b | b <- B] = hash P s (flatten B).
Proof.
move=> Bd; apply/hash_eq => //.
elim: B Bd => //= b B IH /andP[/eqP bd Bd].
by rewrite phi_mod // phiD phiM IH // phi_modpow // phi_hash_cat bd.
Qed.

Lemma scale_hash s a xs : scale P a (hash P s xs) = hash P s [seq a * x | x <- xs].
Proof.
apply: (phi_inj p_pr).
- by apply: Z.mod_pos_bound; have := prime_gt0 p_pr; lia.
- exact: hash_range.
rewrite phi_mod // phiM; elim: xs => [|x xs IH]; first by rewrite /= !phi0 mulr0.
by rewrite /= !phi_mod // !phiD !phiM -IH mulrDr mulrCA.
Qed.

Lemma models_size tr : shaped d T tr -> size (models x0 tr) = T.+1.
Proof. by case/andP=> /eqP <- _; rewrite /= size_map. Qed.

Lemma models_all tr : shaped d T tr -> all (fun b => size b == d) (models x0 tr).
Proof.
case/andP=> _ /allP tr_ok; rewrite /= x0_ok eqxx; apply/allP => b /mapP[m mtr ->].
by case/andP: (tr_ok m mtr).
Qed.

Lemma gammas_all tr : shaped d T tr -> all (fun b => size b == d) (gammas tr).
Proof.
by case/andP=> _ /allP tr_ok; apply/allP => b /mapP[m mtr ->]; case/andP: (tr_ok m mtr).
Qed.

Definition x_out (tr : transcript) := flatten [seq m.1 | m <- tr].
Definition x_in (tr : transcript) := flatten (take (size tr) (models x0 tr)).
Definition x_in_eta (tr : transcript) :=
  flatten [seq [seq ax.1 * x | x <- ax.2] | ax <- zip steps (take (size tr) (models x0 tr))].

(** The per-round form gives the hashes of the four concatenated vectors. *)
(* Proves: HA-9, HA-10 *)
Theorem four_hashes_correct s tr : shaped d T tr ->
  four_hashes P s d x0 steps tr =
  [:: hash P s (x_out tr); hash P s (x_in tr); hash P s (x_in_eta tr);
      hash P s (flatten (gammas tr))].
Proof.
move=> sh; have mA := models_all sh; have szT : size tr = T by case/andP: sh => /eqP.
have tA : all (fun b => size b == d) (take (size tr) (models x0 tr)).
  by apply/allP => b /mem_take bin; apply: (allP mA).
rewrite /four_hashes; congr [:: _; _; _; _].
- by apply: hash_blocks; case/andP: mA.
- by rewrite -map_take; apply: hash_blocks.
- rewrite /x_in_eta -hash_blocks; last first.
    apply/allP => b /mapP[[a x] ax ->] /=; rewrite size_map.
    have: x \in take (size tr) (models x0 tr).
      rewrite -[X in _ \in X](@unzip2_zip _ _ steps); first by apply: (map_f (@snd _ _) ax).
      by rewrite size_take models_size // szT steps_ok ltnSn.
    by move=> /(allP tA).
  congr hash; rewrite -map_take -map_comp.
  move: (take _ _) => B; elim: B (steps) => [|b B IH] [|a l] //=.
  by rewrite IH scale_hash.
- by apply: hash_blocks; apply: gammas_all.
Qed.

(* Sums over rounds and entries. *)
Local Definition hsum (c : nat -> nat -> 'F_p) (s : 'F_p) : 'F_p :=
  (\sum_(t < T) \sum_(j < d) c t j * s ^+ (t * d + j))%R.

Lemma phi_flatten s (B : seq (seq Z)) : size B = T -> all (fun b => size b == d) B ->
  phi (hash P s (flatten B)) = hsum (fun t j => phi (at_ (nth [::] B t) j)) (phi s).
Proof.
rewrite /hsum => <-; elim: B => [|b B IH] /=; first by rewrite big_ord0 phi0.
case/andP=> /eqP bd Bd; rewrite phi_hash_cat phi_hash // bd big_ord_recl; congr (_ + _)%R.
rewrite IH // big_distrr; apply: eq_bigr => t _; rewrite big_distrr; apply: eq_bigr => j _ /=.
by rewrite mulrCA -exprD mulSn addnA.
Qed.

Lemma hsumD c c' s : (hsum (fun t j => c t j + c' t j) s = hsum c s + hsum c' s)%R.
Proof.
rewrite /hsum -big_split; apply: eq_bigr => t _; rewrite -big_split; apply: eq_bigr => j _ /=.
by rewrite mulrDl.
Qed.

Lemma hsumZ z c s : (hsum (fun t j => z * c t j) s = z * hsum c s)%R.
Proof.
rewrite /hsum big_distrr; apply: eq_bigr => t _; rewrite big_distrr; apply: eq_bigr => j _ /=.
by rewrite mulrA.
Qed.

Lemma hsumN c s : (hsum (fun t j => - c t j) s = - hsum c s)%R.
Proof.
by rewrite -[RHS]mulN1r -hsumZ; apply: eq_bigr => t _; apply: eq_bigr => j _; rewrite mulN1r.
Qed.

Lemma hsum_big (I : Type) (l : seq I) (c : I -> nat -> nat -> 'F_p) s :
  (hsum (fun t j => \sum_(i <- l) c i t j) s = \sum_(i <- l) hsum (c i) s)%R.
Proof.
rewrite /hsum [RHS]exchange_big; apply: eq_bigr => t _; rewrite [RHS]exchange_big; apply: eq_bigr => j _.
by rewrite big_distrl.
Qed.

Lemma eq_hsum c c' s : (forall t j, (t < T)%N -> (j < d)%N -> c t j = c' t j) ->
  hsum c s = hsum c' s.
Proof. by move=> E; apply: eq_bigr => t _; apply: eq_bigr => j _; rewrite E. Qed.

Lemma phi_sumz (I : Type) (f : I -> Z) (l : seq I) :
  phi (sumz [seq f i | i <- l]) = (\sum_(i <- l) phi (f i))%R.
Proof. by elim: l => [|i l IH] /=; rewrite ?big_nil ?phi0 // phiD IH big_cons. Qed.

Local Definition X tr t j : 'F_p := phi (at_ (nth [::] (models x0 tr) t) j).

Lemma phi_out s tr : shaped d T tr ->
  phi (at_ (four_hashes P s d x0 steps tr) 0) = hsum (fun t j => X tr t.+1 j) (phi s).
Proof.
move=> sh; rewrite four_hashes_correct // /at_ /= phi_flatten //.
  by rewrite size_map; case/andP: sh => /eqP.
by have := models_all sh => /andP[].
Qed.

Lemma take_all tr : shaped d T tr -> size (take (size tr) (models x0 tr)) = T /\
  all (fun b => size b == d) (take (size tr) (models x0 tr)).
Proof.
move=> sh; split; last by apply/allP => b /mem_take bin; apply: (allP (models_all sh)).
by rewrite size_take models_size //; case/andP: sh => /eqP -> _; rewrite ltnSn.
Qed.

Lemma phi_in s tr : shaped d T tr ->
  phi (at_ (four_hashes P s d x0 steps tr) 1) = hsum (X tr) (phi s).
Proof.
move=> sh; have [sz al] := take_all sh; rewrite four_hashes_correct // /at_ /= phi_flatten //.
apply: eq_hsum => t j tT _; rewrite nth_take //.
by case/andP: sh => /eqP -> _.
Qed.

Lemma phi_in_eta s tr : shaped d T tr ->
  phi (at_ (four_hashes P s d x0 steps tr) 2) =
  hsum (fun t j => phi (at_ steps t) * X tr t j)%R (phi s).
Proof.
move=> sh; have [sz al] := take_all sh; rewrite four_hashes_correct // /at_ /= phi_flatten //.
- apply: eq_hsum => t j tT jd.
  rewrite (nth_map (0, [::])) ?size1_zip ?steps_ok ?sz // nth_zip ?sz //= nth_take; last first.
    by case/andP: sh => /eqP -> _.
  rewrite /at_ (nth_map 0) ?phiM //.
  have: nth [::] (models x0 tr) t \in models x0 tr by rewrite mem_nth // models_size // ltnW.
  by move/(allP (models_all sh))/eqP ->.
- by rewrite size_map size1_zip ?sz steps_ok.
apply/allP => b /mapP[[a x] ax ->] /=; rewrite size_map; apply: (allP al).
rewrite -[X in _ \in X](@unzip2_zip _ _ steps); last by rewrite sz steps_ok.
exact: (map_f (@snd _ _) ax).
Qed.

Lemma phi_gamma s tr : shaped d T tr ->
  phi (at_ (four_hashes P s d x0 steps tr) 3) =
  hsum (fun t j => phi (at_ (nth [::] (gammas tr) t) j)) (phi s).
Proof.
move=> sh; rewrite four_hashes_correct // /at_ /= phi_flatten //.
  by rewrite size_map; case/andP: sh => /eqP.
exact: gammas_all.
Qed.

Lemma residuals_shape tr nbs : shaped d T tr ->
  size (residuals d k x0 steps tr nbs) = T /\
  all (fun b => size b == d) (residuals d k x0 steps tr nbs).
Proof.
case/andP=> /eqP szT _; split; first by rewrite size_mkseq.
by apply/allP => b /mapP[t _ ->]; rewrite size_mkseq.
Qed.

(** The hash of the residual is the residual of the hashes, under every key. *)
(* Proves: HA-11 *)
Theorem hash_of_residual s tr nbs : shaped d T tr -> all (shaped d T) nbs ->
  difference k (four_hashes P s d x0 steps tr) [seq four_hashes P s d x0 steps u | u <- nbs] mod P
  = hash P s (flatten (residuals d k x0 steps tr nbs)).
Proof.
move=> sh nsh; have [sz al] := residuals_shape nbs sh.
apply: (phi_inj p_pr).
- by apply: Z.mod_pos_bound; have := prime_gt0 p_pr; lia.
- exact: hash_range.
rewrite phi_mod // phi_flatten // /difference phiD !phiB !phiM -map_comp.
rewrite phi_out // phi_in // phi_gamma // phi_sumz.
have -> : (\sum_(u <- nbs) phi (at_ ((four_hashes P s d x0 steps) u) 2 -
             at_ (four_hashes P s d x0 steps tr) 2) =
           hsum (fun t j => \sum_(u <- nbs) phi (at_ steps t) * (X u t j - X tr t j)) (phi s))%R.
  rewrite hsum_big; apply: eq_big_seq => u uin; have ush := allP nsh u uin.
  rewrite phiB !phi_in_eta // -hsumN -hsumD; apply: eq_hsum => t j _ _.
  by rewrite mulrBr.
rewrite -!hsumZ -!hsumN -!hsumD; apply: eq_hsum => t j tT jd.
rewrite nth_mkseq; last by case/andP: sh => /eqP ->.
rewrite !at_mkseq // phiD !phiB phiM -!/(at_ _ _) phiD !phiM -map_comp phi_sumz opprD.
congr (_ + _)%R; rewrite -addrA; congr (_ + _)%R; congr (_ + _)%R.
congr (- _)%R; rewrite big_distrr; apply: eq_bigr => u _ /=.
by rewrite phiB.
Qed.

End Hashes.
