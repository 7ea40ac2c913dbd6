(** LocalValidate: an equivocation or a broken relation escapes only (dT-1)^|H| tuples of keys. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From ValidRef Require Import Graph Arith HashProof LatticeProof.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Delimit Scope Z_scope with Z.

Lemma eqzP xs ys : reflect (xs = ys) (eqz xs ys).
Proof.
elim: xs ys => [|x xs IH] [|y ys]; try by constructor.
rewrite [eqz _ _]/= -/(eqz xs ys); apply: (iffP andP) => [[/Z.eqb_spec -> h]|[-> E]].
  by case: (IH ys) h => // ->.
by split; [apply: Z.eqb_refl|case: (IH ys)].
Qed.

Lemma pmap_there (A : Type) (f : A -> option (seq Z)) l : all (fun x => isSome (f x)) l ->
  pmap f l = [seq odflt [::] (f x) | x <- l].
Proof. by elim: l => //= x l IH /andP[fx /IH ->]; case: (f x) fx. Qed.

Lemma all_there (f : nat -> option (seq Z)) l : (forall x, x \in l -> isSome (f x)) ->
  all (fun x => isSome (f x)) l.
Proof. by move=> there; apply/allP. Qed.

(** * Reports and the part of them under one key *)

Lemma under_report p d x0 steps keys tr w : w < size keys ->
  under w (report p d x0 steps keys tr) = four_hashes p (at_ keys w) d x0 steps tr.
Proof.
rewrite /under /report; elim: keys w => [//|s keys IH] w wk.
rewrite -[flatten _]/(four_hashes p s d x0 steps tr ++
  flatten [seq four_hashes p s' d x0 steps tr | s' <- keys]).
case: w wk => [|w] wk; first by rewrite muln0 drop0 take_size_cat.
by rewrite mulnS addnC -drop_drop drop_size_cat // IH.
Qed.

(** * What the checks say when they do not fail *)
Section Checks.

Variables (P : Z) (k n : nat) (nb : nat -> seq nat).
Variable R : nat -> nat -> option (seq Z).
Hypothesis there : forall v u, v < n -> u \in nb v -> isSome (R u v).

Notation said w u v := (under w (odflt [::] (R u v))).

Lemma reported_said w v u : v < n -> u \in nb v -> reported R w u v = Some (said w u v).
Proof. by move=> vn uv; rewrite /reported; case: (R u v) (there vn uv). Qed.

Lemma seen_all w v : v < n ->
  pmap (fun u => reported R w u v) (nb v) = [seq said w u v | u <- nb v].
Proof.
move=> vn; rewrite pmap_there; last by apply: all_there => u uv; rewrite reported_said.
by apply/eq_in_map => u uv; rewrite reported_said.
Qed.

Lemma consistent w v : v < n -> inconsistent nb R w v = false ->
  forall u u', u \in nb v -> u' \in nb v -> said w u v = said w u' v.
Proof.
move=> vn; rewrite /inconsistent seen_all //; case: (nb v) => //= u0 l /negbFE/allP all_eq.
have eq0 u : u \in u0 :: l -> said w u0 v = said w u v.
  rewrite inE => /orP[/eqP ->//|ul]; apply/eqzP; apply: all_eq.
  exact: (map_f (fun u => said w u v)).
by move=> u u' /eq0 <- /eq0 <-.
Qed.

Lemma agreed_said w v u : v < n -> inconsistent nb R w v = false -> u \in nb v ->
  agreed nb R w v = Some (said w u v).
Proof.
move=> vn inc uv; have C := consistent vn inc; rewrite /agreed seen_all //.
case: (nb v) uv C => //= u0 l uv C; congr Some.
by apply: C; rewrite // mem_head.
Qed.

Lemma self_said w v own : v < n -> self_mismatch nb R w v own = false ->
  forall u, u \in nb v -> said w u v = under w own.
Proof.
move=> vn /negbT/hasPn ok u uv; have := ok u uv; rewrite reported_said // negbK.
by move/eqzP.
Qed.

End Checks.

(** * Transcripts, reports, misbehaviour *)
Section Local.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).

Variables (d k T : nat) (x0 steps : seq Z).
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.

Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Hypothesis Gok : graph_ok n nb.
Hypothesis nobody_alone : forall v, v < n -> nb v != [::].
Hypothesis dominated : assumption_1_plus n nb H.

(* Clause: LM-3. tr v u: what u received from v; own v: what v says it sent. *)
Variables (tr : nat -> nat -> transcript) (own : nat -> transcript).
(* Clause: MO-4. Honest agents tell everybody what stands in their record. *)
Hypothesis honest_sent : forall v u, v < n -> H v -> v \in nb u -> tr v u = own v.
Hypothesis tr_shaped : forall v u, v < n -> u \in nb v -> H u -> shaped d T (tr v u).
Hypothesis own_shaped : forall v, v < n -> H v -> shaped d T (own v).

(* Clause: AR-10, AR-11. Kept vectors are in range. *)
Variables (xmax gmax amax : Z).
Definition in_range (t : transcript) : bool :=
  all (fun m => all (inside xmax) m.1 && all (inside gmax) m.2) t.
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis tr_range : forall v u, v < n -> u \in nb v -> H u -> in_range (tr v u).
Hypothesis own_range : forall v, v < n -> H v -> in_range (own v).
Variable deg : nat.
Hypothesis deg_ok : forall v, v < n -> size (nb v) <= deg.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.

Notation is_agent := (is_agent n H).
Notation len := (d * T).-1.

(* Clause: L2. Two honest neighbours received different transcripts. *)
Definition equivocated (v : nat) : Prop :=
  exists u u', [/\ is_agent u, is_agent u', u \in nb v, u' \in nb v & tr v u <> tr v u'].

(* Clause: L2. The common transcript: one's own record, or what one's honest neighbours received. *)
Definition common (v : nat) : transcript :=
  if H v then own v else tr v (head 0 [seq u <- nb v | H u]).

(* Clause: L2. AR-6 fails for some round. *)
Definition broke_relation (v : nat) : Prop :=
  flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v]) <> nseq (d * T) 0%Z.

Definition misbehaved (v : nat) : Prop :=
  equivocated v \/ (~ (exists u, u < n /\ equivocated u) /\ broke_relation v).

Lemma head_honest v : v < n -> ~~ H v ->
  let u := head 0 [seq u <- nb v | H u] in u \in nb v /\ H u.
Proof.
move=> vn nH; have [u uv Hu] := proj2 dominated v vn nH.
have: u \in [seq u <- nb v | H u] by rewrite mem_filter Hu.
case E: [seq u <- nb v | H u] => [//|w l] _ /=.
have: w \in [seq u <- nb v | H u] by rewrite E mem_head.
by rewrite mem_filter => /andP[].
Qed.

Lemma common_shaped v : v < n -> shaped d T (common v).
Proof.
move=> vn; rewrite /common; case: ifP => Hv; first exact: own_shaped.
by have [] := head_honest vn (negbT Hv) => uv Hu; apply: tr_shaped.
Qed.

Lemma common_range v : v < n -> in_range (common v).
Proof.
move=> vn; rewrite /common; case: ifP => Hv; first exact: own_range.
by have [] := head_honest vn (negbT Hv) => uv Hu; apply: tr_range.
Qed.

Lemma common_heard v u : v < n -> is_agent u -> u \in nb v -> ~ equivocated v ->
  tr v u = common v.
Proof.
move=> vn uA uv noeq; rewrite /common; case: ifP => Hv.
  by apply: honest_sent => //; apply: (proj2 Gok) => //; case/andP: uA.
have [hv Hh] := head_honest vn (negbT Hv); set h := head _ _ in hv Hh *.
have hA : is_agent h by rewrite /Graph.is_agent Hh andbT; apply: (proj1 Gok) hv.
have dec : forall a b : transcript, a = b \/ a <> b.
  by move=> a b; case: (a =P b); [left|right].
by case: (dec (tr v u) (tr v h)) => // ne; case: noeq; exists u, h.
Qed.

(** ** Vectors that a fooled key must be a root of *)

Definition minus (xs ys : seq Z) : seq Z := [seq (1 * xy.1 + -1 * xy.2)%Z | xy <- zip xs ys].

Lemma hash_minus s xs ys : size xs = size ys -> hash P s xs = hash P s ys ->
  hash P s (minus xs ys) = 0%Z.
Proof.
move=> sz E; rewrite hash_linear // E.
have -> : (1 * hash P s ys + -1 * hash P s ys = 0)%Z by lia.
by rewrite Z.mod_0_l //; have := prime_gt0 p_pr; lia.
Qed.

Lemma minus_nonzero xs ys : size xs = size ys ->
  (forall x y, (x, y) \in zip xs ys -> (x - y) mod P = 0 -> x = y)%Z ->
  xs <> ys -> nonzero_mod p (minus xs ys).
Proof.
elim: xs ys => [|x xs IH] [|y ys] //= [sz] ok ne; rewrite /nonzero_mod /=.
have [E|/eqP nE] := altP (x =P y); last first.
  apply/orP; left; apply/negP => /Z.eqb_spec h; case: nE; apply: ok; first by rewrite mem_head.
  by have -> : (x - y)%Z = (1 * x + -1 * y)%Z by lia.
apply/orP; right; apply: IH => // [a b ab|F]; last by apply: ne; rewrite E F.
by apply: ok; rewrite inE ab orbT.
Qed.

Lemma size_flat (B : seq (seq Z)) : all (fun b => size b == d) B -> size (flatten B) = size B * d.
Proof. by elim: B => //= b B IH /andP[/eqP bd /IH]; rewrite size_cat bd mulSn => ->. Qed.

Lemma out_size t : shaped d T t -> size (x_out t) = d * T.
Proof.
move=> sh; have := models_all x0_ok sh => /andP[_ al].
by rewrite /x_out size_flat // size_map mulnC; case/andP: sh => /eqP ->.
Qed.

Lemma gamma_size t : shaped d T t -> size (flatten (gammas t)) = d * T.
Proof.
move=> sh; rewrite size_flat; last exact: gammas_all sh.
by rewrite size_map mulnC; case/andP: sh => /eqP ->.
Qed.

Lemma flatten_inj (B C : seq (seq Z)) : size B = size C ->
  all (fun b => size b == d) B -> all (fun b => size b == d) C -> flatten B = flatten C -> B = C.
Proof.
elim: B C => [|b B IH] [|c C] //= [sz] /andP[/eqP bd Bd] /andP[/eqP cd Cd] E.
have := congr1 (take d) E; rewrite !take_size_cat // => ->.
have := congr1 (drop d) E; rewrite !drop_size_cat // => E'.
by rewrite (IH C).
Qed.

Lemma transcript_eq t t' : shaped d T t -> shaped d T t' ->
  x_out t = x_out t' -> flatten (gammas t) = flatten (gammas t') -> t = t'.
Proof.
move=> sh sh' Ex Eg.
have s1 : size t = T by case/andP: sh => /eqP.
have s2 : size t' = T by case/andP: sh' => /eqP.
have [_ a1] := andP (models_all x0_ok sh); have [_ a2] := andP (models_all x0_ok sh').
have E1 : [seq m.1 | m <- t] = [seq m.1 | m <- t'].
  by apply: flatten_inj Ex => //; rewrite !size_map s1.
have E2 : gammas t = gammas t'.
  by apply: flatten_inj Eg; rewrite ?size_map ?s1 ?(gammas_all sh) ?(gammas_all sh').
rewrite -[t]zip_unzip -[t']zip_unzip /unzip1 /unzip2 E1.
by congr zip; apply: E2.
Qed.

Lemma in_out t x : in_range t -> x \in x_out t -> (Z.abs x < xmax)%Z.
Proof.
move=> /allP rt /flattenP[b /mapP[m mt ->] xb]; have /andP[/allP h _] := rt m mt.
by have := h x xb => /Z.ltb_spec0.
Qed.

Lemma in_gammas t x : in_range t -> x \in flatten (gammas t) -> (Z.abs x < gmax)%Z.
Proof.
move=> /allP rt /flattenP[b /mapP[m mt ->] xb]; have /andP[_ /allP h] := rt m mt.
by have := h x xb => /Z.ltb_spec0.
Qed.

Lemma zip_mem (xs ys : seq Z) x y : (x, y) \in zip xs ys -> x \in xs /\ y \in ys.
Proof.
elim: xs ys => [|a xs IH] [|b ys] //=; rewrite !inE => /orP[/eqP[-> ->]|/IH[-> ->]].
  by rewrite !eqxx.
by rewrite !orbT.
Qed.

(* Two different transcripts in range: a nonzero vector that every fooled key must miss. *)
Lemma different_transcripts t t' : shaped d T t -> shaped d T t' -> in_range t -> in_range t' ->
  t <> t' -> exists D, [/\ size D = d * T, nonzero_mod p D &
    forall s, four_hashes P s d x0 steps t = four_hashes P s d x0 steps t' -> hash P s D = 0%Z].
Proof.
move=> sh sh' rt rt' ne; have [x_pos [g_pos a_pos]] := limits_pos.
have szx : size (x_out t) = size (x_out t') by rewrite !out_size.
have szg : size (flatten (gammas t)) = size (flatten (gammas t')) by rewrite !gamma_size.
have [Ex|/eqP nx] := altP (x_out t =P x_out t').
  have ng : flatten (gammas t) <> flatten (gammas t').
    by move=> Eg; apply: ne; apply: transcript_eq.
  exists (minus (flatten (gammas t)) (flatten (gammas t'))); split.
  - by rewrite size_map size1_zip ?szg // gamma_size.
  - apply: minus_nonzero ng => // x y /zip_mem[xin yin] E.
    by apply: (range_gammas_mod gammas_rule g_pos (in_gammas rt xin) (in_gammas rt' yin) E).
  - by move=> s; rewrite !(four_hashes_correct p_pr x0_ok steps_ok) // => -[_ _ _ E]; apply: hash_minus.
exists (minus (x_out t) (x_out t')); split.
- by rewrite size_map size1_zip ?szx // out_size.
- apply: minus_nonzero nx => // x y /zip_mem[xin yin] E.
  exact: (range_models_mod range_rule x_pos g_pos a_pos (Z.le_refl P) (in_out rt xin)
            (in_out rt' yin) E).
- by move=> s; rewrite !(four_hashes_correct p_pr x0_ok steps_ok) // => -[E _ _ _]; apply: hash_minus.
Qed.

(* A broken relation: its residual is nonzero modulo p. *)
Lemma range_nth t i j : in_range t -> (Z.abs (at_ (nth [::] (models x0 t) i) j) < xmax)%Z /\
  (Z.abs (at_ (nth [::] (gammas t) i) j) < gmax)%Z.
Proof.
move=> /allP rt; have [x_pos [g_pos _]] := limits_pos.
have small (B : seq (seq Z)) (c : Z) : (0 < c)%Z ->
    (forall b, b \in B -> all (inside c) b) -> (Z.abs (at_ (nth [::] B i) j) < c)%Z.
  move=> c0 ok; case: (ltnP i (size B)) => iB; last by rewrite nth_default // /at_ nth_nil.
  case: (ltnP j (size (nth [::] B i))) => jb; last by rewrite /at_ nth_default.
  by have /allP := ok _ (mem_nth [::] iB) => /(_ _ (mem_nth 0%Z jb))/Z.ltb_spec0.
split; apply: small => // b.
  rewrite inE => /orP[/eqP ->|/mapP[m mt ->]]; first exact: x0_range.
  by case/andP: (rt m mt).
by move=> /mapP[m mt ->]; case/andP: (rt m mt).
Qed.

Lemma broken_nonzero v : v < n -> broke_relation v ->
  nonzero_mod p (flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v])).
Proof.
move=> vn brk; set res := residuals _ _ _ _ _ _ in brk *.
have [sz al] := residuals_shape k x0 steps [seq common u | u <- nb v] (common_shaped vn).
have szr : size (flatten res) = d * T by rewrite size_flat // sz mulnC.
apply/negPn/negP => /hasPn zero; apply: brk.
apply: (@eq_from_nth _ 0%Z); first by rewrite szr size_nseq.
move=> i; rewrite szr => iT; rewrite nth_nseq iT.
have: nth 0%Z (flatten res) i \in flatten res by rewrite mem_nth // szr.
move=> xin; have := zero _ xin; rewrite negbK => /Z.eqb_spec.
case/flattenP: xin => b /(nthP [::])[t]; rewrite sz => tT <- /(nthP 0%Z)[j].
rewrite nth_mkseq; last by case/andP: (common_shaped vn) => /eqP ->.
rewrite size_mkseq => jd <-; rewrite nth_mkseq // at_mkseq // -!map_comp => E0.
have gen := @range_residual_mod k deg amax xmax gmax P range_rule (at_ steps t)
  (at_ (nth [::] (models x0 (common v)) t) j) (at_ (nth [::] (models x0 (common v)) t.+1) j)
  (at_ (nth [::] (gammas (common v)) t) j)
  [seq at_ (nth [::] (models x0 (common u)) t) j | u <- nb v].
rewrite size_map -map_comp in gen.
refine (gen _ (deg_ok vn) _ _ _ _ P (Z.le_refl P) E0).
- have: at_ steps t \in steps by rewrite mem_nth // steps_ok.
  by move/(allP steps_range) => /andP[/Z.leb_spec0 ? /Z.leb_spec0 ?].
- by case: (range_nth t j (common_range vn)).
- by case: (range_nth t.+1 j (common_range vn)).
- by case: (range_nth t j (common_range vn)).
- move=> x /mapP[u uv ->]; have un := proj1 Gok v u vn uv.
  by case: (range_nth t j (common_range un)).
Qed.

(** ** One key *)

Section OneKey.

(* What all honest agents hold after the broadcasts, when none of them has an alarm: keys, of
   which honest ones are true, and reports, of which those of honest reporters are true. *)
Variables (keys : seq Z) (R : nat -> nat -> option (seq Z)) (all_keys : bool).
Hypothesis keys_size : size keys = n.
Hypothesis R_there : forall v u, v < n -> u \in nb v -> isSome (R u v).
Hypothesis R_true : forall v u, v < n -> u \in nb v -> H u ->
  R u v = Some (report P d x0 steps keys (tr v u)).

Variable w : nat.
Hypothesis wA : is_agent w.
(* Agent w checks, under its own key at least, and does not alarm. *)
Hypothesis quiet :
  local_alarm P k nb R all_keys n w (report P d x0 steps keys (own w)) = false.

Let wn : w < n. Proof. by case/andP: wA. Qed.

Lemma own_check : check_fails P k nb R n w w (report P d x0 steps keys (own w)) = false.
Proof.
move: quiet; rewrite /local_alarm; case: all_keys; last by rewrite /= orbF.
by move/negbT/hasPn/(_ w); rewrite mem_iota wn => /(_ isT)/negbTE.
Qed.

Lemma no_inconsistency v : v < n -> inconsistent nb R w v = false.
Proof.
move=> vn; have := own_check; rewrite /check_fails => /norP[/hasPn/(_ v)].
by rewrite mem_iota vn => /(_ isT)/norP[/negbTE].
Qed.

Lemma no_broken v : v < n -> broken P k nb R w v = false.
Proof.
move=> vn; have := own_check; rewrite /check_fails => /norP[/hasPn/(_ v)].
by rewrite mem_iota vn => /(_ isT)/norP[_ /negbTE].
Qed.

Lemma no_self : self_mismatch nb R w w (report P d x0 steps keys (own w)) = false.
Proof. by have := own_check; rewrite /check_fails => /norP[_ /negbTE]. Qed.

Lemma true_said v u : v < n -> u \in nb v -> H u ->
  under w (odflt [::] (R u v)) = four_hashes P (at_ keys w) d x0 steps (tr v u).
Proof. by move=> vn uv Hu; rewrite R_true //= under_report // keys_size. Qed.

(* Equivocation passes only if the key cannot tell the two transcripts apart. *)
Lemma equivocation_passes v u u' : v < n -> H u -> H u' -> u \in nb v -> u' \in nb v ->
  four_hashes P (at_ keys w) d x0 steps (tr v u) = four_hashes P (at_ keys w) d x0 steps (tr v u').
Proof.
move=> vn Hu Hu' uv uv'; rewrite -!true_said //.
exact: (consistent R_there vn (no_inconsistency vn)).
Qed.

(* Without equivocation everybody has a truthful witness, if need be oneself. *)
Lemma agreed_common v : v < n -> ~ (exists u, u < n /\ equivocated u) ->
  agreed nb R w v = Some (four_hashes P (at_ keys w) d x0 steps (common v)).
Proof.
move=> vn noeq; have noeq_v : ~ equivocated v by move=> e; apply: noeq; exists v.
case E: (has H (nb v)).
  case/hasP: E => u uv Hu; have uA : is_agent u.
    by rewrite /Graph.is_agent Hu andbT; apply: (proj1 Gok) uv.
  rewrite (agreed_said R_there vn (no_inconsistency vn) uv) true_said //.
  by rewrite (common_heard vn uA uv noeq_v).
have nou : forall u, u \in nb v -> ~~ H u by move/negbT/hasPn: E.
have Hv : H v.
  apply/negPn/negP => nH; have [u uv Hu] := proj2 dominated v vn nH.
  by move: (nou u uv); rewrite Hu.
have vw : v = w.
  have vA : is_agent v by rewrite /Graph.is_agent vn.
  have [p' pth lst] := proj2 (proj1 dominated) v w vA wA.
  case: p' pth lst => [|u q] //= /andP[/andP[uv Hu] _] _.
  by move: (nou u uv); rewrite Hu.
have /hasP[u uv _] : has predT (nb v) by rewrite has_predT lt0n size_eq0 nobody_alone.
rewrite (agreed_said R_there vn (no_inconsistency vn) uv).
have := self_said R_there (v := v) (w := w) (own := report P d x0 steps keys (own w)).
rewrite {1}vw => /(_ wn); rewrite vw => /(_ no_self u); rewrite -vw => /(_ uv) ->.
by rewrite under_report ?keys_size // /common Hv vw.
Qed.

Lemma relation_passes v : v < n -> ~ (exists u, u < n /\ equivocated u) ->
  hash P (at_ keys w) (flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v]))
  = 0%Z.
Proof.
move=> vn noeq; have := no_broken vn; rewrite /broken agreed_common //.
have ag u : u \in nb v ->
    agreed nb R w u = Some (four_hashes P (at_ keys w) d x0 steps (common u)).
  by move=> uv; apply: agreed_common => //; apply: (proj1 Gok) uv.
have -> : all (fun u => isSome (agreed nb R w u)) (nb v) by apply/allP => u /ag ->.
have -> : pmap (agreed nb R w) (nb v) =
   [seq four_hashes P (at_ keys w) d x0 steps u | u <- [seq common u | u <- nb v]].
  rewrite pmap_there; last by apply/allP => u /ag ->.
  by rewrite -map_comp; apply/eq_in_map => u /ag ->.
rewrite (hash_of_residual p_pr k x0_ok steps_ok); last 2 first.
- exact: common_shaped.
- by apply/allP => t /mapP[u uv ->]; apply: common_shaped; apply: (proj1 Gok) uv.
by move/negbFE/Z.eqb_spec.
Qed.

End OneKey.

(* For every misbehaviour one nonzero vector, fixed by the transcripts alone, of which every
   honest key that lets it pass is a root. *)
Lemma misbehaviour_vector v : v < n -> misbehaved v ->
  exists D, [/\ size D = d * T, nonzero_mod p D &
    forall keys R all_keys w, size keys = n ->
      (forall v u, v < n -> u \in nb v -> isSome (R u v)) ->
      (forall v u, v < n -> u \in nb v -> H u ->
         R u v = Some (report P d x0 steps keys (tr v u))) ->
      is_agent w ->
      local_alarm P k nb R all_keys n w (report P d x0 steps keys (own w)) = false ->
      hash P (at_ keys w) D = 0%Z].
Proof.
move=> vn [[u [u' [uA uA' uv uv' ne]]]|[noeq brk]].
  have [un Hu] := andP uA; have [un' Hu'] := andP uA'.
  have [D [szD nzD DE]] := different_transcripts (tr_shaped vn uv Hu) (tr_shaped vn uv' Hu')
    (tr_range vn uv Hu) (tr_range vn uv' Hu') ne.
  exists D; split=> // keys R all_keys w ks there true_ wA quiet; apply: DE.
  exact: (equivocation_passes ks there true_ wA quiet).
exists (flatten (residuals d k x0 steps (common v) [seq common u | u <- nb v])); split.
- have [sz al] := residuals_shape k x0 steps [seq common u | u <- nb v] (common_shaped vn).
  by rewrite size_flat // sz mulnC.
- exact: broken_nonzero.
- move=> keys R all_keys w ks there true_ wA quiet.
  exact: (relation_passes ks there true_ wA quiet).
Qed.

(** ** All keys *)

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.

Lemma card_honest : #|{: honest}| = honest_count n H.
Proof.
rewrite card_sig cardE size_filter /honest_count -val_enum_ord count_map enumT.
by rewrite -size_filter; congr size; apply: eq_filter.
Qed.

Lemma honest_agent (w : honest) : is_agent (val (val w)).
Proof. by case: w => w Hw; rewrite /Graph.is_agent /= ltn_ord. Qed.

(** If an agent equivocated or broke its relation, at most (dT-1)^|H| of the p^|H| tuples of honest
    keys leave all honest agents without an alarm, although Byzantine keys, Byzantine reports and
    everything relayed are any functions of all honest keys. *)
(* Proves: L2, L3 *)
Theorem L2_L3 (v : nat) (keys : key_tuple -> seq Z)
    (R : key_tuple -> nat -> nat -> option (seq Z)) (all_keys : bool) :
  v < n -> misbehaved v ->
  (forall ks, size (keys ks) = n) ->
  (forall ks (w : honest), at_ (keys ks) (val (val w)) = key (ks w)) ->
  (forall ks v u, v < n -> u \in nb v -> isSome (R ks u v)) ->
  (forall ks v u, v < n -> u \in nb v -> H u ->
     R ks u v = Some (report P d x0 steps (keys ks) (tr v u))) ->
  #|[set ks : key_tuple | [forall w : honest, ~~ local_alarm P k nb (R ks) all_keys n (val (val w))
       (report P d x0 steps (keys ks) (own (val (val w))))]]| <= len ^ honest_count n H.
Proof.
move=> vn bad ks_size ks_true there true_.
have [D [szD nzD DE]] := misbehaviour_vector vn bad.
rewrite -card_honest.
have := @few_tuples p _ (fun _ : honest => colliding p D) len.
move=> /(_ _); have le : forall i : honest, #|colliding p D| <= len.
  by move=> _; rewrite -szD; apply: few_collisions.
move=> /(_ le); apply: leq_trans; apply/subset_leq_card/subsetP => ks; rewrite !inE.
move=> /forallP quiet; apply/forallP => w; rewrite inE; apply/eqP; rewrite -ks_true.
apply: (DE (keys ks) (R ks) all_keys) => //.
- exact: there.
- exact: true_.
- exact: honest_agent.
- exact/negbTE/quiet.
Qed.

End Local.
