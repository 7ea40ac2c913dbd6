"""A second implementation, from the text of the specification alone: networks and whole runs.

Standard library only.
"""

from checks import (
    OTHER,
    alarm,
    estimate_alarms,
    estimate_form,
    estimate_of,
    hash_alarms,
    norm_alarms,
    report_of,
    residues,
)
from units import adjacency, ints, mixed, texts, updated

UNKNOWN = "unknown tags"


def tag_text(tag):
    return f"{tag[0]}/{'key' if tag[1] == -1 else tag[1]}"


def message_of(phase, spoken, tables):
    if spoken is None or spoken["kind"] == "other":
        return None if spoken is None else OTHER
    if spoken["kind"] == "learning":
        return ints(spoken["model"]), ints(spoken["scaled_gradient"])
    if spoken["kind"] == "flag":
        return spoken["value"]
    if spoken["kind"] == "digest":
        return int(spoken["value"])
    rows = []
    for source, slot, row in spoken["rows"]:
        table = tables["estimates" if vector_of(phase, slot) else "reports"]
        rows.append((source, slot, table[row] if row < len(table) else []))
    found = [((source, -1), int(key)) for source, key in spoken["keys"]]
    found += [((source, slot), ints(value)) for source, slot, value in rows]
    found += [(tuple(pair), None) for pair in spoken["nulls"]]
    found += [(tuple(pair), OTHER) for pair in spoken["malformed"]]
    found += [(UNKNOWN, 1)] if spoken["unknown_tags"] else []
    return dict(found) if len(dict(found)) == len(found) else OTHER  # VB-9: a tag stands once


def vector_of(phase, slot):
    """Whether a value is a vector: an estimate, a sum, a total."""
    return phase == "GlobalValidate" or slot < -4


class Network:
    """The graph, the words of Byzantine agents, what honest agents said, their alarms."""

    def __init__(self, agents, edges, byzantine, words, tables=None):
        self.n, self.near = agents, adjacency(agents, edges)
        self.honest = [v for v in range(agents) if v not in byzantine]
        self.tables, self.said = tables or {}, []
        self.alarms = {v: [] for v in self.honest}
        self.words = {
            (w["phase"], w["round"], w["sender"], u): w["message"]
            for w in words
            for u in w["receivers"]
        }

    def deliver(self, phase, number, messages):
        """What every honest agent receives, by sender; None is silence."""
        self.said += [(phase, number, v, messages[v]) for v in self.honest]

        def heard(u, v):
            if u in messages:
                return messages[u]
            return message_of(phase, self.words.get((phase, number, u, v)), self.tables)

        return {v: {u: heard(u, v) for u in self.near[v]} for v in self.honest}

    def as_expected(self, expected):
        """Whether the honest messages are the expected ones."""
        lines = [
            (e["phase"], e["round"], e["agent"], message_of(e["phase"], e["message"], self.tables))
            for e in expected
        ]
        return lines == self.said

    def broadcast(self, phase, tags, own, well_formed):
        """ValidatedBroadcast; what every honest agent holds in the end."""
        held = {v: dict(own[v]) for v in self.honest}
        fresh = {v: dict(own[v]) for v in self.honest}
        for number in range(1, self.n + 1):
            last = number == self.n
            sent = {v: dict(held[v]) if last else fresh[v] for v in self.honest}
            inbox = self.deliver(phase, number, sent)
            fresh = {v: {} for v in self.honest}
            for v in self.honest:
                for u in self.near[v]:
                    for tag, value in self._entries(
                        v, u, inbox[v][u], (phase, number), tags=tags, well_formed=well_formed
                    ):
                        if tag in held[v] and held[v][tag] != value:
                            self._object(v, "DIFFERENT_VALUE", phase, number, u, tag_text(tag))
                        elif tag not in held[v] and not last:
                            held[v][tag] = fresh[v][tag] = value
        for v in self.honest:
            for tag in tags:
                if tag not in held[v]:
                    self._object(v, "NO_VALUE", phase, self.n, None, tag_text(tag))
        return held

    def _object(self, v, *what):
        self.alarms[v].append(alarm(*what))

    def _entries(self, v, u, message, place, *, tags, well_formed):
        phase, number = place
        if not isinstance(message, dict):
            reason = "MISSING_MESSAGE" if message is None else "MALFORMED_MESSAGE"
            self._object(v, reason, phase, number, u)
            return
        if any(tag not in tags for tag in message):
            self._object(v, "UNKNOWN_TAG", phase, number, u)
        for tag in tags:
            if message.get(tag) is not None:
                if well_formed(message[tag]):
                    yield tag, message[tag]
                else:
                    self._object(v, "MALFORMED_VALUE", phase, number, u, tag_text(tag))

    def agreement(self, alarmed):
        """ValidationStateAgreement; who is alarmed in the end."""
        phase, state = "ValidationStateAgreement", {v: v in alarmed for v in self.honest}
        known = set()
        for number in range(1, self.n):
            inbox = self.deliver(phase, number, dict(state))
            for v in self.honest:
                for u, word in inbox[v].items():
                    if word is False:
                        continue
                    reason = "MISSING_MESSAGE" if word is None else "MALFORMED_MESSAGE"
                    reason = "NEIGHBOUR_ALARM" if word is True else reason
                    state[v] = True
                    if (v, reason, u) not in known:
                        known.add((v, reason, u))
                        self._object(v, reason, phase, number, u)
        return state


def learn(net, public, gradients):
    """LearnModel; for every honest agent its own record and what it received, by sender."""
    k, X, G = public["step_bits"], int(public["model_limit"]), int(public["gradient_limit"])
    zero, start = [0] * public["dimension"], ints(public["start_model"])
    own = {v: [] for v in net.honest}
    got = {v: {u: [] for u in net.near[v]} for v in net.honest}
    message, silent = {}, set()
    for t, (a, A) in enumerate(zip(ints(public["mixing"]), ints(public["gradient"]), strict=True)):
        for v in net.honest:
            last = own[v][-1][0] if t else start
            models = [got[v][u][-1][0] if t else start for u in net.near[v]]
            ghat, found = gradients[t][v], None
            if v not in silent and ghat is not None:
                found = updated(k, A, (X, G), mixed(k, a, last, models), ints(ghat))
            if found is None and v not in silent:
                silent.add(v)
                about = "OWN_UPDATE_OUT_OF_RANGE", "LearnModel", t + 1, None, str(v)
                net.alarms[v].append(alarm(*about))
            message[v] = found
        inbox = net.deliver("LearnModel", t + 1, dict(message))
        for v in net.honest:
            own[v].append(message[v] or (zero, zero))
            for u, word in inbox[v].items():
                reason = problem(word, public["dimension"], X, G)
                if reason:
                    net.alarms[v].append(alarm(reason, "LearnModel", t + 1, u))
                got[v][u].append((zero, zero) if reason else word)
    return own, got


def problem(word, d, X, G):
    if word is None:
        return "MISSING_MESSAGE"
    if not isinstance(word, tuple) or any(len(part) != d for part in word):
        return "MALFORMED_MESSAGE"
    inside = all(abs(e) < X for e in word[0]) and all(abs(e) < G for e in word[1])
    return None if inside else "OUT_OF_RANGE"


def run(case):
    given, expected = case["input"], case["expected"]
    public, keys = given["parameters"], given["keys"]
    n, p = public["agents"], int(public["prime"])
    net = Network(n, public["edges"], given["byzantine"], given["words"], given["tables"])
    own, got = learn(net, public, given["gradients"])
    for v in net.honest:
        for u in net.near[v]:
            net.alarms[v] += norm_alarms(public, u, got[v][u])
    mine = {v: {(v, -1): int(keys[v])} for v in net.honest}
    held = net.broadcast("LocalValidate.keys", [(v, -1) for v in range(n)], mine, residues(0, p))
    keys = {v: [held[v].get((u, -1), 0) for u in range(n)] for v in net.honest}
    pairs = [(v, u) for v in range(n) for u in net.near[v]]
    reports = {
        v: {(v, u): report_of(public, keys[v], got[v][u]) for u in net.near[v]} for v in net.honest
    }
    held = net.broadcast("LocalValidate.hashes", pairs, reports, residues(4 * n, p))
    for v in net.honest:
        net.alarms[v] += hash_alarms(public, v, held[v], report_of(public, keys[v], own[v]))
    guesses = {v: {(v, u): estimate_of(public, got[v][u]) for u in net.near[v]} for v in net.honest}
    held = net.broadcast("GlobalValidate", pairs, guesses, estimate_form(public))
    for v in net.honest:
        net.alarms[v] += estimate_alarms(public, v, held[v], estimate_of(public, own[v]))[0]
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
    return net.as_expected(expected["said"]) and in_order(ends) == in_order(expected["ends"])


def in_order(ends):
    """The same with alarms sorted."""
    return [end | {"alarms": sorted(map(str, end["alarms"]))} for end in ends]


def broadcast_case(case):
    given, expected = case["input"], case["expected"]
    net = Network(given["agents"], given["edges"], given["byzantine"], given["words"])
    own = {v: {(v, -1): int(key)} for v, key in given["keys"]}
    tags, form = [(v, -1) for v in range(net.n)], residues(0, int(given["prime"]))
    held = net.broadcast("LocalValidate.keys", tags, own, form)
    ends = [
        {
            "agent": v,
            "held": [[s, str(e)] for (s, _slot), e in sorted(held[v].items())],
            "alarms": net.alarms[v],
        }
        for v in net.honest
    ]
    return net.as_expected(expected["said"]) and in_order(ends) == in_order(expected["ends"])


def agreement_case(case):
    given, expected = case["input"], case["expected"]
    net = Network(given["agents"], given["edges"], given["byzantine"], given["words"])
    state = net.agreement(given["alarmed"])
    ends = [{"agent": v, "alarmed": state[v], "alarms": net.alarms[v]} for v in net.honest]
    return net.as_expected(expected["said"]) and in_order(ends) == in_order(expected["ends"])


NETWORKS = {"run": run, "keys": broadcast_case, "states": agreement_case}
"""By operation: whether a case comes out as it should."""
