(** LearnModel: what is kept has the right form, honest agents are heard as they spoke, and a record
    made without alarm follows the relation. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Broadcast Arith LatticeProof LocalProof Learn.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

Section Learned.

Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variable adv : adversary lword.
Hypothesis Gok : graph_ok n nb.
Hypothesis limits : (0 < xmax /\ 0 < gmax)%Z.

Notation nothing := (nothing d).
Notation kept := (kept d xmax gmax).
Notation update := (update d k steps rates xmax gmax gradient).
Notation advance := (advance d k steps rates xmax gmax gradient).
Notation lreceive := (lreceive d k steps rates T xmax gmax gradient).
Notation lstart := (lstart d k steps rates xmax gmax x0 nb gradient).
Notation state := (learned_state d k steps rates T xmax gmax x0 nb gradient n H adv).
Notation from := (received_from d nb).

(* A message of the right form and in range. *)
Definition well (m : seq Z * seq Z) : bool :=
  [&& size m.1 == d, size m.2 == d, all (inside xmax) m.1 & all (inside gmax) m.2].

Lemma nothing_well : well nothing.
Proof.
rewrite /well !size_nseq eqxx /= !all_nseq /inside.
by apply/andP; split; apply/orP; right; lia.
Qed.

Lemma kept_well w : well (kept w).
Proof.
case: w => [||x g]; try exact: nothing_well.
rewrite /Learn.kept /=; case: ifP => [_|/negbFE/andP[sx sg]]; first exact: nothing_well.
by case: ifP => [/andP[rx rg]|_]; [rewrite /well sx sg rx rg|exact: nothing_well].
Qed.

Lemma row_well (box : seq (nat * lword)) : all well [seq kept uw.2 | uw <- box].
Proof. by elim: box => //= uw l ->; rewrite kept_well. Qed.

Lemma kept_said m : well m -> kept (Pair m.1 m.2) = m.
Proof. by case: m => x g /and4P[sx sg rx rg]; rewrite /Learn.kept /= sx sg rx rg. Qed.

Lemma problem_said m : well m -> problem d xmax gmax (Pair m.1 m.2) = None.
Proof. by case: m => x g /and4P[sx sg rx rg]; rewrite /= sx sg rx rg. Qed.

Lemma update_well v t own nbs m : update v t own nbs = Some m -> well m.
Proof.
rewrite /Learn.update; case: ifP => // /eqP sG E; case: m E => x g E.
have [rx rg] := step_in_range E; have [sx sg _] := step_satisfies_relation sG E.
by rewrite /well sx sg !eqxx rx rg.
Qed.

(* What stays true of the state of agent v after r rounds. *)
Definition fine (v r : nat) (s : lstate) : Prop :=
  [/\ me s = v, (forall m, message s = Some m -> well m),
      size (said_so_far s) = r /\ all well (said_so_far s) &
      size (heard s) = r /\ all (fun row => (size row == size (nb v)) && all well row) (heard s)].

Lemma advance_keeps s t own nbs : let s' := advance s t own nbs in
  [/\ me s' = me s, said_so_far s' = said_so_far s, heard s' = heard s &
      message s' = update (me s) t own nbs].
Proof. by rewrite /Learn.advance; case: (update _ _ _ _). Qed.

Lemma advance_said s t own nbs : said_so_far (advance s t own nbs) = said_so_far s.
Proof. by have [] := advance_keeps s t own nbs. Qed.

Lemma advance_heard s t own nbs : heard (advance s t own nbs) = heard s.
Proof. by have [] := advance_keeps s t own nbs. Qed.

Lemma advance_message s t own nbs : message (advance s t own nbs) = update (me s) t own nbs.
Proof. by have [] := advance_keeps s t own nbs. Qed.

Lemma advance_fine v r s t own nbs : fine v r s -> fine v r (advance s t own nbs).
Proof.
case=> ms _ said_ok heard_ok.
have [em es eh eg] := advance_keeps s t own nbs.
split; rewrite ?em ?es ?eh // => m.
by rewrite eg; apply: update_well.
Qed.

Lemma start_fine v : fine v 0 (lstart v).
Proof. exact: advance_fine. Qed.

Lemma receive_fine v r s inbox : size inbox = size (nb v) -> fine v r s ->
  fine v r.+1 (lreceive r.+1 s inbox).
Proof.
move=> sz [ms mok [ss sok] [sh hok]]; rewrite /Learn.lreceive.
set s' := LState _ _ _ _ _.
have F : fine v r.+1 s'.
  have own_ok : well (odflt nothing (message s)).
    by case E: (message s) => [m|]; [apply: mok|exact: nothing_well].
  split=> //; first by rewrite size_rcons ss all_rcons own_ok.
  by rewrite size_rcons sh all_rcons size_map sz eqxx row_well.
by case: ifP => // _; apply: advance_fine.
Qed.

Lemma stateS r v : v < n -> state r.+1 v =
  lreceive r.+1 (state r v) (inbox lnobody nb H lsend adv r.+1
    (learned d k steps rates T xmax gmax x0 nb gradient n H adv r) v).
Proof. by move=> vn; rewrite /learned_state /learned /= nth_mkseq. Qed.

Lemma state_fine r v : v < n -> fine v r (state r v).
Proof.
move=> vn; elim: r => [|r IH]; first by rewrite /learned_state /learned /= nth_mkseq //; apply: start_fine.
by rewrite stateS //; apply: receive_fine; rewrite ?size_map.
Qed.

Lemma said_step r v : v < n ->
  said_so_far (state r.+1 v) = rcons (said_so_far (state r v)) (odflt nothing (message (state r v))).
Proof.
by move=> vn; rewrite stateS // /Learn.lreceive; case: ifP => // _; rewrite advance_said.
Qed.

Lemma heard_step r v : v < n ->
  heard (state r.+1 v) = rcons (heard (state r v))
    [seq kept uw.2 | uw <- inbox lnobody nb H lsend adv r.+1
      (learned d k steps rates T xmax gmax x0 nb gradient n H adv r) v].
Proof.
by move=> vn; rewrite stateS // /Learn.lreceive; case: ifP => // _; rewrite advance_heard.
Qed.

(** What is kept has the right form and is in range, whatever was said; so is one's own record. *)
(* Proves: LM-4, LM-5, AR-11 *)
Theorem received_well r u v : u < n -> v \in nb u -> let tr := from (state r u) v in
  shaped d r tr /\ in_range xmax gmax tr.
Proof.
move=> un vu /=; have [mu _ _ [sz ok]] := state_fine r un.
have ok' : all well (from (state r u) v).
  apply/allP => m /mapP[row rin ->]; move/allP: ok => /(_ _ rin)/andP[/eqP sr /allP all_].
  by apply: all_; apply: mem_nth; rewrite mu sr index_mem.
split; last by apply/allP => m /(allP ok')/and4P[_ _ -> ->].
rewrite /shaped size_map sz eqxx /=.
by apply/allP => m /(allP ok')/and4P[-> -> _ _].
Qed.

(* Proves: LM-5, AR-10 *)
Theorem record_well r v : v < n -> let tr := said_so_far (state r v) in
  shaped d r tr /\ in_range xmax gmax tr.
Proof.
move=> vn /=; have [_ _ [sz ok] _] := state_fine r vn.
split; last by apply/allP => m /(allP ok)/and4P[_ _ -> ->].
by rewrite /shaped sz eqxx /=; apply/allP => m /(allP ok)/and4P[-> -> _ _].
Qed.

(** What an honest agent said, zeros where it fell silent, is what each neighbour keeps of it. *)
(* Proves: LM-3, LM-4, MO-4 *)
Theorem honest_is_heard r u v : u < n -> v \in nb u -> H v ->
  from (state r u) v = said_so_far (state r v).
Proof.
move=> un vu Hv; have vn := proj1 Gok u v un vu.
elim: r => [|r IH].
  have [_ _ [s0 _] _] := state_fine 0 vn; have [_ _ _ [h0 _]] := state_fine 0 un.
  by rewrite (size0nil s0) /received_from (size0nil h0).
have [mu _ _ _] := state_fine r un; have [mu' _ _ _] := state_fine r.+1 un.
rewrite /received_from mu' heard_step // map_rcons said_step //.
congr rcons; first by rewrite -IH /received_from mu.
rewrite /inbox -map_comp (nth_map 0) ?index_mem //= nth_index // /on_edge Hv /lsend.
have [_ ok _ _] := state_fine r vn; rewrite -/(state r v).
by case E: (message _) => [m|//]; rewrite kept_said //; apply: ok.
Qed.

(** * Records that were made without an alarm *)

Lemma nth_models_before tr m t : t <= size tr ->
  nth [::] (models x0 (rcons tr m)) t = nth [::] (models x0 tr) t.
Proof.
rewrite /models map_rcons -rcons_cons nth_rcons /= size_map ltnS => le.
by rewrite le.
Qed.

Lemma nth_models_last tr m : nth [::] (models x0 (rcons tr m)) (size tr).+1 = m.1.
Proof. by rewrite /models /= map_rcons nth_rcons size_map ltnn eqxx. Qed.

Definition inputs (s : lstate) (v t : nat) : seq (seq Z) :=
  [seq nth [::] (models x0 (from s u)) t | u <- nb v].
Definition follows (s : lstate) (v t : nat) : option (seq Z * seq Z) :=
  update v t.+1 (nth [::] (models x0 (said_so_far s)) t) (inputs s v t).

Lemma silent_alarm s t own nbs : learn_alarms (advance s t own nbs) = [::] ->
  learn_alarms s = [::] /\ isSome (update (me s) t own nbs).
Proof. by rewrite /Learn.advance; case: (update _ _ _ _) => //=; case: (learn_alarms s). Qed.

Lemma receive_quiet r s box : learn_alarms (lreceive r s box) = [::] -> learn_alarms s = [::].
Proof.
rewrite /Learn.lreceive; case: ifP => _ /=; first by case: (learn_alarms s).
by case/silent_alarm => /=; case: (learn_alarms s).
Qed.

Definition made (v r : nat) (s : lstate) : Prop :=
  (forall t, t < r -> follows s v t = Some (nth nothing (said_so_far s) t)) /\
  (r < T -> exists2 m, message s = Some m & follows s v r = Some m).

Lemma made_so_far v r : v < n -> uniq (nb v) -> r <= T -> learn_alarms (state r v) = [::] ->
  made v r (state r v).
Proof.
move=> vn Uv; elim: r => [|r IH] rT.
  have -> : state 0 v = lstart v by rewrite /learned_state /learned /= nth_mkseq.
  case/silent_alarm => _ some; split=> // T0.
  rewrite /follows /inputs /Learn.lstart advance_said /received_from advance_heard /=.
  by rewrite advance_message; move: some => /=; case: (update _ _ _ _) => // m _; exists m.
move=> quiet'; have quiet : learn_alarms (state r v) = [::].
  by move: quiet'; rewrite stateS //; apply: receive_quiet.
have [old /(_ rT)[m em fm]] := IH (ltnW rT) quiet.
have [mv _ [ss sok] [sh hok]] := state_fine r vn.
set row := [seq kept uw.2 | uw <- inbox lnobody nb H lsend adv r.+1
  (learned d k steps rates T xmax gmax x0 nb gradient n H adv r) v].
have said' : said_so_far (state r.+1 v) = rcons (said_so_far (state r v)) m.
  by rewrite said_step // em.
have from' u : from (state r.+1 v) u = rcons (from (state r v) u) (nth nothing row (index u (nb v))).
  have [mv' _ _ _] := state_fine r.+1 vn.
  by rewrite /received_from mv' heard_step // map_rcons mv.
have sf u : size (from (state r v) u) = r by rewrite size_map sh.
have keep t : t <= r -> follows (state r.+1 v) v t = follows (state r v) v t.
  move=> tr; rewrite /follows said' nth_models_before ?ss //; congr Learn.update.
  by apply/eq_map => u; rewrite from' nth_models_before ?sf.
split=> [t|rT'].
  rewrite ltnS leq_eqVlt => /predU1P[->|tr].
    by rewrite keep // fm said' nth_rcons ss ltnn eqxx.
  by rewrite keep ?(ltnW tr) // old // said' nth_rcons ss tr.
have sz : size row = size (nb v) by rewrite !size_map.
have ins : inputs (state r.+1 v) v r.+1 = [seq m.1 | m <- row].
  apply: (@eq_from_nth _ [::]); first by rewrite !size_map -sz /row !size_map.
  move=> i; rewrite size_map => iv; rewrite (nth_map 0) // (nth_map nothing) ?sz //.
  by rewrite from' -{2}(sf (nth 0 (nb v) i)) nth_models_last index_uniq.
have last_ : nth [::] (models x0 (said_so_far (state r.+1 v))) r.+1 = m.1.
  by rewrite said' -{2}ss nth_models_last.
rewrite /follows ins last_.
move: quiet'; rewrite stateS // /Learn.lreceive em ltn_eqF //= -/row.
move/silent_alarm => [_] /=; rewrite mv.
by rewrite advance_message /=; case: (update _ _ _ _) => // m' _; exists m'.
Qed.

(** The record of an agent without alarm follows the relation from what it received. *)
(* Proves: LM-8, AR-6 *)
Theorem quiet_record v : v < n -> uniq (nb v) -> learn_alarms (state T v) = [::] ->
  flatten (residuals d k x0 steps (said_so_far (state T v)) [seq from (state T v) u | u <- nb v]) =
  nseq (d * T) 0%Z.
Proof.
move=> vn Uv quiet; have [made_ _] := made_so_far vn Uv (leqnn T) quiet.
have [_ _ [sT _] _] := state_fine T vn; rewrite -[in RHS]sT.
set s := state T v in quiet made_ sT *.
pose Y t := mix d k (at_ steps t) (nth [::] (models x0 (said_so_far s)) t) (inputs s v t).
apply: (@learned_relation _ _ _ _ (fun t => at_ rates t) xmax gmax (fun t => gradient v t.+1 (Y t))).
rewrite sT => t tT; have := made_ t tT; rewrite /follows /Learn.update -/(Y t) /=.
case: ifP => // /eqP sG; rewrite -map_comp => ->; split=> //; congr Some.
rewrite /models /gammas /= !(nth_map nothing) ?sT //.
by case: (nth _ _ _).
Qed.

(** * Without Byzantine agents, as long as nobody's update leaves the range *)
Hypothesis some_rounds : 0 < T.
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis nobody_silent : forall r v, r < T -> v < n -> isSome (message (state r v)).

Lemma advance_quiet s t own nbs : learn_alarms s = [::] ->
  isSome (message (advance s t own nbs)) -> learn_alarms (advance s t own nbs) = [::].
Proof. by rewrite /Learn.advance; case: (update _ _ _ _). Qed.

(* Proves: LM-4, MO-8 *)
Theorem nobody_objects r v : v < n -> r <= T -> learn_alarms (state r v) = [::].
Proof.
move=> vn; elim: r => [|r IH] rT.
  have := nobody_silent some_rounds vn; rewrite /learned_state /learned /= nth_mkseq //.
  exact: advance_quiet.
have said u : u \in nb v -> problem d xmax gmax (on_edge lnobody H lsend adv r.+1
    (learned d k steps rates T xmax gmax x0 nb gradient n H adv r) u v) = None.
  move=> uv; have un := proj1 Gok v u vn uv; rewrite /on_edge everybody // /lsend.
  have := nobody_silent rT un; have [_ ok _ _] := state_fine r un.
  rewrite /learned_state in ok *; case E: (message _) => [m|//] _.
  by apply: problem_said; apply: ok.
have none : pmap (fun uw => omap (fun w => Alarm w r.+1 (Some uw.1) None)
    (problem d xmax gmax uw.2)) (inbox lnobody nb H lsend adv r.+1
    (learned d k steps rates T xmax gmax x0 nb gradient n H adv r) v) = [::].
  rewrite /inbox; elim: (nb v) said => //= u l IHl said.
  rewrite said ?mem_head //=; apply: IHl => w wl; apply: said.
  by rewrite inE wl orbT.
rewrite stateS // /Learn.lreceive IH ?(ltnW rT) // none /=.
case: ifP => [//|/norP[ne _]]; apply: advance_quiet => //.
have rT' : r.+1 < T by rewrite ltn_neqAle ne rT.
have := nobody_silent rT' vn; rewrite stateS // /Learn.lreceive IH ?(ltnW rT) // none /=.
by rewrite (ltn_eqF rT') (nobody_silent rT vn).
Qed.

End Learned.
