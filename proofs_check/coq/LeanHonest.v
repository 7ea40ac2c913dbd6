(** Lean validation without Byzantine agents: nobody objects, everybody ends valid. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd.
From ValidRef Require Import Flood TreeSum Lean LeanProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Section Lean.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k T kappa : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (root rounds : nat).
Hypothesis Gok : graph_ok n nb.

Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
Variables (m : nat) (ghat : nat -> transcript -> seq Z) (numbers : transcript -> seq Z).
Variables (is_numbers : seq Z -> bool) (bound : nat -> Z) (stat_ok : seq Z -> seq (seq Z) -> bool).
Variable content : nat -> nat * seq Z.
Variable digest : seq (option fixed) * seq (option (seq Z)) * seq (option (seq (seq Z))) -> seq Z.

Notation is_agent := (is_agent n H).
Variables (advF : adversary (wire fixed)) (advS : adversary addressed).
Notation fix_state := (fix_state n nb H root rounds own numbers is_numbers advF).
Notation total_held := (total_held d n nb H root rounds own m ghat bound advS).
Notation slice := (slice d).
Notation sum_of := (sum_of d n ghat).

Hypothesis simple : forall v, v < n -> uniq (nb v).
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis connected : assumption_1 n nb xpredT.
Hypothesis root_ok : root < n.
Hypothesis two_levels : 0 < height n nb root.
Hypothesis rounds_enough : forall s v, s < n -> v < n -> distance n nb s v <= rounds.
Hypothesis rounds_few : rounds < n.
Hypothesis sent : forall v u, v < n -> u \in nb v -> tr v u = own v.
Hypothesis own_shaped : forall v, v < n -> shaped d T (own v).
(* Everybody satisfies AR-6 in every round; see step_satisfies_relation. *)
Hypothesis relation : forall v, v < n ->
  flatten (residuals d k x0 steps (own v) [seq own u | u <- nb v]) = nseq (d * T) 0%Z.
Hypothesis ghat_size : forall i t, i < m -> shaped d T t -> size (ghat i t) = d.
Hypothesis ghat_bound : forall v i j, v < n -> i < m -> j < d ->
  (Z.abs (at_ (ghat i (own v)) j) <= bound (i * d + j))%Z.
Hypothesis numbers_ok : forall v, v < n -> is_numbers (numbers (own v)).

Variable shares : nat -> seq Z.
Hypothesis shares_ok : forall v, v < n -> is_share P kappa v (shares v).
Variables (advO : adversary (wire (seq Z))) (advR : adversary (wire (seq (seq Z)))).
Variables (advC : nat -> nat -> option (seq Z)) (advA : adversary word).
Variables before after : nat -> bool.

Notation open_state := (open_state P kappa n nb H rounds shares advO).
Notation keys := (common_keys P kappa n nb H rounds shares advO).
Notation report_state := (report_end_state P d kappa x0 steps n nb H rounds own m ghat shares advO advR).
Notation everything := (everything P d kappa x0 steps n nb H root rounds own m ghat numbers
  is_numbers shares advF advO advR).
Notation report := (lean_report P d x0 steps m ghat).
Notation objected := (lean_objected P d k kappa x0 steps n nb H root rounds tr own m ghat numbers
  is_numbers bound stat_ok content shares advF advS advO advR digest advC before after).

Let agentP v : v < n -> is_agent v. Proof. by move=> vn; rewrite /Graph.is_agent vn everybody. Qed.

Lemma fix_fine v : v < n -> alarms (fix_state v) = [::] /\
  forall u, u < n -> holds (fix_state v) u = Some (u, numbers (own u)).
Proof. by apply: (flood_V1 eq_fixedP Gok) => //; apply: leq_maxl. Qed.

Lemma open_fine v : v < n -> alarms (open_state v) = [::] /\
  forall u, u < n -> holds (open_state v) u = Some (shares u).
Proof. by apply: (flood_V1 eqzP Gok). Qed.

Lemma keys_fine v : v < n -> keys v = keys root.
Proof.
move=> vn; apply: eq_mkseq => i; congr (Z.modulo (sumz _) P).
apply/eq_in_map => u; rewrite mem_iota => un.
by rewrite (proj2 (open_fine vn)) // (proj2 (open_fine root_ok)).
Qed.

Lemma hashes_ok s t : shaped d T t -> (size (hashes P d x0 steps m ghat s t) == 4 + m) &&
  all (is_key P 0) (hashes P d x0 steps m ghat s t).
Proof.
move=> sh; rewrite /hashes size_cat size_map size_iota eqxx andTb all_cat.
have hr xs : is_key P 0 (hash P s xs) by have := hash_range p_pr s xs; rewrite /is_key; lia.
rewrite (four_hashes_correct p_pr x0_ok steps_ok) //=; rewrite !hr /=.
by apply/allP => y /mapP[i _ ->].
Qed.

Lemma report_fine v : v < n -> alarms (report_state v) = [::] /\
  forall u, u < n -> holds (report_state v) u = Some (report (keys root) (own u)).
Proof.
have ok u : u < n -> is_lean_report P kappa m u (report (keys u) (own u)).
  move=> un; rewrite /is_lean_report size_map size_mkseq eqxx /=.
  by apply/allP => h /mapP[s _ ->]; apply: hashes_ok; apply: own_shaped.
move=> vn; have [q h] := flood_V1 (eq_listP eqzP) Gok advR everybody ok rounds_enough rounds_few (leqnn rounds) vn.
by split=> // u un; rewrite h // keys_fine.
Qed.

Lemma estimate_at i j t : i < m -> j < d -> shaped d T t ->
  at_ (estimates m ghat t) (i * d + j) = at_ (ghat i t) j.
Proof.
move=> im jd sh; rewrite /estimates.
have -> : ghat i t = nth [::] [seq ghat i t | i <- iota 0 m] i.
  by rewrite (nth_map 0) ?size_iota // nth_iota.
have: all (fun b => size b == d) [seq ghat i t | i <- iota 0 m].
  by apply/allP => x /mapP[q]; rewrite mem_iota => qm ->; rewrite ghat_size.
have: i < size [seq ghat i t | i <- iota 0 m] by rewrite size_map size_iota.
elim: [seq _ | _ <- _] i {im} => //= b B IH [|i] iB /andP[/eqP bd Bd] /=.
  by rewrite /at_ nth_cat bd jd.
by rewrite /at_ nth_cat bd mulSn -addnA ltnNge leq_addr /= addKn -/(at_ _ _) IH.
Qed.

Lemma estimates_ok v : v < n -> size (estimates m ghat (own v)) = m * d /\
  forall j, j < m * d -> (Z.abs (at_ (estimates m ghat (own v)) j) <= bound j)%Z.
Proof.
move=> vn; have gs i : i \in iota 0 m -> size (ghat i (own v)) = d.
  by rewrite mem_iota => im; apply: ghat_size => //; apply: own_shaped.
split.
  rewrite /estimates (@size_flat d) ?size_map ?size_iota //.
  by apply/allP => x /mapP[i im ->]; rewrite gs.
move=> j jmd; have d0 : 0 < d by move: jmd; case: (d) => //; rewrite muln0.
have im : j %/ d < m by rewrite ltn_divLR.
rewrite (divn_eq j d) estimate_at ?ltn_mod //; first by apply: ghat_bound; rewrite ?ltn_mod.
exact: own_shaped.
Qed.

Notation sums := (sum_end_state d n nb H root rounds own m ghat bound advS).
Lemma sum_fine v : v < n -> amiss (sums v) = false /\
  total_held v = sum_of_all n (m * d) (fun v => estimates m ghat (own v)).
Proof.
move=> vn; have [a t] := tree_sum_right Gok simple connected root_ok everybody advS estimates_ok
  (leq_maxr rounds _) two_levels vn.
by split=> //; rewrite /Lean.total_held /sum_end_state t.
Qed.

Lemma total_slice v i : v < n -> i < m -> slice i (total_held v) = sum_of i own.
Proof.
move=> vn im; have [_ ->] := sum_fine vn; have szs : size (sum_of_all n (m * d)
  (fun v => estimates m ghat (own v))) = m * d by rewrite size_mkseq.
have [d0|d0] := posnP d; first by rewrite /Lean.slice /sum_of d0 take0.
have [sz _] := slice_at im d0 szs.
apply: (@eq_from_nth _ 0%Z); rewrite ?size_mkseq // sz => j jd.
have [_ e] := slice_at im jd szs; rewrite -[nth _ (slice _ _) _]/(at_ _ _) e -[nth _ _ _]/(at_ _ _).
have jm : i * d + j < m * d.
  by apply: leq_trans (_ : i * d + d <= _); [rewrite ltn_add2l|rewrite -mulSnr leq_mul2r im orbT].
rewrite !at_mkseq //; congr sumz; apply/eq_in_map => u; rewrite mem_iota => un.
by rewrite estimate_at //; apply: own_shaped.
Qed.

Hypothesis statistics_ok :
  stat_ok (sum_of_all n (m * d) (fun v => estimates m ghat (own v))) [seq numbers (own u) | u <- iota 0 n].
Hypothesis others_quiet : forall v, v < n -> before v = false /\ after v = false.

(** If nobody is Byzantine, everybody follows its relation, no other phase objects and the statistics
    pass, then nobody objects to anything, whatever the shares are. *)
Lemma nobody_objects v : v < n -> objected v = false.
Proof.
move=> vn; have [qf hf] := fix_fine vn; have [qo ho] := open_fine vn; have [qr hr] := report_fine vn.
have [qs St] := sum_fine vn; have [qb qa] := others_quiet vn.
have nbn u : u \in nb v -> u < n by apply: (proj1 Gok).
have said j u : j < kappa -> u < n ->
    said_under P d kappa x0 steps n nb H rounds own m ghat shares advO advR v j u =
    hashes P d x0 steps m ghat (at_ (keys root) j) (own u).
  by move=> jk un; rewrite /said_under hr //= (nth_map 0%Z) ?size_mkseq.
rewrite /lean_objected /alarmed qf qo qr qs qb qa /= orbF.
apply/negbTE; rewrite !negb_or; apply/and5P; split.
- have enough := leq_maxr rounds (height n nb root).*2.
  rewrite /total_unfit St negbK -(below_root _ Gok connected root_ok _ enough two_levels).
  exact: (below_ok root_ok estimates_ok enough two_levels root_ok).
- apply/hasPn => u; rewrite mem_iota => un; rewrite hf // ho // negbK /fits /in_box /= agentP //= eqxx.
  exact/eqzP.
- apply/hasPn => u uv; have un := nbn u uv; rewrite hf // hr // sent //; last exact: (proj2 Gok).
  by rewrite keys_fine // negb_or !negbK; apply/andP; split; [apply/eqzP|apply/(eq_listP eqzP)].
- apply/hasPn => u; rewrite mem_iota => un; apply/hasPn => j; rewrite mem_iota => jk.
  have un' x : x \in nb u -> x < n by apply: (proj1 Gok).
  rewrite negbK said //; apply/Z.eqb_spec.
  have -> : [seq said_under P d kappa x0 steps n nb H rounds own m ghat shares advO advR v j x | x <- nb u] =
      [seq hashes P d x0 steps m ghat (at_ (keys root) j) x | x <- [seq own x | x <- nb u]].
    by rewrite -map_comp; apply/eq_in_map => x xu /=; rewrite said // un'.
  have E := hash_of_residual p_pr k x0_ok steps_ok (at_ (keys root) j) (own_shaped un)
    (nbs := [seq own x | x <- nb u]).
  rewrite relation // in E.
  transitivity (hash P (at_ (keys root) j) (nseq (d * T) 0%Z)).
    rewrite -E; last by apply/allP => t /mapP[x xu ->]; apply: own_shaped; apply: un'.
    by rewrite /difference /hashes /= -!map_comp.
  by elim: (d * T) => //= c ->; rewrite Z.mul_0_r Z.mod_0_l //; have := prime_gt0 p_pr; lia.
apply/and3P; split.
- apply/hasPn => i; rewrite mem_iota => im; apply/hasPn => j; rewrite mem_iota => jk.
  rewrite negbK total_slice // keys_fine //; apply/Z.eqb_spec.
  rewrite /sum_of (hash_sum p_pr _ (f := fun u => ghat i (own u))) => [|u]; last first.
    by rewrite mem_iota => un; apply: ghat_size => //; apply: own_shaped.
  congr (Z.modulo (sumz _) P); apply/eq_in_map => u; rewrite mem_iota => un; rewrite said //.
  by rewrite /hashes /at_ nth_cat /= addKn (nth_map 0) ?size_iota // nth_iota.
- rewrite negbK St; apply: etrans statistics_ok; congr (stat_ok _ _).
  by apply/eq_in_map => u; rewrite mem_iota => un; rewrite hf.
- apply/hasPn => u uv; have un := nbn u uv; rewrite everybody // negbK; apply/eqzP; congr digest.
  have same (M : Type) (a b : bstate M) : size (held a) = n -> size (held b) = n ->
      (forall x, x < n -> holds a x = holds b x) -> held a = held b.
    move=> sa sb E; apply: (@eq_from_nth _ None); rewrite ?sa ?sb // => x xn; exact: E.
  rewrite /Lean.everything; congr (_, _, _); apply: same; rewrite ?held_size // => x xn.
  + by rewrite hf // (proj2 (fix_fine un)).
  + by rewrite ho // (proj2 (open_fine un)).
  + by rewrite hr // (proj2 (report_fine un)).
Qed.

(** And everybody ends valid. *)
(* Proves: LE-16 *)
Theorem lean_honest_run_is_valid v : v < n ->
  lean_ends_invalid P d k kappa x0 steps n nb H root rounds tr own m ghat numbers is_numbers
    bound stat_ok content shares advF advS advO advR digest advC advA before after v = false.
Proof. by move=> vn; apply: (S3 Gok) => // u un; apply: nobody_objects. Qed.

End Lean.
