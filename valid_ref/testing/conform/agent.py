"""One agent of Valid, written from the specification with the standard library alone.

An example of what `valid-ref conform` drives: requests come in on standard input and replies go
out on standard output, one JSON object in a line (spec/conformance.md). It can be read and copied
by itself. The short names are those of the specification.
"""

import hashlib
import json
import math
import sys
from typing import Any

PROTOCOL = "valid-ref/conformance/2"
LEARN, KEYS, HASHES = "LearnModel", "LocalValidate.keys", "LocalValidate.hashes"
LOCAL, GLOBAL, AGREE = "LocalValidate", "GlobalValidate", "ValidationStateAgreement"
FIX, OPEN, REPORTS = "LeanValidate.fix", "LeanValidate.open", "LeanValidate.report"
COMPARE = "LeanValidate.compare"
KEY, FIXED, OPENING, REPORT, SUM, TOTAL = range(-1, -7, -1)  # the slots that have names
NAMES = {
    KEY: "key",
    FIXED: "fixed",
    OPENING: "opening",
    REPORT: "report",
    SUM: "sum",
    TOTAL: "total",
}
FLOODED = {FIX: FIXED, OPEN: OPENING, REPORTS: REPORT}
NEVER = (0, 0)  # the window of a tag that is not public on an edge
BEYOND = 2**256  # commitments, nonces and digests are below

Vector = list[int]
Transcript = list[tuple[Vector, Vector]]  # (x(t), Gamma(t)) for t = 1..T
Tag = tuple[int, int]  # (source, slot)
Reply = dict[str, Any]


class Agent:
    """The agent: one method for each request."""

    def hello(self, protocol: str) -> Reply:
        """Say which protocol is spoken."""
        del protocol
        known = {"validations": ["paper", "lean"]}
        return {
            "protocol": PROTOCOL,
            "name": "example",
            "flood": "fresh",
            "integers": "number",
        } | known

    def start(
        self, parameters: dict[str, Any], agent: int, key: int = 0, opening: Any = None
    ) -> Reply:
        """Begin a run; nothing of an earlier one is left."""
        self.me, self.key = agent, key
        self.n, self.d = parameters["agents"], parameters["dimension"]
        self.f, self.k, self.p = (parameters[x] for x in ("fraction_bits", "step_bits", "prime"))
        self.a, self.A = parameters["mixing"], parameters["gradient"]
        self.x_max, self.g_max = parameters["model_limit"], parameters["gradient_limit"]
        self.x_0, self.bounds = parameters["start_model"], parameters["bounds"]
        self.weightings = parameters["weightings"]
        self.T, self.R = len(self.a), self.n
        pairs = [(u, v) for u, v in parameters["edges"]]
        pairs += [(v, u) for u, v in pairs]
        self.N = [sorted(u for u, w in pairs if w == v) for v in range(self.n)]
        self.checked = list(range(self.n)) if parameters["keys_checked"] == "all" else [agent]
        phases = [(LEARN, self.T), (KEYS, self.R), (HASHES, self.R), (GLOBAL, self.R)]
        self.opening = opening
        if opening is not None:
            self.prepare(parameters["lean"])
            floods = [(FIX, 2 * self.height), (OPEN, self.D), (REPORTS, self.D)]
            phases = [(LEARN, self.T), *floods, (COMPARE, 1)]
        self.schedule = [*phases, (AGREE, self.n - 1)]
        self.own: Transcript = []
        self.heard: dict[int, Transcript] = {u: [] for u in self.N[agent]}
        self.said: tuple[Vector, Vector] | None = None
        self.alarms: list[Reply] = []
        self.reported = 0
        return {}

    def place(self, number: int) -> tuple[str, int]:
        """The phase of a round, and its number in the phase (VA-1)."""
        for phase, length in self.schedule:
            if number <= length:
                return phase, number
            number -= length
        raise ValueError("no such round")

    def alarm(
        self, reason: str, phase: str, r: int, sender: int | None = None, about: str | None = None
    ) -> None:
        """Raise an alarm; it is never withdrawn (MO-7)."""
        alarm = {"reason": reason, "phase": phase, "round": r, "sender": sender, "about": about}
        self.alarms.append(alarm)

    # Learning (LM-2, AR-3 to AR-5, AR-14)

    def mix(self, round: int) -> Reply:  # noqa: A002 - the name of the field
        """Y of this round, and the point at which the gradient is wanted."""
        before = [x for x, _gamma in self.own][-1] if self.own else self.x_0
        others = [h[-1][0] if h else self.x_0 for h in self.heard.values()]
        sums = [sum(x[j] for x in others) - len(others) * before[j] for j in range(self.d)]
        a = self.a[round - 1]
        self.Y = [(before[j] << self.k) + a * sums[j] for j in range(self.d)]
        return {"Y": self.Y, "point": [y / 2 ** (self.f + self.k) for y in self.Y]}

    def send(self, round: int, gradient: Any = None) -> Reply:  # noqa: A002
        """What is said to all neighbours in this round."""
        phase, r = self.place(round)
        if phase == LEARN:
            return self.step(r, gradient)
        if phase == AGREE:
            return {"message": {"kind": "flag", "value": bool(self.alarms)}}
        if phase == COMPARE:
            return {"message": {"kind": "digest", "value": self.digest()}}
        if phase in FLOODED:
            return self.send_flood(phase, r)
        values = self.held if r == self.R else self.fresh
        return {"message": message_of(values)}

    def step(self, t: int, gradient: Any) -> Reply:
        """One update, or silence from the round on in which it leaves the range."""
        self.said = None
        if gradient is None:
            return {"message": None}
        ghat = on_lattice(gradient, self.f)
        if ghat is not None:
            moved = [y - self.A[t - 1] * g for y, g in zip(self.Y, ghat, strict=True)]
            x = [half_even(entry, self.k) for entry in moved]
            gamma = [y - (entry << self.k) for y, entry in zip(self.Y, x, strict=True)]
            if below(x, self.x_max) and below(gamma, self.g_max):
                self.said = x, gamma
        if self.said is None:
            self.alarm("OWN_UPDATE_OUT_OF_RANGE", LEARN, t, about=str(self.me))
            return {"message": None, "gradient": ghat}
        message = {"kind": "learning", "model": x, "scaled_gradient": gamma}
        return {"message": message, "gradient": ghat}

    def receive(self, round: int, inbox: list[Reply]) -> Reply:  # noqa: A002
        """What the neighbours said; who is not in the inbox said nothing."""
        phase, r = self.place(round)
        messages = {item["sender"]: item["message"] for item in inbox}
        handlers = {LEARN: self.hear_learning, COMPARE: self.hear_digests}
        handlers |= {AGREE: self.hear_agreement} | dict.fromkeys(FLOODED, self.hear_flood)
        handlers.get(phase, self.hear_broadcast)(phase, r, messages)
        new = self.alarms[self.reported :]
        self.reported = len(self.alarms)
        return {"alarms": new}

    def hear_learning(self, phase: str, t: int, messages: dict[int, Any]) -> None:
        """Keep what came, zeros in place of what is no message (LM-3, LM-4, AR-11)."""
        zeros = [0] * self.d
        self.own.append(self.said or (zeros, zeros))
        for u in self.N[self.me]:
            problem = self.objection(messages.get(u))
            if problem is not None:
                self.alarm(problem, phase, t, u)
                self.heard[u].append((zeros, zeros))
            else:
                self.heard[u].append((messages[u]["model"], messages[u]["scaled_gradient"]))
        if t == self.T:
            self.check_norms()
            if self.opening is not None:
                self.begin_lean()
                return
            self.begin_broadcast({(v, KEY) for v in range(self.n)}, {(self.me, KEY): self.key})

    def objection(self, message: Any) -> str | None:
        """Why a learning message cannot be used."""
        if message is None:
            return "MISSING_MESSAGE"
        if message["kind"] != "learning":
            return "MALFORMED_MESSAGE"
        x, gamma = message["model"], message["scaled_gradient"]
        if not all(is_integers(v, self.d) and below(v, 2**63, -1) for v in (x, gamma)):
            return "MALFORMED_MESSAGE"
        return None if below(x, self.x_max) and below(gamma, self.g_max) else "OUT_OF_RANGE"

    def check_norms(self) -> None:
        """Models beyond B_t, gradients beyond C_t (LV-2)."""
        if self.bounds is None:
            return
        models, gradients = self.bounds["model_squared"], self.bounds["gradient_squared"]
        for u, transcript in self.heard.items():
            for t, (x, gamma) in enumerate(transcript, start=1):
                if square(x) > models[t - 1]:
                    self.alarm("MODEL_NORM", LOCAL, t, u)
                if square(self.read_off(t, gamma)) > gradients[t - 1]:
                    self.alarm("GRADIENT_NORM", LOCAL, t, u)

    def read_off(self, t: int, gamma: Vector) -> Vector:
        """The gradient that a receiver reads off a message (AR-8)."""
        return [entry // self.A[t - 1] for entry in gamma]

    # The three broadcasts (VB-1 to VB-9), alarms in the order of MO-12

    def begin_broadcast(self, tags: set[Tag], own: dict[Tag, Any]) -> None:
        """Hold one's own values; every other tag is null."""
        self.tags = dict.fromkeys(sorted(tags))
        self.held, self.fresh = dict(own), dict(own)

    def hear_broadcast(self, phase: str, r: int, messages: dict[int, Any]) -> None:
        """Adopt what was null, object to what differs; in the last round compare only."""
        self.fresh = {}
        for u in self.N[self.me]:
            for tag, value in self.entries(phase, r, u, messages.get(u)):
                if tag in self.held:
                    if value != self.held[tag]:
                        self.alarm("DIFFERENT_VALUE", phase, r, u, text(tag))
                elif r < self.R:
                    self.held[tag] = self.fresh[tag] = value
        if r == self.R:
            for tag in self.tags:
                if tag not in self.held:
                    self.alarm("NO_VALUE", phase, r, None, text(tag))
            self.leave_broadcast(phase)

    def entries(self, phase: str, r: int, u: int, message: Any) -> list[tuple[Tag, Any]]:
        """The entries of a message that have the form of their tag (VB-9)."""
        if not self.is_mapping(message):
            problem = "MISSING_MESSAGE" if message is None else "MALFORMED_MESSAGE"
            self.alarm(problem, phase, r, u)
            return []
        found = values_of(message)
        if any(tag not in self.tags for tag in found):
            self.alarm("UNKNOWN_TAG", phase, r, u)
        good = []
        for tag in self.tags:
            value = found.get(tag)
            if value is not None and self.well_formed(phase, value):
                good.append((tag, value))
            elif value is not None:
                self.alarm("MALFORMED_VALUE", phase, r, u, text(tag))
        return good

    def is_mapping(self, message: Any) -> bool:
        """Whether a message is a mapping: entries, in which no public tag stands twice."""
        if message is None or message["kind"] != "entries":
            return False
        tags = [(source, slot) for source, slot, _value in message["entries"]]
        tags = [tag for tag in tags if tag in self.tags]
        return len(tags) == len(set(tags))

    def well_formed(self, phase: str, value: Any) -> bool:
        """The form of keys, reports and estimates (LV-4, LV-6, GV-3)."""
        if phase == KEYS:
            return is_integers([value], 1) and 0 <= value < self.p
        if phase == HASHES:
            return is_integers(value, 4 * self.n) and all(0 <= h < self.p for h in value)
        if not is_integers(value, len(self.weightings) * self.d):
            return False
        for weighting, ghat in zip(self.weightings, self.split(value), strict=True):
            W = sum(weighting["weights"])
            if not below(ghat, W * self.g_max + 1):
                return False
        return True

    def leave_broadcast(self, phase: str) -> None:
        """Check what the broadcast brought and begin the next phase."""
        slots = {(v, u) for v in range(self.n) for u in self.N[v]}
        if phase == KEYS:
            self.keys = [self.held.get((v, KEY), 0) for v in range(self.n)]
            reports = {(self.me, u): self.report(h) for u, h in self.heard.items()}
            self.begin_broadcast(slots, reports)
        elif phase == HASHES:
            self.check_hashes()
            estimates = {(self.me, u): self.estimate(h) for u, h in self.heard.items()}
            self.begin_broadcast(slots, estimates)
        else:
            self.check_estimates()

    # Hashes (HA-3, HA-10, LV-5 to LV-11)

    def report(self, transcript: Transcript) -> Vector:
        """Four hashes under the key of every agent."""
        models = [self.x_0, *(x for x, _gamma in transcript)]
        x_out = [entry for x in models[1:] for entry in x]
        x_in = [entry for x in models[:-1] for entry in x]
        x_in_eta = [a * entry for a, x in zip(self.a, models[:-1], strict=True) for entry in x]
        gammas = [entry for _x, gamma in transcript for entry in gamma]
        return [self.hash(s, v) for s in self.keys for v in (x_out, x_in, x_in_eta, gammas)]

    def hash(self, s: int, vector: Vector) -> int:
        """sum_i xi_i s^(i-1) mod p, by Horner's rule."""
        total = 0
        for entry in reversed(vector):
            total = (total * s + entry) % self.p
        return total

    def check_hashes(self) -> None:
        """Everybody, under every key that is checked."""
        own = self.report(self.own)
        for w in self.checked:
            four = {tag: value[4 * w : 4 * w + 4] for tag, value in self.held.items()}
            for v in range(self.n):
                reports = [four[u, v] for u in self.N[v] if (u, v) in four]
                if any(report != reports[0] for report in reports):
                    self.alarm("INCONSISTENT_HASHES", LOCAL, self.R, None, f"{v}/{w}")
            for v in range(self.n):
                if not self.relation_holds(v, four):
                    self.alarm("BROKEN_RELATION", LOCAL, self.R, None, f"{v}/{w}")
            for u in self.N[self.me]:
                if four.get((u, self.me), own[4 * w : 4 * w + 4]) != own[4 * w : 4 * w + 4]:
                    self.alarm("SELF_MISMATCH", LOCAL, self.R, u, f"{self.me}/{w}")

    def relation_holds(self, v: int, four: dict[Tag, Vector]) -> bool:
        """The linear relation of agent v; not tested where a report is missing."""
        agreed = [self.lowest(u, four) for u in (v, *self.N[v])]
        if None in agreed:
            return True
        (h_out, h_in, h_eta, h_gamma), *others = agreed
        mixing = sum(other[2] - h_eta for other in others)
        difference: int = ((h_out - h_in) << self.k) - mixing + h_gamma
        return difference % int(self.p) == 0

    def lowest(self, v: int, values: dict[Tag, Any]) -> Any:
        """What the lowest-numbered reporter of v says."""
        return next((values[u, v] for u in self.N[v] if (u, v) in values), None)

    # Estimates (GV-1 to GV-8, GV-12, GV-13)

    def estimate(self, transcript: Transcript) -> Vector:
        """The entries of ghat for each weighting."""
        rows = [self.read_off(t, gamma) for t, (_x, gamma) in enumerate(transcript, start=1)]
        found = []
        for weighting in self.weightings:
            pairs = list(zip(weighting["weights"], rows, strict=True))
            found += [sum(w * g[j] for w, g in pairs) for j in range(self.d)]
        return found

    def split(self, estimate: Vector) -> list[Vector]:
        """ghat of each weighting."""
        return [estimate[begin : begin + self.d] for begin in range(0, len(estimate), self.d)]

    def check_estimates(self) -> None:
        """Reporters agree, one's own estimate is right, sums are within the thresholds."""
        for u in range(self.n):
            reports = [self.held[v, u] for v in self.N[u] if (v, u) in self.held]
            if any(report != reports[0] for report in reports):
                self.alarm("INCONSISTENT_ESTIMATES", GLOBAL, self.R, None, str(u))
        own = self.estimate(self.own)
        for v in self.N[self.me]:
            if self.held.get((v, self.me), own) != own:
                self.alarm("SELF_ESTIMATE_MISMATCH", GLOBAL, self.R, v, str(self.me))
        agreed = [self.lowest(u, self.held) for u in range(self.n)]
        if None in agreed:
            return
        for index in range(len(self.weightings)):
            ghats = [self.split(one)[index] for one in agreed]
            total = [sum(ghat[j] for ghat in ghats) for j in range(self.d)]
            spread = sum(square(ghat) for ghat in ghats)
            self.test_statistics(GLOBAL, self.R, index, total, spread)

    def test_statistics(
        self, phase: str, r: int, index: int, total: Vector | None, spread: int | None
    ) -> None:
        """Both statistics of a weighting within its thresholds, as far as they are known."""
        weighting = self.weightings[index]
        if total is not None:
            drift = square(total)
            if drift > weighting["optimality"] ** 2:
                self.alarm("NOT_OPTIMAL", phase, r, None, weighting["name"])
            if drift < weighting["optimality_low"] ** 2:
                self.alarm("TOO_OPTIMAL", phase, r, None, weighting["name"])
        if spread is not None:
            if spread > weighting["heterogeneity"]:
                self.alarm("TOO_HETEROGENEOUS", phase, r, None, weighting["name"])
            if spread < weighting["heterogeneity_low"]:
                self.alarm("TOO_HOMOGENEOUS", phase, r, None, weighting["name"])

    # Lean validation: routes and limits (LE-2, LE-3)

    def prepare(self, lean: dict[str, Any]) -> None:
        """What everybody computes from the graph and the public parameters."""
        self.kappa, self.name_of_run = lean["kappa"], bytes.fromhex(lean["run"])
        self.dist = [self.distances(v) for v in range(self.n)]
        farthest = [max(row) for row in self.dist]
        self.D, self.height = max(farthest), min(farthest)
        self.root = farthest.index(self.height)
        self.depth = self.dist[self.root]
        self.parent = [self.nearer(v) for v in range(self.n)]
        self.children = [[u for u in range(self.n) if self.parent[u] == v] for v in range(self.n)]
        self.largest = []  # L of every weighting
        for weighting in self.weightings:
            terms = [-(-(self.g_max - 1) // A) for A in self.A]
            if self.bounds is not None:
                norms = [math.isqrt(square) for square in self.bounds["gradient_squared"]]
                terms = [min(pair) for pair in zip(terms, norms, strict=True)]
            pairs = zip(weighting["weights"], terms, strict=True)
            self.largest.append(sum(w * term for w, term in pairs))

    def distances(self, v: int) -> list[int]:
        """The number of hops from v to everybody."""
        found, front = {v: 0}, [v]
        while front:
            front = [w for u in front for w in self.N[u] if w not in found]
            found |= dict.fromkeys(front, max(found.values()) + 1)
        return [found[u] for u in range(self.n)]

    def nearer(self, v: int) -> int | None:
        """The parent of v; the root has none."""
        return next((u for u in self.N[v] if self.depth[u] < self.depth[v]), None)

    def size(self, v: int) -> int:
        """The number of agents in the subtree of v."""
        return 1 + sum(self.size(u) for u in self.children[v])

    # Floods, and the sum along the tree (LE-5 to LE-8)

    def begin_lean(self) -> None:
        """Commit to the opening; nothing is held yet."""
        self.held, self.keys = {}, []
        self.own_sum = self.estimate(self.own)
        committed = self.commitment(self.me, self.opening)
        self.begin_flood(FIX, [committed, *self.words(self.own)[0]])

    def begin_flood(self, phase: str, own: Vector) -> None:
        """Hold one's own value, and know the tags of the phase."""
        slot, others = FLOODED[phase], [v for v in range(self.n) if v != self.root]
        tags = [(v, slot) for v in range(self.n)]
        if phase == FIX:
            tags += [*((v, SUM) for v in others), (self.root, TOTAL)]
        self.tags = dict.fromkeys(tags)
        self.held[self.me, slot] = own
        self.fresh = {(self.me, slot): own}

    def send_flood(self, phase: str, r: int) -> Reply:
        """What is new, and to the parent or the children one entry more."""
        values = self.fresh if r <= self.D else {}
        receivers, tag = self.along_the_tree(phase, r)
        more = {tag: self.subtree() if tag[1] == SUM else self.held[tag]} if receivers else {}
        addressed = [{"receiver": u, "message": message_of({**values, **more})} for u in receivers]
        return {"message": message_of(values), "addressed": addressed}

    def along_the_tree(self, phase: str, r: int) -> tuple[list[int], Tag]:
        """To whom something goes along the tree in this round, and its tag."""
        parent, total = self.parent[self.me], (self.root, TOTAL)
        if phase == FIX and parent is not None and r == self.up(self.me):
            return [parent], (self.me, SUM)
        if phase == FIX and r == self.height + self.depth[self.me] + 1 and total in self.held:
            return self.children[self.me], total
        return [], total

    def up(self, v: int) -> int:
        """The round in which v sends its sum."""
        return self.height - self.depth[v] + 1

    def subtree(self) -> Vector:
        """One's own ghat and the sums of the children; one that did not come counts as zero."""
        sums = [self.held[u, SUM] for u in self.children[self.me] if (u, SUM) in self.held]
        return [sum(column) for column in zip(self.own_sum, *sums, strict=True)]

    def hear_flood(self, phase: str, r: int, messages: dict[int, Any]) -> None:
        """Adopt what was null; object to what is malformed, early, late, different or missing."""
        self.fresh = {}
        for u in self.N[self.me]:
            for tag, value in self.flood_entries(phase, r, u, messages.get(u)):
                (first, last), about = self.window(u, tag), text(tag)
                if not self.has_form(tag, value):
                    self.alarm("MALFORMED_VALUE", phase, r, u, about)
                elif r < first:
                    self.alarm("EARLY_VALUE", phase, r, u, about)
                elif r > last:
                    self.alarm("LATE_VALUE", phase, r, u, about)
                elif self.held.get(tag) is None:
                    self.held[tag] = value
                    if tag[1] == FLOODED[phase]:
                        self.fresh[tag] = value
                elif self.held[tag] != value:
                    self.alarm("DIFFERENT_VALUE", phase, r, u, about)
        if (phase, self.me, r) == (FIX, self.root, self.height):
            self.held[self.root, TOTAL] = self.subtree()
        if r == dict(self.schedule)[phase]:
            for tag in self.tags:
                expected = tag[1] != SUM or tag[0] in self.children[self.me]
                if expected and self.held.get(tag) is None:
                    self.alarm("NO_VALUE", phase, r, None, text(tag))
            self.leave_flood(phase, r)

    def flood_entries(self, phase: str, r: int, u: int, message: Any) -> list[tuple[Tag, Any]]:
        """The entries that may come over this edge, in the order of their tags."""
        if not self.is_mapping(message):
            problem = "MISSING_MESSAGE" if message is None else "MALFORMED_MESSAGE"
            self.alarm(problem, phase, r, u)
            return []
        told = values_of(message)
        if any(self.window(u, tag) == NEVER for tag in told):
            self.alarm("UNKNOWN_TAG", phase, r, u)
        public = [tag for tag in self.tags if self.window(u, tag) != NEVER]
        return [(tag, told[tag]) for tag in public if told.get(tag) is not None]

    def window(self, u: int, tag: Tag) -> tuple[int, int]:
        """The first and the last round in which a tag may come from u."""
        source, slot = tag
        if tag not in self.tags:
            return NEVER
        if slot == SUM:
            mine = source == u and self.parent[u] == self.me
            return (self.up(u), self.up(u)) if mine else NEVER
        if slot == TOTAL:
            down = self.height + self.depth[self.me]
            return (down, down) if self.parent[self.me] == u else NEVER
        return self.dist[u][source] + 1, self.D

    def has_form(self, tag: Tag, value: Any) -> bool:
        """The form of flooded values and sums (LE-7, LE-8, LE-10, LE-11)."""
        source, slot = tag
        m, p = len(self.weightings), self.p
        if slot in (SUM, TOTAL):
            count = self.n if slot == TOTAL else self.size(source)
            if not is_integers(value, m * self.d):
                return False
            pairs = zip(self.split(value), self.largest, strict=True)
            return all(below(part, count * L + 1) for part, L in pairs)
        limits = {
            FIXED: [BEYOND, *(self.d * L**2 + 1 for L in self.largest)],
            OPENING: [BEYOND] + [p] * self.kappa,
            REPORT: [p] * (self.kappa * (4 + m)),
        }[slot]
        if not is_integers(value, len(limits)):
            return False
        return all(0 <= entry < limit for entry, limit in zip(value, limits, strict=True))

    def leave_flood(self, phase: str, r: int) -> None:
        """What the flood brought, and the next one."""
        if phase == FIX:
            self.begin_flood(OPEN, self.opening)
        elif phase == OPEN:
            self.check_openings(r)
            self.begin_flood(REPORTS, self.words(self.own)[1])
        else:
            self.check_reports(r)

    # What an agent commits to, opens, reports and compares (LE-9 to LE-13)

    def commitment(self, v: int, opening: Vector) -> int:
        """What v commits to this nonce and these shares with."""
        return self.sha256("commitment", number(v), *map(number, opening))

    def digest(self) -> int:
        """The digest of everything flooded that is held."""
        tags = [(v, slot) for v in range(self.n) for slot in (FIXED, OPENING, REPORT)]
        values = [self.held.get(tag) for tag in tags]
        return self.sha256(
            "digest", *(b"" if v is None else frame(*map(number, v)) for v in values)
        )

    def sha256(self, purpose: str, *pieces: bytes) -> int:
        """SHA-256 of framed pieces after the purpose and the name of the run."""
        text = frame(b"valid-ref/lean/1/" + purpose.encode(), self.name_of_run, *pieces)
        return int.from_bytes(hashlib.sha256(text).digest(), "big")

    def check_openings(self, r: int) -> None:
        """Openings fit their commitments; the common keys are the sums of the shares."""
        for v in range(self.n):
            fixed, opening = (self.held.get((v, slot)) for slot in (FIXED, OPENING))
            if fixed and opening and fixed[0] != self.commitment(v, opening):
                self.alarm("OPENING_MISMATCH", OPEN, r, None, str(v))
        opened = [self.held[v, OPENING] for v in range(self.n) if (v, OPENING) in self.held]
        self.keys = [sum(o[1 + i] for o in opened) % self.p for i in range(self.kappa)]

    def words(self, transcript: Transcript) -> tuple[Vector, Vector]:
        """The numbers q and the report of who sent this."""
        ghats, hashes = self.split(self.estimate(transcript)), self.report(transcript)
        report = []
        for i, s in enumerate(self.keys):
            report += [*hashes[4 * i : 4 * i + 4], *(self.hash(s, ghat) for ghat in ghats)]
        return [square(ghat) for ghat in ghats], report

    def check_reports(self, r: int) -> None:
        """Neighbours against what they sent, relations, the total, the statistics (LE-12)."""
        for u in self.N[self.me]:
            numbers, report = self.words(self.heard[u])
            fixed = self.held.get((u, FIXED))
            if fixed is not None and fixed[1:] != numbers:
                self.alarm("RECORD_MISMATCH", REPORTS, r, u, text((u, FIXED)))
            if self.held.get((u, REPORT), report) != report:
                self.alarm("RECORD_MISMATCH", REPORTS, r, u, text((u, REPORT)))
        width = 4 + len(self.weightings)
        under: list[dict[int, Vector]] = [{} for _key in range(self.kappa)]
        for i, known in enumerate(under):
            for v in (v for v in range(self.n) if (v, REPORT) in self.held):
                known[v] = self.held[v, REPORT][i * width : (i + 1) * width]
            # As if all neighbours of an agent reported on it what it reports on itself.
            four = {(u, v): words[:4] for v, words in known.items() for u in self.N[v]}
            for v in (v for v in range(self.n) if not self.relation_holds(v, four)):
                self.alarm("BROKEN_RELATION", REPORTS, r, None, f"{v}/{i}")
        total = self.held.get((self.root, TOTAL))
        parts = [None] * len(self.weightings) if total is None else self.split(total)
        for index, part in enumerate(parts):
            if part is not None and any(
                self.differs(index, part, *pair) for pair in zip(self.keys, under, strict=True)
            ):
                self.alarm("WRONG_TOTAL", REPORTS, r, None, self.weightings[index]["name"])
        fixed_values = [self.held.get((v, FIXED)) for v in range(self.n)]
        for index, part in enumerate(parts):
            squares = [value[1 + index] for value in fixed_values if value is not None]
            spread = sum(squares) if len(squares) == self.n else None
            self.test_statistics(REPORTS, r, index, part, spread)

    def differs(self, index: int, total: Vector, key: int, known: dict[int, Vector]) -> bool:
        """Whether the hash of a total is not the sum of those of all; not asked if one is null."""
        if len(known) < self.n:
            return False
        return bool(
            (sum(words[4 + index] for words in known.values()) - self.hash(key, total)) % self.p
        )

    def hear_digests(self, phase: str, r: int, messages: dict[int, Any]) -> None:
        """Neighbours hold what one holds oneself."""
        own = self.digest()
        for u in self.N[self.me]:
            said = messages.get(u)
            if said is None:
                self.alarm("MISSING_MESSAGE", phase, r, u)
                continue
            value = said["value"] if said["kind"] == "digest" else None
            if type(value) is not int or not 0 <= value < BEYOND:
                self.alarm("MALFORMED_MESSAGE", phase, r, u)
            elif value != own:
                self.alarm("DIGEST_MISMATCH", phase, r, u)

    # Agreement and the end (SA-1 to SA-4, VA-2)

    def hear_agreement(self, phase: str, r: int, messages: dict[int, Any]) -> None:
        """An alarm, silence or garbage of a neighbour is an alarm, once for each neighbour."""
        for u in self.N[self.me]:
            message = messages.get(u)
            if message == {"kind": "flag", "value": False}:
                continue
            flag = message is not None and message["kind"] == "flag"
            other = "MISSING_MESSAGE" if message is None else "MALFORMED_MESSAGE"
            reason = "NEIGHBOUR_ALARM" if flag else other
            known = {(a["reason"], a["sender"]) for a in self.alarms if a["phase"] == phase}
            if (reason, u) not in known:
                self.alarm(reason, phase, r, u)

    def end(self) -> Reply:
        """The verdict; a model only if it is valid."""
        valid = not self.alarms
        model = self.own[-1][0] if valid else None
        return {"valid": valid, "model": model, "alarms": self.alarms}


def on_lattice(gradient: list[Any], f: int) -> Vector | None:
    """The nearest lattice point, ties to even (AR-3); None for what is not finite."""
    scaled = [float(entry) * 2.0**f for entry in gradient]
    return [round(entry) for entry in scaled] if all(map(math.isfinite, scaled)) else None


def half_even(numerator: int, bits: int) -> int:
    """numerator / 2^bits to the nearest integer, ties to even, without a float (AR-5)."""
    quotient, rest = numerator >> bits, numerator & ((1 << bits) - 1)
    twice = 2 * rest - (1 << bits)
    return quotient + (twice > 0 or (twice == 0 and quotient % 2 == 1))


def is_integers(value: Any, length: int) -> bool:
    """Whether a value is a list of so many integers; true and false are none."""
    return type(value) is list and len(value) == length and all(type(e) is int for e in value)


def below(vector: Vector, limit: int, lowest: int = 0) -> bool:
    """Whether every entry is below the limit in magnitude; `lowest` = -1 admits -limit too."""
    return all(lowest - limit < entry < limit for entry in vector)


def square(vector: Vector) -> int:
    """The exact sum of squares (AR-12)."""
    return sum(entry * entry for entry in vector)


def text(tag: Tag) -> str:
    """A tag as alarms name it."""
    return f"{tag[0]}/{NAMES.get(tag[1], tag[1])}"


def message_of(values: dict[Tag, Any]) -> Reply:
    """A message with these entries."""
    entries = [[source, slot, value] for (source, slot), value in values.items()]
    return {"kind": "entries", "entries": entries}


def values_of(message: Any) -> dict[Tag, Any]:
    """The entries of a message by tag."""
    return {(source, slot): value for source, slot, value in message["entries"]}


def number(value: int) -> bytes:
    """An integer from 0 on, highest byte first, without leading zeros (LE-9)."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def frame(*pieces: bytes) -> bytes:
    """Each piece after its length in 8 bytes (LE-9)."""
    return b"".join(len(piece).to_bytes(8, "big") + piece for piece in pieces)


def main() -> None:
    """Answer requests until there are no more."""
    agent = Agent()
    for line in sys.stdin:
        request = json.loads(line)
        reply = getattr(agent, request.pop("op"))(**request)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
