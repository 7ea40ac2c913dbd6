(** Thresholds with a level: how often an honest run exceeds what its rehearsals allow.

    A rank among values that may be exchanged: of m+1 runs at most m+1-k exceed the k-th smallest
    score of the others, ties or not. The rest is bookkeeping: the same as a probability, the choice
    of k, and the way from one joint score to a threshold for each test. Nothing is supposed about
    the distribution of scores. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Local Open Scope nat_scope.

(** * The count *)

Section Count.

Variables (disp : unit) (T : orderType disp) (J : finType).
Implicit Types (s : J -> T) (i : J).
Local Open Scope order_scope.

(* Clause: GU-12 *)
Definition kth_smallest (x0 : T) (xs : seq T) (k : nat) : T := nth x0 (sort <=%O xs) k.-1.

(* The scores of all runs but one. *)
Definition others s i : seq T := [seq s j | j <- enum J & j != i].

(* Clause: GU-12 *)
(* The run i exceeds the k-th smallest score of the others; if there are fewer than k others there
   is no threshold, and nothing exceeds it. *)
Definition exceeds s (k : nat) i : bool := kth_smallest (s i) (others s i) k < s i.

Definition below s i : nat := #|[pred j | s j < s i]|.

Lemma below_others s i : count (< s i) (others s i) = below s i.
Proof.
rewrite count_map count_filter -sum1_count big_enum_cond /below -sum1_card /=; apply: eq_bigl => j.
by rewrite !inE; case: eqVneq => [->|_]; rewrite ?ltxx ?andbT ?andbF.
Qed.

Lemma exceedsE s k i : exceeds s k i = (k.-1 < below s i)%N.
Proof.
rewrite /exceeds /kth_smallest -below_others.
have st := sort_le_sorted (others s i).
have cs := seq.permP (permEl (perm_sort <=%O (others s i))) (< s i).
have [lt|ge] := ltnP k.-1 (count (< s i) (others s i)).
  by apply: nth_count_lt; rewrite // cs.
have [small|large] := ltnP k.-1 (size (others s i)); last first.
  by rewrite nth_default ?size_sort // ltxx.
by apply/negbTE; rewrite -leNgt; apply: Order.DualOrder.nth_count_ge; rewrite // cs ge size_sort.
Qed.

(** Of m+1 runs at most m+1-k exceed the k-th smallest score of the others. The lowest of those
    that do has k runs below it, and these do not. *)
(* Proves: AN-17 *)
Theorem few_exceed s k : (#|[pred i | exceeds s k i]| <= #|J| - k)%N.
Proof.
set A := [pred i | exceeds s k i].
have [i0 Ai0|none] := pickP A; last by rewrite eq_card0.
have [i Ai lowest] := @arg_minP _ _ _ i0 A s Ai0.
have rank : (k <= below s i)%N.
  by move: Ai; rewrite inE exceedsE => h; apply: leq_trans (leqSpred k) h.
have apart : [disjoint A & [pred j | s j < s i]].
  rewrite disjoint_subset; apply/subsetP => j Aj; rewrite !inE -leNgt; exact: lowest.
rewrite leq_subRL; last by apply: leq_trans rank (max_card _).
rewrite addnC; apply: leq_trans (max_card (predU A [pred j | s j < s i])).
have := cardUI A [pred j | s j < s i]; rewrite (eqP apart) addn0 => ->.
by rewrite leq_add2l.
Qed.

Lemma below_inj s : injective s -> injective (below s).
Proof.
move=> inj; have mono i j : s i < s j -> (below s i < below s j)%N.
  move=> ij; apply: proper_card; apply/properP; split; last by exists i; rewrite !inE ?ltxx.
  by apply/subsetP => l; rewrite !inE => li; apply: lt_trans ij.
move=> i j e; apply: inj; apply/eqP; case: ltgtP => // /mono; by rewrite e ltnn.
Qed.

(** With different scores exactly m+1-k do: the bound cannot be improved. *)
(* Proves: AN-17 *)
Theorem distinct_exceed s k : injective s -> (0 < k <= #|J|)%N ->
  #|[pred i | exceeds s k i]| = (#|J| - k)%N.
Proof.
move=> inj /andP[k0 kJ]; apply/eqP; rewrite eqn_leq few_exceed /= leq_subLR.
rewrite -(cardC [pred i | exceeds s k i]) addnC leq_add2r.
have low i : ~~ exceeds s k i -> (below s i < k)%N.
  by rewrite exceedsE -leqNgt => h; rewrite -(prednK k0) ltnS.
pose f (i : {i | ~~ exceeds s k i}) : 'I_k := Ordinal (low _ (valP i)).
have fi : injective f by move=> i j [] /(below_inj inj) /val_inj.
by have := leq_card f fi; rewrite card_sig card_ord.
Qed.

(** Only the score of the run and the others as a heap count, not their order. *)
Lemma exceeds_perm s (p : {perm J}) k i : exceeds (fun j => s (p j)) k i = exceeds s k (p i).
Proof.
rewrite !exceedsE /below -!sum1_card [in RHS](reindex_inj (@perm_inj _ p)).
by congr (_ < _)%N; apply: eq_bigl => j; rewrite !inE.
Qed.

Lemma perms_through (i j : J) : #|[pred p : {perm J} | p i == j]| = (#|J|.-1)`!.
Proof.
have same (l : J) : #|[pred p : {perm J} | p i == l]| = #|[pred p : {perm J} | p i == j]|.
  rewrite -(card_image (@mulIg _ (tperm l j))); apply: eq_card => p; rewrite !inE.
  apply/imageP/eqP => [[q /eqP <- ->]|e]; first by rewrite permM tpermL.
  by exists (p * tperm l j)%g; rewrite ?inE ?permM ?e ?tpermR // -mulgA tperm2 mulg1.
have total : (\sum_(l : J) #|[pred p : {perm J} | p i == l]| = #|J|`!)%N.
  rewrite -cardsT -(card_perm [set: J]) -sum1_card.
  rewrite (partition_big (fun p : {perm J} => p i) predT) //=.
  apply: eq_bigr => l _; rewrite sum1_card; apply: eq_card => p.
  have all_ : p \in perm_on [set: J] by apply/subsetP => x; rewrite inE.
  by rewrite [RHS]unfold_in /= all_ inE.
have J0 : (0 < #|J|)%N by apply/card_gt0P; exists i.
move: total; rewrite (eq_bigr _ (fun l _ => same l)) sum_nat_const.
rewrite -[in X in _ = X](prednK J0) factS prednK // => /eqP.
by rewrite eqn_pmul2l // => /eqP.
Qed.

Lemma permutations_exceed s k i :
  #|[pred p : {perm J} | exceeds (fun j => s (p j)) k i]| =
  (#|[pred l | exceeds s k l]| * (#|J|.-1)`!)%N.
Proof.
rewrite -sum1_card (partition_big (fun p : {perm J} => p i) (exceeds s k)) /=; last first.
  by move=> p; rewrite inE exceeds_perm.
rewrite -sum_nat_const; apply: eq_big => [l|l el]; first by rewrite inE.
rewrite sum1_card -(perms_through i l); apply: eq_card => p.
rewrite [LHS]unfold_in /= !inE exceeds_perm.
by case: eqP => [->|]; rewrite ?el ?andbF.
Qed.

(** The same over all orders of the runs: at most (m+1-k) m! of the (m+1)! make the run exceed,
    and exactly so many with different scores. *)
(* Proves: AN-17 *)
Theorem few_permutations s k i :
  (#|[pred p : {perm J} | exceeds (fun j => s (p j)) k i]| <= (#|J| - k) * (#|J|.-1)`!)%N.
Proof. by rewrite permutations_exceed leq_mul2r few_exceed orbT. Qed.

(* Proves: AN-17 *)
Theorem distinct_permutations s k i : injective s -> (0 < k <= #|J|)%N ->
  #|[pred p : {perm J} | exceeds (fun j => s (p j)) k i]| = ((#|J| - k) * (#|J|.-1)`!)%N.
Proof. by move=> inj k0; rewrite permutations_exceed distinct_exceed. Qed.

End Count.

(** * The same as a probability *)

Section Probability.

Variables (R : realFieldType) (O : finType) (w : O -> R).
Hypothesis w0 : forall o, (0 <= w o)%R.
Variables (disp : unit) (T : orderType disp) (J : finType).
Local Open Scope ring_scope.

Definition prob (E : pred O) : R := \sum_(o | E o) w o.

(* No order of the scores is likelier than another. *)
Definition exchangeable_scores (X : O -> J -> T) : Prop :=
  forall (p : {perm J}) (E : pred {ffun J -> T}),
    prob (fun o => E [ffun j => X o (p j)]) = prob (fun o => E [ffun j => X o j]).

Lemma exceeds_ffun (s : J -> T) k i : exceeds [ffun j => s j] k i = exceeds s k i.
Proof.
rewrite !exceedsE /below; congr (_ < _)%N; apply: eq_card => j; by rewrite !inE !ffunE.
Qed.

Lemma same_for_all X k i j : exchangeable_scores X ->
  prob (fun o => exceeds (X o) k i) = prob (fun o => exceeds (X o) k j).
Proof.
move=> ex; have := ex (tperm j i) (fun s => exceeds s k j).
rewrite /prob (eq_bigl (fun o => exceeds (X o) k i)); last first.
  by move=> o; rewrite exceeds_ffun exceeds_perm tpermL.
by move=> ->; apply: eq_bigl => o; rewrite exceeds_ffun.
Qed.

Lemma sum_exceeds X k i : exchangeable_scores X ->
  #|J|%:R * prob (fun o => exceeds (X o) k i) = \sum_o w o * #|[pred j | exceeds (X o) k j]|%:R.
Proof.
move=> ex; transitivity (\sum_j prob (fun o => exceeds (X o) k j)).
  rewrite (eq_bigr _ (fun j _ => same_for_all k j i ex)) sumr_const.
  by rewrite mulr_natl; congr (_ *+ _); apply: eq_card.
rewrite /prob; under eq_bigr do rewrite big_mkcond /=.
rewrite exchange_big /=; apply: eq_bigr => o _.
by rewrite -big_mkcond /= sumr_const mulr_natr.
Qed.

(** If scores may be exchanged, the run exceeds its rehearsals' k-th smallest score with
    probability at most (m+1-k)/(m+1). *)
(* Proves: AN-17 *)
Theorem exceeds_rarely X k i : exchangeable_scores X ->
  prob (fun o => exceeds (X o) k i) <= (#|J| - k)%:R / #|J|%:R * prob predT.
Proof.
move=> ex; have J0 : 0 < #|J|%:R :> R by rewrite ltr0n; apply/card_gt0P; exists i.
rewrite -(ler_pmul2l J0) sum_exceeds // mulrA mulrCA divff ?gt_eqF // mulr1 mulrC /prob mulr_suml.
by apply: ler_sum => o _; rewrite ler_wpmul2l // ler_nat few_exceed.
Qed.

(** Exactly so often if no two scores are equal. *)
(* Proves: AN-17 *)
Theorem exceeds_exactly X k i : exchangeable_scores X -> (0 < k <= #|J|)%N ->
  (forall o, w o != 0 -> injective (X o)) ->
  prob (fun o => exceeds (X o) k i) = (#|J| - k)%:R / #|J|%:R * prob predT.
Proof.
move=> ex k0 inj; have J0 : #|J|%:R != 0 :> R.
  by rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists i.
apply: (mulfI J0).
rewrite sum_exceeds // mulrA mulrCA divff // mulr1 mulrC /prob mulr_suml.
apply: eq_bigr => o _; have [->|wo] := eqVneq (w o) 0; first by rewrite !mul0r.
by rewrite distinct_exceed //; apply: inj.
Qed.

End Probability.

(** * Which rank for which level *)

(* Clause: GU-12 *)
(* The smallest k of at least (1 - a/b)(m+1). *)
Definition rank_for (a b m : nat) : nat := ((b - a) * m.+1 + b.-1) %/ b.

Section Rank.

Variables (a b m : nat).
Hypothesis ab : a < b.
Notation k := (rank_for a b m).

Let b0 : 0 < b := leq_ltn_trans (leq0n a) ab.

(** The rank is the smallest k with k >= (1 - a/b)(m+1). *)
(* Proves: GU-12 *)
Theorem rank_is_least i : (k <= i) = ((b - a) * m.+1 <= i * b).
Proof.
rewrite -ltnS ltn_divLR // mulSn -[X in _ < X + _](prednK b0).
by rewrite [X in X < _]addnC addSn ltnS leq_add2l.
Qed.

(** There is a k-th smallest of m if and only if m >= 1/level - 1. *)
(* Proves: GU-12 *)
Theorem enough_runs : (k <= m) = (b <= a * m.+1).
Proof.
rewrite rank_is_least mulnBl leq_subLR [m * b]mulnC -[in X in _ = X](leq_add2r (b * m)).
by rewrite -mulnS.
Qed.

Lemma rank_positive : 0 < k.
Proof. by rewrite ltnNge rank_is_least mul0n leqn0 muln_eq0 orbF subn_eq0 -ltnNge. Qed.

Local Open Scope ring_scope.

(** A rank of at least (1 - level)(m+1) keeps the level. *)
(* Proves: AN-17 *)
Theorem rank_keeps_level (R : realFieldType) (level : R) (i : nat) : 0 <= level ->
  (1 - level) * m.+1%:R <= i%:R -> (m.+1 - i)%:R / m.+1%:R <= level.
Proof.
move=> l0 h; rewrite ler_pdivr_mulr ?ltr0n //.
have [le|lt] := leqP i m.+1; last by rewrite (eqP (ltnW lt : _ - _ == 0)%N) mulr_ge0 ?ler0n.
by rewrite natrB // ler_subl_addr -ler_subl_addl -[X in X - _]mul1r -mulrBl.
Qed.

(* Proves: GU-12, AN-17 *)
Theorem rank_for_keeps_level (R : realFieldType) : (m.+1 - k)%:R / m.+1%:R <= a%:R / b%:R :> R.
Proof.
have bR : 0 < b%:R :> R by rewrite ltr0n.
apply: rank_keeps_level; first by rewrite divr_ge0 ?ler0n.
rewrite -(ler_pmul2r bR) mulrAC mulrBl mul1r divfK ?gt_eqF //.
by rewrite -natrB ?(ltnW ab) // -!natrM ler_nat -rank_is_least.
Qed.

End Rank.

(** Nineteen rehearsals are the fewest for one in twenty, and leave nothing over. *)
(* Proves: GU-12 *)
Theorem nineteen_runs : rank_for 1 20 19 = 19 /\ rank_for 1 20 18 = 19.
Proof. by []. Qed.

(** * From one score to a threshold for each test *)

Section Score.

Variables (R : realFieldType) (I : eqType).
Local Open Scope ring_scope.

(* Whether a test bounds its statistic from above; centre and spread of each. *)
Variables (upper : I -> bool) (centre spread : I -> R).
Hypothesis spread0 : forall i, 0 < spread i.
Implicit Types (stat theta : I -> R).

(* Clause: GU-12 *)
Definition deviation stat i : R :=
  (if upper i then stat i - centre i else centre i - stat i) / spread i.

(* Clause: GU-12 *)
Definition score (i0 : I) (tests : seq I) stat : R :=
  foldr Num.max (deviation stat i0) [seq deviation stat i | i <- tests].

(* Clause: GU-12 *)
Definition threshold (q : R) (i : I) : R :=
  if upper i then centre i + q * spread i else centre i - q * spread i.

(* Clause: GV-5, GV-6, GV-13 *)
Definition within theta stat i : bool :=
  if upper i then stat i <= theta i else theta i <= stat i.

Lemma deviation_within q stat i : (deviation stat i <= q) = within (threshold q) stat i.
Proof.
rewrite /deviation /within /threshold ler_pdivr_mulr //; case: ifP => _.
  by rewrite ler_subl_addl.
by rewrite ler_subl_addr -ler_subl_addl.
Qed.

(** The score is at most q exactly if every statistic is within its threshold. *)
(* Proves: GU-12, AN-17 *)
Theorem score_is_thresholds i0 tests q stat :
  (score i0 tests stat <= q) = all (within (threshold q) stat) (i0 :: tests).
Proof.
rewrite /score /= -deviation_within; elim: tests => [|i tests IH] /=; first by rewrite andbT.
by rewrite le_maxl IH -deviation_within andbCA.
Qed.

(* Rounded thresholds lie outside; a lower one may be put at 0, which nothing falls short of. *)
Definition outward theta theta' : Prop := forall i,
  if upper i then theta i <= theta' i else theta' i <= Num.max (theta i) 0.

(** Rounding outward only adds to what passes. *)
(* Proves: GU-12, AN-17 *)
Theorem rounding_is_lax theta theta' stat i : outward theta theta' -> 0 <= stat i ->
  within theta stat i -> within theta' stat i.
Proof.
move=> out s0; have := out i; rewrite /within; case: ifP => _ le h; first exact: le_trans h le.
by apply: le_trans le _; rewrite le_maxl h.
Qed.

End Score.

(** * The level of a calibrated run *)

Section Level.

Variables (R : realFieldType) (Pilots Run J : finType) (I : eqType).
Local Open Scope ring_scope.

(* Weights of what the pilots showed and of what the runs J, rehearsals and the run, showed. *)
Variable w : Pilots -> {ffun J -> Run} -> R.
Hypothesis w0 : forall p x, 0 <= w p x.

(* Clause: AN-17 *)
(* Given the pilots, no order of the runs is likelier than another. *)
Definition exchangeable : Prop :=
  forall (s : {perm J}) p (x : {ffun J -> Run}), w p [ffun j => x (s j)] = w p x.

Variables (upper : I -> bool) (i0 : I) (tests : seq I) (stat : Run -> I -> R).
Variables (centre spread : Pilots -> I -> R).
Hypothesis stat0 : forall x i, 0 <= stat x i.
Hypothesis spread0 : forall p i, 0 < spread p i.

Notation scored p := (fun y : Run => score upper (centre p) (spread p) i0 tests (stat y)).

(* Clause: GU-12 *)
(* The score that rehearsals, all but the run, set. *)
Definition set_score (k : nat) (run : J) p (x : {ffun J -> Run}) : R :=
  kth_smallest (scored p (x run)) (others (fun j => scored p (x j)) run) k.

(* What the run is tested against: thresholds from that score, rounded outward in whatever way. *)
Variable theta : Pilots -> {ffun J -> Run} -> I -> R.

Definition alarmed (run : J) p (x : {ffun J -> Run}) : bool :=
  ~~ all (within upper (theta p x) (stat (x run))) (i0 :: tests).

Lemma exchanged_scores p (f : Run -> R) : exchangeable ->
  exchangeable_scores (w p) (fun x j => f (x j)).
Proof.
move=> ex s E; rewrite /prob.
have inj : injective (fun x : {ffun J -> Run} => [ffun j => x (s j)]).
  by move=> x y /ffunP e; apply/ffunP => j; have := e (s^-1 j)%g; rewrite !ffunE permKV.
rewrite [RHS](reindex_inj inj); apply: eq_big => [x|x _]; last by rewrite ex.
by congr (E _); apply/ffunP => j; rewrite !ffunE.
Qed.

Lemma alarmed_exceeds k run p x :
  outward upper (threshold upper (centre p) (spread p) (set_score k run p x)) (theta p x) ->
  alarmed run p x -> exceeds (fun j => scored p (x j)) k run.
Proof.
move=> out; apply: contraR; rewrite /exceeds -leNgt => le.
apply/allP => i ti; apply: (rounding_is_lax out) => //.
by have := score_is_thresholds upper (centre p) (spread0 p) i0 tests (set_score k run p x)
  (stat (x run)); rewrite /set_score le => /esym /allP; apply.
Qed.

Variables (a b m : nat).
Hypotheses (ab : (a < b)%N) (Jm : #|J| = m.+1).
Variable run : J.
Hypothesis out : forall p x,
  outward upper (threshold upper (centre p) (spread p) (set_score (rank_for a b m) run p x))
    (theta p x).

(** For every outcome of the pilots the share of runs with an alarm is at most the level a/b. *)
(* Proves: AN-17 *)
Theorem false_alarms_given_pilots p : exchangeable ->
  \sum_(x | alarmed run p x) w p x <= a%:R / b%:R * \sum_x w p x.
Proof.
move=> ex; pose k := rank_for a b m; pose X (x : {ffun J -> Run}) j := scored p (x j).
apply: (@le_trans _ _ (prob (w p) (fun x => exceeds (X x) k run))).
  rewrite /prob big_mkcond [X in _ <= X]big_mkcond; apply: ler_sum => x _.
  by case: ifP => [/(alarmed_exceeds (@out p x)) ->|_] //; case: ifP.
apply: le_trans (exceeds_rarely (w0 p) k run (@exchanged_scores p (scored p) ex)) _.
by rewrite ler_wpmul2r ?sumr_ge0 // Jm rank_for_keeps_level.
Qed.

(** Hence altogether: an honest run alarms with probability at most the level. *)
(* Proves: AN-17 *)
Theorem false_alarms_have_level : exchangeable -> \sum_p \sum_x w p x = 1 ->
  \sum_p \sum_(x | alarmed run p x) w p x <= a%:R / b%:R.
Proof.
move=> ex one; rewrite -[X in _ <= X]mulr1 -[X in _ <= _ * X]one mulr_sumr.
by apply: ler_sum => p _; apply: false_alarms_given_pilots.
Qed.

End Level.

(** Runs that are drawn alike and independently, given the pilots and whatever they share (problem,
    partition, parameters), may be exchanged. *)
(* Proves: AN-17 *)
Theorem drawn_alike_exchangeable (R : realFieldType) (Pilots Shared Run J : finType)
    (u : Pilots -> Shared -> R) (v : Pilots -> Shared -> Run -> R) :
  @exchangeable R Pilots Run J (fun p x => \sum_c u p c * \prod_j v p c (x j))%R.
Proof.
move=> s p x; apply: eq_bigr => c _; congr (_ * _)%R.
rewrite [RHS](reindex_inj (@perm_inj _ s)) /=.
by apply: eq_bigr => j _; rewrite ffunE.
Qed.
