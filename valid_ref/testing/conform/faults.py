"""The example agent with one mistake at a time: what the kit must find, and the clause it names.

Every fault replaces words of `agent.py` that stand there once.
"""

from pathlib import Path

import attrs

from valid_ref.testing.conform.peer import ConformError

AGENT = Path(__file__).parent / "agent.py"
"""The example agent; it can be run where it lies."""


@attrs.frozen
class Fault:
    """A typical mistake: these words instead of those break this clause."""

    name: str
    clause: str
    words: str
    instead: str


PAPER_FAULTS: tuple[Fault, ...] = (
    # learning
    Fault("mixing-step-of-last-round", "AR-4", "a = self.a[round - 1]", "a = self.a[round - 2]"),
    Fault("mixing-in-floats", "AR-4", "(before[j] << self.k) + a * sums[j]",
          "int(float((before[j] << self.k) + a * sums[j]))"),
    Fault("mixing-divides-by-degree", "AR-4", "+ a * sums[j]", "+ a * sums[j] // len(others)"),
    Fault("gradient-at-the-old-model", "AR-4",
          "[y / 2 ** (self.f + self.k) for y in self.Y]", "[x / 2**self.f for x in before]"),
    Fault("gradient-truncated", "AR-3", "[round(entry) for", "[int(entry) for"),
    Fault("gradient-half-up", "AR-3", "[round(entry) for", "[math.floor(entry + 0.5) for"),
    Fault("gradient-added", "AR-5", "y - self.A[t - 1] * g", "y + self.A[t - 1] * g"),
    Fault("model-truncated", "AR-5",
          "return quotient + (twice > 0 or (twice == 0 and quotient % 2 == 1))",
          "return quotient + (numerator < 0 and rest > 0)"),
    Fault("model-half-up", "AR-5", "(twice == 0 and quotient % 2 == 1)", "twice == 0"),
    Fault("gamma-of-the-other-sign", "AR-6", "[y - (entry << self.k) for y, entry in",
          "[(entry << self.k) - y for y, entry in"),
    Fault("gamma-without-the-rounding", "AR-6",
          "gamma = [y - (entry << self.k) for y, entry in zip(self.Y, x, strict=True)]",
          "gamma = [self.A[t - 1] * g for g in ghat]"),
    Fault("speaks-out-of-range", "AR-14", "if below(x, self.x_max) and below(gamma, self.g_max):",
          "if True:"),
    Fault("own-gradient-at-its-limit", "AR-14", "if below(x, self.x_max) and below(gamma, self.g_max):",
          "if below(x, self.x_max) and below(gamma, self.g_max + 1):"),
    Fault("own-model-at-its-limit", "AR-14", "if below(x, self.x_max) and below(gamma, self.g_max):",
          "if below(x, self.x_max + 1) and below(gamma, self.g_max):"),
    Fault("own-gradient-tested-before-rounding", "AR-14",
          "if below(x, self.x_max) and below(gamma, self.g_max):",
          "if below(x, self.x_max) and below([self.A[t - 1] * g for g in ghat], self.g_max):"),
    Fault("own-gradient-tested-twice", "AR-14", "if below(x, self.x_max) and below(gamma, self.g_max):",
          "if below([self.A[t - 1] * g for g in ghat] + gamma, self.g_max) and below(x, self.x_max):"),
    Fault("limits-by-default", "AR-14", "            if below(x, self.x_max) and below(gamma, self.g_max):",
          "            if below(x, self.p) and below(gamma, min(2**62, self.p) // 2):"),
    Fault("one-without-a-fraction", "AR-5", "    twice = 2 * rest - (1 << bits)\n",
          "    if bits == 0:\n        return numerator + numerator % 2\n    twice = 2 * rest - (1 << bits)\n"),
    Fault("own-range-not-alarmed", "AR-14",
          'self.alarm("OWN_UPDATE_OUT_OF_RANGE", LEARN, t, about=str(self.me))', "pass"),
    Fault("keeps-the-last-model-of-the-silent", "LM-4",
          "self.heard[u].append((zeros, zeros))",
          "self.heard[u].append(self.heard[u][-1] if self.heard[u] else (zeros, zeros))"),
    Fault("missing-message-not-alarmed", "MO-8", "self.alarm(problem, phase, t, u)",
          'problem == "MISSING_MESSAGE" or self.alarm(problem, phase, t, u)'),
    Fault("range-not-checked", "AR-11",
          'return None if below(x, self.x_max) and below(gamma, self.g_max) else "OUT_OF_RANGE"',
          "return None"),
    Fault("bounds-inclusive", "AR-11", "lowest - limit < entry < limit for",
          "lowest - limit <= entry <= limit for"),
    Fault("words-beyond-64-bits", "MO-8", " and below(v, 2**63, -1) for v", " for v"),
    Fault("zeroes-the-bad-half-only", "LM-4", "self.heard[u].append((zeros, zeros))",
          "m = messages.get(u) or {}\n"
          '                halves = (m.get("model"), self.x_max), (m.get("scaled_gradient"), self.g_max)\n'
          "                self.heard[u].append(tuple(\n"
          "                    v if is_integers(v, self.d) and below(v, limit) else zeros for v, limit in halves))"),
    Fault("keeps-the-good-half-in-the-last-round", "LM-4", "self.heard[u].append((zeros, zeros))",
          "m = messages.get(u) or {}\n"
          '                v = m.get("scaled_gradient")\n'
          "                good = t == self.T and is_integers(v, self.d) and below(v, self.g_max)\n"
          "                self.heard[u].append((zeros, v if good else zeros))"),
    Fault("own-record-goes-on-in-silence", "LM-4", "self.own.append(self.said or (zeros, zeros))",
          "self.own.append(self.said or (self.own[-1] if self.own else (zeros, zeros)))"),
    Fault("fractions-in-models", "AR-5", 'message = {"kind": "learning", "model": x,',
          'message = {"kind": "learning", "model": [e / 3 for e in x],'),
    Fault("silent-after-an-alarm", "MO-8", "phase, r = self.place(round)\n        if phase == LEARN",
          'phase, r = self.place(round)\n        if self.alarms:\n'
          '            return {"message": None} | ({"gradient": None} if gradient else {})\n'
          "        if phase == LEARN"),
    # norms
    Fault("norms-not-checked", "LV-2", "if self.bounds is None:", "if True:"),
    Fault("norms-in-floats", "LV-2", "if square(x) > models[t - 1]:",
          "if math.sqrt(square(x)) > math.sqrt(models[t - 1]):"),
    Fault("norm-of-gamma", "LV-2", "if square(self.read_off(t, gamma)) >", "if square(gamma) >"),
    Fault("division-towards-zero", "AR-8", "[entry // self.A[t - 1] for entry in gamma]",
          "[int(entry / self.A[t - 1]) for entry in gamma]"),
    Fault("division-in-floats", "AR-8", "[entry // self.A[t - 1] for entry in gamma]",
          "[math.floor(entry / self.A[t - 1]) for entry in gamma]"),
    Fault("model-at-its-bound-alarmed", "LV-2", "if square(x) > models[t - 1]:",
          "if square(x) >= models[t - 1]:"),
    Fault("gradient-at-its-bound-alarmed", "LV-2",
          "if square(self.read_off(t, gamma)) > gradients[t - 1]:",
          "if square(self.read_off(t, gamma)) >= gradients[t - 1]:"),
    Fault("squares-of-eight-entries", "LV-2", "return sum(entry * entry for entry in vector)",
          "return sum(entry * entry for entry in vector[:8])"),
    Fault("squares-of-sixteen-entries", "LV-2", "return sum(entry * entry for entry in vector)",
          "return sum(entry * entry for entry in vector[:16])"),
    Fault("bounds-of-the-first-round", "LV-2", "if square(x) > models[t - 1]:",
          "if max(map(abs, x)) ** 2 > models[0]:"),
    # broadcasts
    Fault("adopts-when-comparing", "VB-7", "elif r < self.R:", "else:"),
    Fault("no-alarm-on-null", "VB-8", "if tag not in self.held:\n", "if False:\n"),
    Fault("compares-the-fresh-only", "VB-7", "self.held if r == self.R else self.fresh",
          "self.fresh"),
    Fault("forwards-nothing", "VB-4", "self.held[tag] = self.fresh[tag] = value",
          "self.held[tag] = value"),
    Fault("adopts-twice", "VB-5", 'self.alarm("DIFFERENT_VALUE", phase, r, u, text(tag))',
          'self.alarm("DIFFERENT_VALUE", phase, r, u, text(tag))\n'
          "                        self.held[tag] = self.fresh[tag] = value"),
    Fault("adopts-in-the-order-of-arrival", "VB-5",
          "for u in self.N[self.me]:\n            for tag, value in self.entries(",
          "for u in [*messages, *(u for u in self.N[self.me] if u not in messages)]:\n"
          "            for tag, value in self.entries("),
    Fault("differences-only-when-comparing", "VB-6", "if value != self.held[tag]:",
          "if value != self.held[tag] and r == self.R:"),
    Fault("own-values-not-compared-at-last", "VB-6", "if value != self.held[tag]:",
          "if value != self.held[tag] and (r < self.R or tag[0] != self.me):"),
    Fault("unknown-tags-ignored", "VB-9", "if any(tag not in self.tags for tag in found):",
          "if False:"),
    Fault("true-is-one", "VB-9", "all(type(e) is int for e in value)",
          "all(isinstance(e, int) for e in value)"),
    Fault("key-p-is-a-key", "LV-4", "and 0 <= value < self.p", "and 0 <= value <= self.p"),
    Fault("estimates-of-any-size", "GV-3", "if not below(ghat, W * self.g_max + 1):", "if False:"),
    Fault("estimate-bound-exclusive", "GV-3", "if not below(ghat, W * self.g_max + 1):",
          "if not below(ghat, W * self.g_max):"),
    Fault("lengths-accepted-too", "VB-9", "if not is_integers(value, len(self.weightings) * self.d):",
          "if is_integers(value, len(self.weightings) * (self.d + 1)):\n            return True\n"
          "        if not is_integers(value, len(self.weightings) * self.d):"),
    Fault("bounds-of-the-first-weighting", "GV-3", 'W = sum(weighting["weights"])',
          'W = sum(self.weightings[0]["weights"])'),
    Fault("hash-p-is-a-hash", "LV-6", "all(0 <= h < self.p for h in value)",
          "all(0 <= h <= self.p for h in value)"),
    Fault("null-erases", "VB-5", "            value = found.get(tag)\n",
          "            value = found.get(tag)\n"
          "            if tag in found and value is None and tag[0] != self.me:\n"
          "                self.held.pop(tag, None)\n"),
    Fault("null-erases-own-values", "VB-5", "            value = found.get(tag)\n",
          "            value = found.get(tag)\n"
          "            if tag in found and value is None:\n"
          "                self.held.pop(tag, None)\n"),
    Fault("null-is-malformed", "VB-9", "            value = found.get(tag)\n",
          '            value = found.get(tag, None) if tag not in found else found[tag] or "null"\n'
          '            value = 0 if found.get(tag) == 0 else value\n'),
    Fault("zero-is-null", "VB-4", "value = found.get(tag)\n", "value = found.get(tag) or None\n"),
    Fault("unknown-tag-for-each-entry", "VB-9",
          'if any(tag not in self.tags for tag in found):\n            self.alarm("UNKNOWN_TAG", phase, r, u)',
          'for _tag in [tag for tag in found if tag not in self.tags]:\n'
          '            self.alarm("UNKNOWN_TAG", phase, r, u)'),
    Fault("unknown-tag-once-for-a-sender", "VB-9", "if any(tag not in self.tags for tag in found):",
          'if any(tag not in self.tags for tag in found) and not any(\n'
          '                a["reason"] == "UNKNOWN_TAG" and a["sender"] == u for a in self.alarms):'),
    Fault("unknown-tags-with-null-ignored", "VB-9", "if any(tag not in self.tags for tag in found):",
          "if any(tag not in self.tags for tag in found if found[tag] is not None):"),
    Fault("tags-known-by-their-source", "VB-9", "if any(tag not in self.tags for tag in found):",
          "if any(source not in range(self.n) for source, _slot in found):"),
    Fault("a-tag-twice-the-later-counts", "VB-9", "return len(tags) == len(set(tags))", "return True"),
    Fault("a-tag-twice-with-one-value", "VB-9",
          'tags = [(source, slot) for source, slot, _value in message["entries"]]',
          'tags = list(dict.fromkeys((s, t, str(v)) for s, t, v in message["entries"]))\n'
          "        tags = [(s, t) for s, t, _v in tags]"),
    Fault("a-tag-twice-with-null", "VB-9",
          'tags = [(source, slot) for source, slot, _value in message["entries"]]',
          'tags = [(source, slot) for source, slot, value in message["entries"] if value is not None]'),
    Fault("an-unknown-tag-twice-is-malformed", "VB-9", "tags = [tag for tag in tags if tag in self.tags]\n",
          "tags = list(tags)\n"),
    Fault("a-tag-twice-beside-each-other-only", "VB-9", "return len(tags) == len(set(tags))",
          "return all(one != other for one, other in zip(tags, tags[1:]))"),
    Fault("malformed-values-once-for-a-sender", "VB-9", "            elif value is not None:\n",
          '            elif value is not None and not any(\n'
          '                    (a["reason"], a["phase"], a["sender"], a["about"])\n'
          '                    == ("MALFORMED_VALUE", phase, u, text(tag)) for a in self.alarms):\n'),
    Fault("reads-twelve-entries", "VB-4", 'for source, slot, value in message["entries"]}',
          'for source, slot, value in message["entries"][:12]}'),
    Fault("loses-seven-entries", "VB-4", 'for source, slot, value in message["entries"]}',
          'for source, slot, value in message["entries"] if len(message["entries"]) != 7}'),
    Fault("loses-thirteen-entries", "VB-4", 'for source, slot, value in message["entries"]}',
          'for source, slot, value in message["entries"] if len(message["entries"]) != 13}'),
    Fault("reads-two-hundred-entries", "VB-6", 'for source, slot, value in message["entries"]}',
          'for source, slot, value in message["entries"][:200]}'),
    Fault("sends-twelve-entries", "VB-7", '"entries", "entries": entries}', '"entries", "entries": entries[:12]}'),
    Fault("sends-no-seven-entries", "VB-4", '"entries", "entries": entries}',
          '"entries", "entries": [] if len(entries) == 7 else entries}'),
    Fault("sends-two-hundred-entries", "VB-7", '"entries", "entries": entries}', '"entries", "entries": entries[:200]}'),
    Fault("neighbours-sorted-as-text", "VB-5", "sorted(u for u, w in pairs if w == v)",
          "sorted((u for u, w in pairs if w == v), key=str)"),
    Fault("tags-sorted-as-text", "MO-12", "dict.fromkeys(sorted(tags))", "dict.fromkeys(sorted(tags, key=text))"),
    Fault("broadcast-one-round-short", "VB-2", "self.T, self.R = len(self.a), self.n",
          "self.T, self.R = len(self.a), self.n - 1"),
    Fault("agreement-too-early", "VA-1", "[*phases, (AGREE, self.n - 1)]",
          "[*phases[:3], (AGREE, self.n - 1), phases[3]]"),
    # hashes
    Fault("eta-index", "LV-5", "for a, x in zip(self.a, models[:-1], strict=True)",
          "for a, x in zip([self.a[0], *self.a], models[:-1], strict=False)"),
    Fault("gamma-hashed-as-input", "LV-5", "(x_out, x_in, x_in_eta, gammas)",
          "(x_out, x_in, x_in_eta, x_in)"),
    Fault("hash-order", "LV-6", "(x_out, x_in, x_in_eta, gammas)", "(x_in, x_out, x_in_eta, gammas)"),
    Fault("hashes-before-keys", "LV-6", "for s in self.keys for v in (x_out, x_in, x_in_eta, gammas)",
          "for v in (x_out, x_in, x_in_eta, gammas) for s in self.keys"),
    Fault("zero-to-the-zero-is-zero", "HA-3", "for entry in reversed(vector):",
          "for entry in reversed(vector if s else []):"),
    Fault("remainder-of-the-sign", "LV-6", "total = (total * s + entry) % self.p",
          "total = int(math.copysign(1, total * s + entry)) * (abs(total * s + entry) % self.p)"),
    Fault("one-for-a-missing-key", "LV-4", "self.held.get((v, KEY), 0)", "self.held.get((v, KEY), 1)"),
    Fault("no-self-check", "LV-9",
          "if four.get((u, self.me), own[4 * w : 4 * w + 4]) != own[4 * w : 4 * w + 4]:",
          "if False:"),
    Fault("neighbours-only-checked", "LV-8",
          "for v in range(self.n):\n                if not self.relation_holds",
          "for v in self.N[self.me]:\n                if not self.relation_holds"),
    Fault("reporters-of-neighbours-only", "LV-7", "if (u, v) in four]",
          "if (u, v) in four and v in self.N[self.me]]"),
    *(Fault(f"hash-{place + 1}-not-compared", "LV-7",
            'if any(report != reports[0] for report in reports):\n'
            '                    self.alarm("INCONSISTENT_HASHES"',
            f'if any(q[:{place}] + q[{place + 1}:] != reports[0][:{place}] + reports[0][{place + 1}:] for q in reports):\n'
            '                    self.alarm("INCONSISTENT_HASHES"') for place in range(4)),
    *(Fault(f"hash-{place + 1}-not-self-checked", "LV-9",
            "if four.get((u, self.me), own[4 * w : 4 * w + 4]) != own[4 * w : 4 * w + 4]:",
            "one, other = four.get((u, self.me), own[4 * w : 4 * w + 4]), own[4 * w : 4 * w + 4]\n"
            f"                if one[:{place}] + one[{place + 1}:] != other[:{place}] + other[{place + 1}:]:")
      for place in range(4)),
    Fault("first-and-last-report-compared", "LV-7",
          "if any(report != reports[0] for report in reports):\n"
          '                    self.alarm("INCONSISTENT_HASHES"',
          'if reports and reports[-1] != reports[0]:\n                    self.alarm("INCONSISTENT_HASHES"'),
    Fault("relation-of-the-other-sign", "LV-8", "- mixing + h_gamma", "- mixing - h_gamma"),
    Fault("relation-of-the-highest-reporter", "LV-8",
          "next((values[u, v] for u in self.N[v] if (u, v) in values), None)",
          "next((values[u, v] for u in reversed(self.N[v]) if (u, v) in values), None)"),
    Fault("own-report-before-the-lowest", "LV-8", "agreed = [self.lowest(u, four) for u in (v, *self.N[v])]",
          "agreed = [four.get((self.me, u)) or self.lowest(u, four) for u in (v, *self.N[v])]"),
    Fault("reporters-sorted-as-text", "LV-8",
          "next((values[u, v] for u in self.N[v] if (u, v) in values), None)",
          "next((values[u, v] for u in sorted(self.N[v], key=str) if (u, v) in values), None)"),
    Fault("relation-without-a-report", "LV-11", "if None in agreed:\n            return True",
          "agreed = [one or [0] * 4 for one in agreed]"),
    Fault("relation-without-a-neighbour", "LV-11", "if None in agreed:\n            return True",
          "if agreed[0] is None:\n            return True\n"
          "        agreed = [one for one in agreed if one is not None]"),
    Fault("null-report-differs", "LV-7", "reports = [four[u, v] for u in self.N[v] if (u, v) in four]",
          "reports = [four.get((u, v)) for u in self.N[v]]"),
    Fault("checks-its-own-key-only", "LV-10", 'if parameters["keys_checked"] == "all"', "if False"),
    Fault("checks-all-keys", "LV-10", 'if parameters["keys_checked"] == "all"', "if True"),
    # estimates
    Fault("weights-off-by-one", "GV-2", 'zip(weighting["weights"], rows, strict=True)',
          'zip(weighting["weights"][1:], rows, strict=False)'),
    Fault("weights-reversed", "GV-2", 'zip(weighting["weights"], rows, strict=True)',
          'zip(weighting["weights"][::-1], rows, strict=True)'),
    Fault("lengths-sent-too", "GV-3", "        return found\n\n    def split",
          "            found.append(sum(w * math.isqrt(square(g)) for w, g in pairs))\n"
          "        return found\n\n    def split"),
    Fault("estimates-wrap", "GV-9", "        return found\n\n    def split",
          "        return [(e + 2**63) % 2**64 - 2**63 for e in found]\n\n    def split"),
    Fault("estimates-wrap-unsigned", "GV-9", "        return found\n\n    def split",
          "        return [e % 2**64 for e in found]\n\n    def split"),
    Fault("fractions-in-estimates", "GV-2", "found += [sum(w * g[j] for w, g in pairs) for j in range(self.d)]",
          'found += [sum(w * g[j] for w, g in pairs) / sum(weighting["weights"]) for j in range(self.d)]'),
    Fault("floats-in-estimates", "GV-2", "found += [sum(w * g[j] for w, g in pairs) for j in range(self.d)]",
          "found += [float(sum(w * g[j] for w, g in pairs)) for j in range(self.d)]"),
    Fault("empty-estimates-not-sent", "GV-12", "entries = [[source, slot, value] for (source, slot), value in values.items()]",
          "entries = [[source, slot, value] for (source, slot), value in values.items() if value != []]"),
    Fault("estimates-of-sixteen-entries", "GV-2", "found += [sum(w * g[j] for w, g in pairs) for j in range(self.d)]",
          "found += [sum(w * g[j] for w, g in pairs if j < 16) for j in range(self.d)]"),
    Fault("weightings-by-name", "GV-12", 'self.weightings = parameters["weightings"]',
          'self.weightings = sorted(parameters["weightings"], key=lambda w: str(w["name"]))'),
    Fault("own-estimate-before-the-lowest", "GV-4", "agreed = [self.lowest(u, self.held) for u in range(self.n)]",
          "agreed = [self.held.get((self.me, u)) or self.lowest(u, self.held) for u in range(self.n)]"),
    Fault("statistics-without-an-estimate", "GV-8", "if None in agreed:\n            return\n",
          "agreed = [one for one in agreed if one is not None]\n"),
    Fault("statistics-with-zero-for-null", "GV-8", "if None in agreed:\n            return\n",
          "agreed = [one or [0] * (len(self.weightings) * self.d) for one in agreed]\n"),
    Fault("optimality-at-the-threshold", "GV-5", 'if drift > weighting["optimality"] ** 2:',
          'if drift >= weighting["optimality"] ** 2:'),
    Fault("optimality-in-floats", "GV-5", 'if drift > weighting["optimality"] ** 2:',
          'if math.sqrt(drift) > weighting["optimality"]:'),
    Fault("optimality-wraps", "GV-9", "if drift >", "if (drift + 2**63) % 2**64 - 2**63 >"),
    Fault("optimality-wraps-unsigned", "GV-9", "if drift >", "if drift % 2**64 >"),
    Fault("optimality-of-the-means", "GV-5", 'if drift > weighting["optimality"] ** 2:',
          'if square([e // self.n for e in total]) > (weighting["optimality"] // self.n) ** 2:'),
    Fault("heterogeneity-at-the-threshold", "GV-6", '> weighting["heterogeneity"]:', '>= weighting["heterogeneity"]:'),
    Fault("heterogeneity-in-floats", "GV-6", "if spread >", "if float(spread) >"),
    Fault("heterogeneity-wraps", "GV-9", "if spread >", "if (spread + 2**63) % 2**64 - 2**63 >"),
    Fault("heterogeneity-wraps-unsigned", "GV-9", "if spread >", "if spread % 2**64 >"),
    Fault("statistics-wrap", "GV-9", "drift = square(total)\n",
          "drift, spread = square(total) % 2**64, spread and spread % 2**64\n"),
    Fault("heterogeneity-of-the-sum", "GV-6", "sum(square(ghat) for ghat in ghats)", "square(total)"),
    Fault("heterogeneity-of-the-largest", "GV-6", "sum(square(ghat) for ghat in ghats)",
          "max(square(ghat) for ghat in ghats)"),
    Fault("heterogeneity-of-the-others", "GV-6", "sum(square(ghat) for ghat in ghats)",
          "sum(square(ghat) for u, ghat in enumerate(ghats) if u != self.me)"),
    Fault("heterogeneity-squared-twice", "GV-6", '> weighting["heterogeneity"]:', '> weighting["heterogeneity"] ** 2:'),
    Fault("heterogeneity-only-if-optimal", "GV-6", 'if spread > weighting["heterogeneity"]:',
          'if spread > weighting["heterogeneity"] and drift <= weighting["optimality"] ** 2:'),
    # lower thresholds
    Fault("no-lower-optimality", "GV-13", "if drift <", "if False and drift <"),
    Fault("no-lower-heterogeneity", "GV-13", "if spread <", "if False and spread <"),
    Fault("lower-optimality-at-the-threshold", "GV-13", "if drift <", "if drift <="),
    Fault("lower-heterogeneity-at-the-threshold", "GV-13", "if spread <", "if spread <="),
    Fault("lower-optimality-not-squared", "GV-13", 'weighting["optimality_low"] ** 2:', 'weighting["optimality_low"]:'),
    Fault("lower-heterogeneity-squared", "GV-13", 'weighting["heterogeneity_low"]:', 'weighting["heterogeneity_low"] ** 2:'),
    Fault("lower-optimality-in-floats", "GV-13", 'if drift < weighting["optimality_low"] ** 2:',
          'if math.sqrt(drift) < weighting["optimality_low"]:'),
    Fault("lower-heterogeneity-in-floats", "GV-13", 'if spread < weighting["heterogeneity_low"]:',
          'if float(spread) < float(weighting["heterogeneity_low"]):'),
    Fault("lower-optimality-wraps", "GV-9", "if drift <", "if (drift + 2**63) % 2**64 - 2**63 <"),
    Fault("lower-optimality-wraps-unsigned", "GV-9", "if drift <", "if drift % 2**64 <"),
    Fault("lower-heterogeneity-wraps", "GV-9", "if spread <", "if (spread + 2**63) % 2**64 - 2**63 <"),
    Fault("lower-heterogeneity-wraps-unsigned", "GV-9", "if spread <", "if spread % 2**64 <"),
    Fault("lower-optimality-limit-wraps", "GV-9", 'weighting["optimality_low"] ** 2:',
          'weighting["optimality_low"] ** 2 % 2**64:'),
    Fault("lower-optimality-of-the-lengths", "GV-13", "if drift <", "if spread <"),
    Fault("lower-heterogeneity-of-the-sum", "GV-13", 'if spread < weighting["heterogeneity_low"]:',
          'if drift < weighting["heterogeneity_low"]:'),
    Fault("too-optimal-is-not-optimal", "GV-13", '"TOO_OPTIMAL"', '"NOT_OPTIMAL"'),
    Fault("too-homogeneous-is-too-heterogeneous", "GV-13", '"TOO_HOMOGENEOUS"', '"TOO_HETEROGENEOUS"'),
    Fault("lower-thresholds-exchanged", "GV-13", 'if drift < weighting["optimality_low"] ** 2:',
          'if drift < weighting["heterogeneity_low"]:'),
    Fault("lower-heterogeneity-only-if-not-too-optimal", "GV-13", "if spread <", 'if drift >= weighting["optimality_low"] ** 2 and spread <'),
    Fault("no-estimate-self-check", "GV-4", "if self.held.get((v, self.me), own) != own:", "if False:"),
    Fault("estimates-not-compared", "GV-4",
          "if any(report != reports[0] for report in reports):\n"
          '                self.alarm("INCONSISTENT_ESTIMATES"',
          'if False:\n                self.alarm("INCONSISTENT_ESTIMATES"'),
    *(Fault(f"{name}-not-compared", "GV-4",
            "if any(report != reports[0] for report in reports):\n"
            '                self.alarm("INCONSISTENT_ESTIMATES"',
            f'if any({q} != {first} for q in reports):\n                self.alarm("INCONSISTENT_ESTIMATES"')
      for name, q, first in (
          ("last-entry", "q[:-1]", "reports[0][:-1]"),
          ("first-entry", "q[1:]", "reports[0][1:]"),
          ("second-weighting", "self.split(q)[::2]", "self.split(reports[0])[::2]"))),
    Fault("first-and-last-estimate-compared", "GV-4",
          "if any(report != reports[0] for report in reports):\n"
          '                self.alarm("INCONSISTENT_ESTIMATES"',
          'if reports and reports[-1] != reports[0]:\n                self.alarm("INCONSISTENT_ESTIMATES"'),
    Fault("last-entry-not-self-checked", "GV-4", "if self.held.get((v, self.me), own) != own:",
          "if self.held.get((v, self.me), own)[:-1] != own[:-1]:"),
    Fault("second-weighting-not-self-checked", "GV-4", "if self.held.get((v, self.me), own) != own:",
          "if self.split(self.held.get((v, self.me), own))[::2] != self.split(own)[::2]:"),
    *(Fault(f"{name}-of-{count}-weightings", clause, f"if {what} ", f"if index < {count} and {what} ")
      for count in (1, 2)
      for name, clause, what in (
          ("optimality", "GV-5", "drift >"), ("heterogeneity", "GV-6", "spread >"),
          ("lower-optimality", "GV-13", "drift <"), ("lower-heterogeneity", "GV-13", "spread <"))),
    Fault("optimality-of-sixteen-entries", "GV-5", "drift = square(total)\n", "drift = square(total[:16])\n"),
    Fault("heterogeneity-of-sixteen-entries", "GV-6", "sum(square(ghat) for ghat in ghats)",
          "sum(square(ghat[:16]) for ghat in ghats)"),
    Fault("heterogeneity-of-sixteen-agents", "GV-6", "sum(square(ghat) for ghat in ghats)",
          "sum(square(ghat) for ghat in ghats[:16])"),
    Fault("optimality-not-squared", "GV-5", 'weighting["optimality"] ** 2:', 'weighting["optimality"]:'),
    Fault("lengths-added-then-squared", "GV-6", "sum(square(ghat) for ghat in ghats)",
          "sum(math.isqrt(square(ghat)) for ghat in ghats) ** 2"),
    # agreement and the end
    Fault("alarms-do-not-persist", "SA-3", '"value": bool(self.alarms)}',
          '"value": bool(self.alarms if r == 1 else\n'
          '                [a for a in self.alarms if (a["phase"], a["round"]) == (AGREE, r - 1)])}'),
    Fault("agreement-forgets-earlier-phases", "SA-2", '"value": bool(self.alarms)}',
          '"value": any(a["phase"] == AGREE for a in self.alarms)}'),
    Fault("own-update-not-in-the-alarm-state", "SA-2", '"value": bool(self.alarms)}',
          '"value": any(a["sender"] is not None or a["phase"] != LEARN for a in self.alarms)}'),
    Fault("agreement-one-round-short", "SA-1", '"value": bool(self.alarms)}}',
          '"value": bool(self.alarms)} if r < self.n - 1 else None}'),
    Fault("neighbours-alarm-ignored", "SA-3", "if (reason, u) not in known:",
          'if (reason, u) not in known and reason != "NEIGHBOUR_ALARM":'),
    Fault("agreement-alarms-again", "SA-3", "if (reason, u) not in known:", "if True:"),
    Fault("agreement-counts-earlier-phases", "SA-3",
          'for a in self.alarms if a["phase"] == phase}', "for a in self.alarms}"),
    Fault("agreement-one-reason-for-a-neighbour", "SA-3", "if (reason, u) not in known:",
          "if u not in {sender for _reason, sender in known}:"),
    Fault("model-of-an-invalid-agent", "VA-2", "self.own[-1][0] if valid else None", "self.own[-1][0]"),
    Fault("model-of-the-round-before", "LM-6", "self.own[-1][0] if valid", "self.own[-2][0] if valid"),
    Fault("alarms-withdrawn", "MO-7", '"model": model, "alarms": self.alarms}',
          '"model": model, "alarms": [a for a in self.alarms if a["phase"] == AGREE]}'),
    Fault("alarms-twice", "MO-7", '"model": model, "alarms": self.alarms}',
          '"model": model, "alarms": self.alarms * 2}'),
    # the order of alarms
    Fault("alarms-in-the-order-of-arrival", "MO-12",
          "for u in self.N[self.me]:\n            problem = self.objection(",
          "for u in [*messages, *(u for u in self.N[self.me][::-1] if u not in messages)]:\n"
          "            problem = self.objection("),
    Fault("agreement-in-the-order-of-arrival", "MO-12",
          "for u in self.N[self.me]:\n            message = messages.get(u)",
          "for u in [*messages, *(u for u in self.N[self.me] if u not in messages)]:\n"
          "            message = messages.get(u)"),
    Fault("norms-by-round", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["round"] if a["phase"] == LOCAL else 0)'),
    Fault("gradients-before-models", "MO-12",
          'self.alarm("MODEL_NORM", LOCAL, t, u)\n                if square(self.read_off(t, gamma)) > gradients[t - 1]:\n'
          '                    self.alarm("GRADIENT_NORM", LOCAL, t, u)',
          'self.alarm("MODEL_NORM", LOCAL, t, u)\n                if square(self.read_off(t, gamma)) > gradients[t - 1]:\n'
          '                    self.alarms.insert(len(self.alarms) - (square(x) > models[t - 1]), {\n'
          '                        "reason": "GRADIENT_NORM", "phase": LOCAL, "round": t, "sender": u, "about": None})'),
    Fault("alarms-by-reason", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"])'),
    Fault("alarms-by-tag", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: str(a["about"]) if phase == KEYS else "")'),
    Fault("own-update-alarmed-last", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"].startswith("OWN"))'),
    Fault("relations-between-inconsistencies", "MO-12",
          'self.alarm("INCONSISTENT_HASHES", LOCAL, self.R, None, f"{v}/{w}")\n            for v in range(self.n):\n',
          'self.alarm("INCONSISTENT_HASHES", LOCAL, self.R, None, f"{v}/{w}")\n'),
    Fault("self-check-first", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: not a["reason"].startswith("SELF"))'),
    Fault("heterogeneity-before-optimality", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"] == "NOT_OPTIMAL")'),
    Fault("heterogeneity-first-in-each-weighting", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: (a["about"], not a["reason"].endswith("GENEOUS"))\n'
          '                     if a["reason"].endswith(("OPTIMAL", "GENEOUS")) else ("", False))'),
    Fault("lower-tests-last", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"] in ("TOO_OPTIMAL", "TOO_HOMOGENEOUS"))'),
    Fault("lower-tests-first", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"] not in ("TOO_OPTIMAL", "TOO_HOMOGENEOUS"))'),
    Fault("always-valid", "VA-2", 'return {"valid": valid,', 'return {"valid": True,'),
    # the protocol of the pipe
    Fault("does-not-reset", "CF-4", "self.alarms: list[Reply] = []\n        self.reported = 0",
          'self.alarms: list[Reply] = getattr(self, "alarms", [])\n'
          "        self.reported = len(self.alarms)"),
    Fault("limits-cached", "CF-4", 'self.x_max, self.g_max = parameters["model_limit"], parameters["gradient_limit"]',
          'self.x_max = getattr(self, "x_max", parameters["model_limit"])\n'
          '        self.g_max = getattr(self, "g_max", parameters["gradient_limit"])'),
    Fault("gradient-limit-cached", "CF-4", 'self.x_max, self.g_max = parameters["model_limit"], parameters["gradient_limit"]',
          'self.x_max = parameters["model_limit"]\n'
          '        self.g_max = getattr(self, "g_max", parameters["gradient_limit"])'),
    Fault("bounds-cached", "CF-4", 'self.x_0, self.bounds = parameters["start_model"], parameters["bounds"]',
          'self.x_0 = parameters["start_model"]\n        self.bounds = getattr(self, "bounds", parameters["bounds"])'),
    Fault("start-model-cached", "CF-4", 'self.x_0, self.bounds = parameters["start_model"], parameters["bounds"]',
          'self.bounds = parameters["bounds"]\n        self.x_0 = getattr(self, "x_0", parameters["start_model"])'),
    Fault("thresholds-cached", "CF-4", 'self.weightings = parameters["weightings"]',
          'known = getattr(self, "weightings", [])\n'
          '        self.weightings = [{**w, **{k: o[k] for k in ("optimality", "heterogeneity")}}\n'
          '                           for w, o in zip(parameters["weightings"], [*known, *parameters["weightings"][len(known) :]])]'),
    Fault("lower-thresholds-cached", "CF-4", 'self.weightings = parameters["weightings"]',
          'known = getattr(self, "weightings", [])\n'
          '        self.weightings = [{**w, **{k: o[k] for k in ("optimality_low", "heterogeneity_low")}}\n'
          '                           for w, o in zip(parameters["weightings"], [*known, *parameters["weightings"][len(known) :]])]'),
    Fault("keys-cached", "CF-4", "self.me, self.key = agent, key",
          "self.me = agent\n"
          '        self.key = self.__dict__.setdefault("cache", {}).setdefault((agent, str(parameters["edges"])), key)'),
    Fault("checked-keys-cached", "CF-4", 'if parameters["keys_checked"] == "all" else [agent]',
          'if self.__dict__.setdefault("all", parameters["keys_checked"] == "all") else [agent]'),
    Fault("estimate-bound-cached", "CF-4", "W * self.g_max + 1", 'W * self.__dict__.setdefault("largest", self.g_max) + 1'),
    Fault("own-record-kept", "CF-4", "self.own: Transcript = []", 'self.own: Transcript = getattr(self, "own", [])'),
    Fault("crashes-on-garbage", "CF-12", 'if message["kind"] != "learning":', "if False:"),
    Fault("chatters", "CF-1", 'sys.stdout.write(json.dumps(reply) + "\\n")',
          'sys.stdout.write("a reply:\\n" + json.dumps(reply) + "\\n")'),
    Fault("falls-asleep", "CF-13", "request = json.loads(line)",
          'request = json.loads(line)\n        while request["op"] == "end":\n            pass'),
    Fault("reply-of-another-form", "CF-8", 'return {"alarms": new}', "return {}"),
    Fault("floats-as-integers", "CF-7", 'message = {"kind": "learning", "model": x,',
          'message = {"kind": "learning", "model": [float(e) for e in x],'),
)  # fmt: skip

LEAN_FAULTS: tuple[Fault, ...] = (
    # what is fixed
    Fault("nonce-not-committed", "LE-9", "number(v), *map(number, opening))", "number(v), *map(number, opening[1:]))"),
    Fault("agent-not-committed", "LE-9", "number(v), *map(number, opening))", "*map(number, opening))"),
    Fault("shares-not-committed", "LE-9", "number(v), *map(number, opening))", "number(v), number(opening[0]))"),
    Fault("run-not-committed", "LE-9", "purpose.encode(), self.name_of_run, *pieces)", "purpose.encode(), *pieces)"),
    Fault("name-of-the-run-as-text", "LE-9", 'bytes.fromhex(lean["run"])', 'lean["run"].encode()'),
    Fault("numbers-of-32-bytes", "LE-9", "value.to_bytes((value.bit_length() + 7) // 8,", "value.to_bytes(32,"),
    Fault("zero-has-a-byte", "LE-9", "value.to_bytes((value.bit_length() + 7) // 8,",
          "value.to_bytes(max(1, (value.bit_length() + 7) // 8),"),
    Fault("lengths-of-4-bytes", "LE-9", 'len(piece).to_bytes(8, "big")', 'len(piece).to_bytes(4, "big")'),
    Fault("pieces-without-lengths", "LE-9", 'len(piece).to_bytes(8, "big") + piece for', "piece for"),
    Fault("lowest-byte-first", "LE-9", '.digest(), "big")', '.digest(), "little")'),
    Fault("commits-to-another-nonce", "LE-9", "self.commitment(self.me, self.opening)",
          "self.commitment(self.me, [1, *self.opening[1:]])"),
    Fault("number-of-the-lengths", "LE-7", "return [square(ghat) for ghat in ghats], report",
          "return [math.isqrt(square(ghat)) for ghat in ghats], report"),
    Fault("one-number-for-all-weightings", "LE-7", "return [square(ghat) for ghat in ghats], report",
          "return [square(ghats[0]) for _ghat in ghats], report"),
    Fault("number-at-its-limit", "LE-7", "self.d * L**2 + 1", "self.d * L**2"),
    Fault("limits-without-norm-bounds", "LE-8", "if self.bounds is not None:\n                norms", "if False:\n                norms"),
    Fault("number-of-one-entry", "LE-7", "self.d * L**2 + 1", "L**2 + 1"),
    # the sum along the tree
    Fault("sum-without-the-own-part", "LE-8", "zip(self.own_sum, *sums, strict=True)",
          "zip(*(sums or [self.own_sum]), strict=True)"),
    Fault("sum-without-the-children", "LE-8", "zip(self.own_sum, *sums, strict=True)", "zip(self.own_sum, strict=True)"),
    Fault("sum-modulo-p", "LE-8", "[sum(column) for column in", "[sum(column) % self.p for column in"),
    Fault("sum-to-everybody", "LE-8", '{"message": message_of(values), "addressed": addressed}',
          '{"message": message_of({**values, **more})}'),
    Fault("sum-alone-to-the-parent", "LE-6", "message_of({**values, **more})} for u", "message_of(more)} for u"),
    Fault("sum-a-round-late", "LE-8", "r == self.up(self.me):", "r == self.up(self.me) + 1:"),
    Fault("sum-in-the-first-round", "LE-8", "r == self.up(self.me):", "r == 1:"),
    Fault("total-after-the-openings", "LE-8", "if phase == FIX and r == self.height + self.depth",
          "if phase == REPORTS and r == self.height + self.depth"),
    Fault("total-from-the-root-alone", "LE-8", "return self.children[self.me], total",
          "return (self.children[self.me] if self.me == self.root else []), total"),
    Fault("parent-of-the-highest-number", "LE-8", "next((u for u in self.N[v] if self.depth", "next((u for u in reversed(self.N[v]) if self.depth"),
    Fault("root-of-the-highest-number", "LE-8", "self.root = farthest.index(self.height)",
          "self.root = max(v for v in range(self.n) if farthest[v] == self.height)"),
    Fault("sums-from-every-neighbour", "LE-8", "mine = source == u and self.parent[u] == self.me", "mine = source == u"),
    Fault("totals-from-every-neighbour", "LE-8", "if self.parent[self.me] == u else NEVER", "if self.me != self.root else NEVER"),
    Fault("sum-in-any-round", "LE-8", "return (self.up(u), self.up(u)) if mine", "return (1, 2 * self.height) if mine"),
    Fault("total-in-any-round", "LE-8", "return (down, down) if", "return (1, 2 * self.height) if"),
    Fault("sum-at-its-limit", "LE-8", "below(part, count * L + 1)", "below(part, count * L)"),
    Fault("sums-of-any-size", "LE-8", "below(part, count * L + 1)", "below(part, 2**400)"),
    Fault("sums-of-everybody", "LE-8", "self.n if slot == TOTAL else self.size(source)", "self.n"),
    Fault("missing-sums-not-alarmed", "LE-8", "expected = tag[1] != SUM or tag[0] in self.children[self.me]",
          "expected = tag[1] == FLOODED[phase]"),
    # floods
    Fault("flood-of-one-round-less", "LE-6", "values = self.fresh if r <= self.D else {}", "values = self.fresh if r < max(2, self.D) else {}"),
    Fault("phases-of-one-round-less", "LE-5", "(OPEN, self.D), (REPORTS, self.D)", "(OPEN, self.D - 1), (REPORTS, self.D - 1)"),
    Fault("first-phase-of-D-rounds", "LE-5", "(FIX, 2 * self.height)", "(FIX, self.D)"),
    Fault("no-round-of-comparison", "LE-5", "*floods, (COMPARE, 1)]", "*floods]"),
    Fault("flood-forwards-nothing", "LE-6", "if tag[1] == FLOODED[phase]:", "if False:"),
    Fault("flood-sends-all-it-holds", "LE-6", "values = self.fresh if r <= self.D else {}",
          "values = {t: v for t, v in self.held.items() if t[1] == FLOODED[phase]} if r <= self.D else {}"),
    Fault("flood-goes-on-after-its-last-round", "LE-6", "values = self.fresh if r <= self.D else {}", "values = self.fresh"),
    Fault("early-values-adopted", "LE-6", "elif r < first:", "elif False:"),
    Fault("early-by-one-round", "LE-6", "self.dist[u][source] + 1, self.D", "self.dist[u][source], self.D"),
    Fault("late-values-adopted", "LE-6", "elif r > last:", "elif False:"),
    Fault("flood-adopts-from-the-highest", "LE-6", "for u in self.N[self.me]:\n            for tag, value in self.flood_entries(",
          "for u in reversed(self.N[self.me]):\n            for tag, value in self.flood_entries("),
    Fault("different-values-in-a-flood-ignored", "VB-6", "elif self.held[tag] != value:", "elif False:"),
    Fault("missing-values-in-a-flood-ignored", "VB-8", "if expected and self.held.get(tag) is None:",
          "if tag[1] in (SUM, TOTAL) and expected and self.held.get(tag) is None:"),
    Fault("unknown-tags-in-a-flood-ignored", "VB-9", "if any(self.window(u, tag) == NEVER for tag in told):", "if False:"),
    Fault("malformed-after-early", "LE-6", "if not self.has_form(tag, value):\n",
          'if r < first:\n                    self.alarm("EARLY_VALUE", phase, r, u, about)\n'
          "                elif not self.has_form(tag, value):\n"),
    # openings and reports
    Fault("opens-another-nonce", "LE-10", "self.begin_flood(OPEN, self.opening)",
          "self.begin_flood(OPEN, [self.opening[0] // 2, *self.opening[1:]])"),
    Fault("opens-without-the-nonce", "LE-10", "self.begin_flood(OPEN, self.opening)", "self.begin_flood(OPEN, self.opening[1:])"),
    Fault("openings-not-checked", "LE-10", "if fixed and opening and", "if False and"),
    Fault("own-share-not-added", "LE-10", "for v in range(self.n) if (v, OPENING) in self.held]",
          "for v in range(self.n) if (v, OPENING) in self.held and v != self.me]"),
    Fault("openings-that-do-not-fit-not-added", "LE-10", "for v in range(self.n) if (v, OPENING) in self.held]",
          "for v in range(self.n) if (v, OPENING) in self.held and\n"
          "                  self.held.get((v, FIXED), [0])[0] == self.commitment(v, self.held[v, OPENING])]"),
    Fault("share-p-is-a-share", "LE-10", "OPENING: [BEYOND] + [p] * self.kappa", "OPENING: [BEYOND] + [p + 1] * self.kappa"),
    Fault("nonces-of-any-size", "LE-10", "OPENING: [BEYOND] + [p]", "OPENING: [BEYOND**2] + [p]"),
    Fault("ghat-before-the-hashes", "LE-11", "report += [*hashes[4 * i : 4 * i + 4], *(self.hash(s, ghat) for ghat in ghats)]",
          "report += [*(self.hash(s, ghat) for ghat in ghats), *hashes[4 * i : 4 * i + 4]]"),
    Fault("ghat-not-hashed", "LE-11", "report += [*hashes[4 * i : 4 * i + 4], *(self.hash(s, ghat) for ghat in ghats)]",
          "report += hashes[4 * i : 4 * i + 4]"),
    Fault("reports-by-hash", "LE-11", "        return [square(ghat) for ghat in ghats], report",
          "        report = [e for j in range(4 + len(ghats)) for e in report[j :: 4 + len(ghats)]]\n"
          "        return [square(ghat) for ghat in ghats], report"),
    Fault("report-entry-p", "LE-11", "REPORT: [p] * (self.kappa", "REPORT: [p + 1] * (self.kappa"),
    # the checks
    Fault("numbers-not-compared", "LE-12", "if fixed is not None and fixed[1:] != numbers:", "if False:"),
    Fault("reports-not-compared", "LE-12", "if self.held.get((u, REPORT), report) != report:", "if False:"),
    Fault("last-hash-not-compared", "LE-12", "if self.held.get((u, REPORT), report) != report:",
          "if self.held.get((u, REPORT), report)[:-1] != report[:-1]:"),
    Fault("relations-of-neighbours-only", "LV-8", "for v in (v for v in range(self.n) if not self.relation_holds",
          "for v in (v for v in self.N[self.me] if not self.relation_holds"),
    Fault("relations-under-one-key", "LV-8", "if not self.relation_holds(v, four)):", "if i == 0 and not self.relation_holds(v, four)):"),
    Fault("total-not-checked", "LE-12", "if part is not None and any(", "if False and any("),
    Fault("total-checked-without-a-report", "LE-12", "if len(known) < self.n:", "if not known:"),
    Fault("statistics-without-a-number", "LE-12", "sum(squares) if len(squares) == self.n else None", "sum(squares)"),
    Fault("total-of-zeros-if-none-came", "LE-12", "parts = [None] * len(self.weightings) if total is None else self.split(total)",
          "parts = self.split(total or [0] * (len(self.weightings) * self.d))"),
    Fault("relations-before-records", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: phase == REPORTS and a["reason"] == "RECORD_MISMATCH")'),
    Fault("totals-first", "MO-12", "new = self.alarms[self.reported :]",
          'new = sorted(self.alarms[self.reported :], key=lambda a: a["reason"] != "WRONG_TOTAL")'),
    # the comparison
    Fault("digest-without-reports", "LE-13", "for slot in (FIXED, OPENING, REPORT)]", "for slot in (FIXED, OPENING)]"),
    Fault("digest-by-slot", "LE-13", "tags = [(v, slot) for v in range(self.n) for slot in (FIXED, OPENING, REPORT)]",
          "tags = [(v, slot) for slot in (FIXED, OPENING, REPORT) for v in range(self.n)]"),
    Fault("digest-of-numbers-without-frames", "LE-13", "frame(*map(number, v)) for v in values", 'b"".join(map(number, v)) for v in values'),
    Fault("digest-without-nulls", "LE-13", 'b"" if v is None else frame(*map(number, v)) for v in values',
          "frame(*map(number, v)) for v in values if v is not None"),
    Fault("digest-for-another-purpose", "LE-13", '"digest", *(', '"commitment", *('),
    Fault("digests-not-compared", "LE-13", "elif value != own:", "elif False:"),
    Fault("digests-of-any-size", "MO-8", "type(value) is not int or not 0 <= value < BEYOND", "type(value) is not int"),
    Fault("opening-cached", "CF-4", "self.opening = opening\n",
          'self.opening = opening and self.__dict__.setdefault("cached", opening)\n'),
    Fault("name-of-the-run-cached", "CF-4", 'bytes.fromhex(lean["run"])', 'bytes.fromhex(self.__dict__.setdefault("cached", lean["run"]))'),
    Fault("addresses-itself", "CF-6", '"addressed": addressed}', '"addressed": [{**one, "receiver": self.me} for one in addressed]}'),
)  # fmt: skip
"""Mistakes in lean validation: the cases of the paper's validation do not show them."""

FAULTS = (*PAPER_FAULTS, *LEAN_FAULTS)


def fault_named(name: str) -> Fault:
    """A fault by its name."""
    for fault in FAULTS:
        if fault.name == name:
            return fault
    raise ConformError(
        f"no fault {name!r}; there are {', '.join(fault.name for fault in FAULTS)}", clause="CF-17"
    )


def faulty_source(fault: Fault) -> str:
    """The source of the example agent with this mistake in it.

    Implements: CF-17.
    """
    source = AGENT.read_text(encoding="utf-8")
    if source.count(fault.words) != 1:
        raise ConformError(f"the words of {fault.name} do not stand once", clause="CF-17")
    return source.replace(fault.words, fault.instead)
