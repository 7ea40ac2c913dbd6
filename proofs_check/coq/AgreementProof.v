(** ValidationStateAgreement: its guarantees, for every graph and every adversary. *)
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast BroadcastProof Agreement.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Guarantees.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Variable already : nat -> bool.

Notation is_agent := (is_agent n H).
Notation R := (agreement_rounds n).

Section Fixed.
Variable adv : adversary word.
Notation bad r v := (invalid (agreement_state true n nb H already adv r v)).

Definition lie r u v := isSome (objection (adv r u v)).

Lemma bad0 v : v < n -> bad 0 v = already v.
Proof. by move=> vn; rewrite /agreement_state /agreement /= nth_mkseq. Qed.

Lemma badS r v : v < n ->
  bad r.+1 v = bad r v || has (fun u => if H u then bad r u else lie r.+1 u v) (nb v).
Proof.
move=> vn; rewrite /agreement_state /agreement /= nth_mkseq //= orbC; congr (_ || _).
rewrite /objections /nilp size_pmap -lt0n -has_count /inbox has_map.
apply: eq_has => u /=; rewrite /on_edge /lie; case: (H u) => /=; last by case: objection.
by rewrite /asend /=; case: invalid.
Qed.

(** An agent that has an alarm after round r has it after every later round. *)
(* Proves: S1 *)
Theorem S1 r q v : v < n -> bad r v -> bad (r + q) v.
Proof.
by move=> vn bv; elim: q => [|q IH]; rewrite ?addn0 // addnS badS // IH.
Qed.

(** If G[H] is connected and some honest agent has an alarm at the start, then after |H|-1 rounds
    every honest agent has one, whatever the Byzantine agents say. *)
(* Proves: S2 *)
Theorem S2_honest_rounds u v r : assumption_1 n nb H -> is_agent u -> already u ->
  is_agent v -> (honest_count n H).-1 <= r -> bad r v.
Proof.
move=> [_ conn] uA au vA le.
have [p up lp] := conn u v uA vA.
have [q [uq lq szq]] := walk_shortens Gok uA up.
have un : u < n by case/andP: uA.
have := @spreads n nb H Gok (fun r v => bad r v) r 0 _ _ q u uA uq.
rewrite add0n bad0 // au lq lp => /(_ _ _ isT (leq_trans szq le)) S.
rewrite -(subnKC (leq_trans szq le)); apply: S1; first by case/andP: vA.
apply: S => [s w _ wA bw|s a b _ aA ab ba].
  by rewrite badS ?bw //; case/andP: wA.
have bn : b < n by apply: (proj1 Gok a) => //; [case/andP: aA|case/andP: ab].
rewrite badS //; apply/orP; right; apply/hasP; exists a; last by case/andP: aA => _ ->.
by apply: (proj2 Gok) => //; [case/andP: aA|case/andP: ab].
Qed.

(* Proves: S2 *)
Theorem S2 u v : assumption_1 n nb H -> is_agent u -> already u -> is_agent v -> bad R v.
Proof.
move=> conn uA au vA; apply: (@S2_honest_rounds u v R) => //.
by rewrite /agreement_rounds -!subn1 leq_sub2r // honest_count_le.
Qed.

(** If nobody is Byzantine and nobody has an alarm, nobody gets one. *)
(* Proves: S3 *)
Theorem S3 r v : (forall v, v < n -> H v) -> (forall v, v < n -> already v = false) ->
  v < n -> bad r v = false.
Proof.
move=> allH quiet; elim: r v => [|r IH] v vn; first by rewrite bad0 ?quiet.
rewrite badS // IH //=; apply/negbTE/hasPn => u uv.
have un : u < n := proj1 Gok v u vn uv.
by rewrite allH // IH.
Qed.

(** * What a late lie can reach *)

(* The ball of G[H] about c with radius q. *)
Fixpoint ball (c q v : nat) : bool :=
  if q is q'.+1 then ball c q' v || has (fun u => H u && ball c q' u) (nb v) else v == c.

(** A ball is what a walk of at most q steps through honest agents reaches. *)
Lemma ballP c q v : is_agent c -> is_agent v ->
  reflect (exists p, [/\ path (hop nb H) c p, last c p = v & size p <= q]) (ball c q v).
Proof.
move=> cA; elim: q v => [|q IH] v vA /=.
  apply: (iffP eqP) => [->|[p [_ <-]]]; first by exists [::].
  by rewrite leqn0 => /nilP ->.
have vn : v < n by case/andP: vA.
have Hv : H v by case/andP: vA.
apply: (iffP orP) => [[/IH - /(_ vA)[p [cp lp sp]]|/hasP[u uv /andP[Hu bu]]]|[p [cp lp sp]]].
- by exists p; split=> //; apply: leqW.
- have uA : is_agent u by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
  have [p [cp lp sp]] := IH u uA bu; exists (rcons p v).
  rewrite rcons_path cp last_rcons size_rcons /hop lp Hv; split=> //.
  by rewrite andbT; apply: (proj2 Gok).
move: cp lp sp; case/lastP: p => [|p w]; first by move=> _ /= <- _; left; apply/IH => //; exists [::].
rewrite rcons_path last_rcons size_rcons => /andP[cp hw] wv sp; right.
have lA := walk_end Gok cA cp; apply/hasP; exists (last c p).
  by rewrite -wv; apply: (proj2 Gok); [case/andP: lA|case/andP: hw].
by case/andP: (lA) => _ -> /=; apply/IH => //; exists p.
Qed.

(* Without an honest alarm at the start: who is invalid after round r is in the balls of the lies. *)
Lemma lies_reach r v : (forall u, is_agent u -> already u = false) -> is_agent v ->
  bad r v = has (fun q => has (fun c => H c && (has (fun u => ~~ H u && lie q u c) (nb c)
     && ball c (r - q) v)) (iota 0 n)) (iota 1 r).
Proof.
move=> quiet; elim: r v => [|r IH] v vA; have vn : v < n by case/andP: vA.
  by rewrite bad0 ?quiet.
have Hv : H v by case/andP: vA.
rewrite badS // -addn1 iotaD has_cat /= orbF add1n addn1 subnn IH //.
apply/idP/idP => [/orP[|]|].
- case/hasP=> q qr /hasP[c cn /and3P[Hc lc bc]]; apply/orP; left; apply/hasP; exists q => //.
  apply/hasP; exists c; rewrite // Hc lc /=.
  have qr' : q <= r by move: qr; rewrite mem_iota add1n ltnS => /andP[].
  by rewrite subSn //= bc.
- case/hasP=> u uv; have un : u < n := proj1 Gok v u vn uv; case: ifP => Hu.
    rewrite IH; last by rewrite /Graph.is_agent un.
    case/hasP=> q qr /hasP[c cn /and3P[Hc lc bc]]; apply/orP; left; apply/hasP; exists q => //.
    have qr' : q <= r by move: qr; rewrite mem_iota add1n ltnS => /andP[].
    apply/hasP; exists c; rewrite // Hc lc /= subSn //=; apply/orP; right; apply/hasP.
    by exists u; rewrite // Hu.
  move=> lu; apply/orP; right; apply/hasP; exists v; first by rewrite mem_iota.
  by rewrite Hv /= eqxx andbT; apply/hasP; exists u; rewrite // Hu.
case/orP.
  case/hasP=> q qr /hasP[c cn /and3P[Hc lc]].
  have qr' : q <= r by move: qr; rewrite mem_iota add1n ltnS => /andP[].
  rewrite subSn //= => /orP[bc|/hasP[u uv /andP[Hu bu]]]; apply/orP; [left|right].
    by apply/hasP; exists q => //; apply/hasP; exists c; rewrite // Hc lc.
  apply/hasP; exists u; rewrite // Hu IH; last by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
  by apply/hasP; exists q => //; apply/hasP; exists c; rewrite // Hc lc.
case/hasP=> c; rewrite mem_iota => cn /and3P[Hc /hasP[u uc /andP[nHu lu]] /eqP vc].
by apply/orP; right; apply/hasP; exists u; rewrite vc // (negbTE nHu).
Qed.

End Fixed.

(* Clause: S4. Centres are honest agents with a Byzantine neighbour, radii are below R. *)
Definition exposed (c : nat) : bool := is_agent c && has (predC H) (nb c).

(** The sets of honest agents that Byzantine agents can make invalid, when no honest agent had an
    alarm: exactly the unions of balls of G[H] about exposed agents with radii below R. *)
(* Proves: S4 *)
Theorem S4 (A : nat -> bool) : (forall u, is_agent u -> already u = false) ->
  ((exists adv, forall v, is_agent v -> invalid (agreement_state true n nb H already adv R v) = A v)
   <->
   (exists balls : seq (nat * nat),
      (forall c q, (c, q) \in balls -> exposed c /\ q < R) /\
      forall v, is_agent v -> A v = has (fun cq => ball cq.1 cq.2 v) balls)).
Proof.
move=> quiet; split=> [[adv reach]|[balls [ok union]]].
  pose lied q c := H c && has (fun u => ~~ H u && lie adv q u c) (nb c).
  exists [seq (c, R - q) | q <- iota 1 R, c <- [seq c <- iota 0 n | lied q c]]; split.
    move=> c q /allpairsPdep[q' [c' [qin]]]; rewrite mem_filter => /andP[/andP[Hc /hasP[u uc /andP[nHu _]]]].
    rewrite mem_iota add0n leq0n /= => cn [-> ->]; split.
      by rewrite /exposed /Graph.is_agent cn Hc; apply/hasP; exists u.
    by move: qin; rewrite mem_iota add1n ltnS => /andP[q0 qR]; rewrite ltn_subrL q0 (leq_trans q0 qR).
  move=> v vA; rewrite -reach // lies_reach //; apply/hasP/hasP.
    case=> q qin /hasP[c cin /and3P[Hc lc bc]]; exists (c, R - q) => //.
    apply/allpairsPdep; exists q, c; split=> //.
    by rewrite mem_filter cin /lied Hc lc.
  case=> -[c q] /allpairsPdep[q' [c' [qin]]]; rewrite mem_filter => /andP[/andP[Hc lc] cin] [-> ->] bc.
  by exists q' => //; apply/hasP; exists c'; rewrite // Hc lc.
pose adv r (u v : nat) := Word (has (fun cq => (cq.1 == v) && (r == R - cq.2)) balls).
exists adv => v vA; rewrite lies_reach // union //; apply/hasP/hasP.
  case=> q; rewrite mem_iota add1n ltnS => /andP[q0 qR] /hasP[c cin /and3P[Hc /hasP[u uc /andP[_ lc]] bc]].
  move: lc; rewrite /lie /adv /=; case E: has => // _; case/hasP: E => -[c' q'] inb /= /andP[/eqP cc /eqP qq].
  exists (c', q') => //=; have [_ qR'] := ok _ _ inb.
  by rewrite cc; move: bc; rewrite qq subKn //; apply: ltnW.
case=> -[c q] inb /= bc; have [/andP[/andP[cn Hc] /hasP[u uc /= nHu]] qR] := ok _ _ inb.
exists (R - q); first by rewrite mem_iota add1n ltnS subn_gt0 qR leq_subr.
apply/hasP; exists c; first by rewrite mem_iota.
rewrite Hc subKn ?(ltnW qR) // bc andbT; apply/hasP; exists u; rewrite // nHu /lie /adv /=.
suff -> : has (fun cq => (cq.1 == c) && (R - q == R - cq.2)) balls by [].
by apply/hasP; exists (c, q); rewrite //= !eqxx.
Qed.

End Guarantees.

(** Broadcast, then agreement: all honest agents are invalid in the end, or all of them hold one
    equal value for every tag. *)
(* Proves: VS1 *)
Theorem VS1 (M : Type) (eqm : M -> M -> bool) (k : nat) (wf : nat -> M -> bool)
    (n : nat) (nb : nat -> seq nat) (H : pred nat) (source : nat -> nat) (value : nat -> M)
    (once : bool) (adv : adversary (wire M)) (adv' : adversary word)
    (s := broadcast_state eqm k wf n true once n nb H source value adv n)
    (a := agreement_state true n nb H (fun v => alarmed (s v)) adv' (agreement_rounds n)) :
  (forall x y, reflect (x = y) (eqm x y)) -> graph_ok n nb -> assumption_1 n nb H ->
  (forall v, is_agent n H v -> invalid (a v)) \/
  (forall t, t < k -> exists m, (forall v, is_agent n H v -> holds (s v) t = Some m) /\
                               (is_agent n H (source t) -> m = value t)).
Proof.
move=> eqmP Gok conn.
case E: (has (fun v => H v && alarmed (s v)) (iota 0 n)).
  left=> v vA; case/hasP: E => u; rewrite mem_iota add0n leq0n /= => un /andP[Hu au].
  by apply: (S2 Gok adv' conn (u := u)) => //; rewrite /is_agent un.
right=> t tk; apply: V2 => // v /andP[vn Hv].
move/hasPn/(_ v): E; rewrite mem_iota vn Hv /= => /(_ isT).
by rewrite /alarmed negbK => /nilP.
Qed.
