(** Lean validation: a lie leaves all honest agents without an alarm for few tuples of honest shares
    only; honest runs end valid. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement AgreementProof.
From ValidRef Require Import Arith HashProof LatticeProof LocalProof Protocol EndToEnd.
From ValidRef Require Import Flood TreeSum Lean.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Lemma eq_listP (A : Type) (eqa : A -> A -> bool) : (forall x y, reflect (x = y) (eqa x y)) ->
  forall xs ys, reflect (xs = ys) (eq_list eqa xs ys).
Proof.
move=> eqaP; elim=> [|x xs IH] [|y ys]; try by constructor.
have -> : eq_list eqa (x :: xs) (y :: ys) = eqa x y && eq_list eqa xs ys by [].
by apply: (iffP andP) => [[/eqaP -> /IH ->]|[/eqaP ? /IH ?]].
Qed.

Lemma eq_fixedP x y : reflect (x = y) (eq_fixed x y).
Proof.
by case: x y => [c q] [c' q']; apply: (iffP andP) => /= [[/eqP -> /eqzP ->]|[-> ->]] //; split=> //; apply/eqzP.
Qed.

(** * Keys made of shares *)

(* Whatever else enters: if one share alone determines a key, given the others, no set of keys is hit
   more often than its size times the number of other shares. *)
Section Shares.
Variables (X K : finType) (x0 : X).

Lemma one_key (f : {ffun X -> K} -> K) (A : {set K}) :
  (forall s t : {ffun X -> K}, (forall x, x != x0 -> s x = t x) -> f s = f t -> s x0 = t x0) ->
  #|[set t | f t \in A]| <= #|A| * #|K| ^ #|X|.-1.
Proof.
move=> det; pose swap (t : {ffun X -> K}) := [ffun x => if x == x0 then f t else t x].
have inj : injective swap.
  move=> s t e; have eo x : x != x0 -> s x = t x.
    by move=> xn; have := congr1 (fun f : {ffun X -> K} => f x) e; rewrite !ffunE (negbTE xn).
  have := congr1 (fun f : {ffun X -> K} => f x0) e; rewrite !ffunE eqxx => E.
  by apply/ffunP => x; case: (altP (x =P x0)) => [->|/eo //]; apply: det E.
rewrite -(card_imset _ inj).
apply: (@leq_trans #|family (fun x => if x == x0 then mem A else mem predT)|).
  apply: subset_leq_card; apply/subsetP => u /imsetP[t]; rewrite inE => tA ->.
  by apply/familyP => x; rewrite ffunE; case: eqP.
rewrite card_family foldrE big_map big_enum /= (bigD1 x0) //= eqxx.
rewrite (eq_bigr (fun _ => #|K|)) => [|x /negbTE ->]; last by [].
by rewrite prod_nat_const cardC1.
Qed.

Lemma all_keys (kappa : nat) (f : 'I_kappa -> {ffun X -> K} -> K) (A : {set K}) :
  (forall j (s t : {ffun X -> K}), (forall x, x != x0 -> s x = t x) -> f j s = f j t -> s x0 = t x0) ->
  #|[set t : {ffun 'I_kappa -> {ffun X -> K}} | [forall j, f j (t j) \in A]]| <=
    (#|A| * #|K| ^ #|X|.-1) ^ kappa.
Proof.
move=> det; apply: (@leq_trans #|family (fun j => mem [set t : {ffun X -> K} | f j t \in A])|).
  by apply: subset_leq_card; apply/subsetP => t; rewrite inE => /forallP h; apply/familyP => j; rewrite inE.
rewrite card_family foldrE big_map big_enum /=.
rewrite -[X in _ <= _ ^ X]card_ord -prod_nat_const; apply: leq_prod => j _.
by apply: one_key; apply: det.
Qed.
End Shares.

Lemma sumz_one (f g : nat -> Z) x l : uniq l -> x \in l -> (forall y, y != x -> f y = g y) ->
  (sumz [seq f y | y <- l] - sumz [seq g y | y <- l] = f x - g x)%Z.
Proof.
move=> Ul xl same; elim: l Ul xl => //= y l IH /andP[yl Ul]; rewrite inE => /orP[/eqP E|xl].
  have -> : [seq f z | z <- l] = [seq g z | z <- l]; last by rewrite E; lia.
  by apply/eq_in_map => z zl; apply: same; apply: contraNneq yl => E2; rewrite -E -E2.
by have := IH Ul xl; rewrite (same y); [lia|apply: contraNneq yl => ->].
Qed.

(** * Vectors and their hashes *)

Lemma hash_sum p (p_pr : prime p) d s (f : nat -> seq Z) l (P := Z.of_nat p) : (forall u, u \in l -> size (f u) = d) ->
  hash P s (mkseq (fun j => sumz [seq at_ (f u) j | u <- l]) d) =
  Z.modulo (sumz [seq hash P s (f u) | u <- l]) P.
Proof.
rewrite /P => fs; apply: (phi_inj p_pr); first exact: hash_range.
  by apply: Z.mod_pos_bound; have := prime_gt0 p_pr; lia.
have phi_sum (xs : seq Z) : phi p (sumz xs) = (\sum_(x <- xs) phi p x)%R.
  by elim: xs => [|x xs IH]; rewrite ?big_nil ?phi0 // big_cons -IH -phiD.
rewrite (phi_mod p_pr) phi_sum big_map (phi_hash p_pr) size_mkseq.
rewrite (eq_bigr (fun i : 'I_d => \sum_(u <- l) phi p (at_ (f u) i) * phi p s ^+ i)%R) => [|i _].
  rewrite exchange_big /= !big_seq; apply: eq_bigr => u ul.
  by rewrite (phi_hash p_pr) fs.
by rewrite at_mkseq // phi_sum big_map big_distrl.
Qed.

Lemma slice_at d m i j x : i < m -> j < d -> size x = m * d ->
  size (slice d i x) = d /\ at_ (slice d i x) j = at_ x (i * d + j).
Proof.
move=> im jd sx; have le : i * d + d <= m * d by rewrite -mulSnr leq_mul2r im orbT.
split; first by rewrite size_take size_drop sx; case: ltnP => //; lia.
by rewrite /at_ nth_take // nth_drop.
Qed.

Section Lean.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k T kappa : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Hypothesis T_pos : 0 < T.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (root rounds : nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis rounds_pos : 0 < rounds.

Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
Variables (m : nat) (ghat : nat -> transcript -> seq Z) (numbers : transcript -> seq Z).
Variables (is_numbers : seq Z -> bool) (bound : nat -> Z) (stat_ok : seq Z -> seq (seq Z) -> bool).
Variable content : nat -> nat * seq Z.
Variable digest : seq (option fixed) * seq (option (seq Z)) * seq (option (seq (seq Z))) -> seq Z.

Notation is_agent := (is_agent n H).
Notation common := (common nb H tr own).

(* What is fixed before honest shares are opened does not mention them. *)
Variables (advF : adversary (wire fixed)) (advS : adversary addressed).
Notation fix_state := (fix_state n nb H root rounds own numbers is_numbers advF).
Notation total_held := (total_held d n nb H root rounds own m ghat bound advS).
Notation slice := (slice d).
Definition sum_of (i : nat) (f : nat -> transcript) : seq Z :=
  mkseq (fun j => sumz [seq at_ (ghat i (f u)) j | u <- iota 0 n]) d.

(** * With Byzantine agents *)
Section Detection.

Hypothesis dominated : assumption_1_plus n nb H.
Hypothesis honest_sent : forall v u, v < n -> H v -> v \in nb u -> tr v u = own v.
Hypothesis tr_shaped : forall v u, v < n -> u \in nb v -> H u -> shaped d T (tr v u).
Hypothesis own_shaped : forall v, v < n -> H v -> shaped d T (own v).

Variables (xmax gmax amax : Z) (deg : nat).
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis tr_range : forall v u, v < n -> u \in nb v -> H u -> in_range xmax gmax (tr v u).
Hypothesis own_range : forall v, v < n -> H v -> in_range xmax gmax (own v).
Hypothesis deg_ok : forall v, v < n -> size (nb v) <= deg.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.
(* Clause: LE-3. Estimates are bounded, and no sum of n of them wraps. *)
Hypothesis ghat_size : forall i t, i < m -> shaped d T t -> size (ghat i t) = d.
Hypothesis digest_ok : injective digest.

Let conn : assumption_1 n nb H := proj1 dominated.

Section FixedShares.

Variable shares : nat -> seq Z.
Variables (advO : adversary (wire (seq Z))) (advR : adversary (wire (seq (seq Z)))).
Variables (advC : nat -> nat -> option (seq Z)).
Variables before after : nat -> bool.

Notation open_state := (open_state P kappa n nb H rounds shares advO).
Notation keys := (common_keys P kappa n nb H rounds shares advO).
Notation report_state := (report_end_state P d kappa x0 steps n nb H rounds own m ghat shares advO advR).
Notation said := (said_under P d kappa x0 steps n nb H rounds own m ghat shares advO advR).
Notation everything := (everything P d kappa x0 steps n nb H root rounds own m ghat numbers
  is_numbers shares advF advO advR).
Notation report := (lean_report P d x0 steps m ghat).
Notation objected := (lean_objected P d k kappa x0 steps n nb H root rounds tr own m ghat numbers
  is_numbers bound stat_ok content shares advF advS advO advR digest advC before after).
Hypothesis quiet : forall v, is_agent v -> objected v = false.

Lemma parts v : is_agent v ->
  [/\ alarms (fix_state v) = [::], alarms (open_state v) = [::] & alarms (report_state v) = [::]] /\
  [/\ bad_opening P kappa n nb H root rounds own numbers is_numbers content shares advF advO v = false,
      record_differs P d kappa x0 steps n nb H root rounds tr own m ghat numbers is_numbers shares
        advF advO advR v = false,
      relation_fails P d k kappa x0 steps n nb H rounds own m ghat shares advO advR v = false &
      total_differs P d kappa x0 steps n nb H root rounds own m ghat bound shares advS advO advR v = false] /\
  [/\ total_unfit d n nb H root rounds own m ghat bound advS v = false,
      statistics_fail d n nb H root rounds own m ghat numbers is_numbers bound stat_ok advF advS v = false &
      digest_differs P d kappa x0 steps n nb H root rounds own m ghat numbers is_numbers shares
        advF advO advR digest advC v = false].
Proof.
move=> /quiet; rewrite /lean_objected => /norP[_ /norP[a /norP[_ /norP[b /norP[c /norP[e /norP[f]]]]]]].
move=> /norP[g /norP[h /norP[i /norP[j /norP[l _]]]]].
move: a c f; rewrite /alarmed !negbK => /nilP -> /nilP -> /nilP ->.
by split=> //; split; split; apply/negbTE.
Qed.

(** Without an honest alarm, comparison included, all honest agents hold the same in all floods. *)
(* Proves: LE-17 *)
Theorem same_everything u v : is_agent u -> is_agent v -> everything u = everything v.
Proof.
move=> uA vA; have [q up <-] := proj2 conn u v uA vA.
elim/last_ind: q up => //= q w IH; rewrite rcons_path last_rcons => /andP[uq /andP[wl Hw]].
have lA := walk_end Gok uA uq; rewrite {}IH //.
have wA : is_agent w by rewrite /Graph.is_agent Hw andbT; apply: (proj1 Gok) wl; case/andP: lA.
have [_ [_ [_ _ /negbT]]] := parts lA; rewrite /digest_differs => /hasPn/(_ w wl).
by rewrite Hw negbK => /eqzP/digest_ok.
Qed.

Lemma same_keys u v : is_agent u -> is_agent v -> keys u = keys v.
Proof.
move=> uA vA; have E : held (open_state u) = held (open_state v) by case: (same_everything uA vA).
by rewrite /common_keys /holds E.
Qed.

Let agent_lt v : is_agent v -> v < n. Proof. by case/andP. Qed.

Lemma fix_rounds_pos : 0 < fix_rounds n nb root rounds.
Proof. by rewrite leq_max rounds_pos. Qed.

Lemma fixed_there w u : is_agent w -> u < n -> isSome (holds (fix_state w) u).
Proof.
move=> wA un; have [[q _ _] _] := parts wA.
exact: (nothing_missing (agent_lt wA) un fix_rounds_pos q).
Qed.

Lemma opened_there w u : is_agent w -> u < n -> isSome (holds (open_state w) u).
Proof.
by move=> wA un; have [[_ q _] _] := parts wA; apply: (nothing_missing (agent_lt wA) un rounds_pos q).
Qed.

Lemma reported_there w u : is_agent w -> u < n -> isSome (holds (report_state w) u).
Proof.
by move=> wA un; have [[_ _ q] _] := parts wA; apply: (nothing_missing (agent_lt wA) un rounds_pos q).
Qed.

Lemma same_fixed w v u : is_agent w -> is_agent v -> holds (fix_state w) u = holds (fix_state v) u.
Proof. by move=> wA vA; case: (same_everything wA vA); rewrite /holds => ->. Qed.

Lemma same_opened w v u : is_agent w -> is_agent v -> holds (open_state w) u = holds (open_state v) u.
Proof. by move=> wA vA; case: (same_everything wA vA); rewrite /holds => _ ->. Qed.

Lemma same_reported w v u : is_agent w -> is_agent v -> holds (report_state w) u = holds (report_state v) u.
Proof. by move=> wA vA; case: (same_everything wA vA); rewrite /holds => _ _ ->. Qed.

(** ** The keys are honest shares plus what was fixed before *)

(* What u brings to the keys: an honest share, or what is in the box that w was given for u. *)
Definition boxed (w u : nat) : seq Z :=
  if holds (fix_state w) u is Some c then (content c.1).2 else [::].

Lemma opened_is w u : is_agent w -> u < n ->
  odflt [::] (holds (open_state w) u) = if H u then shares u else boxed w u.
Proof.
move=> wA un; case Hu: (H u).
  have uA : is_agent u by rewrite /Graph.is_agent un.
  by rewrite (same_opened _ wA uA) /Lean.open_state own_value.
have := opened_there wA un; have := fixed_there wA un; rewrite /boxed.
case hf: (holds (fix_state w) u) => [c|] // _; case ho: (holds (open_state w) u) => [s|] // _ /=.
have [_ [[/negbT + _ _ _] _]] := parts wA; rewrite /bad_opening => /hasPn/(_ u).
rewrite mem_iota un hf ho negbK => /(_ isT).
rewrite /fits /in_box; case cA: (Graph.is_agent n H c.1) => /= /andP[/eqP cu /eqzP //].
by move: cA; rewrite cu /Graph.is_agent Hu andbF.
Qed.

Lemma keys_are w i : is_agent w -> i < kappa -> at_ (keys w) i =
  Z.modulo (sumz [seq at_ (if H u then shares u else boxed w u) i | u <- iota 0 n]) P.
Proof.
move=> wA ik; rewrite /common_keys at_mkseq //; congr (Z.modulo (sumz _) P).
by apply/eq_in_map => u; rewrite mem_iota => un; rewrite opened_is.
Qed.

(** ** Reports are those of the common transcripts *)

Lemma neighbour_reports w x u : is_agent w -> is_agent x -> u < n -> x \in nb u ->
  holds (report_state w) u = Some (report (keys w) (tr u x)).
Proof.
move=> wA xA un xu; have ux : u \in nb x by apply: (proj2 Gok).
rewrite (same_reported _ wA xA) (same_keys wA xA); have := reported_there xA un.
have [_ [[_ /negbT + _ _] _]] := parts xA; rewrite /record_differs => /hasPn/(_ u ux)/norP[_].
by case: (holds _ u) => // r; rewrite negbK => /(eq_listP eqzP) ->.
Qed.

Lemma reports_are w u : is_agent w -> u < n ->
  holds (report_state w) u = Some (report (keys w) (common u)).
Proof.
move=> wA un; rewrite /LocalProof.common; case: ifP => Hu.
  have uA : is_agent u by rewrite /Graph.is_agent un.
  by rewrite (same_reported _ wA uA) (same_keys wA uA) /Lean.report_end_state own_value.
have [xu Hx] := head_honest dominated un (negbT Hu); set x := head _ _ in xu Hx *.
by apply: neighbour_reports => //; rewrite /Graph.is_agent Hx andbT; apply: (proj1 Gok) xu.
Qed.

Lemma numbers_are w u : is_agent w -> u < n ->
  (if holds (fix_state w) u is Some c then c.2 else [::]) = numbers (common u).
Proof.
move=> wA un; rewrite /LocalProof.common; case: ifP => Hu.
  have uA : is_agent u by rewrite /Graph.is_agent un.
  by rewrite (same_fixed _ wA uA) /Lean.fix_state own_value.
have [xu Hx] := head_honest dominated un (negbT Hu); set x := head _ _ in xu Hx *.
have xA : is_agent x by rewrite /Graph.is_agent Hx andbT; apply: (proj1 Gok) xu.
rewrite (same_fixed _ wA xA); have := fixed_there xA un.
have ux : u \in nb x by apply: (proj2 Gok).
have [_ [[_ /negbT + _ _] _]] := parts xA; rewrite /record_differs => /hasPn/(_ u ux)/norP[+ _].
by case: (holds _ u) => // c; rewrite negbK => /eqzP.
Qed.

Lemma said_is w j u : is_agent w -> j < kappa -> u < n ->
  said w j u = hashes P d x0 steps m ghat (at_ (keys w) j) (common u).
Proof.
by move=> wA jk un; rewrite /said_under reports_are //= (nth_map 0%Z) ?size_mkseq.
Qed.

(** ** Every key must miss the lie *)

Lemma equivocation_unseen w j v x y : is_agent w -> j < kappa -> v < n -> is_agent x -> is_agent y ->
  x \in nb v -> y \in nb v ->
  four_hashes P (at_ (keys w) j) d x0 steps (tr v x) = four_hashes P (at_ (keys w) j) d x0 steps (tr v y).
Proof.
move=> wA jk vn xA yA xv yv; have := neighbour_reports wA xA vn xv.
rewrite (neighbour_reports wA yA vn yv) => -[/(congr1 (nth [::] ^~ j))].
by rewrite !(nth_map 0%Z) ?size_mkseq // => /(congr1 (take 4)); rewrite !take_size_cat.
Qed.

Lemma relation_unseen w j v : is_agent w -> j < kappa -> v < n ->
  hash P (at_ (keys w) j)
    (flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v])) = 0%Z.
Proof.
move=> wA jk vn; have cs u : u < n -> shaped d T (common u) by apply: common_shaped.
rewrite -(hash_of_residual p_pr k x0_ok steps_ok); last 2 first.
- exact: cs.
- by apply/allP => t /mapP[u uv ->]; apply: cs; apply: (proj1 Gok) uv.
have [_ [[_ _ /negbT + _] _]] := parts wA; rewrite /relation_fails => /hasPn/(_ v).
rewrite mem_iota vn => /(_ isT)/hasPn/(_ j).
rewrite mem_iota jk => /(_ isT); rewrite negbK => /Z.eqb_spec <-.
rewrite said_is // -map_comp; congr (Z.modulo _ P); rewrite /difference /hashes /=.
congr (_ - sumz _ + _)%Z; rewrite -!map_comp; apply/eq_in_map => u uv /=.
by rewrite said_is //; apply: (proj1 Gok) uv.
Qed.

Lemma total_unseen w i j : is_agent w -> j < kappa -> i < m ->
  hash P (at_ (keys w) j) (slice i (total_held w)) =
  hash P (at_ (keys w) j) (sum_of i common).
Proof.
move=> wA jk im; have [_ [[_ _ _ /negbT +] _]] := parts wA; rewrite /total_differs => /hasPn/(_ i).
rewrite mem_iota im => /(_ isT)/hasPn/(_ j); rewrite mem_iota jk => /(_ isT); rewrite negbK.
move=> /Z.eqb_spec ->; rewrite /sum_of (hash_sum p_pr _ (f := fun u => ghat i (common u))) => [|u]; last first.
  by rewrite mem_iota => un; apply: (ghat_size im (common_shaped dominated tr_shaped own_shaped un)).
congr (Z.modulo (sumz _) P); apply/eq_in_map => u; rewrite mem_iota => un; rewrite said_is //.
by rewrite /hashes /at_ nth_cat /= addKn (nth_map 0) ?size_iota // nth_iota.
Qed.

(** ** What is left when nobody alarms *)

(** The statistics pass with the true numbers of everybody. *)
(* Proves: LE-12 *)
Theorem statistics_pass w : is_agent w -> stat_ok (total_held w) [seq numbers (common u) | u <- iota 0 n].
Proof.
move=> wA; have [_ [_ [_ /negbT + _]]] := parts wA; rewrite /statistics_fail negbK.
congr (is_true (stat_ok _ _)); apply/eq_in_map => u; rewrite mem_iota => un.
exact: numbers_are.
Qed.

Lemma total_fits w : is_agent w -> is_sum n nb root (m * d) bound root (total_held w).
Proof. by move=> wA; have [_ [_ [/negbT + _ _]]] := parts wA; rewrite /total_unfit negbK. Qed.

End FixedShares.

(** ** The lies, and the vector that every key must miss *)

(* Clause: LE-3. Estimates are bounded, and no sum of n of them wraps. *)
Hypothesis ghat_bound : forall i t j, i < m -> shaped d T t -> in_range xmax gmax t -> j < d ->
  (Z.abs (at_ (ghat i t) j) <= bound (i * d + j))%Z.
Hypothesis no_wrap : forall j, j < m * d -> (2 * (Z.of_nat n * bound j) < P)%Z.
(* The tree has as many agents as there are: see root_sum. *)
Hypothesis whole_tree : subtree n nb root (fun _ => 1%Z) root = Z.of_nat n.

(* The total of an honest agent is not the sum of the estimates of all common transcripts. *)
Definition wrong_total : Prop := ~ (exists u, u < n /\ equivocated n nb H tr u) /\
  exists w i, [/\ is_agent w, i < m & slice i (total_held w) <> sum_of i common].

Definition lie : Prop :=
  (exists2 v, v < n & misbehaved d k T x0 steps n nb H tr own v) \/ wrong_total.

Lemma some_entries w i : slice i (total_held w) <> sum_of i common -> 0 < d.
Proof.
by move=> ne; rewrite lt0n; apply/eqP => dz; apply: ne; rewrite /sum_of /Lean.slice dz take0 /mkseq /=.
Qed.

Lemma wrong_total_vector w i : i < m -> is_sum n nb root (m * d) bound root (total_held w) ->
  slice i (total_held w) <> sum_of i common -> exists D, [/\ size D = d, nonzero_mod p D &
    forall s, hash P s (slice i (total_held w)) = hash P s (sum_of i common) -> hash P s D = 0%Z].
Proof.
move=> im fit ne; have d0 := some_entries ne.
have /andP[/eqP sx /allP small] := fit.
have szs : size (slice i (total_held w)) = d by case: (slice_at im d0 sx).
have szm : size (sum_of i common) = d by rewrite size_mkseq.
exists (minus (slice i (total_held w)) (sum_of i common)); split.
- by rewrite size_map size1_zip ?szs // szm.
- apply: (@minus_nonzero p p_pr d T x0 steps x0_ok steps_ok xmax amax x0_range 0 steps_range) => //.
    by rewrite szs szm.
  move=> x y /(nthP (0%Z, 0%Z))[j]; rewrite size1_zip ?szs ?szm // => jd.
  rewrite nth_zip ?szs ?szm // => -[<- <-] E.
  have [_ e1] := slice_at im jd sx; rewrite -!/(at_ _ _) e1 in E *.
  have jm : i * d + j < m * d.
    by apply: leq_trans (_ : i * d + d <= _); [rewrite ltn_add2l|rewrite -mulSnr leq_mul2r im orbT].
  have := small (i * d + j); rewrite mem_iota jm whole_tree => /(_ isT)/Z.leb_spec0 b1.
  have b2 : (Z.abs (at_ (sum_of i common) j) <= Z.of_nat n * bound (i * d + j))%Z.
    rewrite at_mkseq // -[n in Z.of_nat n](size_iota 0).
    have one u : u < n -> (Z.abs (at_ (ghat i (common u)) j) <= bound (i * d + j))%Z.
      move=> un; apply: ghat_bound => //.
        exact: (common_shaped dominated tr_shaped own_shaped un).
      exact: (common_range dominated tr_range own_range un).
    have: all (fun u => u < n) (iota 0 n) by apply/allP => u; rewrite mem_iota.
    elim: (iota 0 n) => [_|u l IH]; first by [].
    case/andP=> /one un /IH {}IH; rewrite [sumz _]/(at_ (ghat i (common u)) j + sumz [seq at_ (ghat i (common u)) j | u <- l])%Z.
    have -> : Z.of_nat (size (u :: l)) = (Z.of_nat (size l) + 1)%Z by rewrite /=; lia.
    apply: Z.le_trans (Z.abs_triangle _ _) _.
    by rewrite Z.mul_add_distr_r Z.mul_1_l [X in (_ <= X)%Z]Z.add_comm; apply: Z.add_le_mono un IH.
  move: E b1 b2; set a1 := at_ (total_held w) _; set a2 := at_ (sum_of i common) j => E b1 b2.
  have nw := no_wrap jm; set b := (_ * _)%Z in nw b1 b2.
  suff : (a1 - a2)%Z = 0%Z by lia.
  by apply: (phi_small p_pr); [lia|apply/eqP; rewrite (phi_eq0 p_pr); apply/Z.eqb_spec].
- by move=> s E; apply: (@hash_minus p p_pr d T x0 steps x0_ok steps_ok xmax amax x0_range 0 steps_range);
    rewrite ?szs ?szm.
Qed.

(* For every lie one nonzero vector, fixed before the openings, of which every key must be a root. *)
Lemma lie_vector : lie -> exists D, [/\ size D <= d * T, nonzero_mod p D &
  forall shares advO advR advC before after,
    (forall v, is_agent v -> lean_objected P d k kappa x0 steps n nb H root rounds tr own m ghat
       numbers is_numbers bound stat_ok content shares advF advS advO advR digest advC before after v
       = false) ->
    forall w j, is_agent w -> j < kappa ->
      hash P (at_ (common_keys P kappa n nb H rounds shares advO w) j) D = 0%Z].
Proof.
case=> [[v vn [[x [y [xA yA xv yv ne]]]|[noeq brk]]]|wrong].
- have [[_ Hx] [_ Hy]] := (andP xA, andP yA).
  have [D [szD nzD DE]] := different_transcripts p_pr x0_ok steps_ok x0_range steps_range limits_pos
    range_rule gammas_rule (tr_shaped vn xv Hx) (tr_shaped vn yv Hy) (tr_range vn xv Hx)
    (tr_range vn yv Hy) ne.
  exists D; split=> //; first by rewrite szD.
  by move=> sh aO aR aC b a q w j wA jk; apply: DE; apply: (equivocation_unseen q wA jk vn xA yA).
- exists (flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v])); split.
  + have [sz al] := residuals_shape k x0 steps [seq common u | u <- nb v]
      (common_shaped dominated tr_shaped own_shaped vn).
    by rewrite (size_flat al) sz mulnC.
  + exact: (broken_nonzero steps_ok Gok dominated tr_shaped own_shaped x0_range tr_range own_range
      deg_ok steps_range limits_pos range_rule vn brk).
  + by move=> sh aO aR aC b a q w j wA jk; apply: (relation_unseen q wA jk vn).
have [_ [w [i [wA im ne]]]] := wrong.
case fit: (is_sum n nb root (m * d) bound root (total_held w)); last first.
  exists [:: 1%Z]; split=> [||sh aO aR aC b a q]; first by rewrite /= muln_gt0 (some_entries ne).
    by rewrite /nonzero_mod /= Z.mod_1_l //; have := prime_gt1 p_pr; lia.
  by have := total_fits q wA; rewrite fit.
have [D [szD nzD DE]] := wrong_total_vector im fit ne.
exists D; split=> //; first by rewrite szD -[X in X <= _]muln1 leq_mul2l T_pos orbT.
move=> sh aO aR aC b a q w' j wA' jk; rewrite (same_keys q wA' wA).
by apply: DE; apply: (total_unseen q wA jk im).
Qed.

(** ** The count *)

Notation honest := {v : 'I_n | H v}.
Notation share_tuple := {ffun 'I_kappa -> {ffun honest -> 'I_p}}.

(* The shares of an agent in a tuple of honest shares. *)
Definition shares_of (t : share_tuple) (v : nat) : seq Z :=
  mkseq (fun j => oapp (fun j : 'I_kappa => key_of (t j) v) 0%Z (insub j)) kappa.

Lemma residue_proof z : Z.to_nat (Z.modulo z P) < p.
Proof. by have p0 := prime_gt0 p_pr; have := Z.mod_pos_bound z P; lia. Qed.
Definition residue z : 'I_p := Ordinal (residue_proof z).

Lemma key_residue z : key (residue z) = Z.modulo z P.
Proof. by have p0 := prime_gt0 p_pr; have := Z.mod_pos_bound z P; rewrite /key /=; lia. Qed.

Definition key_from (w j : nat) (s : {ffun honest -> 'I_p}) : 'I_p :=
  residue (sumz [seq if H u then key_of s u else at_ (boxed w u) j | u <- iota 0 n]).

(* One honest share, given all others, determines the key. *)
Lemma share_determines w j (z : honest) (s t : {ffun honest -> 'I_p}) : (forall x, x != z -> s x = t x) ->
  key_from w j s = key_from w j t -> s z = t z.
Proof.
move=> same /(congr1 (@key p)); rewrite !key_residue => E; apply: val_inj => /=.
have zin : val (val z) \in iota 0 n by rewrite mem_iota ltn_ord.
pose F (r : {ffun honest -> 'I_p}) u := if H u then key_of r u else at_ (boxed w u) j.
have off u : u != val (val z) -> F s u = F t u.
  rewrite /F /key_of => uz; case: (H u) => //; case: insubP => //= i _ iu.
  by case: insubP => //= x _ xi; rewrite same //; apply: contraNneq uz => <-; rewrite -iu -xi.
have := sumz_one (iota_uniq 0 n) zin off; rewrite /F (valP z) !key_ofE /key => D.
have p0 := prime_gt0 p_pr; have b1 := ltn_ord (s z); have b2 := ltn_ord (t z).
suff : (Z.of_nat (s z) - Z.of_nat (t z))%Z = 0%Z by lia.
apply: (phi_small p_pr); first by lia.
by rewrite -D phiB -(phi_mod p_pr) E (phi_mod p_pr) -phiB Z.sub_diag.
Qed.

(** An equivocation, a broken relation or a wrong total, all fixed before honest shares are opened,
    ends with all honest agents invalid, except for at most (dT-1)^kappa p^(kappa (|H|-1)) of the
    p^(kappa |H|) tuples of honest shares. Everything Byzantine agents say from the openings on, and
    the alarms of other phases, may depend on all honest shares. *)
(* Proves: LE-15 *)
Theorem lean_detects
    (advO : share_tuple -> adversary (wire (seq Z)))
    (advR : share_tuple -> adversary (wire (seq (seq Z))))
    (advC : share_tuple -> nat -> nat -> option (seq Z)) (advA : share_tuple -> adversary word)
    (before after : share_tuple -> nat -> bool) :
  lie ->
  #|[set t : share_tuple | ~~ [forall w : honest,
       lean_ends_invalid P d k kappa x0 steps n nb H root rounds tr own m ghat numbers is_numbers
         bound stat_ok content (shares_of t) advF advS (advO t) (advR t) digest (advC t) (advA t)
         (before t) (after t) (val (val w))]]| <=
    (d * T).-1 ^ kappa * p ^ (kappa * (honest_count n H).-1).
Proof.
move=> /lie_vector[D [szD nzD DE]].
have [z0 z0A] := proj1 conn; have /andP[z0n Hz0] := z0A.
pose z : honest := exist _ (Ordinal z0n) Hz0.
have few : #|colliding p D| <= (d * T).-1.
  apply: leq_trans (few_collisions p_pr nzD) _; rewrite -!subn1; exact: leq_sub2r.
have count := @all_keys _ _ z kappa (fun j => key_from z0 j) (colliding p D)
  (fun j s t => @share_determines z0 j z s t).
rewrite card_ord (card_honest n H) in count.
have le : (#|colliding p D| * p ^ (honest_count n H).-1) ^ kappa <=
    (d * T).-1 ^ kappa * p ^ (kappa * (honest_count n H).-1).
  have more a b e : a <= b -> a ^ e <= b ^ e by case: e => // e ab; rewrite leq_exp2r.
  by rewrite expnMn [kappa * _]mulnC expnM leq_mul2r more ?few ?orbT.
apply: leq_trans le; apply: leq_trans count; apply/subset_leq_card/subsetP => t; rewrite !inE.
move=> /forallPn[y not_invalid]; apply/forallP => j; rewrite inE; apply/eqP; rewrite key_residue.
have quiet u : is_agent u -> lean_objected P d k kappa x0 steps n nb H root rounds tr own m ghat numbers
    is_numbers bound stat_ok content (shares_of t) advF advS (advO t) (advR t) digest (advC t)
    (before t) (after t) u = false.
  move=> uA; apply/negbTE/negP => ob; move/negP: not_invalid; apply.
  exact: (S2 Gok (advA t) conn uA ob (honest_agent y)).
have := DE _ _ _ _ _ _ quiet z0 j z0A (ltn_ord j); rewrite (keys_are quiet z0A (ltn_ord j)).
congr (hash P (Z.modulo (sumz _) P) D = 0%Z); apply/eq_in_map => u _; case: (H u) => //.
by rewrite /shares_of at_mkseq // valK.
Qed.

(** Out of so many. *)
(* Proves: LE-15 *)
Theorem share_tuples : #|share_tuple| = p ^ (kappa * honest_count n H).
Proof. by rewrite card_ffun card_ffun !card_ord (card_honest n H) -expnM mulnC. Qed.

End Detection.
End Lean.
