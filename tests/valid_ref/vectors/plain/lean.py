"""A second implementation, from the text of the specification alone: lean validation.

Standard library only.
"""

import hashlib
from math import isqrt

from checks import alarm, estimate_of, norm_alarms, report_of, transcript
from network import Network, in_order, learn, message_of
from units import adjacency, ints, square, texts

FIXED, OPENING, REPORT, SUM, TOTAL = -2, -3, -4, -5, -6
NAMES = {FIXED: "fixed", OPENING: "opening", REPORT: "report", SUM: "sum", TOTAL: "total"}


def num(i):
    return i.to_bytes((i.bit_length() + 7) // 8, "big")


def frame(*pieces):
    return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)


def sha256(purpose, run, *pieces):
    text = frame(b"valid-ref/lean/1/" + purpose, bytes.fromhex(run), *pieces)
    return int.from_bytes(hashlib.sha256(text).digest(), "big")


def commitment(run, agent, opening):
    return sha256(b"commitment", run, num(agent), *map(num, opening))


def digest(run, agents, held):
    """LE-13; `held` by tag."""
    values = (held.get((v, slot)) for v in range(agents) for slot in (FIXED, OPENING, REPORT))
    return sha256(b"digest", run, *(b"" if e is None else frame(*map(num, e)) for e in values))


class Routes:
    """LE-2."""

    def __init__(self, agents, edges):
        near = adjacency(agents, edges)
        self.dist = [self._from(near, v) for v in range(agents)]
        far = [max(row) for row in self.dist]
        self.D, self.r = max(far), min(far)
        self.root = far.index(self.r)
        self.depth = self.dist[self.root]
        self.parents = [
            min((u for u in near[v] if self.depth[u] < self.depth[v]), default=None)
            for v in range(agents)
        ]
        self.children = [[u for u in range(agents) if self.parents[u] == v] for v in range(agents)]
        self.sizes = [self._size(v) for v in range(agents)]

    @staticmethod
    def _from(near, v):
        found, border, hops = {v: 0}, [v], 0
        while border:
            hops += 1
            border = [u for w in border for u in near[w] if u not in found]
            found |= dict.fromkeys(border, hops)
        return [found[u] for u in range(len(near))]

    def _size(self, v):
        return 1 + sum(map(self._size, self.children[v]))

    def up(self, v):
        return self.r - self.depth[v] + 1

    def down(self, v):
        return self.r + self.depth[v]


def limits(public):
    """LE-3: L for each weighting; then what each integer of the three values is below."""
    G, steps = int(public["gradient_limit"]), ints(public["gradient"])
    entries = [-((1 - G) // A) for A in steps]
    if public["bounds"] is not None:
        C = [isqrt(e) for e in ints(public["bounds"]["gradient_squared"])]
        entries = [min(pair) for pair in zip(entries, C, strict=True)]
    L = [
        sum(w * e for w, e in zip(ints(line["weights"]), entries, strict=True))
        for line in public["weightings"]
    ]
    p, kappa = int(public["prime"]), public["lean"]["kappa"]
    return L, {
        FIXED: [2**256, *(public["dimension"] * e * e + 1 for e in L)],
        OPENING: [2**256] + [p] * kappa,
        REPORT: [p] * (kappa * (4 + len(L))),
    }


def flooded(bounds):
    def well_formed(value):
        if not isinstance(value, list) or len(value) != len(bounds):
            return False
        return all(0 <= e < bound for e, bound in zip(value, bounds, strict=True))

    return well_formed


def added_up(public, L, count):
    d = public["dimension"]

    def well_formed(value):
        if not isinstance(value, list) or len(value) != len(L) * d:
            return False
        return all(abs(e) <= count * L[i // d] for i, e in enumerate(value))

    return well_formed


def plus(vectors):
    return [sum(column) for column in zip(*vectors, strict=True)]


def polynomial(p, s, vector):
    return sum(e * pow(s, j, p) for j, e in enumerate(vector)) % p


def own_words(public, keys, sent):
    """q for each weighting, ghat, and the report."""
    p, d, m = int(public["prime"]), public["dimension"], len(public["weightings"])
    ghat, hashes, report = estimate_of(public, sent), report_of(public, keys, sent), []
    for i, s in enumerate(keys):
        report += hashes[4 * i : 4 * i + 4]
        report += [polynomial(p, s, ghat[j * d : j * d + d]) for j in range(m)]
    return [square(ghat[j * d : j * d + d]) for j in range(m)], ghat, report


class LeanNetwork(Network):
    """A network in which what honest agents say may differ by edge."""

    def __init__(self, given):
        public = given["parameters"]
        super().__init__(
            public["agents"], public["edges"], given["byzantine"], given["words"], given["tables"]
        )
        self.public, self.routes = public, Routes(public["agents"], public["edges"])
        self.addressed, (self.L, self.limits) = [], limits(public)

    def flood(self, phase, slot, own, *, ghat=None):
        """LE-6 and, with the estimates of the honest agents, LE-8; what everybody holds."""
        way, tree = self.routes, ghat is not None
        held = {v: {(v, slot): own[v]} for v in self.honest}
        fresh = {v: dict(held[v]) for v in self.honest}
        rounds = 2 * way.r if tree else way.D
        for number in range(1, rounds + 1):
            said = {v: fresh[v] if number <= way.D else {} for v in self.honest}
            apart = {}
            for v in self.honest if tree else ():
                if v != way.root and number == way.up(v):
                    apart[v, way.parents[v]] = said[v] | {(v, SUM): self._subtree(v, held, ghat)}
                if number == way.r + way.depth[v] + 1 and (way.root, TOTAL) in held[v]:
                    total = {(way.root, TOTAL): held[v][way.root, TOTAL]}
                    apart |= {(v, u): said[v] | total for u in way.children[v]}
            self.addressed += [(phase, number, *edge, apart[edge]) for edge in sorted(apart)]
            inbox = self.deliver(phase, number, said)
            fresh = {v: {} for v in self.honest}
            for v in self.honest:
                for u in self.near[v]:
                    word = apart.get((u, v), inbox[v][u])
                    news = self._hear(v, u, word, (phase, number), slot, held[v], tree=tree)
                    held[v] |= news
                    fresh[v] |= {tag: value for tag, value in news.items() if tag[1] == slot}
            if tree and number == way.r and way.root in self.honest:
                held[way.root][way.root, TOTAL] = self._subtree(way.root, held, ghat)
        for v in self.honest:
            wanted = [(u, slot) for u in range(self.n)]
            if tree:
                wanted += [(u, SUM) for u in way.children[v]] + [(way.root, TOTAL)]
            for tag in wanted:
                if tag not in held[v]:
                    self._object(v, "NO_VALUE", phase, rounds, None, self._text(tag))
        return held

    @staticmethod
    def _text(tag):
        return f"{tag[0]}/{NAMES[tag[1]]}"

    def _subtree(self, v, held, ghat):
        below = [held[v][u, SUM] for u in self.routes.children[v] if (u, SUM) in held[v]]
        return plus([ghat[v], *below])

    def _window(self, u, v, tag, slot, tree):
        """The rounds in which a tag may come from u to v; none if it is not public there."""
        if not isinstance(tag, tuple) or not 0 <= tag[0] < self.n:
            return None
        if tag[1] == slot:
            return self.routes.dist[u][tag[0]] + 1, self.routes.D
        if tree and tag == (u, SUM) and self.routes.parents[u] == v:
            return (self.routes.up(u),) * 2
        if tree and tag == (self.routes.root, TOTAL) and self.routes.parents[v] == u:
            return (self.routes.down(v),) * 2
        return None

    def _hear(self, v, u, word, place, slot, held, *, tree):
        """What v adopts of a message from u."""
        (phase, number), news = place, {}
        if not isinstance(word, dict):
            reason = "MISSING_MESSAGE" if word is None else "MALFORMED_MESSAGE"
            self._object(v, reason, phase, number, u)
            return news
        windows = {tag: self._window(u, v, tag, slot, tree) for tag in word}
        if None in windows.values():
            self._object(v, "UNKNOWN_TAG", phase, number, u)
        for tag, window in windows.items():
            if window is None or word[tag] is None:
                continue
            reason = self._objection(tag, word[tag], window, number, held)
            if reason:
                self._object(v, reason, phase, number, u, self._text(tag))
            elif tag not in held:
                news[tag] = word[tag]
        return news

    def _objection(self, tag, value, window, number, held):
        count = self.n if tag[1] == TOTAL else self.routes.sizes[tag[0]]
        bounds = self.limits.get(tag[1])
        form = added_up(self.public, self.L, count) if bounds is None else flooded(bounds)
        if not form(value):
            return "MALFORMED_VALUE"
        if number < window[0]:
            return "EARLY_VALUE"
        if number > window[1]:
            return "LATE_VALUE"
        return "DIFFERENT_VALUE" if held.get(tag, value) != value else None

    def as_expected(self, expected):
        def lines(words, *names):
            return [
                (w["phase"], w["round"], *(w[name] for name in names),
                 message_of(w["phase"], w["message"], self.tables)) for w in words
            ]  # fmt: skip

        apart = [
            (phase, number, sender, receivers[0], word)
            for phase, number, sender, receivers, word in lines(
                expected["addressed"], "sender", "receivers"
            )
        ]
        return lines(expected["said"], "agent") == self.said and apart == self.addressed


def checks(net, v, keys, held, got):
    """LE-12, at agent v."""
    public, n, found = net.public, net.n, []
    p, k, m = int(public["prime"]), public["step_bits"], len(public["weightings"])
    phase, d, width = "LeanValidate.report", public["dimension"], 4 + m
    place = phase, net.routes.D
    for u in net.near[v]:
        q, _ghat, report = own_words(public, keys, got[u])
        for tag, right in (((u, FIXED), q), ((u, REPORT), report)):
            said = held.get(tag)
            said = said[1:] if said is not None and tag[1] == FIXED else said
            if said is not None and said != right:
                found.append(alarm("RECORD_MISMATCH", *place, u, net._text(tag)))
    under = [
        [held[u, REPORT][i * width : (i + 1) * width] if (u, REPORT) in held else None
         for u in range(n)]
        for i in range(len(keys))
    ]  # fmt: skip
    for i, reports in enumerate(under):
        for u in range(n):
            around = [reports[w] for w in net.near[u]]
            if None in (reports[u], *around):
                continue
            out, into, eta, gamma = reports[u][:4]
            if (2**k * (out - into) - sum(e[2] - eta for e in around) + gamma) % p:
                found.append(alarm("BROKEN_RELATION", *place, None, f"{u}/{i}"))
    S = held.get((net.routes.root, TOTAL))
    for j, line in enumerate(public["weightings"]):
        if S is not None and all(None not in reports for reports in under):
            part = S[j * d : j * d + d]
            sums = [sum(e[4 + j] for e in reports) % p for reports in under]
            if sums != [polynomial(p, s, part) for s in keys]:
                found.append(alarm("WRONG_TOTAL", *place, None, line["name"]))
    for j, line in enumerate(public["weightings"]):
        drift = None if S is None else square(S[j * d : j * d + d])
        numbers = [held.get((u, FIXED)) for u in range(n)]
        spread = None if None in numbers else sum(q[1 + j] for q in numbers)
        for reason, wrong in (
            ("NOT_OPTIMAL", drift is not None and drift > int(line["optimality"]) ** 2),
            ("TOO_OPTIMAL", drift is not None and drift < int(line["optimality_low"]) ** 2),
            ("TOO_HETEROGENEOUS", spread is not None and spread > int(line["heterogeneity"])),
            ("TOO_HOMOGENEOUS", spread is not None and spread < int(line["heterogeneity_low"])),
        ):
            if wrong:
                found.append(alarm(reason, *place, None, line["name"]))
    return found


def lean_run(case):
    given, expected = case["input"], case["expected"]
    net = LeanNetwork(given)
    public, n = net.public, net.n
    p, run, kappa = int(public["prime"]), public["lean"]["run"], public["lean"]["kappa"]
    own, got = learn(net, public, given["gradients"])
    for v in net.honest:
        for u in net.near[v]:
            net.alarms[v] += norm_alarms(public, u, got[v][u])
    opening = {v: ints(given["openings"][v]) for v in net.honest}
    words = {v: own_words(public, [], own[v]) for v in net.honest}
    fixed = {v: [commitment(run, v, opening[v]), *words[v][0]] for v in net.honest}
    ghat = {v: words[v][1] for v in net.honest}
    held = net.flood("LeanValidate.fix", FIXED, fixed, ghat=ghat)
    opened, keys = net.flood("LeanValidate.open", OPENING, opening), {}
    for v in net.honest:
        held[v] |= opened[v]
        for u in range(n):
            both = held[v].get((u, FIXED)), held[v].get((u, OPENING))
            if None not in both and commitment(run, u, both[1]) != both[0][0]:
                where = "LeanValidate.open", net.routes.D
                net.alarms[v].append(alarm("OPENING_MISMATCH", *where, None, str(u)))
        shares = [held[v][u, OPENING] for u in range(n) if (u, OPENING) in held[v]]
        keys[v] = [sum(e[1 + i] for e in shares) % p for i in range(kappa)]
    reports = {v: own_words(public, keys[v], own[v])[2] for v in net.honest}
    reported = net.flood("LeanValidate.report", REPORT, reports)
    for v in net.honest:
        held[v] |= reported[v]
        net.alarms[v] += checks(net, v, keys[v], held[v], got[v])
    mine = {v: digest(run, n, held[v]) for v in net.honest}
    inbox = net.deliver("LeanValidate.compare", 1, mine)
    for v in net.honest:
        for u, word in inbox[v].items():
            whole = type(word) is int and 0 <= word < 2**256
            reason = "MISSING_MESSAGE" if word is None else "MALFORMED_MESSAGE"
            reason = "DIGEST_MISMATCH" if whole else reason
            if not whole or word != mine[v]:
                net.alarms[v].append(alarm(reason, "LeanValidate.compare", 1, u))
    state = net.agreement([v for v in net.honest if net.alarms[v]])
    ends = [
        {
            "agent": v,
            "valid": not state[v],
            "model": None if state[v] else texts(own[v][-1][0]),
            "alarms": net.alarms[v],
        }
        for v in net.honest
    ]
    return net.as_expected(expected) and in_order(ends) == in_order(expected["ends"])


def routes(agents, edges):
    way = Routes(agents, edges)
    others = [v for v in range(agents) if v != way.root]
    return {
        "diameter": way.D,
        "root": way.root,
        "height": way.r,
        "parents": way.parents,
        "sizes": way.sizes,
        "up": [way.up(v) for v in others],
        "down": [way.down(v) for v in others],
    }


def values(fixed, openings, reports):
    slots = ((FIXED, fixed), (OPENING, openings), (REPORT, reports))
    pairs = ((slot, v, e) for slot, each in slots for v, e in enumerate(each))
    return {(v, slot): ints(e) for slot, v, e in pairs if e is not None}


def common_keys(prime, openings):
    shares = [ints(e)[1:] for e in openings if e is not None]
    return {"keys": texts(sum(column) % int(prime) for column in zip(*shares, strict=True))}


def parameters(parameters):
    public, way = parameters, Routes(parameters["agents"], parameters["edges"])
    rounds = len(public["mixing"]) + 2 * way.r + 2 * way.D + public["agents"]
    bounds = limits(public)[1]
    return {"rounds": rounds, "limits": texts(e for slot in bounds.values() for e in slot)}


def words(parameters, keys, **record):
    q, ghat, report = own_words(parameters, ints(keys), transcript(record["transcript"]))
    return {"numbers": texts(q), "estimate": texts(ghat), "report": texts(report)}


LEAN = {
    "routes": routes,
    "commitment": lambda run, agent, nonce, shares: {
        "commitment": str(commitment(run, agent, ints([nonce, *shares])))
    },
    "digest": lambda run, fixed, **others: {
        "digest": str(digest(run, len(fixed), values(fixed, **others)))
    },
    "common-keys": common_keys,
    "own-words": words,
    "lean-parameters": parameters,
}
"""By operation: the fields of `input` as arguments, `expected` as the result."""
