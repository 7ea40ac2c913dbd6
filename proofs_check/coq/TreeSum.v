(** The sum along a tree of shortest paths, as lean validation takes it: partial sums go up, the total
    comes down. The machine, and what it does when everybody is honest. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Network Arith HashProof LatticeProof Flood.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Delimit Scope Z_scope with Z.

(** * The tree *)
Section Tree.

Variables (n : nat) (nb : nat -> seq nat) (root : nat).

Definition depth (v : nat) : nat := distance n nb root v.
Definition height : nat := foldr maxn 0 [seq depth v | v <- iota 0 n].

(* The first neighbour that is nearer to the root. *)
Definition parent (v : nat) : nat := head root [seq u <- nb v | depth u < depth v].
Definition is_child (u v : nat) : bool := (u != root) && (parent u == v).
Definition children (v : nat) : seq nat := [seq u <- iota 0 n | is_child u v].

(* The rounds in which u speaks to its parent, and its parent to u. *)
Definition up (u : nat) : nat := (height - depth u).+1.
Definition down (u : nat) : nat := height + depth u.

(* The sum of f over all agents below v, itself included. *)
Fixpoint sum_below (f : nat -> Z) (levels v : nat) : Z :=
  if levels is l.+1 then (f v + sumz [seq sum_below f l u | u <- children v])%Z else f v.
Definition subtree (f : nat -> Z) (v : nat) : Z := sum_below f (height - depth v) v.

End Tree.

(** * The machine *)
Section Machine.

Variables (n : nat) (nb : nat -> seq nat) (root : nat) (d rounds : nat).
(* The largest absolute value of each entry of one summand. *)
Variable bound : nat -> Z.

Definition add_vectors (x y : seq Z) : seq Z := mkseq (fun j => (at_ x j + at_ y j)%Z) d.

(* A sum over the subtree of u has d entries, and no larger ones than its agents can bring about. *)
Definition is_sum (u : nat) (x : seq Z) : bool :=
  (size x == d) &&
  all (fun j => Z.leb (Z.abs (at_ x j)) (subtree n nb root (fun _ => 1%Z) u * bound j)) (iota 0 d).

(* What an agent has added up, of whom, the total, and whether something was wrong. *)
Record sum_state := SumState {
  me : nat;
  part : seq Z;
  from : seq nat;
  total : option (seq Z);
  amiss : bool
}.

Definition nowhere : sum_state := SumState 0 [::] [::] None false.

(* To each neighbour something or nothing. *)
Definition addressed := nat -> option (seq Z).

Definition sum_start (g : nat -> seq Z) (v : nat) : sum_state := SumState v (g v) [::] None false.

Definition sum_send (r : nat) (st : sum_state) : addressed := fun u =>
  if is_child n nb root (me st) u && (r == up n nb root (me st)) then Some (part st)
  else if is_child n nb root u (me st) && (r == down n nb root u) then total st
  else None.

(* A sum from a child and the total from the parent count if they are well formed and come in their
   round; anything else that is said along the tree is an alarm. *)
Definition sum_hear (r : nat) (st : sum_state) (uw : nat * addressed) : sum_state :=
  let: (u, w) := uw in
  if w (me st) is Some x then
    if [&& is_child n nb root u (me st), r == up n nb root u & is_sum u x]
    then SumState (me st) (add_vectors (part st) x) (u :: from st) (total st) (amiss st)
    else if [&& is_child n nb root (me st) u, r == down n nb root (me st) & is_sum root x]
    then SumState (me st) (part st) (from st) (Some x) (amiss st)
    else SumState (me st) (part st) (from st) (total st) true
  else st.

(* The root has the total as soon as it has all sums. At the end nothing may be missing. *)
Definition sum_end (r : nat) (st : sum_state) : sum_state :=
  let whole := if (me st == root) && (r == height n nb root) then Some (part st) else total st in
  let complete := all (fun u => u \in from st) (children n nb root (me st)) && isSome whole in
  SumState (me st) (part st) (from st) whole (amiss st || (r == rounds) && ~~ complete).

Definition sum_receive (r : nat) (st : sum_state) (inbox : seq (nat * addressed)) : sum_state :=
  sum_end r (foldl (sum_hear r) st inbox).

Definition tree_sum H (g : nat -> seq Z) adv r : seq sum_state :=
  run nowhere n nb H sum_send sum_receive adv (mkseq (sum_start g) n) r.

Definition sum_state_of H g adv r v : sum_state := nth nowhere (tree_sum H g adv r) v.

End Machine.

(** * When everybody is honest *)
Section AllHonest.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat) (root : nat) (d rounds : nat) (bound : nat -> Z).
Hypothesis Gok : graph_ok n nb.
Hypothesis simple : forall v, v < n -> uniq (nb v).
Hypothesis connected : assumption_1 n nb xpredT.
Hypothesis root_ok : root < n.
Hypothesis everybody : forall v, v < n -> H v.
Variables (g : nat -> seq Z) (adv : adversary addressed).
Hypothesis g_ok : forall v, v < n ->
  size (g v) = d /\ forall j, j < d -> (Z.abs (at_ (g v) j) <= bound j)%Z.

Notation depth := (depth n nb root).
Notation height := (height n nb root).
Notation parent := (parent n nb root).
Notation is_child := (is_child n nb root).
Notation children := (children n nb root).
Notation up := (up n nb root).
Notation down := (down n nb root).
Notation sum_below := (sum_below n nb root).
Notation subtree := (subtree n nb root).
Hypothesis rounds_enough : height.*2 <= rounds.
Hypothesis two_levels : 0 < height.

Notation st := (sum_state_of n nb root d rounds bound H g adv).

(** ** The tree *)

Lemma depth_root : depth root = 0.
Proof. by apply: distance_self; apply: leq_ltn_trans root_ok. Qed.

Lemma depth_height v : v < n -> depth v <= height.
Proof.
move=> vn; rewrite /TreeSum.height; have: v \in iota 0 n by rewrite mem_iota.
elim: (iota 0 n) => //= x l IH; rewrite inE leq_max => /orP[/eqP ->|/IH ->].
  by rewrite leqnn.
by rewrite orbT.
Qed.

Lemma depth0 v : v < n -> depth v = 0 -> v = root.
Proof.
move=> vn d0; have n0 : 0 < n by apply: leq_ltn_trans vn.
by have := distanceE nb root v n0; rewrite -/(depth v) d0 => /esym/eqP.
Qed.

Lemma depth_neighbour u v : v < n -> u \in nb v -> depth v <= (depth u).+1.
Proof.
move=> vn uv; have un := proj1 Gok v u vn uv.
have dn : depth v < n by apply: connected_distance.
have un' : depth u < n by apply: connected_distance.
have [u1|nu] := ltnP (depth u).+1 n; last by apply: leq_trans (ltnW dn) nu.
rewrite /TreeSum.depth (distanceE nb root v u1) /=; apply/orP; right; apply/hasP; exists u => //.
by rewrite -(distanceE nb root u un').
Qed.

Lemma parent_is v : v < n -> v != root -> [/\ parent v \in nb v, parent v < n & depth v = (depth (parent v)).+1].
Proof.
move=> vn vr; have dn : depth v < n by apply: connected_distance.
have [q dq] : exists q, depth v = q.+1.
  by case E: (depth v) => [|q]; [move: vr; rewrite (depth0 vn E) eqxx|exists q].
have q1 : q.+1 < n by rewrite -dq.
have [u0 u0v wu] : exists2 u, u \in nb v & within nb q root u.
  have := leqnn (depth v); rewrite {2}dq /TreeSum.depth (distanceE nb root v q1) /=.
  by rewrite -(distanceE nb root v (ltnW q1)) -/(depth v) dq ltnn /= => /hasP.
have [u uv du] : exists2 u, u \in nb v & depth u < depth v.
  by exists u0 => //; rewrite dq ltnS /TreeSum.depth (distanceE nb root u0 (ltnW q1)).
have mem : parent v \in [seq u <- nb v | depth u < depth v].
  have : u \in [seq u <- nb v | depth u < depth v] by rewrite mem_filter du.
  by rewrite /TreeSum.parent; case: [seq u <- nb v | _] => //= x l _; apply: mem_head.
move: mem; rewrite mem_filter => /andP[dp pv]; split=> //; first exact: (proj1 Gok) pv.
by apply/eqP; rewrite eqn_leq dp andbT depth_neighbour.
Qed.

Lemma child_depth u v : u < n -> is_child u v -> [/\ u \in nb v, v < n & depth u = (depth v).+1].
Proof.
move=> un /andP[ur /eqP pv]; have [pin pn dp] := parent_is un ur.
by rewrite -pv; split=> //; apply: (proj2 Gok).
Qed.

(** ** Sums over subtrees *)

Lemma subtreeE f v : v < n -> subtree f v = (f v + sumz [seq subtree f u | u <- children v])%Z.
Proof.
move=> vn; have cd u : u \in children v -> depth u = (depth v).+1.
  by rewrite mem_filter mem_iota add0n => /andP[cu un]; case: (child_depth un cu).
have dv := depth_height vn; rewrite /TreeSum.subtree.
case E: (height - depth v) => [|q] /=.
  suff -> : children v = [::] by rewrite /=; lia.
  case C: (children v) cd => [|u l] // /(_ u (mem_head _ _)) du.
  have un : u < n.
    by have: u \in children v; [rewrite C mem_head|rewrite mem_filter mem_iota => /andP[]].
  by have := depth_height un; rewrite du; lia.
congr (_ + sumz _)%Z; apply/eq_in_map => u /cd du; rewrite du.
by have -> : height - (depth v).+1 = q by lia.
Qed.

Lemma sumz_cat (xs ys : seq Z) : sumz (xs ++ ys) = (sumz xs + sumz ys)%Z.
Proof. by elim: xs => //= x xs IH; rewrite IH; lia. Qed.

Lemma sumz_split (T : eqType) (F : T -> Z) (a : pred T) l :
  sumz [seq F x | x <- l] = (sumz [seq F x | x <- l & a x] + sumz [seq F x | x <- l & ~~ a x])%Z.
Proof. by elim: l => //= x l IH; rewrite {}IH; case: (a x) => /=; lia. Qed.

Lemma sumz_add (T : Type) (a b : T -> Z) l :
  sumz [seq (a x + b x)%Z | x <- l] = (sumz [seq a x | x <- l] + sumz [seq b x | x <- l])%Z.
Proof. by elim: l => //= x l ->; lia. Qed.

Lemma by_parent (F : nat -> Z) (a : pred nat) us vs : uniq vs ->
  sumz [seq sumz [seq F u | u <- us & is_child u v] | v <- vs & a v] =
  sumz [seq F u | u <- us & has (fun v => is_child u v && a v) vs].
Proof.
elim: vs => [_|v vs IH] /=; first by rewrite (eq_filter (a2 := pred0)) ?filter_pred0.
move=> /andP[vl /IH {}IH]; case av: (a v) => /=; last first.
  by rewrite IH; congr sumz; congr map; apply: eq_filter => u; rewrite andbF.
rewrite IH [RHS](sumz_split F (fun u => is_child u v)) -!filter_predI.
congr (sumz _ + sumz _)%Z; congr map; apply: eq_filter => u /=; rewrite andbT; case cu: is_child => //=.
apply/hasPn => v' v'l; case cu': (is_child u v') => //=.
case/andP: cu => _ /eqP pu; case/andP: cu' => _ /eqP pu'.
by move: vl; rewrite -pu pu' v'l.
Qed.

(* The agents one level deeper, counted by their parents. *)
Lemma next_level (F : nat -> Z) q :
  sumz [seq sumz [seq F u | u <- children v] | v <- iota 0 n & depth v == q] =
  sumz [seq F u | u <- iota 0 n & depth u == q.+1].
Proof.
rewrite by_parent ?iota_uniq //; congr sumz; congr map; apply: eq_in_filter => u.
rewrite mem_iota add0n => /= un; apply/hasP/eqP => [[v vin /andP[cu /eqP dv]]|du].
  by have [_ _ ->] := child_depth un cu; rewrite dv.
have ur : u != root by apply: contra_eq_neq du => ->; rewrite depth_root.
have [pin pn dp] := parent_is un ur; exists (parent u); first by rewrite mem_iota.
by rewrite /TreeSum.is_child ur eqxx /= -eqSS -dp du.
Qed.

Lemma level_sum f q : q <= height ->
  sumz [seq subtree f v | v <- iota 0 n & depth v == height - q] =
  sumz [seq f v | v <- iota 0 n & height - q <= depth v].
Proof.
elim: q => [|q IH] qh.
  rewrite subn0; have E : {in iota 0 n, forall v, (depth v == height) = (height <= depth v)}.
    by move=> v; rewrite mem_iota add0n => /= vn; rewrite eqn_leq depth_height.
  rewrite (eq_in_filter E); congr sumz; apply/eq_in_map => v; rewrite mem_filter mem_iota add0n.
  by case/andP=> hv vn; rewrite /TreeSum.subtree; have -> : height - depth v = 0 by lia.
have -> : [seq subtree f v | v <- iota 0 n & depth v == height - q.+1] =
    [seq (f v + sumz [seq subtree f u | u <- children v])%Z | v <- iota 0 n & depth v == height - q.+1].
  by apply/eq_in_map => v; rewrite mem_filter mem_iota => /andP[_ vn]; apply: subtreeE.
rewrite sumz_add next_level; have -> : (height - q.+1).+1 = height - q by lia.
rewrite IH ?(ltnW qh) // [RHS](sumz_split f (fun v => depth v == height - q.+1)).
rewrite -!filter_predI; congr (_ + _)%Z; congr sumz; congr map; apply: eq_filter => v /=.
  by case: eqP => //= ->; rewrite leqnn.
by lia.
Qed.

(** What the root has is the sum over all agents. *)
Lemma root_sum f : subtree f root = sumz [seq f v | v <- iota 0 n].
Proof.
have := level_sum f (leqnn height); rewrite subnn.
have -> : [seq v <- iota 0 n | depth v == 0] = [:: root].
  have E : {in iota 0 n, forall v, (depth v == 0) = (v == root)}.
    move=> v; rewrite mem_iota add0n => /= vn; apply/eqP/eqP => [|->]; first exact: depth0.
    exact: depth_root.
  rewrite (eq_in_filter E); apply/perm_small_eq => //; apply: uniq_perm => //.
    by rewrite filter_uniq // iota_uniq.
  by move=> v; rewrite mem_filter inE mem_iota add0n; case: eqP => // ->.
by rewrite /= (eq_filter (a2 := predT)) ?filter_predT //; lia.
Qed.

(** ** The run *)

Notation is_sum := (is_sum n nb root d bound).
Definition below v : seq Z := mkseq (fun j => subtree (fun u => at_ (g u) j) v) d.
Definition sum_of_all : seq Z := mkseq (fun j => sumz [seq at_ (g u) j | u <- iota 0 n]) d.

Lemma below_root : below root = sum_of_all.
Proof. by apply: eq_mkseq => j; rewrite root_sum. Qed.

Lemma below_deepest v : v < n -> height - depth v = 0 -> below v = g v.
Proof.
move=> vn deep; have [szg _] := g_ok vn; apply: (@eq_from_nth _ 0%Z); rewrite size_mkseq // => j jd.
by rewrite nth_mkseq // /TreeSum.subtree deep.
Qed.

Lemma below_ok v : v < n -> is_sum v (below v).
Proof.
move=> vn; rewrite /TreeSum.is_sum size_mkseq eqxx /=; apply/allP => j; rewrite mem_iota add0n => /= jd.
apply/Z.leb_spec0; rewrite at_mkseq // /TreeSum.subtree; move: (height - depth v) => l.
elim: l v vn => [|l IH] v vn; have gj := proj2 (g_ok vn) j jd.
  have -> : sum_below (fun _ => 1%Z) 0 v = 1%Z by [].
  by rewrite Z.mul_1_l.
have -> : sum_below (fun _ => 1%Z) l.+1 v =
  (1 + sumz [seq sum_below (fun _ => 1%Z) l u | u <- children v])%Z by [].
have -> : sum_below (fun u => at_ (g u) j) l.+1 v =
  (at_ (g v) j + sumz [seq sum_below (fun u => at_ (g u) j) l u | u <- children v])%Z by [].
have : all (fun u => u < n) (children v).
  by apply/allP => u; rewrite mem_filter mem_iota => /andP[].
suff small : all (fun u => u < n) (children v) ->
    (Z.abs (sumz [seq sum_below (fun u => at_ (g u) j) l u | u <- children v]) <=
     sumz [seq sum_below (fun _ => 1%Z) l u | u <- children v] * bound j)%Z.
  by move=> /small; lia.
elim: (children v) => [_|u us IHu /= /andP[un /IHu {}IHu]]; first by [].
by have := IH u un; rewrite Z.mul_add_distr_r; lia.
Qed.

Lemma add_all x xs : size x = d ->
  foldl (add_vectors d) x xs = mkseq (fun j => (at_ x j + sumz [seq at_ y j | y <- xs])%Z) d.
Proof.
elim: xs x => [|y xs IH] x sx /=.
  apply: (@eq_from_nth _ 0%Z); rewrite ?size_mkseq ?sx // => j jd.
  by rewrite nth_mkseq // Z.add_0_r.
rewrite IH ?size_mkseq //; apply: (@eq_from_nth _ 0%Z); rewrite !size_mkseq // => j jd.
by rewrite !nth_mkseq // /add_vectors at_mkseq //; lia.
Qed.

Lemma hear_all r v (W : nat -> addressed) l s0 :
  me s0 = v ->
  (forall u, u \in l -> u < n /\ W u v =
     if is_child u v && (r == up u) then Some (below u)
     else if is_child v u && (r == down v) then Some (below root) else None) ->
  foldl (sum_hear n nb root d bound r) s0 [seq (u, W u) | u <- l] =
  SumState v (foldl (add_vectors d) (part s0) [seq below u | u <- l & is_child u v && (r == up u)])
    (catrev [seq u <- l | is_child u v && (r == up u)] (from s0))
    (if has (fun u => ~~ (is_child u v && (r == up u)) && (is_child v u && (r == down v))) l
     then Some (below root) else total s0) (amiss s0).
Proof.
elim: l s0 => [|u l IH] s0 mv ok /=; first by case: s0 mv => /= ? ? ? ? ? ->.
have [un Wu] := ok u (mem_head _ _).
have {}IH s1 me1 := IH s1 me1 (fun x (xl : x \in l) => ok x (mem_behead (xl : x \in behead (u :: l)))).
rewrite mv Wu; case C: (is_child u v && (r == up u)) => /=.
  by case/andP: C => -> ->; rewrite below_ok // IH.
have nC x : [&& is_child u v, r == up u & x] = false by rewrite andbA C.
case Q: (is_child v u && (r == down v)) => /=; last by rewrite IH.
by case/andP: Q => -> ->; rewrite nC below_ok // IH //=; case: has.
Qed.

Lemma child_of_child u v : u < n -> v < n -> is_child u v -> is_child v u = false.
Proof.
move=> un vn cu; apply/negP => cv.
by have [_ _ du] := child_depth un cu; have [_ _ dv] := child_depth vn cv; lia.
Qed.

Definition fine r v := [/\ me (st r v) = v, amiss (st r v) = false,
  part (st r v) = (if r < height - depth v then g v else below v),
  height - depth v <= r -> {subset children v <= from (st r v)} &
  total (st r v) = (if height + depth v <= r then Some sum_of_all else None)].

Lemma sumS r v : v < n -> st r.+1 v = sum_receive n nb root d rounds bound r.+1 (st r v)
  [seq (u, on_edge nowhere H (sum_send n nb root) adv r.+1
             (tree_sum n nb root d rounds bound H g adv r) u v) | u <- nb v].
Proof. by move=> vn; rewrite /sum_state_of /tree_sum /= nth_mkseq. Qed.

Lemma stays_fine r : r <= rounds -> forall v, v < n -> fine r v.
Proof.
elim: r => [|r IH] rR v vn.
  rewrite /fine /sum_state_of /tree_sum /= nth_mkseq //=; split=> //.
  - by case: ltnP => // le; rewrite below_deepest //; lia.
  - move=> le u; rewrite mem_filter mem_iota add0n => /andP[cu un].
    by have [_ _ du] := child_depth un cu; have := depth_height un; lia.
  - by case: leqP => //; lia.
have {}IH u : u < n -> fine r u by move=> un; apply: IH => //; apply: ltnW.
have [mv av pv fv tv] := IH v vn; have dv := depth_height vn.
rewrite /fine sumS // /sum_receive (hear_all mv) => [|u uv]; last first.
  have un := proj1 Gok v u vn uv; have [mu _ pu _ tu] := IH u un; split=> //.
  rewrite /on_edge everybody // -/(sum_state_of _ _ _ _ _ _ _ _ _ _ _) /sum_send mu pu tu.
  have du := depth_height un.
  case: andP => [[cu /eqP ru]|_]; first by case: ltnP => //; rewrite /TreeSum.up in ru; lia.
  case: andP => // -[cv /eqP rv]; have [_ _ dvu] := child_depth vn cv.
  by rewrite below_root; case: leqP => //; rewrite /TreeSum.down in rv; lia.
have kids (turn : r.+1 = height - depth v) :
    perm_eq [seq u <- nb v | is_child u v && (r.+1 == up u)] (children v).
  apply: uniq_perm; rewrite ?filter_uniq ?simple ?iota_uniq // => u; rewrite !mem_filter mem_iota add0n.
  apply/andP/andP => [[/andP[cu _] uv]|[cu un]]; first by split=> //; apply: (proj1 Gok) uv.
  have [uv _ du] := child_depth un cu; split=> //; rewrite cu /= /TreeSum.up.
  by apply/eqP; have := depth_height un; lia.
have nobody_speaks : r.+1 <> height - depth v -> [seq u <- nb v | is_child u v && (r.+1 == up u)] = [::].
  move=> no; apply/eqP; rewrite -(negbK (_ == _)) -has_filter; apply/hasPn => u uv.
  apply/negP => /andP[cu /eqP ru]; have un := proj1 Gok v u vn uv.
  have [_ _ du] := child_depth un cu; apply: no.
  by have := depth_height un; rewrite /TreeSum.up in ru; lia.
have part_ : foldl (add_vectors d) (part (st r v))
    [seq below u | u <- nb v & is_child u v && (r.+1 == up u)] =
    if r.+1 < height - depth v then g v else below v.
  have [turn|no] := eqVneq r.+1 (height - depth v); last first.
    rewrite nobody_speaks; last exact/eqP.
    by rewrite /= pv; case: ltnP => a; case: ltnP => b //; move/eqP: no; lia.
  rewrite -turn ltnn pv; have -> : r < height - depth v by lia.
  rewrite add_all; last by case: (g_ok vn).
  apply: (@eq_from_nth _ 0%Z); rewrite ?size_mkseq // => j jd.
  rewrite !nth_mkseq // subtreeE //; congr (_ + _)%Z.
  rewrite !sumz_big !big_map (perm_big _ (kids turn)) /=.
  by apply: eq_bigr => u _; rewrite at_mkseq.
have total_ : (if has (fun u => ~~ (is_child u v && (r.+1 == up u)) && (is_child v u && (r.+1 == down v))) (nb v)
     then Some (below root) else total (st r v)) =
   (if (v != root) && (height + depth v <= r.+1) || (height + depth v <= r) then Some sum_of_all else None).
  case: hasP => [[u uv /and3P[_ cv /eqP rv]]|no].
    by rewrite below_root; case/andP: (cv) => -> _; rewrite rv /TreeSum.down leqnn.
  rewrite tv; case: (leqP _ r) => [|lt]; rewrite ?orbT // orbF; case: ifP => // /andP[vr le].
  have [pin pn dp] := parent_is vn vr; case: no; exists (parent v) => //.
  have cv : is_child v (parent v) by rewrite /TreeSum.is_child vr eqxx.
  by rewrite child_of_child // cv /=; apply/eqP; rewrite /TreeSum.down; lia.
rewrite part_ total_ /sum_end /= av orFb.
have d0 : v = root -> depth v = 0 by move=> ->; apply: depth_root.
have whole_ : (if (v == root) && (r.+1 == height)
      then Some (if r.+1 < height - depth v then g v else below v)
      else if (v != root) && (height + depth v <= r.+1) || (height + depth v <= r)
           then Some sum_of_all else None) =
    (if height + depth v <= r.+1 then Some sum_of_all else None).
  have [vr|vr] /= := eqVneq v root; last first.
    by case: (leqP (height + depth v) r) => [le|_]; rewrite ?orbT ?orbF // leqW.
  rewrite d0 // subn0 addn0 vr below_root; case: eqP => [->|no]; first by rewrite ltnn leqnn.
  case: (leqP _ r) => a; case: (leqP _ r.+1) => b //; lia.
have from_ : height - depth v <= r.+1 ->
    {subset children v <= catrev [seq u <- nb v | is_child u v && (r.+1 == up u)] (from (st r v))}.
  move=> le u uc; rewrite catrevE mem_cat mem_rev.
  have [turn|no] := eqVneq r.+1 (height - depth v); first by rewrite (perm_mem (kids turn)) uc.
  by rewrite fv ?orbT //; move/eqP: no; lia.
rewrite whole_; split=> //.
case: eqP => // rR'; rewrite andTb; apply/negbTE; rewrite negbK.
have -> : height + depth v <= r.+1 by move: rounds_enough; rewrite -rR' -addnn; lia.
rewrite andbT; apply/allP => u uc; apply: (from_ _ u uc).
by move: rounds_enough; rewrite -rR' -addnn; lia.
Qed.

(** If nobody is Byzantine, everybody has the sum of all in the end, and nobody found anything wrong. *)
(* Proves: LE-8, LE-16 *)
Theorem tree_sum_right v : v < n ->
  amiss (st rounds v) = false /\ total (st rounds v) = Some sum_of_all.
Proof.
move=> vn; have [_ a _ _ t] := stays_fine (leqnn rounds) vn; split=> //; rewrite t.
have -> // : height + depth v <= rounds.
by have := depth_height vn; move: rounds_enough; rewrite -addnn; lia.
Qed.

End AllHonest.
