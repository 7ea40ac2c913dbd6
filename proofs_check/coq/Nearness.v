(** How near the estimates of honest agents are to true gradients, in the runs of the machine; and the
    guarantee with what nu is made of. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra zify ssrZ.
From mathcomp Require Import ring.
From ValidRef Require Import Inner Admissible.
From ValidRef Require Import Graph Network Broadcast Agreement Arith HashProof LatticeProof.
From ValidRef Require Import LocalProof Protocol EndToEnd Whole Learn Estimates Valid.
From ValidRef Require Import LearnProof ValidProof Guarantee HonestRun Certified.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory Order.POrderTheory Order.TotalTheory.
Delimit Scope Z_scope with Z.
Local Open Scope ring_scope.

Lemma step_gamma d k A xmax gmax Y G m j : size Y = d -> size G = d -> (j < d)%N ->
  step k A xmax gmax Y G = Some m ->
  at_ m.2 j = (at_ Y j - pow2 k * half_even k (at_ Y j - A * at_ G j))%Z.
Proof.
move=> sY sG jd; rewrite /step; case: ifP => // _; case: ifP => // _; case: ifP => // _ [<-] /=.
rewrite /at_ (nth_map (0%Z, 0%Z)) ?size_zip ?size_map ?size_zip ?sY ?sG ?minnn //.
rewrite nth_zip ?size_map ?size_zip ?sY ?sG ?minnn //=.
by rewrite (nth_map (0%Z, 0%Z)) ?size_zip ?sY ?sG ?minnn // nth_zip ?sY ?sG.
Qed.

Lemma real_pos (R : rcfType) x : (0 < x)%Z -> 0 < real R x.
Proof. by move=> x_pos; rewrite /real ltr0z; lia. Qed.

Lemma real_norm (R : rcfType) x : `|real R x| = real R (Z.abs x).
Proof. by rewrite /real -intr_norm; congr (_%:~R); lia. Qed.

(** * What is read off the record of an agent without alarm *)
Section Record.

Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variable adv : adversary lword.
Hypothesis limits : (0 < xmax /\ 0 < gmax)%Z.
Hypothesis rates_ok : size rates = T.
Hypothesis rates_pos : all (Z.ltb 0) rates.

Notation state := (learned_state d k steps rates T xmax gmax x0 nb gradient n H adv).
Notation record v := (said_so_far (state T v)).

(* The point Y of round t+1, and the gradient on the lattice there. *)
Definition point (v t : nat) : seq Z :=
  mix d k (at_ steps t) (nth [::] (models x0 (record v)) t) (inputs d x0 nb (state T v) v t).
Definition drawn (v t : nat) : seq Z := gradient v t.+1 (point v t).

Lemma rate_pos t : (t < T)%N -> (0 < at_ rates t)%Z.
Proof. by move=> tT; have /allP/(_ (at_ rates t)) := rates_pos; rewrite mem_nth ?rates_ok // => /(_ isT); lia. Qed.

Lemma read_off_nth tr t : (t < T)%N -> size tr = T ->
  nth [::] (read_off rates tr) t = read_gradient (at_ rates t) (nth [::] (gammas tr) t).
Proof.
move=> tT sT; rewrite /read_off (nth_map (0%Z, [::])) ?size_zip ?rates_ok ?size_map ?sT ?minnn //.
by rewrite nth_zip ?rates_ok ?size_map.
Qed.

(* Proves: AR-9, LM-8 *)
Theorem read_off_near v t j : (v < n)%N -> uniq (nb v) -> learn_alarms (state T v) = [::] ->
  (t < T)%N -> (j < d)%N ->
  (2 * at_ rates t * Z.abs (at_ (nth [::] (read_off rates (record v)) t) j - at_ (drawn v t) j) <=
   pow2 k + 2 * at_ rates t)%Z.
Proof.
move=> vn Uv quiet tT jd; have A0 := rate_pos tT.
have [made_ _] := made_so_far limits vn Uv (leqnn T) quiet.
have [_ _ [sT _] _] := state_fine d k steps rates T x0 nb H gradient adv limits T vn.
have := made_ t tT; rewrite /follows /update /= -/(point v t) -/(drawn v t).
case: ifP => // /eqP sG stepped.
have sY : size (point v t) = d by rewrite size_mkseq.
have sg : size (nth (nothing d) (record v) t).2 = d.
  by move: stepped; case: (nth _ _ _) => x g /(step_satisfies_relation sG)[].
rewrite read_off_nth // /gammas (nth_map (nothing d)) ?sT // /at_ (nth_map 0%Z) ?sg //.
have := step_gamma sY sG jd stepped; rewrite /at_ => ->.
exact: read_off_error.
Qed.

(** * The same over a real closed field *)
Variable R : rcfType.
Notation real := (real R).
Notation dot := (@frobenius R 1 d).
Notation nrm := (nrm dot).

(* 2^f, and what the private gradients were before they were rounded to the lattice. *)
Variables (F : R) (sample : nat -> nat -> 'rV[R]_d).
Hypothesis F_pos : 0 < F.
(* Clause: AR-3 *)
Hypothesis rounding : forall v t j, (v < n)%N -> (t < T)%N ->
  `|real (at_ (drawn v t) (nat_of_ord j)) - F * sample v t 0 j| <= 2%:R^-1.

(* What reading off and rounding add to the sample. *)
Definition slack (v t : nat) : 'rV[R]_d :=
  F^-1 *: vec R d (nth [::] (read_off rates (record v)) t) - sample v t.

Definition slack_bound (t : nat) : R :=
  Num.sqrt d%:R * (F^-1 * (real (pow2 k) / (2%:R * real (at_ rates t)) + 1 + 2%:R^-1)).

(* Proves: AR-9 *)
Theorem slack_small v t : (v < n)%N -> uniq (nb v) -> learn_alarms (state T v) = [::] ->
  (t < T)%N -> nrm (slack v t) <= slack_bound t.
Proof.
move=> vn Uv quiet tT; have A0 := real_pos R (rate_pos tT).
set b := F^-1 * (real (pow2 k) / (2%:R * real (at_ rates t)) + 1 + 2%:R^-1).
have k0 : 0 <= real (pow2 k) by apply/ltW/real_pos; apply: pow2_gt0.
have b0 : 0 <= b.
  have q0 : 0 <= real (pow2 k) / (2%:R * real (at_ rates t)).
    by apply: divr_ge0 => //; apply: mulr_ge0; [rewrite ler0n|exact: ltW].
  have half : 0 <= 2%:R^-1 :> R by rewrite invr_ge0 ler0n.
  by apply: mulr_ge0; [rewrite invr_ge0 ltW|apply: addr_ge0 => //; apply: addr_ge0 => //; exact: ler01].
have entry j : `|slack v t 0 j| <= b.
  rewrite !mxE; set q := at_ _ j.
  have -> : F^-1 * real q - sample v t 0 j = F^-1 * (real q - F * sample v t 0 j).
    by rewrite mulrBr mulrA mulVf ?mul1r // gt_eqF.
  rewrite normrM ger0_norm ?invr_ge0 ?(ltW F_pos) // ler_wpmul2l ?invr_ge0 ?(ltW F_pos) //.
  have -> : real q - F * sample v t 0 j = (real q - real (at_ (drawn v t) j)) +
      (real (at_ (drawn v t) j) - F * sample v t 0 j) by rewrite addrA subrK.
  apply: le_trans (ler_norm_add _ _) _; apply: ler_add; last exact: rounding.
  have near := real_le R (read_off_near vn Uv quiet tT (ltn_ord j)).
  move: near; rewrite -/q; set g := at_ (drawn v t) j.
  have -> : real q - real g = real (q - g)%Z by rewrite /Certified.real -rmorphB -rmorphB.
  rewrite real_norm !(real_mul, real_add); set a := real (at_ rates t) in A0 *.
  have -> : real 2%Z = 2%:R by [].
  move=> near; rewrite -(ler_pmul2l (x := 2%:R * a)) ?mulr_gt0 ?ltr0n //; apply: le_trans near _.
  by apply: (le_by (lexx 0)); field; rewrite gt_eqF.
rewrite /slack_bound -/b; apply: (nrm_le (frobenius_inner R 1 d)); first by rewrite mulr_ge0 ?sqrtr_ge0.
rewrite exprMn sqr_sqrtr ?ler0n // /Inner.sq /frobenius big_ord1.
apply: (@le_trans _ _ (\sum_(j < d) b ^+ 2)); last by rewrite sumr_const card_ord mulr_natl.
apply: ler_sum => j _; rewrite -expr2 -real_normK ?num_real // ler_pexpn2r ?nnegrE ?normr_ge0 //.
Qed.

Lemma ghat_sum w tr : size (weights w) = T -> size tr = T -> vec R d (ghat d rates w tr) =
  \sum_(t < T) real (at_ (weights w) t) *: vec R d (nth [::] (read_off rates tr) t).
Proof.
move=> sw st; apply/rowP => j; rewrite !mxE /ghat /at_ nth_mkseq // real_sum big_map summxE.
have so : size (read_off rates tr) = T by rewrite size_map size_zip rates_ok size_map st minnn.
rewrite (big_nth (0%Z, [::])) big_mkord size_zip sw so minnn; apply: eq_bigr => t _.
by rewrite nth_zip ?sw ?so // real_mul !mxE.
Qed.

End Record.

(** * The whole run, with what nu is made of *)
Section Nearness.

Variable p : nat.
Hypothesis p_pr : prime p.
Notation P := (Z.of_nat p).
Variables (d k : nat) (steps rates : seq Z) (T : nat) (xmax gmax : Z) (x0 : seq Z).
Variables (n : nat) (nb : nat -> seq nat) (H : pred nat).
Variable gradient : nat -> nat -> seq Z -> seq Z.
Variables (bounds : option (seq Z * seq Z)) (ws : seq weighting).
Variables (once all_keys : bool).

Hypothesis Gok : graph_ok n nb.
Hypothesis simple : forall v, (v < n)%N -> uniq (nb v).
Hypothesis nobody_alone : forall v, (v < n)%N -> nb v != [::].
Hypothesis not_alone : (1 < n)%N.
Hypothesis some_rounds : (0 < T)%N.
Hypothesis x0_ok : size x0 = d.
Hypothesis steps_ok : size steps = T.
Hypothesis rates_ok : size rates = T.
Hypothesis rates_pos : all (Z.ltb 0) rates.
Variables (amax : Z) (deg : nat).
Hypothesis x0_range : all (inside xmax) x0.
Hypothesis deg_ok : forall v, (v < n)%N -> (size (nb v) <= deg)%N.
Hypothesis steps_range : all (fun a => Z.leb 0 a && Z.leb a amax) steps.
Hypothesis limits_pos : (0 < xmax /\ 0 < gmax /\ 0 <= amax)%Z.
Hypothesis range_rule : (xmax * (2 * pow2 k + 2 * amax * Z.of_nat deg) + gmax < P)%Z.
Hypothesis gammas_rule : (2 * gmax <= P + 1)%Z.
Hypothesis dominated : assumption_1_plus n nb H.
Hypothesis no_agent : forall u, (n <= u)%N -> nb u = [::].
Hypothesis weights_ok : forall i, (i < size ws)%N -> let w := nth no_weighting ws i in
  [/\ size (weights w) = T, forall t, (0 <= at_ (weights w) t)%Z, (0 < sumz (weights w))%Z &
      (0 <= optimality_high w)%Z].

Notation honest := {v : 'I_n | H v}.
Notation key_tuple := {ffun honest -> 'I_p}.
Notation is_agent := (is_agent n H).

Variables (lies : adversary vword) (later : key_tuple -> adversary vword).

Notation own := (own d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation sent := (sent d k steps rates T xmax gmax x0 n nb H gradient lies).
Notation common := (common nb H sent own).
Notation final := (final d k steps rates T xmax gmax x0 nb gradient bounds ws once all_keys lies later).
Notation point := (point d k steps rates T xmax gmax x0 n nb H gradient (adv_learn lies)).
Notation drawn := (drawn d k steps rates T xmax gmax x0 n nb H gradient (adv_learn lies)).

Variable R : rcfType.
Notation real := (real R).
Notation V := ('rV[R]_d).
Notation dot := (@frobenius R 1 d).
Notation nrm := (nrm dot).
Notation honest_ones := [pred v : 'I_n | H v].
Notation root f := (Num.sqrt (\sum_(u | honest_ones u) f u ^+ 2)).

(* 2^f; the private gradients before rounding; the true gradients; where they are taken: the points
   that Y stands for, or any others; and the last models. *)
Variables (F : R) (sample : nat -> nat -> V) (grad : 'I_n -> V -> V) (beta : R).
Variables (y : 'I_n -> 'I_T -> V) (x : 'I_n -> V).
Hypothesis F_pos : 0 < F.
Hypothesis rounding : forall v t (j : 'I_d), (v < n)%N -> (t < T)%N ->
  `|real (at_ (drawn v t) j) - F * sample v t 0 j| <= 2%:R^-1.
Hypothesis beta_pos : 0 <= beta.
Hypothesis smooth : forall u a b, honest_ones u -> nrm (grad u a - grad u b) <= beta * nrm (a - b).

Definition noise (u : 'I_n) (t : 'I_T) : V := sample u t - grad u (y u t).

(** Every run of Valid, against every causal adversary, outside at most (dT-1)^|H| of the p^|H| tuples
    of honest keys: all honest agents end invalid, or under every weighting every point z lies in the
    relaxed admissible set, where nu is made of the paths of honest agents, the distances of their last
    models from z, the averaged noise, the rounding and the reading off. *)
(* Proves: L2, L3, AN-9, VA-2 *)
Theorem invalid_or_admissible : exists2 unlucky : {set key_tuple},
  (#|unlucky| <= (d * T).-1 ^ honest_count n H)%N &
  forall t, t \notin unlucky -> (forall v, is_agent v -> declares_invalid (final t v)) \/
  forall i (z : V) (l2 edges chance : R) (w := nth no_weighting ws i)
    (W := real (sumz (weights w))) (omega := fun t : 'I_T => real (at_ (weights w) t) / W)
    (e := (W * F)^-1 * real (optimality_high w))
    (level := (W * F)^-1 ^+ 2 * real (heterogeneity_high w))
    (nu := beta * (root (fun u => \sum_t omega t * nrm (y u t - x u)) + Num.sqrt (edges / l2)) + chance +
           Num.sqrt #|honest_ones|%:R * \sum_t omega t * slack_bound d k rates F t),
  (i < size ws)%N -> 0 < l2 ->
  l2 * (\sum_(u | honest_ones u) nrm (x u - z) ^+ 2) <= edges ->
  root (fun u => nrm (\sum_t omega t *: noise u t)) <= chance ->
  relaxed dot honest_ones (fun u => grad u z)
    (e + Num.sqrt #|honest_ones|%:R * nu) ((Num.sqrt level + nu) ^+ 2).
Proof.
have limits : (0 < xmax /\ 0 < gmax)%Z by case: limits_pos => ? [].
have [unlucky few outside] := invalid_or_consistent p_pr rates gradient bounds ws once all_keys Gok
  nobody_alone not_alone some_rounds x0_ok steps_ok x0_range deg_ok steps_range limits_pos range_rule
  gammas_rule lies later dominated no_agent.
exists unlucky => // t0 /outside[invalid|[_ _ _ quiet pass]]; first by left.
right=> i z l2 edges chance w W omega e level nu il l2_pos agree rare.
have [sw w0 W0 high0] := weights_ok il.
have Wp : 0 < W := real_pos R W0.
have c0 : 0 <= (W * F)^-1 by rewrite invr_ge0 mulr_ge0 ?(ltW Wp) ?(ltW F_pos).
have [opt het] := statistics_say pass il c0 high0.
have n0 : (n%:R : R) != 0 by rewrite pnatr_eq0 -lt0n ltnW.
have cancel a : #|'I_n|%:R * (n%:R^-1 * a) = a :> R by rewrite card_ord mulrA divff // mul1r.
pose g := fun u : 'I_n => scaled d rates ws common i (W * F)^-1 u.
pose sl := fun (u : 'I_n) (t : 'I_T) =>
  slack k steps rates T xmax gmax x0 n nb H gradient (adv_learn lies) F sample u t.
have omega0 t : 0 <= omega t.
  by rewrite divr_ge0 ?(ltW Wp) //; have := real_le R (w0 t).
have omega1 : \sum_t omega t = 1.
  rewrite -mulr_suml; have -> : \sum_(t < T) real (at_ (weights w) t) = W.
    by rewrite /W real_sum (big_nth 0%Z) big_mkord sw.
  by rewrite divff // gt_eqF.
have small u t : honest_ones u -> nrm (sl u t) <= slack_bound d k rates F t.
  move=> Hu; have uA : is_agent u by rewrite /Graph.is_agent ltn_ord.
  exact: (slack_small limits rates_ok rates_pos F_pos rounding (ltn_ord u) (simple (ltn_ord u)) (quiet u uA) (ltn_ord t)).
have told u : honest_ones u -> g u = Admissible.estimate omega y noise sl grad u.
  move=> Hu; have Hu' : H u := Hu; rewrite /g /scaled /LocalProof.common Hu' (ghat_sum _ rates_ok) //; last first.
    by have [_ _ [sT _] _] := state_fine d k steps rates T x0 nb H gradient (adv_learn lies) limits T (ltn_ord u).
  rewrite scaler_sumr; apply: eq_bigr => t _; rewrite /noise /sl /slack.
  rewrite -/w scalerA.
  have -> : grad u (y u t) + (sample u t - grad u (y u t)) + (F^-1 *: vec R d
      (nth [::] (read_off rates (own u)) t) - sample u t) =
      F^-1 *: vec R d (nth [::] (read_off rates (own u)) t).
    by rewrite [grad u _ + _]addrC subrK addrC subrK.
  by rewrite scalerA; congr (_ *: _); rewrite /omega invfM mulrC mulrA.
have := @measured_nu_implies_relaxed R _ dot (frobenius_inner R 1 d) _ honest_ones _ omega y x noise sl
  grad beta (fun t => slack_bound d k rates F t) omega0 omega1 beta_pos smooth small z g
  (n%:R^-1 * e) (n%:R^-1 * level) l2 edges chance told l2_pos agree rare.
by rewrite !cancel; apply.
Qed.

End Nearness.
