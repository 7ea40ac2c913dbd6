"""A second implementation, from the text of the specification alone: the checks of one agent.

Standard library only.
"""

from fractions import Fraction
from math import ceil

from units import adjacency, demand, field, four, graph, ints, length, range_rule, square, texts

OTHER = "something else"
CLAUSES = {
    "MISSING_MESSAGE": "MO-8",
    "MALFORMED_MESSAGE": "MO-8",
    "OUT_OF_RANGE": "AR-11",
    "OWN_UPDATE_OUT_OF_RANGE": "AR-14",
    "UNKNOWN_TAG": "VB-9",
    "MALFORMED_VALUE": "VB-9",
    "DIFFERENT_VALUE": "VB-6",
    "NO_VALUE": "VB-8",
    "MODEL_NORM": "LV-2",
    "GRADIENT_NORM": "LV-2",
    "INCONSISTENT_HASHES": "LV-7",
    "BROKEN_RELATION": "LV-8",
    "SELF_MISMATCH": "LV-9",
    "INCONSISTENT_ESTIMATES": "GV-4",
    "SELF_ESTIMATE_MISMATCH": "GV-4",
    "NOT_OPTIMAL": "GV-5",
    "TOO_OPTIMAL": "GV-13",
    "TOO_HETEROGENEOUS": "GV-6",
    "TOO_HOMOGENEOUS": "GV-13",
    "NEIGHBOUR_ALARM": "SA-3",
    "EARLY_VALUE": "LE-6",
    "LATE_VALUE": "LE-6",
    "OPENING_MISMATCH": "LE-10",
    "RECORD_MISMATCH": "LE-12",
    "WRONG_TOTAL": "LE-12",
    "DIGEST_MISMATCH": "LE-13",
}


def alarm(reason, phase, number, sender=None, about=None):
    place = {"phase": phase, "round": number, "sender": sender}
    return {"reason": reason, "clause": CLAUSES[reason], **place, "about": about}


def residues(count, p):
    def well_formed(value):
        entries = value if count else [value]
        if not isinstance(entries, list) or len(entries) != max(count, 1):
            return False
        return all(type(e) is int and 0 <= e < p for e in entries)

    return well_formed


def estimate_form(public):
    d, G = public["dimension"], int(public["gradient_limit"])
    sums = [sum(ints(w["weights"])) for w in public["weightings"]]

    def well_formed(value):
        if not isinstance(value, list) or len(value) != len(sums) * d:
            return False
        if any(type(e) is not int for e in value):
            return False
        return all(abs(e) <= sums[i // d] * G for i, e in enumerate(value))

    return well_formed


def norm_alarms(public, sender, sent):
    if public["bounds"] is None:
        return []
    found = []
    squares = (ints(public["bounds"][name]) for name in ("model_squared", "gradient_squared"))
    rows = zip(sent, ints(public["gradient"]), *squares, strict=True)
    for t, ((x, gamma), A, B, C) in enumerate(rows, start=1):
        if square(x) > B:
            found.append(alarm("MODEL_NORM", "LocalValidate", t, sender))
        if square([g // A for g in gamma]) > C:
            found.append(alarm("GRADIENT_NORM", "LocalValidate", t, sender))
    return found


def report_of(public, keys, sent):
    models = [ints(public["start_model"]), *(x for x, _gamma in sent)]
    gammas, p = [gamma for _x, gamma in sent], int(public["prime"])
    return [e for s in keys for e in four(p, s, ints(public["mixing"]), models, gammas)]


def hash_alarms(public, agent, held, own):
    n, p, k = public["agents"], int(public["prime"]), public["step_bits"]
    near, found = adjacency(n, public["edges"]), []
    for w in [agent] if public["keys_checked"] == "own" else range(n):
        part = {tag: value[4 * w : 4 * w + 4] for tag, value in held.items()}
        about = {v: [part[r, v] for r in near[v] if (r, v) in part] for v in range(n)}
        for v in range(n):
            if any(one != about[v][0] for one in about[v]):
                found.append(alarm("INCONSISTENT_HASHES", "LocalValidate", n, None, f"{v}/{w}"))
            if about[v] and all(about[u] for u in near[v]):
                out, into, eta, gamma = about[v][0]
                mixing = sum(about[u][0][2] - eta for u in near[v])
                if ((out - into) * 2**k - mixing + gamma) % p:
                    found.append(alarm("BROKEN_RELATION", "LocalValidate", n, None, f"{v}/{w}"))
        for r in near[agent]:
            if part.get((r, agent), own[4 * w : 4 * w + 4]) != own[4 * w : 4 * w + 4]:
                found.append(alarm("SELF_MISMATCH", "LocalValidate", n, r, f"{agent}/{w}"))
    return found


def estimate_of(public, sent):
    found = []
    gradients = [
        [g // A for g in gamma]
        for (_x, gamma), A in zip(sent, ints(public["gradient"]), strict=True)
    ]
    for weighting in public["weightings"]:
        rows = list(zip(ints(weighting["weights"]), gradients, strict=True))
        found += [sum(w * g[j] for w, g in rows) for j in range(public["dimension"])]
    return found


def estimate_alarms(public, agent, held, own):
    n, d, found, statistics = public["agents"], public["dimension"], [], []
    near = adjacency(n, public["edges"])
    about = {u: [held[v, u] for v in near[u] if (v, u) in held] for u in range(n)}
    for u in range(n):
        if any(one != about[u][0] for one in about[u]):
            found.append(alarm("INCONSISTENT_ESTIMATES", "GlobalValidate", n, None, str(u)))
    for r in near[agent]:
        if held.get((r, agent), own) != own:
            found.append(alarm("SELF_ESTIMATE_MISMATCH", "GlobalValidate", n, r, str(agent)))
    if not all(about.values()):
        return found, None
    for i, weighting in enumerate(public["weightings"]):
        rows = [about[u][0][i * d : (i + 1) * d] for u in range(n)]
        drift = square([sum(c) for c in zip(*rows, strict=True)])
        spread = sum(map(square, rows))
        statistics.append({"optimality": str(drift), "heterogeneity": str(spread)})
        for reason, wrong in (
            ("NOT_OPTIMAL", drift > int(weighting["optimality"]) ** 2),
            ("TOO_OPTIMAL", drift < int(weighting["optimality_low"]) ** 2),
            ("TOO_HETEROGENEOUS", spread > int(weighting["heterogeneity"])),
            ("TOO_HOMOGENEOUS", spread < int(weighting["heterogeneity_low"])),
        ):
            if wrong:
                found.append(alarm(reason, "GlobalValidate", n, None, weighting["name"]))
    return found, statistics


def transcript(given):
    return [(ints(m["model"]), ints(m["scaled_gradient"])) for m in given]


def candidate(value):
    if value["kind"] == "integer":
        return int(value["value"])
    return ints(value["entries"]) if value["kind"] == "integers" else OTHER


def sorted_alarms(found, **more):
    return {"alarms": sorted(map(str, found)), **more}


def hashes(parameters, agent, reports, own):
    held = {(r["reporter"], r["agent"]): ints(r["hashes"]) for r in reports}
    return sorted_alarms(hash_alarms(parameters, agent, held, ints(own)))


def estimates(parameters, agent, estimates, own):
    held = {(r["reporter"], r["agent"]): ints(r["entries"]) for r in estimates}
    found, statistics = estimate_alarms(parameters, agent, held, ints(own))
    return sorted_alarms(found, statistics=statistics)


def weights(rounds, gamma, bits):
    demand(0 <= Fraction(gamma) <= 1 and 0 <= bits <= 60, "GV-1")
    powers = (2**bits * Fraction(gamma) ** (rounds - t) for t in range(1, rounds + 1))
    return {"weights": texts(round(power) for power in powers)}


def thresholds(weights, agents, fraction_bits, eps_opt, delta_plus_eps_het):
    one, two, unit = Fraction(eps_opt), Fraction(delta_plus_eps_het), sum(ints(weights))
    demand(min(ints(weights)) >= 0 and unit > 0, "GV-1")
    demand(one > 0 and two > 0, "GV-7")
    unit *= 2**fraction_bits
    found = ceil(agents * unit * one), ceil(agents * unit**2 * two)
    return {"optimality": str(found[0]), "heterogeneity": str(found[1])}


def parameters(parameters):
    """All clauses about public parameters; each demand stands for one of them."""
    public = parameters
    a, A, x0 = (ints(public[name]) for name in ("mixing", "gradient", "start_model"))
    d, T, p = public["dimension"], len(a), int(public["prime"])
    X, G = int(public["model_limit"]), int(public["gradient_limit"])
    near = graph(public["agents"], public["edges"])["neighbours"]
    demand(0 <= public["fraction_bits"] <= 60 and 0 <= public["step_bits"] <= 60, "AR-1")
    demand(a and len(a) == len(A) and all(1 <= step < 2**62 for step in a + A), "AR-2")
    field(p)
    demand(d >= 1 and max(map(len, near)) <= public["max_degree"], "AR-10")
    range_rule(public["step_bits"], a, public["max_degree"], p, model_limit=X, gradient_limit=G)
    demand(len(x0) == d, "LM-1")
    demand(all(abs(entry) < X for entry in x0), "AR-10")
    length(p, d * T)
    for squares in (public["bounds"] or {}).values():
        demand(len(squares) == T and min(ints(squares)) >= 0, "LV-2")
    sums = []
    for weighting in public["weightings"]:
        weights = ints(weighting["weights"])
        demand(len(weights) == T and min(weights) >= 0 and any(weights), "GV-1")
        for test in ("optimality", "heterogeneity"):
            demand(int(weighting[test]) > 0, "GV-7")
            demand(0 <= int(weighting[f"{test}_low"]) <= int(weighting[test]), "GV-13")
        sums.append(sum(weights))
    return {"rounds": T + 4 * public["agents"] - 1, "weight_sums": texts(sums)}


CHECKS = {
    "parameters": parameters,
    "key-form": lambda prime, value: {"well_formed": residues(0, int(prime))(candidate(value))},
    "report-form": lambda prime, agents, value: {
        "well_formed": residues(4 * agents, int(prime))(candidate(value))
    },
    "norms": lambda parameters, sender, **sent: sorted_alarms(
        norm_alarms(parameters, sender, transcript(sent["transcript"]))
    ),
    "report": lambda parameters, keys, **sent: {
        "hashes": texts(report_of(parameters, ints(keys), transcript(sent["transcript"])))
    },
    "hashes": hashes,
    "exponential-weights": weights,
    "thresholds": thresholds,
    "polynomial-weights": lambda rounds, power: {
        "weights": texts(t**power for t in range(1, rounds + 1))
    },
    "estimate": lambda parameters, **sent: {
        "estimate": texts(estimate_of(parameters, transcript(sent["transcript"])))
    },
    "estimate-form": lambda parameters, value: {
        "well_formed": estimate_form(parameters)(candidate(value))
    },
    "estimates": estimates,
}
