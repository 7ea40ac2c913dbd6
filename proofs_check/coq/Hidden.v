(** Why every Byzantine agent needs an honest neighbour, and why one must check oneself. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Arith HashProof LatticeProof LocalProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Delimit Scope Z_scope with Z.

Lemma under_flatten (f : Z -> seq Z) (keys : seq Z) w : (forall s, size (f s) = 4) ->
  w < size keys -> under w (flatten [seq f s | s <- keys]) = f (at_ keys w).
Proof.
move=> f4; rewrite /under; elim: keys w => [//|s keys IH] w wk.
rewrite -[flatten _]/(f s ++ flatten [seq f s' | s' <- keys]).
case: w wk => [|w] wk; first by rewrite muln0 drop0 take_size_cat.
by rewrite mulnS addnC -drop_drop drop_size_cat // IH.
Qed.

Section Leaf.

Variables (P : Z) (d k : nat) (x0 steps : seq Z) (n : nat) (nb : nat -> seq nat).
Hypothesis P_pos : (0 < P)%Z.
Hypothesis Gok : graph_ok n nb.
Hypothesis simple : forall v, v < n -> uniq (nb v).
Variable keys : seq Z.
Hypothesis keys_size : size keys = n.

(* Agent w has the one neighbour v; only v reports on it. *)
Variables (w v : nat).
Hypotheses (wn : w < n) (vn : v < n) (leaf : nb w = [:: v]) (wv : w != v).

(* What everybody said; what v said is arbitrary. *)
Variable com : nat -> transcript.
Notation true_hashes s u := (four_hashes P s d x0 steps (com u)).

(* The input of w that makes the relation of v hold, whatever v said. *)
Definition needed (s : Z) : Z :=
  let hv := true_hashes s v in
  (pow2 k * at_ hv 0 - pow2 k * at_ hv 1
   - sumz [seq (at_ (true_hashes s u) 2 - at_ hv 2)%Z | u <- rem w (nb v)]
   + at_ hv 2 + at_ hv 3)%Z.

(* A report on w that was never sent by anybody. *)
Definition invented (s : Z) : seq Z :=
  [:: 0; 0; needed s; at_ (true_hashes s v) 2 - needed s]%Z.

Definition told (s : Z) (u : nat) : seq Z := if u == w then invented s else true_hashes s u.

Definition reports (_ u : nat) : option (seq Z) := Some (flatten [seq told s u | s <- keys]).

Lemma told4 u s : size (told s u) = 4.
Proof. by rewrite /told; case: ifP. Qed.

Lemma reports_under z x u : z < n -> under z (odflt [::] (reports x u)) = told (at_ keys z) u.
Proof. by move=> zn; rewrite /= under_flatten ?keys_size // => s; apply: told4. Qed.

Let there a b : a < n -> b \in nb a -> isSome (reports b a). Proof. by []. Qed.

Lemma told_consistent z u : z < n -> u < n -> inconsistent nb reports z u = false.
Proof.
move=> zn un; rewrite /inconsistent (seen_all there) //.
case: (nb u) => //= x l; apply/negbTE; rewrite negbK; apply/allP => h /mapP[y _ ->].
by apply/eqzP.
Qed.

Hypothesis nobody_alone : forall u, u < n -> nb u != [::].

Lemma told_agreed z u : z < n -> u < n -> agreed nb reports z u = Some (told (at_ keys z) u).
Proof.
move=> zn un; have /hasP[x xu _] : has predT (nb u) by rewrite has_predT lt0n size_eq0 nobody_alone.
by rewrite (agreed_said there un (told_consistent zn un) xu) reports_under.
Qed.

(* Everybody but v and w follows its relation. *)
Hypothesis others : forall s u, u < n -> u != v -> u != w ->
  (difference k (true_hashes s u) [seq true_hashes s x | x <- nb u] mod P = 0)%Z.

Lemma w_only_at_v u : u < n -> w \in nb u -> u = v.
Proof. by move=> un wu; have := proj2 Gok u w un wu; rewrite leaf inE => /eqP. Qed.

Lemma told_balances z u : z < n -> u < n -> broken P k nb reports z u = false.
Proof.
move=> zn un; rewrite /broken told_agreed //.
have nbn x : x \in nb u -> x < n by apply: (proj1 Gok).
have -> : all (fun x => isSome (agreed nb reports z x)) (nb u).
  by apply/allP => x xu; rewrite told_agreed // nbn.
have -> : pmap (agreed nb reports z) (nb u) = [seq told (at_ keys z) x | x <- nb u].
  rewrite pmap_there; last by apply/allP => x xu; rewrite told_agreed // nbn.
  by apply/eq_in_map => x xu; rewrite told_agreed // nbn.
set s := at_ keys z; apply/negbTE; rewrite negbK; apply/Z.eqb_spec.
have [uw|nuw] := altP (u =P w).
  have tv : told s v = true_hashes s v by rewrite /told eq_sym (negbTE wv).
  have tw : told s w = invented s by rewrite /told eqxx.
  rewrite uw leaf [map _ _]/= tv tw.
  have -> : difference k (invented s) [:: true_hashes s v] =
    (pow2 k * 0 - pow2 k * 0 - (at_ (true_hashes s v) 2 - needed s + 0) +
     (at_ (true_hashes s v) 2 - needed s))%Z by [].
  by rewrite (_ : (_ + _ = 0)%Z); [apply: Z.mod_0_l; lia|lia].
have tu : told s u = true_hashes s u by rewrite /told (negbTE nuw).
have [uv|nuv] := altP (u =P v); last first.
  rewrite tu (_ : [seq told s x | x <- nb u] = [seq true_hashes s x | x <- nb u]); first exact: others.
  apply/eq_in_map => x xu; rewrite /told; case: eqP => // xw; case/eqP: nuv.
  by apply: w_only_at_v => //; rewrite -xw.
rewrite tu uv /difference.
have wnb : w \in nb v by apply: (proj2 Gok) => //; rewrite leaf inE.
have -> : sumz [seq (at_ hu 2 - at_ (true_hashes s v) 2)%Z | hu <- [seq told s x | x <- nb v]] =
  (needed s - at_ (true_hashes s v) 2 +
   sumz [seq (at_ (true_hashes s x) 2 - at_ (true_hashes s v) 2)%Z | x <- rem w (nb v)])%Z.
  rewrite -map_comp !sumz_big !big_map (perm_big _ (perm_to_rem wnb)) big_cons /= /told eqxx.
  congr (_ + _)%R; apply: eq_big_seq => x xr; rewrite /told.
  by have := mem_rem_uniq w (simple vn) x; rewrite xr inE => /esym/andP[/negbTE ->].
rewrite /needed; set hv := true_hashes s v; set S := sumz _.
by rewrite (_ : (_ + _ = 0)%Z); [apply: Z.mod_0_l; lia|lia].
Qed.

Lemma told_true u : u != w -> flatten [seq told s u | s <- keys] = report P d x0 steps keys (com u).
Proof. by move=> nuw; rewrite /report /told (negbTE nuw). Qed.

(** A Byzantine agent all of whose neighbours are Byzantine is a free parameter: whatever its
    neighbour v said to honest agents, a report on it exists that lets all checks of all other
    agents pass, under every key, own or all. *)
(* Proves: P06 *)
Theorem hidden_agent_unconstrained all_keys z : z < n -> z != w ->
  local_alarm P k nb reports all_keys n z (report P d x0 steps keys (com z)) = false.
Proof.
move=> zn nzw; apply/negbTE/hasPn => q qin.
have qn : q < n by move: qin; case: all_keys; rewrite ?mem_iota // inE => /eqP ->.
rewrite /check_fails negb_or; apply/andP; split.
  by apply/hasPn => u; rewrite mem_iota => un; rewrite told_consistent // told_balances.
apply/hasPn => u uz; rewrite (reported_said there) // negbK; apply/eqzP.
by rewrite /reports /= told_true.
Qed.

(** The lone honest agent: if the agent w itself is honest, the checks that do not look at its own
    record pass all the same, and only the self-check can object. *)
(* Proves: P07 *)
Theorem without_self_check_unconstrained q u : q < n -> u < n ->
  inconsistent nb reports q u = false /\ broken P k nb reports q u = false.
Proof. by move=> qn un; rewrite told_consistent // told_balances. Qed.

End Leaf.

(** * K2: one honest agent, one Byzantine *)

Definition k2 (v : nat) : seq nat := if v is 0 then [:: 1] else [:: 0].

Lemma k2_ok : graph_ok 2 k2.
Proof. by split=> [[|[|u]]|[|[|u]]] [|[|v]]. Qed.

(** The honest agent 0 hears any transcript whatever from agent 1, which reports on agent 0 so that
    nothing is inconsistent and no relation is broken, under any keys. *)
(* Proves: P07 *)
Theorem P07_lone_agent P d k x0 steps (keys : seq Z) (com : nat -> transcript) q u :
  (0 < P)%Z -> size keys = 2 -> q < 2 -> u < 2 ->
  let R := reports P d k x0 steps k2 keys 0 1 com in
  inconsistent k2 R q u = false /\ broken P k k2 R q u = false.
Proof.
move=> P0 ks qn un R; apply: (without_self_check_unconstrained (n := 2)) => //.
- exact: k2_ok.
- by case=> [|[]].
- by case=> [|[]].
- by move=> s [|[|x]].
Qed.
