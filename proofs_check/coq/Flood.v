(** Flooding with early alarms, the transport of lean validation: the machine, and what it
    guarantees for every graph, every adversary and any values.

    Every agent is the source of one value, its tag. A value is sent on once, in the round after it
    was adopted, for as many rounds as the diameter; nobody compares at the end. A value that comes
    from a neighbour before it can have reached that neighbour is an alarm and is not adopted. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast BroadcastProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** * Distances in the graph *)
Section Distance.

Variables (n : nat) (nb : nat -> seq nat).

(* Does a walk of at most q steps lead from s to v? *)
Fixpoint within (q s v : nat) : bool :=
  if q is q'.+1 then within q' s v || has (within q' s) (nb v) else v == s.

(* The number of steps from s to v; n where no walk leads there. *)
Definition distance (s v : nat) : nat := find (fun q => within q s v) (iota 0 n).

Definition diameter : nat :=
  foldr maxn 0 [seq distance s v | s <- iota 0 n, v <- iota 0 n].

Lemma within_more q q' s v : q <= q' -> within q s v -> within q' s v.
Proof.
by move=> /subnKC <-; elim: (q' - q) => [|m IH]; rewrite ?addn0 // addnS /= => /IH ->.
Qed.

Lemma distanceE q (s v : nat) : q < n -> (distance s v <= q) = within q s v.
Proof.
move=> qn; apply/idP/idP => [le|wq].
  have f : has (fun q => within q s v) (iota 0 n).
    by rewrite has_find size_iota; apply: leq_ltn_trans le qn.
  apply: (within_more le); have := nth_find 0 f; rewrite nth_iota //.
  by rewrite -[X in _ < X](size_iota 0 n) -has_find.
rewrite leqNgt; apply/negP => lt; have := before_find 0 lt.
by rewrite nth_iota ?wq.
Qed.

Lemma distance_self s : 0 < n -> distance s s = 0.
Proof. by move=> n0; apply/eqP; rewrite -leqn0 distanceE //=. Qed.

Lemma distance_diameter s v : s < n -> v < n -> distance s v <= diameter.
Proof.
move=> sn vn; rewrite /diameter.
have: distance s v \in [seq distance s v | s <- iota 0 n, v <- iota 0 n].
  by apply/allpairsPdep; exists s, v; rewrite !mem_iota.
elim: [seq _ | _ <- _, _ <- _] => //= x l IH; rewrite inE leq_max => /orP[/eqP ->|/IH ->].
  by rewrite leqnn.
by rewrite orbT.
Qed.

Hypothesis Gok : graph_ok n nb.
Hypothesis connected : assumption_1 n nb xpredT.

Lemma within_walk s p : s < n -> path (hop nb xpredT) s p -> within (size p) s (last s p).
Proof.
move=> sn; elim/last_ind: p => [|p v IH] sp; first exact: eqxx.
move: sp; rewrite rcons_path last_rcons size_rcons /= => /andP[sp /andP[hv _]].
have lA : is_agent n xpredT (last s p) by apply: (walk_end Gok) sp; rewrite /is_agent sn.
apply/orP; right; apply/hasP; exists (last s p); last exact: IH.
by apply: (proj2 Gok); case/andP: lA.
Qed.

Lemma connected_distance s v : s < n -> v < n -> distance s v < n.
Proof.
move=> sn vn; have A u : u < n -> is_agent n xpredT u by rewrite /is_agent => ->.
have [p sp lp] := proj2 connected s v (A s sn) (A v vn).
have [q [sq lq szq]] := walk_shortens Gok (A s sn) sp.
rewrite honest_countT in szq; have n0 : 0 < n by apply: leq_ltn_trans sn.
apply: (@leq_ltn_trans n.-1); last by rewrite prednK.
rewrite distanceE ?prednK // -lp -lq; apply: within_more szq _; exact: within_walk.
Qed.

Lemma diameter_small : 0 < n -> diameter < n.
Proof.
move=> n0; rewrite /diameter.
have: all (fun x => x < n) [seq distance s v | s <- iota 0 n, v <- iota 0 n].
  apply/allP => x /allpairsPdep[s [v [sn vn ->]]]; move: sn vn; rewrite !mem_iota.
  exact: connected_distance.
by elim: [seq _ | _ <- _, _ <- _] => //= x l IH /andP[xn /IH]; rewrite gtn_max xn.
Qed.

End Distance.

(** * The machine *)
Section Machine.

(* M: whatever may stand in a message in the place of a value; tags are agents. *)
Variables (M : Type) (eqm : M -> M -> bool) (well_formed : nat -> M -> bool).
(* Values travel in rounds 1..last; the phase may take more rounds. *)
Variables (n : nat) (nb : nat -> seq nat) (last rounds : nat).

(* The value of s cannot come from u in round r: it cannot have reached u. *)
Definition early (r u s : nat) : bool := r <= distance n nb s u.

Definition acceptable (r u : nat) (w : wire M) (s : nat) : option M :=
  if entry w s is Some m
  then (if [&& well_formed s m, ~~ early r u s & r <= last] then Some m else None) else None.

(* What is wrong with what one neighbour says of one tag. *)
Definition wrong (r u : nat) (st : bstate M) (w : wire M) (s : nat) : option reason :=
  if entry w s is Some m then
    if ~~ well_formed s m then Some MalformedValue
    else if early r u s then Some EarlyValue
    else if last < r then Some LateValue
    else if holds st s is Some m' then (if eqm m' m then None else Some DifferentValue) else None
  else None.

Definition form_alarms (r u : nat) (w : wire M) : seq alarm :=
  match w with
  | Silent => [:: Alarm MissingMessage r (Some u) None]
  | Garbage => [:: Alarm MalformedMessage r (Some u) None]
  | Packet unknown _ => if unknown then [:: Alarm UnknownTag r (Some u) None] else [::]
  end.

Definition value_alarms (r u : nat) (st : bstate M) (w : wire M) : seq alarm :=
  pmap (fun s => omap (fun why => Alarm why r (Some u) (Some s)) (wrong r u st w s)) (iota 0 n).

(* What one neighbour's message does: what was null and is acceptable is adopted, and is fresh. *)
Definition flood_hear (r : nat) (st : bstate M) (uw : nat * wire M) : bstate M :=
  let: (u, w) := uw in
  BState
    (mkseq (fun s => if holds st s is Some m then Some m else acceptable r u w s) n)
    (mkseq (fun s => if holds st s is Some _ then nth None (fresh st) s else acceptable r u w s) n)
    (alarms st ++ form_alarms r u w ++ value_alarms r u st w).

Definition missing_alarms (r : nat) (st : bstate M) : seq alarm :=
  if r == rounds
  then [seq Alarm NoValue r None (Some s) | s <- iota 0 n & ~~ isSome (holds st s)] else [::].

Definition flood_receive (r : nat) (st : bstate M) (inbox : seq (nat * wire M)) : bstate M :=
  let heard := foldl (flood_hear r) (BState (held st) (nseq n None) (alarms st)) inbox in
  BState (held heard) (fresh heard) (alarms heard ++ missing_alarms r heard).

(* What was adopted in the round before goes out, once. *)
Definition flood_send (r : nat) (st : bstate M) : wire M :=
  Packet false (if r <= last then fresh st else [::]).

Definition flood H (value : nat -> M) adv r : seq (bstate M) :=
  run nobody n nb H flood_send flood_receive adv (mkseq (start n id value) n) r.

Definition flood_state H value adv r v : bstate M := nth nobody (flood H value adv r) v.

End Machine.

(** * One agent, one round *)
Section Local.

Variables (M : Type) (eqm : M -> M -> bool).
Hypothesis eqmP : forall x y, reflect (x = y) (eqm x y).
Variables (wf : nat -> M -> bool) (n : nat) (nb : nat -> seq nat) (last rounds : nat).
Notation hear := (flood_hear eqm wf n nb last).
Notation acceptable := (acceptable wf n nb last).

Lemma heard_holds r st u w s : s < n ->
  holds (hear r st (u, w)) s = if holds st s is Some m then Some m else acceptable r u w s.
Proof. by move=> sn; rewrite {1}/holds nth_mkseq. Qed.

Lemma heard_keep r st inb s m : s < n -> holds st s = Some m ->
  holds (foldl (hear r) st inb) s = Some m.
Proof.
by move=> sn; elim: inb st => //= -[u w] inb IH st hs; apply: IH; rewrite heard_holds // hs.
Qed.

Lemma heard_some r st inb s m : s < n -> holds st s = None ->
  holds (foldl (hear r) st inb) s = Some m ->
  exists u w, List.In (u, w) inb /\ acceptable r u w s = Some m.
Proof.
move=> sn; elim: inb st => [|[u0 w0] inb IH] st /= sN; first by rewrite sN.
case hs: (holds (hear r st (u0, w0)) s) => [m'|].
  rewrite (heard_keep _ _ sn hs) => -[<-]; exists u0, w0; split; first by left.
  by move: hs; rewrite heard_holds // sN.
by move=> /(IH _ hs)[u [w [inw ?]]]; exists u, w; split=> //; right.
Qed.

Lemma heard_none r st inb s : s < n -> holds (foldl (hear r) st inb) s = None ->
  forall u w, List.In (u, w) inb -> acceptable r u w s = None.
Proof.
move=> sn; elim: inb st => //= -[u0 w0] inb IH st E u w [[<- <-]|]; last exact: IH E _ _.
have := heard_holds r st u0 w0 sn; case: (acceptable r u0 w0 s) => // m.
by case: (holds st s) => [m'|] hh; have := heard_keep r inb sn hh; rewrite E.
Qed.

Lemma heard_fresh r st inb s : s < n ->
  (nth None (fresh st) s = if holds st s is Some _ then None else None) ->
  nth None (fresh (foldl (hear r) st inb)) s =
  if holds st s is Some _ then None else holds (foldl (hear r) st inb) s.
Proof.
move=> sn; case hs: (holds st s) => [m|] fN.
  elim: inb st hs fN => //= -[u w] inb IH st hs fN; apply: IH; first by rewrite heard_holds // hs.
  by rewrite nth_mkseq // hs.
suff gen st' : nth None (fresh st') s = holds st' s ->
    nth None (fresh (foldl (hear r) st' inb)) s = holds (foldl (hear r) st' inb) s.
  by apply: gen; rewrite hs fN.
elim: inb st' {st hs fN} => //= -[u w] inb IH st E; apply: IH.
by rewrite heard_holds //= nth_mkseq //; case hs: (holds st s) => [m|] //; rewrite E hs.
Qed.

(* An inbox in which nothing is wrong raises no alarm. *)
Lemma heard_quiet r (true_ : nat -> M) st inb :
  (forall s m, s < n -> holds st s = Some m -> m = true_ s) ->
  (forall u w, List.In (u, w) inb -> form_alarms r u w = [::] /\
     forall s m, s < n -> entry w s = Some m -> acceptable r u w s = Some m /\ m = true_ s) ->
  alarms st = [::] -> alarms (foldl (hear r) st inb) = [::].
Proof.
elim: inb st => //= -[u w] l IH st hs all_ok sN.
have [wa wu] := all_ok u w (or_introl erefl).
apply: IH => [s m sn|y z yz|].
- rewrite heard_holds //; case hst: (holds st s) => [m'|].
    by case=> <-; apply: hs hst.
  rewrite {1}/Flood.acceptable; case E: (entry w s) => [m'|] //; case: ifP => // _ [<-].
  by case: (wu s m' sn E).
- by apply: all_ok; right.
rewrite /= sN wa /=; apply/nilP; rewrite /nilp size_pmap -leqn0 leqNgt -has_count.
apply/hasPn => s; rewrite mem_iota add0n => sn; rewrite /wrong; case E: (entry w s) => [m|] //.
have [] := wu s m sn E; rewrite {1}/Flood.acceptable E; case: and3P => // -[-> /negbTE -> rl] _ em /=.
rewrite ltnNge rl /=; case hst: (holds st s) => [m'|] //.
by case: eqmP => //; rewrite (hs _ _ sn hst) em.
Qed.

End Local.

(** * The network *)
Section Guarantees.

Variables (M : Type) (eqm : M -> M -> bool).
Hypothesis eqmP : forall x y, reflect (x = y) (eqm x y).
Variable wf : nat -> M -> bool.
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (last rounds : nat).
Hypothesis Gok : graph_ok n nb.
Variable value : nat -> M.
Notation dist := (distance n nb).
Notation acceptable := (acceptable wf n nb last).

Section Fixed.
Variable adv : adversary (wire M).
Notation st := (flood_state eqm wf n nb last rounds H value adv).

Definition told r v := inbox nobody nb H (@flood_send M last) adv r.+1
  (flood eqm wf n nb last rounds H value adv r) v.

Lemma fl0 v : v < n -> st 0 v = start n id value v.
Proof. by move=> vn; rewrite /flood_state /flood /= nth_mkseq. Qed.

Lemma flS r v : v < n -> st r.+1 v = flood_receive eqm wf n nb last rounds r.+1 (st r v) (told r v).
Proof. by move=> vn; rewrite /flood_state /flood /= nth_mkseq. Qed.

Notation before r v := (BState (held (st r v)) (nseq n None) (alarms (st r v))).

Lemma held_size r v : v < n -> size (held (st r v)) = n.
Proof.
move=> vn; elim: r => [|r IH]; first by rewrite fl0 // size_mkseq.
rewrite flS //= -[n in RHS]IH; have: size (held (before r v)) = size (held (st r v)) by [].
elim: (told r v) (before r v) => //= -[u w] l IHl s0 _; apply: IHl.
by rewrite size_mkseq IH.
Qed.

Lemma flS_holds r v s : v < n -> holds (st r.+1 v) s =
  holds (foldl (flood_hear eqm wf n nb last r.+1) (before r v) (told r v)) s.
Proof. by move=> vn; rewrite flS. Qed.

(* What is adopted in a round was said in it. *)
Lemma adopted r v s m : v < n -> s < n -> holds (st r v) s = None -> holds (st r.+1 v) s = Some m ->
  exists u w, List.In (u, w) (told r v) /\ acceptable r.+1 u w s = Some m.
Proof. by move=> vn sn hr; rewrite flS_holds // => E; apply: (heard_some (st := before r v) sn hr E). Qed.

Lemma not_adopted r v s u w : v < n -> s < n -> holds (st r.+1 v) s = None ->
  List.In (u, w) (told r v) -> acceptable r.+1 u w s = None.
Proof. by move=> vn sn; rewrite flS_holds // => E inw; apply: (heard_none sn E inw). Qed.

Lemma told_out r v u w : List.In (u, w) (told r v) -> u \in nb v /\
  w = if H u then flood_send last r.+1 (st r u) else adv r.+1 u v.
Proof.
rewrite /told /inbox; elim: (nb v) => //= x l IH.
by case=> [[<- <-]|/IH[ul ->]]; rewrite inE ?eqxx ?ul ?orbT.
Qed.

Lemma told_in r v u : u \in nb v ->
  List.In (u, if H u then flood_send last r.+1 (st r u) else adv r.+1 u v) (told r v).
Proof.
rewrite /told /inbox; elim: (nb v) => //= x l IH.
by rewrite inE => /orP[/eqP ->|/IH]; [left|right].
Qed.

Lemma kept r v s m : v < n -> s < n -> holds (st r v) s = Some m -> holds (st r.+1 v) s = Some m.
Proof. by move=> vn sn hm; rewrite flS //; apply: heard_keep. Qed.

(** A value is written once. *)
(* Proves: LE-6 *)
Theorem flood_written_once r q v s m : v < n -> s < n ->
  holds (st r v) s = Some m -> holds (st (r + q) v) s = Some m.
Proof.
by move=> vn sn hm; elim: q => [|q IH]; rewrite ?addn0 // addnS; apply: kept.
Qed.

Lemma own_value r v : v < n -> holds (st r v) v = Some (value v).
Proof.
move=> vn; apply: (flood_written_once (r := 0) r vn vn).
by rewrite fl0 // /holds nth_mkseq // eqxx.
Qed.

(** Whoever has no alarm at the end holds something of everybody. *)
Lemma nothing_missing v s : v < n -> s < n -> 0 < rounds -> alarms (st rounds v) = [::] ->
  isSome (holds (st rounds v) s).
Proof.
move=> vn sn r0; rewrite -[X in st X](prednK r0) flS // /flood_receive /missing_alarms (prednK r0).
rewrite eqxx /=; set h := foldl _ _ _ => E; apply/negPn/negP => no.
have: s \in [seq t <- iota 0 n | ~~ isSome (holds h t)] by rewrite mem_filter mem_iota sn no.
by move/(congr1 size): E; rewrite !size_cat size_map => /eqP; rewrite addn_eq0 => /andP[_ /nilP ->].
Qed.

Lemma fresh_is_new r v s : v < n -> s < n ->
  nth None (fresh (st r.+1 v)) s = if holds (st r v) s is Some _ then None else holds (st r.+1 v) s.
Proof.
move=> vn sn; rewrite flS //=.
have := @heard_fresh _ eqm wf n nb last r.+1
  (BState (held (st r v)) (nseq n None) (alarms (st r v))) (told r v) s sn.
by rewrite /= nth_nseq sn => -> //; case: holds.
Qed.

(** Nobody holds a value before it can have come. *)
(* Proves: LE-6 *)
Theorem nothing_before_its_time r v s : v < n -> s < n ->
  isSome (holds (st r v) s) -> dist s v <= r.
Proof.
move=> vn sn; elim: r v vn => [|r IH] v vn.
  rewrite fl0 // /holds nth_mkseq //; case: eqP => // -> _.
  by rewrite distance_self //; apply: leq_ltn_trans vn.
case hr: (holds (st r v) s) => [m|].
  by move=> _; apply: leqW; apply: IH; rewrite ?hr.
case hS: (holds (st r.+1 v) s) => [m|] // _.
have [u [w [/told_out[uv _]]]] := adopted vn sn hr hS.
rewrite /Flood.acceptable; case: (entry w s) => // m'; case: ifP => // /and3P[_ + _] _.
rewrite /early -ltnNge ltnS => du.
have [rn|nr] := ltnP r.+1 n; last first.
  by apply: leq_trans nr; rewrite /distance -[X in _ <= X](size_iota 0 n) find_size.
rewrite (distanceE nb s v rn) /=; apply/orP; right; apply/hasP; exists u => //.
by rewrite -(distanceE nb s u (ltnW rn)).
Qed.

(** What early alarms are for: whatever Byzantine agents do, an agent sends on each value at most
    once, and only values of agents nearer than the number of rounds. *)
(* Proves: LE-6, LE-14 *)
Theorem little_is_sent_on v s r : v < n -> s < n -> isSome (nth None (fresh (st r v)) s) -> r < last ->
  dist s v < last /\ forall q, r < q -> nth None (fresh (st q v)) s = None.
Proof.
move=> vn sn fr rl; have hold : isSome (holds (st r v) s).
  case: r fr {rl} => [|r]; first by rewrite fl0.
  by rewrite fresh_is_new //; case: holds.
split=> [|[|q] // rq]; first by apply: leq_ltn_trans rl; apply: nothing_before_its_time.
rewrite fresh_is_new //; case hr: (holds (st r v) s) hold => [m'|] // _.
by have := flood_written_once (q - r) vn sn hr; rewrite subnKC // => ->.
Qed.

(** With fewer rounds than the distance an agent holds nothing of that source. *)
(* Proves: LE-17, LE-19 *)
Theorem diameter_needed r s v : s < n -> v < n -> r < dist s v -> holds (st r v) s = None.
Proof.
move=> sn vn far; case E: (holds (st r v) s) => [m|] //.
have := nothing_before_its_time vn sn (r := r); rewrite E => /(_ isT).
by rewrite leqNgt far.
Qed.

End Fixed.

(** ** Without Byzantine agents *)
Section AllHonest.
Variable adv : adversary (wire M).
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis value_ok : forall s, s < n -> wf s (value s).
Hypothesis last_enough : forall s v, s < n -> v < n -> dist s v <= last.
Hypothesis last_small : last < n.
Hypothesis rounds_enough : last <= rounds.
Notation st := (flood_state eqm wf n nb last rounds H value adv).

(* After r rounds everybody holds the values that are at most r steps away, and the fresh ones are
   those exactly r steps away. *)
Definition calm r v := [/\ alarms (st r v) = [::],
  forall s, s < n -> holds (st r v) s = (if dist s v <= r then Some (value s) else None) &
  forall s, s < n -> nth None (fresh (st r v)) s = (if dist s v == r then Some (value s) else None)].

Lemma next_distance r s v : s < n -> v < n ->
  (dist s v <= r.+1) = (dist s v <= r) || (r < last) && has (fun u => dist s u == r) (nb v).
Proof.
move=> sn vn; have [lr|rl] := leqP last r.
  by rewrite !(leq_trans (last_enough sn vn)) // ltnW.
have rn : r.+1 < n by apply: leq_ltn_trans last_small.
have rn' := ltnW rn; rewrite !distanceE //=.
case w: (within nb r s v) => //=; apply/hasP/hasP => -[u uv du]; exists u => //; last first.
  by rewrite -(distanceE nb _ _ rn') (eqP du).
rewrite eqn_leq distanceE // du /= leqNgt; apply/negP; move: w.
case Er: r => [|q] //= /norP[_ /hasPn/(_ u uv)/negP nw]; rewrite ltnS distanceE //.
by apply: leq_ltn_trans rn'; rewrite Er.
Qed.

Lemma stays_calm r : r <= rounds -> forall v, v < n -> calm r v.
Proof.
elim: r => [|r IH] rR v vn.
  have start_ s : s < n -> (dist s v <= 0) = (s == v).
    by move=> sn; rewrite distanceE ?(leq_ltn_trans _ vn) //= eq_sym.
  split=> [|s sn|s sn]; rewrite fl0 // /holds nth_mkseq //; first by rewrite start_.
  by rewrite -leqn0 start_.
have IHr u : u < n -> calm r u by move=> un; apply: IH => //; apply: ltnW.
have [qv hv fv] := IHr v vn.
have says u s : u \in nb v -> s < n -> entry (flood_send last r.+1 (st r u)) s =
    if (r < last) && (dist s u == r) then Some (value s) else None.
  move=> uv sn; have [_ _ fu] := IHr u (proj1 Gok v u vn uv).
  by rewrite /entry /flood_send; case: (r < last); rewrite ?nth_nil ?fu.
have fine u s : u \in nb v -> s < n -> acceptable r.+1 u (flood_send last r.+1 (st r u)) s =
    if (r < last) && (dist s u == r) then Some (value s) else None.
  move=> uv sn; rewrite /Flood.acceptable says //; case: andP => // -[rl /eqP du].
  by rewrite value_ok // /early du ltnn rl.
have inb_ok u w : List.In (u, w) (told adv r v) -> form_alarms r.+1 u w = [::] /\
    forall s m, s < n -> entry w s = Some m -> acceptable r.+1 u w s = Some m /\ m = value s.
  case/told_out=> uv ->; rewrite everybody ?(proj1 Gok v u) //; split=> // s m sn.
  by rewrite says // fine //; case: ifP => // _ [<-].
have hS s : s < n -> holds (st r.+1 v) s = if dist s v <= r.+1 then Some (value s) else None.
  move=> sn; rewrite next_distance //; case hr: (holds (st r v) s) => [m|].
    by rewrite (kept vn sn hr); move: hr; rewrite hv //; case: ifP => // _ [<-].
  have := hr; rewrite hv //; case: ifP => // _ _ /=.
  case E: (holds (st r.+1 v) s) => [m|].
    have [u [w [inw]]] := adopted vn sn hr E; case/told_out: inw => uv ->.
    rewrite everybody ?(proj1 Gok v u) // fine //; case: andP => // -[-> du] [<-] /=.
    by case: hasP => // -[]; exists u.
  case: andP => // -[rl /hasP[u uv du]]; have := not_adopted vn sn E (told_in adv r uv).
  by rewrite everybody ?(proj1 Gok v u) // fine // rl du.
split=> [|//|s sn]; last first.
  rewrite fresh_is_new // hS // hv //; case: leqP => [le|far]; first by rewrite ltn_eqF.
  by rewrite eqn_leq far andbT.
rewrite flS // /flood_receive /=; set h := foldl _ _ _.
have -> : alarms h = [::].
  apply: (heard_quiet eqmP (true_ := value)) => // s m sn.
  by rewrite -[holds _ s]/(holds (st r v) s) hv //; case: ifP => // _ [].
rewrite /missing_alarms; case: eqP => // rD; apply/nilP.
rewrite /nilp size_map size_filter -leqn0 leqNgt -has_count; apply/hasPn => s.
rewrite mem_iota add0n => sn; rewrite negbK.
have -> : holds h s = _ := etrans (esym (flS_holds adv r s vn)) (hS s sn); rewrite rD.
by rewrite (leq_trans (last_enough sn vn)).
Qed.

(** If nobody is Byzantine, after as many rounds as the diameter everybody holds everybody's value,
    and nobody alarms: no value is early, late, different or missing. *)
(* Proves: LE-17 *)
Theorem flood_V1 v : v < n ->
  alarms (st rounds v) = [::] /\ forall s, s < n -> holds (st rounds v) s = Some (value s).
Proof.
move=> vn; have [q h _] := stays_calm (leqnn rounds) vn; split=> // s sn.
by rewrite h // (leq_trans (last_enough sn vn)).
Qed.

End AllHonest.

End Guarantees.
