"""Edit the definitions, one at a time, and see who notices: a proof, or the committed vectors.

`python -m proofs_check.coq.mutants` writes mutants.json and mutants.md; with names of files it
examines the mutants of these files only, and keeps what is recorded of the others.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import attrs

from proofs_check.coq.gate import HERE, files
from proofs_check.coq.oracle import coq_answers, read_vectors, say

EVERY = 3
"""Every so many committed vectors are computed again."""

STATEMENT = re.compile(r"^(?:Theorem|Lemma|Fact|Corollary)\s+([\w']+)", re.MULTILINE)


@attrs.frozen
class Mutant:
    """One edit of one definition."""

    clause: str
    what: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant("VB-2", "no compare round: all rounds adopt", "Broadcast.v",
           "if was is Some m then Some m else if compares r then None else usable w t.",
           "if was is Some m then Some m else if compares r && false then None else usable w t."),
    Mutant("VB-8", "null at the end is no alarm", "Broadcast.v",
           "& ~~ isSome (nth None (held s) t)]", "& false && ~~ isSome (nth None (held s) t)]"),
    Mutant("VB-7", "only fresh values are sent in the compare round", "Broadcast.v",
           "if compares r || ~~ once then", "if (compares r && false) || ~~ once then"),
    Mutant("VB-6", "a different value is no alarm", "Broadcast.v",
           "then ~~ eqm m m' else false", "then false && ~~ eqm m m' else false"),
    Mutant("VB-5", "the last value of a round is adopted, not the first", "Broadcast.v",
           "if was is Some m then Some m else if compares r then None else usable w t.",
           "if compares r then was else if usable w t is Some m then Some m else was."),
    Mutant("VB-9", "a missing message is no alarm", "Broadcast.v",
           "| Silent => [:: Alarm MissingMessage r (Some u) None]", "| Silent => [::]"),
    Mutant("VB-9", "a malformed value is adopted", "Broadcast.v",
           "(if well_formed t m then Some m else None)",
           "(if true || well_formed t m then Some m else None)"),
    Mutant("VB-9", "a malformed value is no alarm", "Broadcast.v",
           "then ~~ well_formed t m else false", "then false else false"),
    Mutant("VB-3", "alarms are cleared in every round", "Broadcast.v",
           "(BState (held s) (nseq k None) (alarms s)) inbox in",
           "(BState (held s) (nseq k None) [::]) inbox in"),
    Mutant("VB-4", "nothing is forwarded in flood rounds", "Broadcast.v",
           "then held s else fresh s).", "then held s else [::])."),
    Mutant("MO-3", "an agent hears only its first neighbour", "Network.v",
           "| u <- nb v].", "| u <- take 1 (nb v)]."),
    Mutant("SA-3", "alarms are reset in every round", "Agreement.v",
           "(persist && invalid s))", "(persist && false))"),
    Mutant("SA-3", "a neighbour's alarm is ignored", "Agreement.v",
           "if b then Some NeighbourAlarm else None", "if b then None else None"),
    Mutant("SA-4", "a missing state is no alarm", "Agreement.v",
           "| NoWord => Some MissingMessage", "| NoWord => None"),
    Mutant("SA-1", "one round less", "Agreement.v", "nat := n.-1.", "nat := n.-2."),
    Mutant("HA-3", "the powers of the key begin at 1", "Arith.v",
           "Z.modulo (x + s * rest) p) 0%Z xs.", "Z.modulo (s * (x + rest)) p) 0%Z xs."),
    Mutant("HA-10", "the step of the wrong round", "Arith.v",
           "| aP <- zip steps (take (size tr) P)]",
           "| aP <- zip (head 0%Z steps :: steps) (take (size tr) P)]"),
    Mutant("HA-10", "the fourth hash is taken of the input", "Arith.v",
           "      hash p S Q].", "      hash p S (take (size tr) P)]."),
    Mutant("AR-5", "ties are rounded up", "Arith.v",
           "(if Z.even q then q else (q + 1)%Z)", "(q + 1)%Z"),
    Mutant("AR-5", "Gamma does not absorb the rounding", "Arith.v",
           "[seq (yx.1 - pow2 k * yx.2)%Z | yx <- zip Y x]", "[seq (A * g)%Z | g <- G]"),
    Mutant("AR-6", "the wrong sign of Gamma in the residual", "Arith.v",
           "j + at_ gamma j)%Z) d.", "j - at_ gamma j)%Z) d."),
    Mutant("LV-8", "the wrong sign of Gamma in the check", "Arith.v",
           "| hu <- hus] + at_ hv 3)%Z.", "| hu <- hus] - at_ hv 3)%Z."),
    Mutant("LV-7", "reporters are not compared", "Arith.v",
           "if seen is h :: rest then ~~ all (eqz h) rest else false.",
           "if seen is h :: rest then false else false."),
    Mutant("LV-8", "the relation is not checked", "Arith.v",
           "(iota 0 n) || self_mismatch w v own.",
           "(iota 0 0) || has (inconsistent w) (iota 0 n) || self_mismatch w v own."),
    Mutant("LV-9", "no self-check", "Arith.v",
           "|| self_mismatch w v own.", "|| (false && self_mismatch w v own)."),
    Mutant("AR-4", "the mixing step is left out", "Arith.v",
           "at_ own j + a * sumz", "at_ own j + sumz"),
    Mutant("AR-14", "no early test of the gradient", "Arith.v",
           "if ~~ all (fun g => inside (gmax + pow2 k) (A * g)) G then None",
           "if false then None"),
    Mutant("AR-8", "the gradient is read off with rounding to zero", "Arith.v",
           "[seq Z.div g A | g <- gamma]", "[seq Z.quot g A | g <- gamma]"),
    Mutant("LM-4", "what cannot be used is kept", "Learn.v",
           "match problem w, w with None, Pair x g => (x, g) | _, _ => nothing end.",
           "match w with Pair x g => (x, g) | _ => nothing end."),
    Mutant("LM-4", "silence is no alarm", "Learn.v",
           "| Unsaid => Some MissingMessage", "| Unsaid => None"),
    Mutant("AR-11", "messages may leave the range", "Learn.v",
           "if all (inside xmax) x && all (inside gmax) g then None",
           "if true || all (inside xmax) x && all (inside gmax) g then None"),
    Mutant("LM-7", "after an update out of range the last message is repeated", "Learn.v",
           "| None => LState (me s) None (", "| None => LState (me s) (message s) ("),
    Mutant("AR-14", "one's own update out of range is no alarm", "Learn.v",
           "(rcons (learn_alarms s) (Alarm OwnUpdateOutOfRange t None (Some (me s))))",
           "(learn_alarms s)"),
    Mutant("LM-2", "the mixing step of the next round", "Learn.v",
           "mix d k (at_ steps t.-1) own nbs", "mix d k (at_ steps t) own nbs"),
    Mutant("LM-5", "the record is written backwards", "Learn.v",
           "(rcons (said_so_far s) own)", "(own :: said_so_far s)"),
    Mutant("LV-2", "gradients are not measured", "Learn.v",
           "then Z.ltb (at_ b.2 i) (squared_norm", "then false && Z.ltb (at_ b.2 i) (squared_norm"),
    Mutant("GV-2", "weights in the wrong order", "Estimates.v",
           "zip (weights w) (read_off tr)", "zip (rev (weights w)) (read_off tr)"),
    Mutant("GV-3", "an estimate may be of any size", "Estimates.v",
           "(fun x => Z.leb (Z.abs x)", "(fun x => true || Z.leb (Z.abs x)"),
    Mutant("VA-1", "keys are flooded a round too short", "Valid.v",
           "keys_end : nat := T + n.", "keys_end : nat := T + n.-1."),
    Mutant("LV-4", "one stands in the place of a missing key", "Valid.v",
           "odflt 0%Z (holds s w)", "odflt 1%Z (holds s w)"),
    Mutant("LV-5", "reports under one's own key only", "Valid.v",
           "(fun t => report P d x0 steps (keyring m) (from",
           "(fun t => report P d x0 steps (nseq n (own_key m)) (from"),
    Mutant("GV-2", "estimates of one's own record", "Valid.v",
           "(fun t => estimate d rates ws (from m (slot t).2))",
           "(fun t => estimate d rates ws (own_record m))"),
    Mutant("SA-1", "the agreement begins without alarm", "Valid.v",
           "astart (~~ nilp (objections m)).", "astart (false && ~~ nilp (objections m))."),
    Mutant("VA-2", "everybody ends valid", "Valid.v",
           "(keyring m) (invalid s).", "(keyring m) (false && invalid s)."),
    Mutant("LV-4", "p itself is a key", "Protocol.v",
           "Z.leb 0 z && Z.ltb z P.", "Z.leb 0 z && Z.leb z P."),
    Mutant("LV-10", "nobody objects to hashes", "Protocol.v",
           "      local_alarm P k nb (reports_held v)",
           "      false && local_alarm P k nb (reports_held v)"),
    Mutant("VA-1", "alarms of earlier phases do not count", "Protocol.v",
           "[|| before v, alarmed", "[|| false && before v, alarmed"),
    Mutant("AN-9", "an agent's path is measured from zero", "Admissible.v",
           "\\sum_i omega i * nrm (y u i - x u).", "\\sum_i omega i * nrm (y u i)."),
    Mutant("GU-4", "what free agents add does not count for the relaxed set", "Admissible.v",
           "nrm (known + \\sum_(v | free v) ghat v) <= e1 /\\\n"
           "    energy + \\sum_(v | free v) sq (ghat v) <= level.",
           "nrm (known + \\sum_(v | free v) ghat v) <= e1 /\\\n    energy <= level."),
    Mutant("GU-12", "the next smaller score sets the threshold", "Calibration.v",
           "nth x0 (sort <=%O xs) k.-1.", "nth x0 (sort <=%O xs) k.-2."),
    Mutant("GU-12", "scores are not sorted", "Calibration.v",
           "nth x0 (sort <=%O xs) k.-1.", "nth x0 xs k.-1."),
    Mutant("GU-12", "a tie exceeds", "Calibration.v",
           "kth_smallest (s i) (others s i) k < s i.",
           "kth_smallest (s i) (others s i) k <= s i."),
    Mutant("GU-12", "the rank is rounded down", "Calibration.v",
           "((b - a) * m.+1 + b.-1) %/ b.", "((b - a) * m.+1) %/ b."),
    Mutant("GU-12", "the rank forgets the run itself", "Calibration.v",
           "((b - a) * m.+1 + b.-1) %/ b.", "((b - a) * m + b.-1) %/ b."),
    Mutant("GU-12", "both tails look upwards", "Calibration.v",
           "else centre i - stat i) / spread i.", "else stat i - centre i) / spread i."),
    Mutant("GU-12", "the smallest deviation is the score", "Calibration.v",
           "foldr Num.max (deviation", "foldr Num.min (deviation"),
    Mutant("GU-12", "the lower threshold lies above the centre", "Calibration.v",
           "else centre i - q * spread i.", "else centre i + q * spread i."),
    Mutant("GU-12", "thresholds are rounded inward", "Calibration.v",
           "if upper i then theta i <= theta' i else", "if upper i then theta' i <= theta i else"),
    Mutant("AN-17", "runs need not be exchangeable", "Calibration.v",
           "w p [ffun j => x (s j)] = w p x.", "w p [ffun j => x j] = w p x."),
    Mutant("LE-6", "an early value is adopted", "Flood.v",
           "(if [&& well_formed s m, ~~ early r u s & r <= last] then Some m else None)",
           "(if [&& well_formed s m & r <= last] then Some m else None)"),
    Mutant("LE-6", "a value is early in the round in which it can come", "Flood.v",
           "bool := r <= distance n nb s u.", "bool := r <= (distance n nb s u).+1."),
    Mutant("LE-6", "the first round's values are not sent on", "Flood.v",
           "Packet false (if r <= last then fresh st else [::]).",
           "Packet false (if r <= 1 then fresh st else [::])."),
    Mutant("LE-6", "null at the end of a flood is no alarm", "Flood.v",
           "  if r == rounds\n", "  if false && (r == rounds)\n"),
    Mutant("LE-8", "sums are sent a round too early", "TreeSum.v",
           "nat := (height - depth u).+1.", "nat := height - depth u."),
    Mutant("LE-8", "a child's sum is not added", "TreeSum.v",
           "(add_vectors (part st) x) (u :: from st)", "(part st) (u :: from st)"),
    Mutant("LE-8", "a sum may be of any size", "TreeSum.v",
           "(subtree n nb root (fun _ => 1%Z) u * bound j)) (iota 0 d).",
           "(Z.abs (at_ x j))) (iota 0 d)."),
    Mutant("LE-10", "openings are not compared with commitments", "Lean.v",
           "| Some c, Some s => ~~ fits c.1 u s", "| Some c, Some s => false && ~~ fits c.1 u s"),
    Mutant("LE-9", "no name on a commitment", "Lean.v",
           "((in_box c).1 == v) && eqz", "eqz"),
    Mutant("LE-12", "reports are not compared with the record", "Lean.v",
           "then ~~ eq_list eqz r (lean_report", "then false && ~~ eq_list eqz r (lean_report"),
    Mutant("LE-12", "numbers are not compared with the record", "Lean.v",
           "then ~~ eqz c.2 (numbers (tr u v))", "then false && ~~ eqz c.2 (numbers (tr u v))"),
    Mutant("LE-12", "the total is not checked", "Lean.v",
           "relation_fails v, total_differs v,", "relation_fails v, false && total_differs v,"),
    Mutant("LE-12", "the relation is not checked (lean)", "Lean.v",
           "record_differs v, relation_fails v,", "record_differs v, false && relation_fails v,"),
    Mutant("LE-13", "neighbours do not compare", "Lean.v",
           "_fail v, digest_differs v |", "_fail v, false && digest_differs v |"),
    Mutant("LE-13", "openings are not in the digest", "Lean.v",
           "(held (fix_state v), held (open_state v), held (report_end_state v)).",
           "(held (fix_state v), [::] : seq (option (seq Z)), held (report_end_state v))."),
    Mutant("AN-4", "mixing subtracts the neighbours' sum only", "Mixing.v",
           "(u | N v u) (D v - D u)].", "(u | N v u) (0 - D u)]."),
    Mutant("AN-8", "all slots but the one are drawn again", "Product.v",
           "[ffun j => if j == i then d else w j].", "[ffun j => if j == i then w j else d]."),
    Mutant("AN-8", "the past knows the mini-batch of the present round", "Samples.v",
           "(i.1.1 < t)%N then Some", "(i.1.1 <= t)%N then Some"),
    Mutant("LM-2", "a mini-batch is summed, not averaged", "Samples.v",
           "is Some i then K%:R^-1 *: \\sum_(k < K)", "is Some i then \\sum_(k < K)"),
    Mutant("AN-10", "a chance is that of the opposite", "Chebyshev.v",
           "\\sum_(w | A w) P w.", "\\sum_(w | ~~ A w) P w."),
    Mutant("GU-11", "the imitation is a round late", "Attack.v",
           "start r.-1) u).", "start r) u)."),
    Mutant("AN-12", "honest data are replaced, too", "Attack.v",
           "if Hon v then P v else Q v.", "Q v."),
    Mutant("GU-9", "gradients at the optimum push nobody off the mean", "Certificate.v",
           "alpha * (o * root + D)) all) all.", "alpha * (o * root)) all) all."),
    Mutant("GU-9", "mixing never expands", "Certificate.v",
           "(Num.max 1 (m eta) * in_all b).", "(in_all b)."),
    Mutant("VB-10", "what an agent says is counted a round late", "Count.v",
           "r (st r.-1 v)) t).", "r (st r v)) t)."),
    Mutant("AR-3", "a rounding is bounded on one side", "Rounding.v",
           "forall x, `|rd x - x| <= h.", "forall x, rd x - x <= h."),
    Mutant("AN-8", "steps are not shifted", "Rate.v",
           "Definition s (t : nat) : R := t%:R + t0.", "Definition s (t : nat) : R := t%:R."),
)  # fmt: skip

EXPLAINED = {
    "no early test of the gradient": "equivalent, by `early_test_is_safe`: only the proof script,"
    " which goes through the tests one by one, notices",
}


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def _broken_proof(folder: Path, text: str) -> str:
    """The theorem, or the definition, at which the build stopped."""
    place = re.search(r'File "\./(\w+)\.v", line (\d+)', text)
    if place is None:
        return "?"
    lines = (folder / f"{place[1]}.v").read_text(encoding="utf-8").splitlines()
    names = STATEMENT.findall("\n".join(lines[: int(place[2])]))
    return f"{place[1]}.{names[-1] if names else 'definition'}"


def examine(mutant: Mutant) -> dict[str, object]:
    """Build the mutant; which proof breaks, and how many vectors differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for pattern in ("*.v", "*.vo", "*.glob", "_CoqProject"):
            for path in HERE.glob(pattern):
                shutil.copy2(path, folder)  # with its time, so that only what depends is built
        source = (folder / mutant.file).read_text(encoding="utf-8")
        if source.count(mutant.old) != 1:
            raise RuntimeError(f"{mutant.what}: the text to edit does not stand there once")
        edited = source.replace(mutant.old, mutant.new)
        (folder / mutant.file).write_text(edited, encoding="utf-8")
        _run(["coq_makefile", "-f", "_CoqProject", "-o", "CoqMakefile"], folder)
        analysis = mutant.file in ANALYSIS
        proofs = [file + "o" for file in files() if (file in ANALYSIS) == analysis]
        if analysis:
            proofs = [f"{mutant.file}o", *proofs]
        different: int | None = None if mutant.file in SPOKEN_OF else 0
        vectors = read_vectors()[::EVERY] if mutant.file in SPOKEN_OF else []
        oracle = ["make", "-f", "CoqMakefile", "Oracle.vo"]
        if mutant.file in SPOKEN_OF and _run(oracle, folder).returncode == 0:
            now = coq_answers([case for case, _ in vectors], folder)
            different = sum(new != known for new, (_, known) in zip(now, vectors, strict=True))
        built = _run(["make", "-f", "CoqMakefile", *proofs], folder)
        breaks = None if built.returncode == 0 else _broken_proof(folder, built.stderr)
    return {
        "clause": mutant.clause,
        "mutant": mutant.what,
        "file": mutant.file,
        "breaks": breaks,
        "vectors_differ": different,
        "vectors": len(vectors),
        "explanation": EXPLAINED.get(mutant.what),
    }


ANALYSIS = frozenset(
    {
        "Inner.v",
        "Contraction.v",
        "Perturbation.v",
        "Bounded.v",
        "Certificate.v",
        "Chebyshev.v",
        "Consensus.v",
        "Expectation.v",
        "Mixing.v",
        "Product.v",
        "Rate.v",
        "Rounding.v",
        "Samples.v",
        "Admissible.v",
        "Calibration.v",
    }
)
"""Files that do not mention the machines."""

SPOKEN_OF = frozenset(
    {
        "Network.v",
        "Broadcast.v",
        "Agreement.v",
        "Arith.v",
        "Protocol.v",
        "Learn.v",
        "Estimates.v",
        "Valid.v",
    }
)
"""Files whose definitions the committed vectors speak about."""


def table(results: list[dict[str, object]]) -> str:
    """The results as Markdown."""
    lines = [
        "# Mutants of the definitions",
        "",
        "Written by `make mutants`: each row is one edit of one definition. *Breaks* is the first",
        "proof that fails; *vectors* how many of the committed vectors that were computed again",
        "Coq answers otherwise after the edit (none speak about the definitions of the analysis).",
        "",
        "| clause | edit | breaks | vectors | remark |",
        "|---|---|---|---|---|",
    ]
    for row in results:
        noticed = row["breaks"] is not None or row["vectors_differ"]
        remark = row["explanation"] or ("" if noticed else "SURVIVES, unexplained")
        breaks = f"`{row['breaks']}`" if row["breaks"] else "-"
        differ = f"{row['vectors_differ'] or 0} of {row['vectors']}" if row["vectors"] else "-"
        cells = (row["clause"], row["mutant"], breaks, differ, remark)
        lines.append(f"| {' | '.join(map(str, cells))} |".replace("  |", " |"))
    return "\n".join(lines) + "\n"


def main(names: tuple[str, ...]) -> int:
    """Examine all mutants, or those of the files named, and write the table."""
    path = HERE / "mutants.json"
    known = {row["mutant"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    results: list[dict[str, object]] = []
    for mutant in MUTANTS:
        if names and mutant.file not in names:
            results.append(known[mutant.what])
            continue
        begin = time.monotonic()
        results.append(examine(mutant))
        row = results[-1]
        say(
            f"{mutant.clause} {mutant.what}: breaks {row['breaks']}, vectors "
            f"{row['vectors_differ']}, {time.monotonic() - begin:.0f} s"
        )
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (HERE / "mutants.md").write_text(table(results), encoding="utf-8")
    unexplained = [
        row
        for row in results
        if row["breaks"] is None and not row["vectors_differ"] and not row["explanation"]
    ]
    say(f"{len(results)} mutants, {len(unexplained)} survive without an explanation")
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:])))
