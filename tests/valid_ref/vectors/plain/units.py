"""A second implementation, from the text of the specification alone: single operations.

Standard library only; `checks.py` and `network.py` add the checks and whole runs.
"""

import struct
from fractions import Fraction
from math import ceil, isfinite, isqrt


class RefusedError(Exception):
    """A typed refusal; the clause that demands it."""


def demand(condition, clause):
    if not condition:
        raise RefusedError(clause)


def ints(values):
    return [int(value) for value in values]


def texts(values):
    return [str(value) for value in values]


def ratio(value):
    return f"{Fraction(value).numerator}/{Fraction(value).denominator}"


def nearest(value):  # ties to even
    return round(Fraction(value))


def adjacency(agents, edges):
    return [sorted({a + b - v for a, b in map(tuple, edges) if v in (a, b)}) for v in range(agents)]


def component(neighbours, allowed):
    reached, left = set(), [min(allowed)]
    while left:
        v = left.pop()
        if v not in reached:
            reached.add(v)
            left += [u for u in neighbours[v] if u in allowed]
    return reached


def graph(agents, edges):
    demand(agents >= 2, "MO-2")
    demand(all(0 <= min(e) < max(e) < agents for e in edges), "MO-2")
    demand(len({frozenset(e) for e in edges}) == len(edges), "MO-2")
    found = adjacency(agents, edges)
    demand(len(component(found, set(range(agents)))) == agents, "MO-2")
    return {"neighbours": found}


def assumptions(agents, edges, byzantine):
    near, honest = adjacency(agents, edges), set(range(agents)) - set(byzantine)
    one = bool(honest) and component(near, honest) == honest
    hidden = [v for v in byzantine if not honest & set(near[v])]
    return {"assumption_1": one, "assumption_1_plus": one and not hidden, "hidden": hidden}


def step_size(step_bits, size):
    demand(0 <= step_bits <= 60, "AR-1")
    step = nearest(Fraction(size) * 2**step_bits)
    demand(1 <= step < 2**62, "AR-2")
    return {"step": str(step)}


def growth(step_bits, mixing, max_degree):
    return 2 ** (step_bits + 1) + 2 * max(ints(mixing)) * max_degree


def limits(step_bits, mixing, max_degree, prime):
    M = min(2**62, int(prime))
    G = M // 2
    X = (M - 1 - G) // growth(step_bits, mixing, max_degree)
    demand(X >= 1, "AR-10")
    return {"model_limit": str(X), "gradient_limit": str(G)}


def range_rule(step_bits, mixing, max_degree, prime, model_limit, gradient_limit):
    X, G = int(model_limit), int(gradient_limit)
    largest = X * growth(step_bits, mixing, max_degree) + G
    demand(min(X, G, max_degree) >= 1 and largest < min(2**62, int(prime)), "AR-10")
    return {"largest_intermediate": str(largest)}


def to_lattice(fraction_bits, values):
    found = [struct.unpack(">d", bytes.fromhex(value))[0] for value in values]
    demand(0 <= fraction_bits <= 60, "AR-1")
    demand(all(isfinite(value) for value in found), "AR-3")
    entries = [nearest(Fraction(value) * 2**fraction_bits) for value in found]
    demand(all(abs(entry) < 2**62 for entry in entries), "AR-3")
    return {"entries": texts(entries)}


def point(fraction_bits, step_bits, Y):
    scale = 2 ** (fraction_bits + step_bits)
    return {"values": [struct.pack(">d", int(y) / scale).hex() for y in Y]}


def mixed(k, a, own, neighbours):
    return [(x << k) + a * sum(u[j] - x for u in neighbours) for j, x in enumerate(own)]


def updated(k, A, limits, Y, Ghat):
    """Model and scaled gradient; None where the agent must fall silent."""
    x = [nearest(Fraction(y - A * g, 2**k)) for y, g in zip(Y, Ghat, strict=True)]
    gamma = [y - (e << k) for y, e in zip(Y, x, strict=True)]
    X_max, G_max = limits
    inside = all(abs(e) < X_max for e in x) and all(abs(e) < G_max for e in gamma)
    return (x, gamma) if inside else None


def mix(step_bits, a, own, neighbours):
    return {"Y": texts(mixed(step_bits, int(a), ints(own), [ints(u) for u in neighbours]))}


def update(step_bits, A, model_limit, gradient_limit, Y, Ghat):
    limits = int(model_limit), int(gradient_limit)
    found = updated(step_bits, int(A), limits, ints(Y), ints(Ghat))
    if found is None:
        return {"silent": True}
    return {"model": texts(found[0]), "scaled_gradient": texts(found[1])}


def residual(step_bits, a, previous, neighbours, x, Gamma):
    Y = mixed(step_bits, int(a), ints(previous), [ints(u) for u in neighbours])
    rows = zip(ints(x), Y, ints(Gamma), strict=True)
    return {"residual": texts((e << step_bits) - y + g for e, y, g in rows)}


def in_range(entries, limit):
    return {"in_range": all(abs(e) < int(limit) for e in ints(entries))}


def is_prime(n):
    if n < 2:
        return False
    small = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if any(n % q == 0 for q in small):
        return n in small
    d = (n - 1) & -(n - 1)
    for base in small:  # decides every n below 2^64
        power = pow(base, (n - 1) // d, n)
        if power != 1 and all(pow(power, 2**i, n) != n - 1 for i in range(d.bit_length() - 1)):
            return False
    return True


def field(prime):
    p = int(prime)
    for e in range(2, p.bit_length()):
        root = round(p ** (1 / e)) if p > 0 else 0
        demand(root**e != p or not is_prime(root), "HA-2")
    demand(is_prime(p), "HA-1")
    return {"accepted": True}


def length(prime, length):
    demand(length < int(prime), "HA-1")
    return {"accepted": True}


def key(prime, key):
    demand(0 <= int(key) < int(prime), "LV-3")
    return {"accepted": True}


def hashed(p, s, vector):
    return sum(e * pow(s, i, p) for i, e in enumerate(vector)) % p


def hash_both(prime, key, vector):
    p, s, xi = int(prime), int(key), ints(vector)
    plain = sum(e * pow(s, i, p) for i, e in enumerate(xi))
    return {"hash": str(hashed(p, s, xi)), "integer_form": str(plain)}


def colliding(prime, vector):
    p = int(prime)
    return {"keys": texts(s for s in range(p) if hashed(p, s, ints(vector)) == 0)}


def collision_bound(prime, length, keys):
    return {"bound": ratio(Fraction(length - 1, int(prime)) ** keys)}


def polynomials(prime, key, rows):
    return {"values": texts(hashed(int(prime), int(key), ints(row)) for row in rows)}


def four(p, s, mixing, models, gammas):
    """H_out, H_in, H_in,eta, H_Gamma of the concatenated vectors; models begin with x(0)."""
    steps = [[a * e for e in x] for a, x in zip(mixing, models[:-1], strict=True)]
    vectors = (models[1:], models[:-1], steps, gammas)
    return [hashed(p, s, [e for row in rows for e in row]) for rows in vectors]


def four_hashes(prime, keys, mixing, start, models, scaled_gradients):
    names = ("out", "into", "into_eta", "gamma")
    found = []
    for s in keys:
        vectors = [ints(row) for row in (start, *models)], [ints(row) for row in scaled_gradients]
        values = texts(four(int(prime), int(s), ints(mixing), *vectors))
        found.append({"key": s, **dict(zip(names, values, strict=True))})
    return {"hashes": found}


def root_up(value):
    least = ceil(value)
    return 0 if least <= 0 else isqrt(least - 1) + 1


def derive(
    dimension, mu, beta, F0, fraction_bits, step_bits, mixing, gradient, max_degree, start_squared
):
    demand(F0 is not None, "GU-8")
    mu, beta, F, half = Fraction(mu), Fraction(beta), Fraction(F0), Fraction(1, 2)
    demand(0 < mu <= beta and F >= 0, "GU-8")
    demand(all(a * max_degree <= 2**step_bits for a in ints(mixing)), "GU-8")
    F *= 4**fraction_bits
    G0, B, models, gradients = root_up(2 * beta * F), root_up(int(start_squared)), [], []
    for A in ints(gradient):
        alpha = Fraction(A, 2**step_bits)
        gradients.append(G0 + ceil(beta * B) + root_up(dimension * (half / alpha + 2) ** 2))
        q = max(abs(1 - alpha * mu), abs(1 - alpha * beta))
        step = ceil(q * B + alpha * G0)
        if alpha * beta <= 1:
            step = min(step, root_up((1 - alpha * mu) * B * B + 2 * alpha * F))
        B = step + root_up(dimension * (half + alpha) ** 2)
        models.append(B)
    return {
        "model_squared": texts(B * B for B in models),
        "gradient_squared": texts(C * C for C in gradients),
    }


def configure(fraction_bits, rounds, model, gradient):
    demand(Fraction(model) > 0 and Fraction(gradient) > 0, "LV-2")
    one, two = (str(ceil(Fraction(b) * 2**fraction_bits) ** 2) for b in (model, gradient))
    return {"model_squared": [one] * rounds, "gradient_squared": [two] * rounds}


def conflicts(
    gradient, model_limit, gradient_limit, model_squared, gradient_squared, start_squared, step_bits
):
    models = [int(start_squared), *ints(model_squared)]
    scaled = [A * root_up(C) for A, C in zip(ints(gradient), ints(gradient_squared), strict=True)]
    found = [root_up(B) >= int(model_limit) for B in models]
    return {"conflicts": sum(found) + sum(e >= int(gradient_limit) for e in scaled)}


def gradients_at(losses, agents, x):
    demand(agents and all(0 <= u < len(losses) for u in agents), "GU-2")
    return [
        [Fraction(h) * (e - Fraction(c)) for h, c, e in zip(*losses[u].values(), x, strict=True)]
        for u in agents
    ]


def square(vector):
    return sum(e * e for e in vector)


def phi(losses, agents, point):
    found = gradients_at(losses, agents, [Fraction(e) for e in point])
    total, b = [sum(column) for column in zip(*found, strict=True)], len(losses) - len(agents)
    own = sum(map(square, found))
    if b == 0:
        return {"phi": None if any(total) else ratio(own), "vectors": []}
    return {"phi": ratio(own + square(total) / b), "vectors": [[ratio(-s / b) for s in total]] * b}


def member(losses, agents, point, e1, e2):
    found = gradients_at(losses, agents, [Fraction(e) for e in point])
    n, b = len(losses), len(losses) - len(agents)
    size, own = (
        sum(sum(column) ** 2 for column in zip(*found, strict=True)),
        sum(map(square, found)),
    )
    over = max(float(size) ** 0.5 - n * Fraction(e1), 0)
    allowed = own + over**2 / b <= n * Fraction(e2) if b else not over and own <= n * Fraction(e2)
    return {"member": allowed}


def heterogeneity(losses):
    rows = [list(map(Fraction, one["hessian"])) for one in losses]
    pulls = [
        [h * Fraction(c) for h, c in zip(r, one["centre"], strict=True)]
        for r, one in zip(rows, losses, strict=True)
    ]
    totals = zip(zip(*pulls, strict=True), zip(*rows, strict=True), strict=True)
    best = [sum(pull) / sum(slope) for pull, slope in totals]
    found = gradients_at(losses, range(len(losses)), best)
    return {"delta": ratio(sum(map(square, found)) / len(losses))}


def ellipse(losses, agents, delta):
    """Q, its centre and level by GU-5, entry by entry."""
    b, Q, centre = len(losses) - len(agents), [], []
    for j in range(len(losses[0]["centre"])):
        pairs = [[Fraction(losses[u][name][j]) for name in ("hessian", "centre")] for u in agents]
        slope, pull = sum(h for h, _c in pairs), sum(h * c for h, c in pairs)
        Q.append(sum(h * h for h, _c in pairs) + slope * slope / b)
        centre.append((sum(h * h * c for h, c in pairs) + slope * pull / b) / Q[-1])
    least = Fraction(phi(losses, agents, centre)["phi"])
    return Q, centre, len(losses) * Fraction(delta) - least


def ellipsoid(losses, agents, delta):
    Q, centre, level = ellipse(losses, agents, delta)
    return {"matrix": [*map(ratio, Q)], "centre": [*map(ratio, centre)], "level": ratio(level)}


def distance(losses, agents, delta, point):
    Q, centre, level = ellipse(losses, agents, delta)
    if level < 0:
        return {"distance": None}
    away = square([Fraction(e) - c for e, c in zip(point, centre, strict=True)])
    roots = [Fraction(isqrt(e.numerator), isqrt(e.denominator)) for e in (away, level / Q[0])]
    return {"distance": ratio(max(0, roots[0] - roots[1]))}


UNITS = {
    "graph": graph,
    "assumptions": assumptions,
    "step-size": step_size,
    "limits": limits,
    "range-rule": range_rule,
    "to-lattice": to_lattice,
    "point": point,
    "mix": mix,
    "shift": lambda bits, entries: {
        "entries": texts(nearest(Fraction(e, 2**bits)) for e in ints(entries))
    },
    "update": update,
    "residual": residual,
    "in-range": in_range,
    "read-gradient": lambda A, Gamma: {"gradient": texts(g // int(A) for g in ints(Gamma))},
    "squared-norm": lambda entries: {"square": str(square(ints(entries)))},
    "field": field,
    "length": length,
    "key": key,
    "hash": hash_both,
    "colliding-keys": colliding,
    "collision-bound": collision_bound,
    "round-polynomials": polynomials,
    "four-hashes": four_hashes,
    "root": lambda value: {"root": str(root_up(Fraction(value)))},
    "derive": derive,
    "configure": configure,
    "conflicts": conflicts,
    "phi": phi,
    "member": member,
    "heterogeneity": heterogeneity,
    "ellipsoid": ellipsoid,
    "distance": distance,
}
"""By operation: the fields of `input` as arguments, `expected` as the result."""
