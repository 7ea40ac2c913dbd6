(** ValidatedBroadcast: its guarantees, for every graph, every set of Byzantine agents, every
    adversary, any number of tags and any values. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma nil_cat (T : Type) (a b c : seq T) :
  (a = [::] <-> b = [::]) -> (a ++ c = [::] <-> b ++ c = [::]).
Proof.
by case: a => [|x a]; case: b => [|y b] [h1 h2]; do ?[by have := h1 erefl|by have := h2 erefl].
Qed.

(** * One agent, one round *)
Section Local.

Variables (M : Type) (eqm : M -> M -> bool).
Hypothesis eqmP : forall x y, reflect (x = y) (eqm x y).
Variables (k : nat) (wf : nat -> M -> bool) (R : nat) (rep : bool).

Notation hear := (hear eqm k wf R rep).
Notation receive := (receive eqm k wf R rep).
Notation compares := (compares R rep).
Notation usable := (usable wf).

Implicit Types (s : bstate M) (w : wire M) (t : nat).

Lemma hear_held r s u w t : t < k ->
  holds (hear r s (u, w)) t = adopt wf R rep r w t (holds s t).
Proof. by move=> tk; rewrite /holds nth_mkseq. Qed.

Lemma hears_keep r s inb t m : t < k -> holds s t = Some m ->
  holds (foldl (hear r) s inb) t = Some m.
Proof.
move=> tk; elim: inb s => //= -[u w] inb IH s st; apply: IH.
by rewrite hear_held // st.
Qed.

Lemma hears_compare r s inb t : compares r -> t < k ->
  holds (foldl (hear r) s inb) t = holds s t.
Proof.
move=> cr tk; elim: inb s => //= -[u w] inb IH s.
by rewrite IH hear_held // /adopt cr; case: holds.
Qed.

Lemma hears_none r s inb t : t < k -> ~~ compares r ->
  holds (foldl (hear r) s inb) t = None ->
  forall u w, List.In (u, w) inb -> usable w t = None.
Proof.
move=> tk /negbTE cr; elim: inb s => //= -[u0 w0] inb IH s E u w [[_ <-]|]; last exact: IH E _ _.
have := hear_held r s u0 w0 tk; rewrite /adopt cr; case: (usable w0 t) => // m.
by case: (holds s t) => [m'|] hh; have := hears_keep r inb tk hh; rewrite E.
Qed.

Lemma hears_some r s inb t m : t < k -> holds s t = None ->
  holds (foldl (hear r) s inb) t = Some m ->
  exists u w, List.In (u, w) inb /\ usable w t = Some m.
Proof.
move=> tk; elim: inb s => [|[u0 w0] inb IH] s /= sN; first by rewrite sN.
case st: (holds (hear r s (u0, w0)) t) => [m'|].
  rewrite (hears_keep _ _ tk st) => -[<-]; exists u0, w0; split; first by left.
  by move: st; rewrite hear_held // sN /adopt; case: ifP.
by move=> /(IH _ st)[u [w [inw ?]]]; exists u, w; split=> //; right.
Qed.

(* If nothing is held, equal usable entries lead to equal holdings. *)
Lemma hears_same r s s' inb inb' t : t < k ->
  holds s t = holds s' t ->
  [seq usable uw.2 t | uw <- inb] = [seq usable uw.2 t | uw <- inb'] ->
  holds (foldl (hear r) s inb) t = holds (foldl (hear r) s' inb') t.
Proof.
move=> tk; elim: inb inb' s s' => [|[u w] inb IH] [|[u' w'] inb'] //= s s' ss [ww E].
by apply: IH => //; rewrite !hear_held // ss /adopt ww.
Qed.

Lemma hears_fresh r s inb t : t < k -> holds s t = None ->
  nth None (fresh s) t = None ->
  nth None (fresh (foldl (hear r) s inb)) t = holds (foldl (hear r) s inb) t.
Proof.
move=> tk sN fN.
suff gen s' : nth None (fresh s') t = holds s' t ->
    nth None (fresh (foldl (hear r) s' inb)) t = holds (foldl (hear r) s' inb) t.
  by apply: gen; rewrite sN.
elim: inb s' {sN fN} => //= -[u w] inb IH s' E; apply: IH.
rewrite hear_held //= nth_mkseq // -/(holds s' t).
by case st: (holds s' t) => [m|] //=; rewrite -st.
Qed.

Lemma hears_fresh_kept r s inb t m : t < k -> holds s t = Some m ->
  nth None (fresh s) t = None -> nth None (fresh (foldl (hear r) s inb)) t = None.
Proof.
move=> tk; elim: inb s => //= -[u w] inb IH s st fN; apply: IH.
  by rewrite hear_held // st.
by rewrite /= nth_mkseq // -/(holds s t) st.
Qed.

Lemma hears_alarms r s inb :
  exists l, alarms (foldl (hear r) s inb) = alarms s ++ l.
Proof.
elim: inb s => [|[u w] inb IH] s /=; first by exists [::]; rewrite cats0.
by have [l ->] := IH (hear r s (u, w)); rewrite /= -catA; eexists.
Qed.

(* Whoever ends a round unalarmed agrees with everything usable that it heard. *)
Lemma hears_quiet r s inb u w : alarms (foldl (hear r) s inb) = [::] ->
  List.In (u, w) inb ->
  wire_alarms k wf r u w = [::] /\
  forall t m m', t < k -> usable w t = Some m' ->
    holds (foldl (hear r) s inb) t = Some m -> m = m'.
Proof.
elim: inb s => //= -[u0 w0] inb IH s E [[<- <-]|inw]; last exact: IH.
have [l El] := hears_alarms r (hear r s (u0, w0)) inb.
have [Ew Ed] : wire_alarms k wf r u0 w0 = [::] /\
    [seq t <- iota 0 k | differs eqm wf s w0 t] = [::].
  move: E; rewrite El /=; case: (alarms s) => //=.
  by case: wire_alarms => //=; case: filter.
split=> // t m m' tk ut; case st: (holds s t) => [m0|].
  rewrite (hears_keep r inb (m := m0)) ?hear_held ?st // => -[<-].
  apply/eqmP; apply/negPn/negP => dif.
  have: t \in [seq t <- iota 0 k | differs eqm wf s w0 t].
    by rewrite mem_filter mem_iota tk /differs -/(holds s t) st ut dif.
  by rewrite Ed.
case cr: (compares r).
  by rewrite hears_compare // hear_held // st /adopt cr.
rewrite (hears_keep r inb (m := m')) ?hear_held ?st /adopt ?cr ?ut //.
by case.
Qed.

(* The other way round: a usable value that differs from what is held at the end alarms. *)
Lemma hears_differ r s inb u w t m m' : t < k -> List.In (u, w) inb -> usable w t = Some m' ->
  holds (foldl (hear r) s inb) t = Some m -> m <> m' ->
  alarms (foldl (hear r) s inb) <> [::].
Proof.
move=> tk inw ut ht ne E; have [_ q] := hears_quiet E inw.
exact: ne (q _ _ _ tk ut ht).
Qed.

Lemma receive_holds r s inb t :
  holds (receive r s inb) t =
  holds (foldl (hear r) (BState (held s) (nseq k None) (alarms s)) inb) t.
Proof. by []. Qed.

Lemma receive_keep r s inb t m : t < k -> holds s t = Some m ->
  holds (receive r s inb) t = Some m.
Proof. by move=> tk st; rewrite receive_holds; apply: hears_keep. Qed.

Lemma receive_some r s inb t m : t < k -> holds s t = None ->
  holds (receive r s inb) t = Some m -> exists u w, List.In (u, w) inb /\ usable w t = Some m.
Proof. by move=> tk sN; rewrite receive_holds; apply: hears_some. Qed.

Lemma receive_none r s inb t : t < k -> ~~ compares r -> holds (receive r s inb) t = None ->
  forall u w, List.In (u, w) inb -> usable w t = None.
Proof. by move=> tk cr; rewrite receive_holds; apply: hears_none. Qed.

Lemma receive_fresh r s inb t : t < k -> holds s t = None ->
  nth None (fresh (receive r s inb)) t = holds (receive r s inb) t.
Proof. by move=> tk sN; rewrite receive_holds hears_fresh //= nth_nseq tk. Qed.

Lemma receive_fresh_kept r s inb t m : t < k -> holds s t = Some m ->
  nth None (fresh (receive r s inb)) t = None.
Proof.
move=> tk sm; apply: (@hears_fresh_kept r (BState (held s) (nseq k None) (alarms s)) inb t m) => //.
by rewrite /= nth_nseq tk.
Qed.

Lemma receive_alarms r s inb : exists l, alarms (receive r s inb) = alarms s ++ l.
Proof.
have [l E] := hears_alarms r (BState (held s) (nseq k None) (alarms s)) inb.
by rewrite /receive /= E -catA; eexists.
Qed.

Lemma receive_quiet r s inb u w : alarms (receive r s inb) = [::] ->
  List.In (u, w) inb ->
  wire_alarms k wf r u w = [::] /\
  forall t m m', t < k -> usable w t = Some m' -> holds (receive r s inb) t = Some m -> m = m'.
Proof.
rewrite /receive /= => E; apply: hears_quiet.
by case: (alarms (foldl _ _ _)) E.
Qed.

Lemma receive_not_null r s inb t : alarms (receive r s inb) = [::] -> compares r -> t < k ->
  isSome (holds (receive r s inb) t).
Proof.
rewrite /receive /= /null_alarms => E cr tk; rewrite cr in E.
move: E; case: (alarms _) => //=; case Ef: filter => //= _.
apply/negPn/negP => nt; set h := foldl _ _ _ in Ef nt.
have: t \in [seq t <- iota 0 k | ~~ isSome (nth None (held h) t)].
  by rewrite mem_filter mem_iota tk nt.
by rewrite Ef.
Qed.

End Local.

(** * The network *)
Section Guarantees.

Variables (M : Type) (eqm : M -> M -> bool).
Hypothesis eqmP : forall x y, reflect (x = y) (eqm x y).
Variables (k : nat) (wf : nat -> M -> bool).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Variables (source : nat -> nat) (value : nat -> M).

Notation is_agent := (is_agent n H).
Notation bst rep once := (broadcast_state eqm k wf n rep once n nb H source value).

Section Fixed.
Variables (rep once : bool).
Variable adv : adversary (wire M).
Notation st := (bst rep once adv).

Lemma st0 v : v < n -> st 0 v = start k source value v.
Proof. by move=> vn; rewrite /broadcast_state /broadcast /= nth_mkseq. Qed.

Definition heard r v :=
  inbox nobody nb H (@send M n rep once) adv r.+1
    (broadcast eqm k wf n rep once n nb H source value adv r) v.

Lemma stS r v : v < n ->
  st r.+1 v = receive eqm k wf n rep r.+1 (st r v) (heard r v).
Proof. by move=> vn; rewrite /broadcast_state /broadcast /= nth_mkseq. Qed.

Lemma heard_in r u v : u \in nb v ->
  List.In (u, if H u then send n rep once r.+1 (st r u) else adv r.+1 u v) (heard r v).
Proof.
rewrite /heard /inbox; elim: (nb v) => //= x l IH.
by rewrite inE => /orP[/eqP ->|/IH]; [left|right].
Qed.

Lemma heard_out r u v w : List.In (u, w) (heard r v) ->
  u \in nb v /\ w = if H u then send n rep once r.+1 (st r u) else adv r.+1 u v.
Proof.
rewrite /heard /inbox; elim: (nb v) => //= x l IH.
by case=> [[<- <-]|/IH[ul ->]]; rewrite inE ?eqxx ?ul ?orbT.
Qed.

(** An agent writes each value at most once: from null, and never again. *)
(* Proves: V3 *)
Theorem V3_written_once r q v t m : v < n -> t < k ->
  holds (st r v) t = Some m -> holds (st (r + q) v) t = Some m.
Proof.
move=> vn tk hm; elim: q => [|q IH]; first by rewrite addn0.
by rewrite addnS stS //; apply: receive_keep.
Qed.

(** Alarms are only appended. *)
(* Proves: V3 *)
Theorem V3_alarms_stay r q v : v < n ->
  exists l, alarms (st (r + q) v) = alarms (st r v) ++ l.
Proof.
move=> vn; elim: q => [|q [l IH]]; first by exists [::]; rewrite addn0 cats0.
have [l' E] := receive_alarms eqm k wf n rep (r + q).+1 (st (r + q) v) (heard (r + q) v).
by exists (l ++ l'); rewrite addnS stS // E IH catA.
Qed.

Lemma quiet_before r q v : v < n -> r <= q -> alarms (st q v) = [::] -> alarms (st r v) = [::].
Proof.
move=> vn rq E; have [l] := V3_alarms_stay r (q - r) vn.
by rewrite subnKC // E; case: (alarms (st r v)).
Qed.

Lemma holds_before r q v t : v < n -> t < k -> r <= q ->
  holds (st q v) t = None -> holds (st r v) t = None.
Proof.
move=> vn tk rq E; case hr: (holds (st r v) t) => [m|//].
by have := V3_written_once (q - r) vn tk hr; rewrite subnKC // E.
Qed.

Lemma source_holds v t r : v < n -> t < k -> source t = v -> holds (st r v) t = Some (value t).
Proof.
move=> vn tk sv; apply: (V3_written_once (r := 0) r vn tk).
by rewrite st0 // /holds nth_mkseq // sv eqxx.
Qed.

End Fixed.

(** * The repaired broadcast: |V| rounds, of which the last compares only *)
Section Repaired.
Variable once : bool.
Variable adv : adversary (wire M).
Notation st := (bst true once adv).
Notation heard := (heard true once adv).

Lemma last_compares : 0 < n -> compares n true n.-1.+1.
Proof. by move=> n0; rewrite /compares prednK // eqxx. Qed.

Lemma flood_adopts r : r.+1 < n -> ~~ compares n true r.+1.
Proof. by move=> rn; rewrite /compares /= neq_ltn rn. Qed.

(** Two adjacent honest agents without an alarm at the end hold equal values, whatever the graph,
    the Byzantine agents and their number. *)
(* Proves: V4 *)
Theorem V4 u v t : is_agent u -> is_agent v -> u \in nb v -> t < k ->
  alarms (st n u) = [::] -> alarms (st n v) = [::] ->
  exists m, holds (st n u) t = Some m /\ holds (st n v) t = Some m.
Proof.
case/andP=> un Hu /andP[vn Hv] uv tk; have n0 : 0 < n by apply: leq_ltn_trans un.
rewrite -[X in st X](prednK n0) !stS // => Eu Ev.
have cn := last_compares n0.
have := receive_not_null Eu cn tk; have := receive_not_null Ev cn tk.
set u' := receive _ _ _ _ _ _ (st n.-1 u) _; set v' := receive _ _ _ _ _ _ (st n.-1 v) _.
case hv: (holds v' t) => [mv|//] _; case hu: (holds u' t) => [mu|//] _.
exists mu; split=> //; congr Some.
have hold_u : holds (st n.-1 u) t = Some mu.
  by move: hu; rewrite /u' receive_holds hears_compare.
have := heard_in true once adv n.-1 uv; rewrite Hu => inw.
have [wa q] := receive_quiet eqmP Ev inw; apply: (q t) => //.
have ent : entry (send n true once n.-1.+1 (st n.-1 u)) t = Some mu.
  by rewrite /send cn.
rewrite /usable ent; case: ifP => // nwf.
have: t \in [seq t <- iota 0 k | malformed wf (send n true once n.-1.+1 (st n.-1 u)) t].
  by rewrite mem_filter mem_iota tk /malformed ent nwf.
by move: wa; rewrite /wire_alarms /=; case: filter.
Qed.

(** If G[H] is connected and no honest agent has alarmed at the end, all honest agents hold one
    equal value for each tag; if the source is honest, it is the value of the source. *)
(* Proves: V2 *)
Theorem V2 t : assumption_1 n nb H -> t < k ->
  (forall v, is_agent v -> alarms (st n v) = [::]) ->
  exists m, (forall v, is_agent v -> holds (st n v) t = Some m) /\
            (is_agent (source t) -> m = value t).
Proof.
move=> [[z zA] conn] tk quiet.
have n0 : 0 < n by case/andP: zA => zn _; apply: leq_ltn_trans zn.
have [m hz] : exists m, holds (st n z) t = Some m.
  case/andP: (zA) => zn Hz; have := quiet z zA; rewrite -[X in st X](prednK n0) stS // => E.
  have := receive_not_null E (last_compares n0) tk.
  by case: holds => // m; exists m.
have all_m v : is_agent v -> holds (st n v) t = Some m.
  move=> vA; have [p zp <-] := conn z v zA vA.
  elim/last_ind: p zp => //= p w IH; rewrite rcons_path last_rcons => /andP[zp hw].
  have lA := walk_end Gok zA zp; case/andP: (hw) => wl Hw.
  have wA : is_agent w by rewrite /Graph.is_agent Hw andbT; apply: (proj1 Gok) wl; case/andP: lA.
  have lw : last z p \in nb w by apply: (proj2 Gok) => //; case/andP: lA.
  have [m' [e1 e2]] := V4 lA wA lw tk (quiet _ lA) (quiet _ wA).
  by rewrite e2 -e1 IH.
exists m; split=> // sA; have := all_m _ sA.
by rewrite source_holds //; [case|case/andP: sA].
Qed.

End Repaired.

(** * The flood: where a value is missing, what a neighbour holds is fresh *)
Section Flood.
Variable once : bool.
Variable adv : adversary (wire M).
Hypothesis sources_ok : forall t, t < k -> is_agent (source t) -> wf t (value t).
Notation st := (bst true once adv).
Notation heard := (heard true once adv).

Lemma held_ok r v t m : is_agent v -> t < k -> holds (st r v) t = Some m -> wf t m.
Proof.
case/andP=> vn Hv tk; elim: r m => [|r IH] m.
  rewrite st0 // /holds nth_mkseq //; case: eqP => // sv [<-]; apply: sources_ok => //.
  by rewrite sv /Graph.is_agent vn.
rewrite stS //; case hr: (holds (st r v) t) => [m'|].
  by rewrite (receive_keep _ _ _ _ _ _ tk hr) => -[<-]; apply: IH.
move=> /(receive_some tk hr)[u [w [_]]]; rewrite /usable.
by case: entry => // m'; case: ifP => // ok [<-].
Qed.

Lemma fresh_held r v t m : v < n -> t < k ->
  nth None (fresh (st r v)) t = Some m -> holds (st r v) t = Some m.
Proof.
move=> vn tk; case: r => [|r]; first by rewrite st0.
rewrite stS //; case hr: (holds (st r v) t) => [m'|].
  by rewrite (receive_fresh_kept _ _ _ _ _ _ tk hr).
by rewrite receive_fresh.
Qed.

Lemma missing_is_fresh r u v t m : r < n -> is_agent u -> is_agent v -> u \in nb v -> t < k ->
  holds (st r v) t = None -> holds (st r u) t = Some m -> nth None (fresh (st r u)) t = Some m.
Proof.
move=> rn uA vA uv tk; case/andP: (uA) => un Hu; case/andP: (vA) => vn Hv.
elim: r rn m => [|r IH] rn m; first by move=> _; rewrite st0.
rewrite !stS // => hv hu.
have hvr : holds (st r v) t = None by apply: (holds_before (q := r.+1)); rewrite ?stS.
have hur : holds (st r u) t = None.
  case hr: (holds (st r u) t) => [m'|//].
  have fr := IH (ltnW rn) m' hvr hr.
  have := receive_none tk (flood_adopts rn) hv (heard_in true once adv r uv); rewrite Hu.
  rewrite /usable /entry /send; case: ifP => _; rewrite -/(holds _ _) ?hr ?fr.
    by rewrite (held_ok uA tk hr).
  by rewrite (held_ok uA tk hr).
by rewrite receive_fresh.
Qed.

(* What arrives at an agent that holds null is what the neighbour holds, sent once or again. *)
Lemma arrives r u v t : r.+1 < n -> is_agent u -> is_agent v -> u \in nb v -> t < k ->
  holds (st r v) t = None ->
  usable wf (send n true once r.+1 (st r u)) t = holds (st r u) t.
Proof.
move=> rn uA vA uv tk hv; rewrite /usable /entry /send.
have un : u < n by case/andP: uA.
case hu: (holds (st r u) t) => [m|].
  have fr := missing_is_fresh (ltnW rn) uA vA uv tk hv hu.
  by case: ifP => _; rewrite -/(holds _ _) ?hu ?fr (held_ok uA tk hu).
case: ifP => _; first by rewrite -/(holds _ _) hu.
by case fr: nth => [m|//]; move: (fresh_held un tk fr); rewrite hu.
Qed.

End Flood.

(** * Without Byzantine agents *)
Section AllHonest.
Variable once : bool.
Variable adv : adversary (wire M).
Hypothesis everybody : forall v, v < n -> H v.
Hypothesis sources_ok : forall t, t < k -> source t < n /\ wf t (value t).
Notation st := (bst true once adv).

Let agentP v : v < n -> is_agent v.
Proof. by move=> vn; rewrite /Graph.is_agent vn everybody. Qed.

Let wf_ok t : t < k -> is_agent (source t) -> wf t (value t).
Proof. by move=> tk _; case: (sources_ok tk). Qed.

Lemma only_value r v t m : v < n -> t < k -> holds (st r v) t = Some m -> m = value t.
Proof.
elim: r v m => [|r IH] v m vn tk; first by rewrite st0 // /holds nth_mkseq //; case: eqP => // _ [].
rewrite stS //; case hr: (holds (st r v) t) => [m'|].
  by rewrite (receive_keep _ _ _ _ _ _ tk hr) => -[<-]; apply: IH hr.
move=> /(receive_some tk hr)[u [w [/heard_out[uv ->]]]].
have un : u < n := proj1 Gok v u vn uv; rewrite everybody // /usable /entry /send.
case: ifP => _; case E: nth => [m'|] //; case: ifP => // _ [<-].
  exact: IH E.
by apply: IH (fresh_held _ tk E).
Qed.

Lemma flood_reaches r : r < n -> forall p t, t < k -> path (hop nb H) (source t) p ->
  size p <= r -> holds (st r (last (source t) p)) t = Some (value t).
Proof.
elim: r => [|r IH] rn p t tk sp; have [sn _] := sources_ok tk.
  by rewrite leqn0 => /nilP -> /=; apply: source_holds.
have sA := agentP sn; have vA := walk_end Gok sA sp; have vn : last (source t) p < n by case/andP: vA.
case hv: (holds (st r (last (source t) p)) t) => [m|].
  by have := V3_written_once 1 vn tk hv; rewrite addn1 (only_value vn tk hv).
elim/last_ind: p sp vA vn hv => [|q v' _]; first by move=> _ _ _ _ _; apply: source_holds.
rewrite rcons_path last_rcons size_rcons => /andP[sq hq] vA vn hv szq.
have uA := walk_end Gok sA sq; set u := last _ q in hq uA.
have un : u < n by case/andP: uA.
have uv : u \in nb v' by apply: (proj2 Gok) => //; case/andP: hq.
have hu : holds (st r u) t = Some (value t) by apply: IH => //; apply: ltnW.
have := arrives wf_ok (once := once) (adv := adv) rn uA vA uv tk hv; rewrite hu => ar.
case hv': (holds (st r.+1 v') t) => [m|]; first by rewrite (only_value vn tk hv').
move: hv'; rewrite stS // => /receive_none - /(_ tk (flood_adopts rn)).
move=> /(_ u _ (heard_in true once adv r uv)); rewrite everybody //.
by rewrite ar.
Qed.

(** If nobody is Byzantine, everybody holds the value of the source at the end, and nobody
    alarms. *)
(* Proves: V1, VB-11 *)
Theorem V1 v : assumption_1 n nb H -> v < n ->
  alarms (st n v) = [::] /\ forall t, t < k -> holds (st n v) t = Some (value t).
Proof.
move=> [_ conn] vn; have n0 : 0 < n by apply: leq_ltn_trans vn.
have reach u t : u < n -> t < k -> holds (st n.-1 u) t = Some (value t).
  move=> un tk; have [sn _] := sources_ok tk.
  have [p sp lp] := conn _ _ (agentP sn) (agentP un).
  have [q [sq lq szq]] := walk_shortens Gok (agentP sn) sp.
  rewrite -lp -lq; apply: flood_reaches => //; first by rewrite prednK.
  apply: leq_trans szq _; rewrite -!subn1 leq_sub2r //.
  exact: honest_count_le.
have quiet r : r <= n -> forall u, u < n -> alarms (st r u) = [::].
  elim: r => [|r IH] rn u un; first by rewrite st0.
  rewrite stS // /receive /= /null_alarms.
  set s := BState _ _ _.
  have: alarms (foldl (hear eqm k wf n true r.+1) s (heard true once adv r u)) = [::].
    have hs t m : t < k -> holds s t = Some m -> m = value t by apply: only_value.
    have: alarms s = [::] by apply: IH => //; apply: ltnW.
    have: forall x w, List.In (x, w) (heard true once adv r u) ->
        wire_alarms k wf r.+1 x w = [::] /\ forall t m, t < k -> usable wf w t = Some m -> m = value t.
      move=> x w /heard_out[xu ->]; have xn : x < n := proj1 Gok u x un xu.
      rewrite everybody // /send; set es := (if _ then _ else _).
      have es_ok t m : t < k -> nth None es t = Some m -> m = value t.
        move=> tk; rewrite /es; case: ifP => _ E; first exact: only_value E.
        by apply: only_value (fresh_held xn tk E).
      split=> [|t m tk]; last first.
        by rewrite /usable /=; case E: nth => [m'|] //; case: ifP => // _ [<-]; apply: es_ok E.
      rewrite /wire_alarms /=; apply/nilP; rewrite /nilp size_map size_filter -leqn0 leqNgt -has_count.
      apply/hasPn => t; rewrite mem_iota add0n => tk; rewrite /malformed /=.
      case E: nth => [m|] //; rewrite (es_ok _ _ tk E) negbK.
      by have [] := sources_ok tk.
    elim: (heard _ _ _ _ _) s hs => //= -[x w] l IHl s hs all_ok sN.
    have [wa wu] := all_ok x w (or_introl erefl).
    apply: IHl => [t m tk|y z yz|].
    - rewrite hear_held // /adopt; case hst: (holds s t) => [m'|].
        by case=> <-; apply: hs hst.
      by case: ifP => // _; apply: wu.
    - by apply: all_ok; right.
    - rewrite /= sN wa /=; apply/nilP.
      rewrite /nilp size_map size_filter -leqn0 leqNgt -has_count; apply/hasPn => t.
      rewrite mem_iota add0n => tk; rewrite /differs -/(holds s t).
      case hst: (holds s t) => [m'|] //; case ut: (usable wf w t) => [m|] //.
      by rewrite (hs _ _ tk hst) (wu _ _ tk ut) negbK; apply/eqmP.
  move=> ->; case: ifP => //; rewrite /compares /= => /eqP rr.
  apply/nilP; rewrite /nilp size_map size_filter -leqn0 leqNgt -has_count; apply/hasPn => t.
  rewrite mem_iota add0n => tk; rewrite negbK.
  have hs : holds s t = Some (value t).
    have -> : holds s t = holds (st r u) t by [].
    by rewrite -(reach u t un tk) -rr.
  by have := hears_keep eqm wf n true r.+1 (heard true once adv r u) tk hs; rewrite /holds => ->.
split; first exact: quiet.
move=> t tk; rewrite -[X in st X](prednK n0) -addn1.
by apply: V3_written_once => //; apply: reach.
Qed.

End AllHonest.

(** * Sending once and sending in every round *)
Section SendOnce.
Variable adv : adversary (wire M).
Hypothesis sources_ok : forall t, t < k -> is_agent (source t) -> wf t (value t).
Notation A := (bst true true adv).
Notation B := (bst true false adv).

Lemma same_held r v t : r <= n -> is_agent v -> t < k -> holds (A r v) t = holds (B r v) t.
Proof.
elim: r v => [|r IH] v rn vA tk; case/andP: (vA) => vn Hv; first by rewrite !st0.
rewrite !stS //.
case hr: (holds (A r v) t) => [m|].
  rewrite (receive_keep _ _ _ _ _ _ tk hr); move: hr; rewrite IH // => [hr|]; last exact: ltnW.
  by rewrite (receive_keep _ _ _ _ _ _ tk hr).
have hrB : holds (B r v) t = None by rewrite -IH //; apply: ltnW.
rewrite !receive_holds; case cr: (compares n true r.+1).
  by rewrite !hears_compare //; move: hr hrB; rewrite /holds /= => -> ->.
have rn' : r.+1 < n by move: cr; rewrite /compares /= ltn_neqAle rn => ->.
apply: hears_same => //; first by move: hr hrB; rewrite /holds /= => -> ->.
rewrite /heard /inbox -!map_comp; apply/eq_in_map => u uv /=.
rewrite /on_edge; case Hu: (H u) => //.
have uA : is_agent u by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
have := arrives sources_ok (once := true) (adv := adv) rn' uA vA uv tk hr.
have := arrives sources_ok (once := false) (adv := adv) rn' uA vA uv tk hrB.
rewrite /broadcast_state => -> ->; rewrite -/(broadcast_state _ _ _ _ _ _ _ _ _ _ _ _ _ _).
by apply: IH => //; apply: ltnW.
Qed.

(* Two neighbours that hold different values: whoever hears of it last alarms in the end. *)
Definition quarrel r v :=
  exists u t m m', [/\ [/\ is_agent u, u \in nb v & t < k], holds (B r v) t = Some m,
                      holds (B r u) t = Some m' & m <> m'].

Lemma quarrel_alarms once v : is_agent v -> quarrel n.-1 v ->
  alarms (bst true once adv n v) <> [::].
Proof.
move=> vA [u [t [m [m' [[uA uv tk] hv hu ne]]]]] E.
case/andP: (vA) => vn Hv; case/andP: (uA) => un Hu; have n0 : 0 < n by apply: leq_ltn_trans vn.
have same w : is_agent w -> holds (bst true once adv n.-1 w) t = holds (B n.-1 w) t.
  by case: once E => // _ wA; apply: same_held => //; apply: leq_pred.
move: E; rewrite -[X in bst true once adv X](prednK n0) stS // => E.
have := heard_in true once adv n.-1 uv; rewrite Hu => inw.
have [_ q] := receive_quiet eqmP E inw.
apply: ne; apply: (q t) => //.
  rewrite /usable /entry /send last_compares //= -/(holds _ _) same // hu.
  by rewrite (held_ok sources_ok uA tk hu).
by apply: receive_keep => //; rewrite same.
Qed.

Lemma quarrel_stays r v : is_agent v -> quarrel r v -> quarrel r.+1 v.
Proof.
case/andP=> vn _ [u [t [m [m' [[uA uv tk] hv hu ne]]]]]; exists u, t, m, m'; split=> //.
  by rewrite -addn1; apply: V3_written_once.
by rewrite -addn1; apply: V3_written_once => //; case/andP: uA.
Qed.

Lemma quarrel_dec r v : is_agent v -> quarrel r v \/ ~ quarrel r v.
Proof.
case/andP=> vn _.
pose b := has (fun u => H u && has (fun t => if holds (B r v) t is Some m then
   if holds (B r u) t is Some m' then ~~ eqm m m' else false else false) (iota 0 k)) (nb v).
case Eb: b; [left|right].
  case/hasP: Eb => u uv /andP[Hu /hasP[t]]; rewrite mem_iota add0n => tk.
  case hv: (holds (B r v) t) => [m|] //; case hu: (holds (B r u) t) => [m'|] // /negP ne.
  exists u, t, m, m'; split=> //; last by move=> E'; apply: ne; apply/eqmP.
  split=> //; by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
case=> u [t [m [m' [[uA uv tk] hv hu ne]]]]; move/negP: Eb; apply; apply/hasP; exists u => //.
case/andP: uA => _ ->; apply/hasP; exists t; first by rewrite mem_iota.
by rewrite hv hu; apply/negP => /eqmP.
Qed.

(* One round: an alarm that only one of the two ways raises comes with a quarrel. *)
Lemma quiet_step r v : r < n -> is_agent v -> ~ quarrel r v ->
  alarms (A r v) = [::] -> alarms (B r v) = [::] ->
  (alarms (A r.+1 v) = [::] <-> alarms (B r.+1 v) = [::]).
Proof.
move=> rn vA noq EA EB; case/andP: (vA) => vn Hv.
pose sendA u := on_edge nobody H (@send M n true true) adv r.+1
     (broadcast eqm k wf n true true n nb H source value adv r) u v.
pose sendB u := on_edge nobody H (@send M n true false) adv r.+1
     (broadcast eqm k wf n true false n nb H source value adv r) u v.
have same u t : is_agent u -> t < k -> holds (A r u) t = holds (B r u) t.
  by move=> uA tk; apply: same_held => //; apply: ltnW.
have nomal o u : is_agent u ->
    [seq t <- iota 0 k | malformed wf (send n true o r.+1 (bst true o adv r u)) t] = [::].
  move=> uA; apply/nilP; rewrite /nilp size_filter -leqn0 leqNgt -has_count; apply/hasPn => t.
  rewrite mem_iota add0n => tk; rewrite /malformed; case E: entry => [m|] //; rewrite negbK.
  move: E; rewrite /entry /send; case: ifP => _ E; first by apply: held_ok E.
  by apply: held_ok (fresh_held _ tk E) => //; case/andP: uA.
have step u : u \in nb v ->
  wire_alarms k wf r.+1 u (sendA u) = wire_alarms k wf r.+1 u (sendB u) /\
  forall t, t < k -> usable wf (sendA u) t = usable wf (sendB u) t \/
     exists m, [/\ holds (B r v) t = Some m, usable wf (sendB u) t = Some m &
       usable wf (sendA u) t = None].
  move=> uv; rewrite /sendA /sendB /on_edge; case Hu: (H u) => /=; last by split=> // t _; left.
  have uA : is_agent u by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
  have un : u < n by case/andP: uA.
  rewrite -/(broadcast_state _ _ _ _ _ true _ _ _ _ _ _ _ _).
  rewrite -/(broadcast_state _ _ _ _ _ false _ _ _ _ _ _ _ _).
  split=> [|t tk]; first by rewrite /wire_alarms /= !nomal.
  case cr: (compares n true r.+1).
    by left; rewrite /usable /entry /send cr /= -!/(holds _ _) same.
  have rn' : r.+1 < n by move: cr; rewrite /compares /= ltn_neqAle rn => ->.
  case hv: (holds (B r v) t) => [m|]; last first.
    left; rewrite (arrives sources_ok (once := true) (adv := adv) rn' uA vA uv tk) ?same //.
    by rewrite (arrives sources_ok (once := false) (adv := adv) rn' uA vA uv tk).
  case hu: (holds (B r u) t) => [m'|]; last first.
    left; rewrite /usable /entry /send cr /= -/(holds _ _) hu.
    by case fr: nth => [m'|//]; move: (fresh_held un tk fr); rewrite same ?hu.
  have uB : usable wf (send n true false r.+1 (B r u)) t = Some m'.
    by rewrite /usable /entry /send orbT -/(holds _ _) hu (held_ok sources_ok uA tk hu).
  case fr: (nth None (fresh (A r u)) t) => [m''|]; last first.
    right; exists m; split=> //; last by rewrite /usable /entry /send cr /= fr.
    rewrite uB; case: (eqmP m m') => [->//|ne]; case: noq; exists u, t, m, m'; split=> //.
  left; rewrite uB /usable /entry /send cr /= fr.
  have := fresh_held un tk fr; rewrite same ?hu // => -[<-].
  by rewrite (held_ok sources_ok uA tk hu).
have gen l s s' : {subset l <= nb v} ->
    (forall t, t < k -> holds s t = holds s' t /\
       forall m, holds (B r v) t = Some m -> holds s' t = Some m) ->
    (alarms s = [::] <-> alarms s' = [::]) ->
    let e := foldl (hear eqm k wf n true r.+1) s [seq (u, sendA u) | u <- l] in
    let e' := foldl (hear eqm k wf n true r.+1) s' [seq (u, sendB u) | u <- l] in
    (alarms e = [::] <-> alarms e' = [::]) /\ (forall t, t < k -> holds e t = holds e' t).
  elim: l s s' => [|u l IH] s s' sub ss al; first by split=> // t /ss[].
  have [wa ut] := step u (sub u (mem_head _ _)).
  apply: IH => [x xl|t tk|]; first by apply: sub; rewrite inE xl orbT.
    rewrite !hear_held //; have [e1 e2] := ss t tk; rewrite /adopt e1.
    split=> [|m hm]; last by rewrite (e2 m hm).
    case hs': (holds s' t) => [//|]; case: (ut t tk) => [->//|] -[m [hm _ _]].
    by move: (e2 m hm); rewrite hs'.
  rewrite /= wa.
  have -> : [seq t <- iota 0 k | differs eqm wf s (sendA u) t] =
     [seq t <- iota 0 k | differs eqm wf s' (sendB u) t].
    apply/eq_in_filter => t; rewrite mem_iota add0n => tk; rewrite /differs -!/(holds _ _).
    have [-> e2] := ss t tk; case: (ut t tk) => [->//|[m [hm uB uA]]].
    by rewrite (e2 m hm) uA uB; apply/esym/negbTE; rewrite negbK; apply/eqmP.
  exact: nil_cat.
rewrite !stS // /receive /= EA EB.
have [] := gen (nb v) (BState (held (A r v)) (nseq k None) [::])
  (BState (held (B r v)) (nseq k None) [::]).
- by [].
- by move=> t tk; split; [apply: same|].
- by [].
rewrite /heard /inbox -!/(sendA _) -!/(sendB _) => e1 e2.
rewrite /null_alarms; case: ifP => _; last by rewrite !cats0.
set eA := foldl _ _ _ in e1 e2 *; set eB := foldl _ _ _ in e1 e2 *.
have -> : [seq t <- iota 0 k | ~~ isSome (nth None (held eA) t)] =
          [seq t <- iota 0 k | ~~ isSome (nth None (held eB) t)].
  by apply/eq_in_filter => t; rewrite mem_iota add0n => tk; have := e2 t tk; rewrite /holds => ->.
exact: nil_cat.
Qed.

(** For the same Byzantine messages, sending once and sending in every flood round end with the
    same held values and the same alarmed agents. *)
(* Proves: VB-11 *)
Theorem send_once_is_enough v : is_agent v ->
  (forall t, t < k -> holds (A n v) t = holds (B n v) t) /\ alarmed (A n v) = alarmed (B n v).
Proof.
move=> vA; case/andP: (vA) => vn Hv; split=> [t tk|]; first exact: same_held.
have n0 : 0 < n by apply: leq_ltn_trans vn.
have inv r : r < n -> (alarms (A r v) = [::] <-> alarms (B r v) = [::]) \/ quarrel r v \/
   (alarms (A r v) <> [::] /\ alarms (B r v) <> [::]).
  elim: r => [|r IH] rn; first by left; rewrite !st0.
  case: (IH (ltnW rn)) => [E|[q|[a b]]]; last first.
  - right; right; split=> E; [apply: a|apply: b]; exact: quiet_before vn (leqnSn r) E.
  - by right; left; apply: quarrel_stays.
  case EA: (alarms (A r v)) => [|x l]; last first.
    right; right; split=> E'; first by move: (quiet_before vn (leqnSn r) E'); rewrite EA.
    by have := quiet_before vn (leqnSn r) E'; apply/E; rewrite EA.
  have EB := proj1 E EA.
  have [q|noq] := quarrel_dec r vA.
  - by right; left; apply: quarrel_stays.
  by left; apply: quiet_step => //; apply: ltnW.
suff fin : alarms (A n v) = [::] <-> alarms (B n v) = [::].
  rewrite /alarmed /nilp; case: (alarms (A n v)) fin => [|? ?]; first by case=> /(_ erefl) ->.
  by case: (alarms (B n v)) => [|? ?] // [_ /(_ erefl)].
have rn : n.-1 < n by rewrite prednK.
case: (inv n.-1 rn) => [E|[q|[a b]]]; last first.
- by split=> E; [case: a|case: b]; apply: quiet_before E => //; apply: ltnW.
- by split=> /quarrel_alarms => /(_ vA q).
have quiet_back w o : o = true \/ o = false -> w < n -> alarms (bst true o adv n w) = [::] ->
    alarms (bst true o adv n.-1 w) = [::].
  by move=> _ wn; apply: quiet_before => //; apply: leq_pred.
have [q|noq] := quarrel_dec n.-1 vA.
  by split=> /quarrel_alarms => /(_ vA q).
have E' : alarms (A n.-1 v) = [::] -> (alarms (A n v) = [::] <-> alarms (B n v) = [::]).
  move=> EA; have := quiet_step rn vA noq EA (proj1 E EA); rewrite prednK //.
split=> Ez.
  by apply/E'; [apply: quiet_back Ez => //; left|].
apply/E' => //; apply/E; apply: quiet_back Ez => //; by right.
Qed.

End SendOnce.

End Guarantees.
