(** The machines as one function from numbers to numbers: it reads a case, runs the definitions
    that the theorems are about, and writes every state. Computed by Coq itself for the committed
    vectors, and extracted for many more cases. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect.
From ValidRef Require Import Graph Network Broadcast Agreement Arith.
From ValidRef Require Import Protocol Learn Estimates Valid.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Definition reader (A : Type) := seq Z -> A * seq Z.

Definition number : reader Z := fun ts => if ts is t :: r then (t, r) else (0%Z, [::]).
Definition small : reader nat := fun ts => let: (z, r) := number ts in (Z.to_nat z, r).
Definition flag : reader bool := fun ts => let: (z, r) := number ts in (Z.eqb z 1, r).

Fixpoint times (A : Type) (n : nat) (read : reader A) (ts : seq Z) : seq A * seq Z :=
  if n is n'.+1 then
    let: (x, r) := read ts in let: (xs, r') := times n' read r in (x :: xs, r')
  else ([::], ts).
Definition list_of (A : Type) (read : reader A) : reader (seq A) :=
  fun ts => let: (n, r) := small ts in times n read r.
Definition pair_of (A B : Type) (ra : reader A) (rb : reader B) : reader (A * B) :=
  fun ts => let: (a, r) := ra ts in let: (b, r') := rb r in ((a, b), r').
Definition maybe (A : Type) (read : reader A) : reader (option A) :=
  fun ts => let: (there, r) := flag ts in
            if there then let: (x, r') := read r in (Some x, r') else (None, r).

Definition vector : reader (seq Z) := list_of number.
Definition graph_lists : reader (seq (seq nat)) := list_of (list_of small).

Definition read_wire : reader (wire Z) := fun ts =>
  let: (kind, r) := small ts in
  match kind with
  | 0 => (Silent, r)
  | 1 => (Garbage, r)
  | _ => let: (x, r') := pair_of flag (list_of (maybe number)) r in (Packet x.1 x.2, r')
  end.

Definition read_word : reader word := fun ts =>
  let: (kind, r) := small ts in
  (match kind with 0 => NoWord | 1 => NoBoolean | 2 => Word false | _ => Word true end, r).

(* What is said on single edges: (round, (sender, (receiver, message))). *)
Definition said (W : Type) (read : reader W) : reader (seq (nat * (nat * (nat * W)))) :=
  list_of (pair_of small (pair_of small (pair_of small read))).

Definition look_up (W : Type) (silence : W) (table : seq (nat * (nat * (nat * W)))) :
    adversary W := fun r u v =>
  if [seq x <- table | (x.1 == r) && (x.2.1 == u) && (x.2.2.1 == v)] is x :: _
  then x.2.2.2 else silence.

Definition write_flag (b : bool) : Z := if b then 1%Z else 0%Z.
Definition write_option (o : option Z) : seq Z := if o is Some x then [:: 1%Z; x] else [:: 0%Z].
Definition write_agent (o : option nat) : Z := if o is Some x then Z.of_nat x.+1 else 0%Z.
Definition write_vector (v : seq Z) : seq Z := Z.of_nat (size v) :: v.
Definition write_alarms (l : seq alarm) : seq Z :=
  Z.of_nat (size l) ::
  flatten [seq [:: Z.of_nat (reason_code (why a)); Z.of_nat (in_round a);
                   write_agent (sender a); write_agent (about a)] | a <- l].

Definition write_bstate (s : bstate Z) : seq Z :=
  flatten [seq write_option o | o <- held s] ++ flatten [seq write_option o | o <- fresh s] ++
  write_alarms (alarms s).
Definition write_astate (s : astate) : seq Z :=
  write_flag (invalid s) :: write_alarms (raised_alarms s).

(* All states before round 1 and after each of R rounds. *)
Fixpoint all_rounds (S : Type) (one : nat -> S -> S) (s : S) (r R : nat) : seq S :=
  s :: (if R is R'.+1 then all_rounds one (one r s) r.+1 R' else [::]).

Definition broadcast_case : seq Z -> seq Z := fun ts =>
  let: (nbs, ts) := graph_lists ts in
  let: (honest, ts) := list_of flag ts in
  let: (sources, ts) := list_of small ts in
  let: (values, ts) := vector ts in
  let: (once, ts) := flag ts in
  let: (repaired, ts) := flag ts in
  let: (R, ts) := small ts in
  let: (table, _) := said read_wire ts in
  let n := size nbs in
  let k := size sources in
  let nb v := nth [::] nbs v in
  let one := next nobody n nb (nth false honest) (@send Z R repaired once)
               (receive Z.eqb k (fun _ => Z.leb 0) R repaired) (look_up Silent table) in
  let start := mkseq (start k (nth n sources) (nth 0%Z values)) n in
  flatten [seq flatten [seq write_bstate s | s <- ss] | ss <- all_rounds one start 1 R].

Definition agreement_case : seq Z -> seq Z := fun ts =>
  let: (nbs, ts) := graph_lists ts in
  let: (honest, ts) := list_of flag ts in
  let: (already, ts) := list_of flag ts in
  let: (persist, ts) := flag ts in
  let: (R, ts) := small ts in
  let: (table, _) := said read_word ts in
  let n := size nbs in
  let nb v := nth [::] nbs v in
  let one := next (astart false) n nb (nth false honest) asend (areceive persist)
               (look_up NoWord table) in
  let start := mkseq (fun v => astart (nth false already v)) n in
  flatten [seq flatten [seq write_astate s | s <- ss] | ss <- all_rounds one start 1 R].

Definition hash_case : seq Z -> seq Z := fun ts =>
  let: (p, ts) := number ts in
  let: (s, ts) := number ts in
  let: (xs, _) := vector ts in
  [:: hash p s xs; hash_integers p s xs].

Definition transcript_case : seq Z -> seq Z := fun ts =>
  let: (p, ts) := number ts in
  let: (keys, ts) := vector ts in
  let: (d, ts) := small ts in
  let: (x0, ts) := vector ts in
  let: (steps, ts) := vector ts in
  let: (tr, _) := list_of (pair_of vector vector) ts in
  report p d x0 steps keys tr.

Definition lattice_case : seq Z -> seq Z := fun ts =>
  let: (k, ts) := small ts in
  let: (a, ts) := number ts in
  let: (A, ts) := number ts in
  let: (xmax, ts) := number ts in
  let: (gmax, ts) := number ts in
  let: (own, ts) := vector ts in
  let: (nbs, ts) := list_of vector ts in
  let: (G, ts) := vector ts in
  let: (x, ts) := vector ts in
  let: (gamma, _) := vector ts in
  let d := size own in
  let Y := mix d k a own nbs in
  write_vector Y ++
  (if step k A xmax gmax Y G is Some (x', gamma')
   then 1%Z :: write_vector x' ++ write_vector gamma' else [:: 0%Z]) ++
  write_vector (residual d k a own nbs x gamma) ++
  write_vector (read_gradient A gamma) ++ [:: squared_norm gamma].

Definition checks_case : seq Z -> seq Z := fun ts =>
  let: (p, ts) := number ts in
  let: (k, ts) := small ts in
  let: (nbs, ts) := graph_lists ts in
  let: (v, ts) := small ts in
  let: (own, ts) := vector ts in
  let: (table, _) := list_of (pair_of small (pair_of small vector)) ts in
  let n := size nbs in
  let nb v := nth [::] nbs v in
  let reports u v :=
    if [seq x <- table | (x.1 == u) && (x.2.1 == v)] is x :: _ then Some x.2.2 else None in
  flatten [seq
    [seq write_flag (inconsistent nb reports w u) | u <- iota 0 n] ++
    [seq write_flag (broken p k nb reports w u) | u <- iota 0 n] ++
    [:: write_flag (self_mismatch nb reports w v own)] | w <- iota 0 n] ++
  [:: write_flag (local_alarm p k nb reports true n v own);
      write_flag (local_alarm p k nb reports false n v own)].

(** * Learning, estimates, and whole runs *)

Definition read_pair : reader (seq Z * seq Z) := pair_of vector vector.

(* For each agent and round a factor and a vector: the gradient at Y is vector + factor floor(Y/2^k). *)
Definition read_gradients : reader (seq (seq (Z * seq Z))) := list_of (list_of (pair_of number vector)).
Definition gradient_of (k : nat) (table : seq (seq (Z * seq Z))) (v t : nat) (Y : seq Z) : seq Z :=
  let: (factor, c) := nth (0%Z, [::]) (nth [::] table v) t.-1 in
  mkseq (fun j => (at_ c j + factor * Z.div (at_ Y j) (pow2 k))%Z) (size c).

Definition read_lword : reader lword := fun ts =>
  let: (kind, r) := small ts in
  match kind with
  | 0 => (Unsaid, r)
  | 1 => (NoPair, r)
  | _ => let: (x, r') := read_pair r in (Pair x.1 x.2, r')
  end.

Definition read_vword : reader vword := fun ts =>
  let: (kind, r) := small ts in
  match kind with
  | 0 => (Mute, r)
  | 1 => (Noise, r)
  | 2 => let: (x, r') := read_pair r in (Learned x.1 x.2, r')
  | 3 => let: (x, r') := pair_of flag (list_of (maybe number)) r in (Keyed x.1 x.2, r')
  | 4 => let: (x, r') := pair_of flag (list_of (maybe vector)) r in (Listed x.1 x.2, r')
  | _ => let: (b, r') := flag r in (State b, r')
  end.

Definition read_weighting : reader weighting := fun ts =>
  let: (w, ts) := vector ts in
  let: (oh, ts) := number ts in
  let: (ol, ts) := number ts in
  let: (hh, ts) := number ts in
  let: (hl, ts) := number ts in
  (Weighting w oh ol hh hl, ts).

Definition write_pair (m : seq Z * seq Z) : seq Z := write_vector m.1 ++ write_vector m.2.
Definition write_transcript (tr : transcript) : seq Z :=
  Z.of_nat (size tr) :: flatten [seq write_pair m | m <- tr].
Definition write_lstate (s : lstate) : seq Z :=
  (if message s is Some m then 1%Z :: write_pair m else [:: 0%Z]) ++ write_alarms (learn_alarms s).
Definition write_lists (s : bstate (seq Z)) : seq Z :=
  flatten [seq (if o is Some v then 1%Z :: write_vector v else [:: 0%Z]) | o <- held s ++ fresh s] ++
  write_alarms (alarms s).

Definition learn_case : seq Z -> seq Z := fun ts =>
  let: (nbs, ts) := graph_lists ts in
  let: (honest, ts) := list_of flag ts in
  let: (d, ts) := small ts in
  let: (k, ts) := small ts in
  let: (steps, ts) := vector ts in
  let: (rates, ts) := vector ts in
  let: (xmax, ts) := number ts in
  let: (gmax, ts) := number ts in
  let: (x0, ts) := vector ts in
  let: (gradients, ts) := read_gradients ts in
  let: (bounds, ts) := maybe read_pair ts in
  let: (table, _) := said read_lword ts in
  let n := size nbs in
  let T := size steps in
  let nb v := nth [::] nbs v in
  let gradient := gradient_of k gradients in
  let one := next lnobody n nb (nth false honest) lsend
    (lreceive d k steps rates T xmax gmax gradient) (look_up Unsaid table) in
  let states := all_rounds one (mkseq (lstart d k steps rates xmax gmax x0 nb gradient) n) 1 T in
  flatten [seq flatten [seq write_lstate s | s <- ss] | ss <- states] ++
  flatten [seq write_transcript (said_so_far s) ++
    flatten [seq let tr := received_from d nb s u in
      write_transcript tr ++ write_alarms (norm_alarms d rates bounds u tr) | u <- nb (me s)]
    | s <- last [::] states].

Definition estimates_case : seq Z -> seq Z := fun ts =>
  let: (d, ts) := small ts in
  let: (rates, ts) := vector ts in
  let: (gmax, ts) := number ts in
  let: (ws, ts) := list_of read_weighting ts in
  let: (tr, ts) := list_of read_pair ts in
  let: (candidates, ts) := list_of vector ts in
  let: (nbs, ts) := graph_lists ts in
  let: (v, ts) := small ts in
  let: (own, ts) := vector ts in
  let: (table, _) := list_of (pair_of small (pair_of small vector)) ts in
  let nb v := nth [::] nbs v in
  let E u v :=
    if [seq x <- table | (x.1 == u) && (x.2.1 == v)] is x :: _ then Some x.2.2 else None in
  write_vector (estimate d rates ws tr) ++
  [seq write_flag (is_estimate d gmax ws 0 x) | x <- candidates] ++
  write_alarms (estimate_alarms d ws (size nbs) nb E v own).

(* In every round the phase, its state and how much the memory holds; at the end all of the memory. *)
Definition write_vstate (st : vstate) : seq Z :=
  let: (phase, inner) := match st with
    | Learning _ s => (1%Z, write_lstate s)
    | Keying _ s => (2%Z, write_bstate s)
    | Hashing _ s => (3%Z, write_lists s)
    | Estimating _ s => (4%Z, write_lists s)
    | Agreeing _ s => (5%Z, write_astate s)
    | Done m => (6%Z, write_alarms (objections m) ++ write_transcript (own_record m) ++
        flatten [seq write_transcript tr | tr <- received m] ++ write_vector (keyring m))
    end in
  let m := memory_of st in
  phase :: inner ++ [:: Z.of_nat (size (objections m)); Z.of_nat (size (own_record m));
                        Z.of_nat (size (keyring m)); write_flag (verdict m)].

Definition valid_case : seq Z -> seq Z := fun ts =>
  let: (nbs, ts) := graph_lists ts in
  let: (honest, ts) := list_of flag ts in
  let: (d, ts) := small ts in
  let: (k, ts) := small ts in
  let: (steps, ts) := vector ts in
  let: (rates, ts) := vector ts in
  let: (xmax, ts) := number ts in
  let: (gmax, ts) := number ts in
  let: (x0, ts) := vector ts in
  let: (gradients, ts) := read_gradients ts in
  let: (bounds, ts) := maybe read_pair ts in
  let: (p, ts) := number ts in
  let: (keys, ts) := vector ts in
  let: (ws, ts) := list_of read_weighting ts in
  let: (once, ts) := flag ts in
  let: (all_keys, ts) := flag ts in
  let: (table, _) := said read_vword ts in
  let n := size nbs in
  let T := size steps in
  let nb v := nth [::] nbs v in
  let gradient := gradient_of k gradients in
  let one := next vnobody n nb (nth false honest) (vsend T n once)
    (vreceive p d k steps rates T xmax gmax x0 n nb gradient bounds ws all_keys)
    (look_up Mute table) in
  let begin := mkseq (vstart d k steps rates xmax gmax x0 nb gradient (at_ keys)) n in
  flatten [seq flatten [seq write_vstate s | s <- ss]
          | ss <- all_rounds one begin 1 (valid_rounds T n)].

(* The first number says which machine. *)
Definition oracle (ts : seq Z) : seq Z :=
  let: (kind, rest) := small ts in
  match kind with
  | 1 => broadcast_case rest
  | 2 => agreement_case rest
  | 3 => hash_case rest
  | 4 => transcript_case rest
  | 5 => lattice_case rest
  | 6 => checks_case rest
  | 7 => learn_case rest
  | 8 => estimates_case rest
  | 9 => valid_case rest
  | _ => [::]
  end.

(* The fold of the oracle is the run of the theorems. *)
Lemma all_rounds_run (S W : Type) (s0 : S) n nb H (snd : nat -> S -> W) rcv adv start R r :
  r <= R -> nth start (all_rounds (next s0 n nb H snd rcv adv) start 1 R) r =
            run s0 n nb H snd rcv adv start r.
Proof.
have gen q m : forall r, r <= m ->
    nth start (all_rounds (next s0 n nb H snd rcv adv) (run s0 n nb H snd rcv adv start q) q.+1 m) r
    = run s0 n nb H snd rcv adv start (q + r).
  elim: m q => [|m IH] q [|i] //= im; rewrite ?addn0 //.
  by rewrite (IH q.+1) // addSnnS.
by move=> rR; rewrite (gen 0).
Qed.
