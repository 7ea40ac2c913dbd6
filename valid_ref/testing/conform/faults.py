"""The example agent with one mistake at a time: what the kit must find, and the clause it names.

Every fault replaces words of `agent.py` that stand there once.
"""

from pathlib import Path

import attrs

from valid_ref.testing.conform.errors import ConformError

AGENT = Path(__file__).parent / "agent.py"
"""The example agent; it can be run where it lies."""


@attrs.frozen
class Fault:
    """A typical mistake: these words instead of those break this clause."""

    name: str
    clause: str
    words: str
    instead: str


FAULTS: tuple[Fault, ...] = (
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
    Fault("unknown-tags-ignored", "VB-9", "if any(tag not in self.tags for tag in found):",
          "if False:"),
    Fault("true-is-one", "VB-9", "all(type(e) is int for e in value)",
          "all(isinstance(e, int) for e in value)"),
    Fault("key-p-is-a-key", "VB-9", "and 0 <= value < self.p", "and 0 <= value <= self.p"),
    Fault("estimates-of-any-size", "VB-9", "if not below(ghat, W * self.g_max + 1):", "if False:"),
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
          "for v in range(self.n):\n                reports = [four",
          "for v in self.N[self.me]:\n                reports = [four"),
    Fault("reporters-of-neighbours-only", "LV-7", "if (u, v) in four]",
          "if (u, v) in four and v in self.N[self.me]]"),
    Fault("relation-of-the-other-sign", "LV-8", "- mixing + h_gamma", "- mixing - h_gamma"),
    Fault("relation-of-the-highest-reporter", "LV-8",
          "next((values[u, v] for u in self.N[v] if (u, v) in values), None)",
          "next((values[u, v] for u in reversed(self.N[v]) if (u, v) in values), None)"),
    Fault("checks-its-own-key-only", "LV-10", 'if parameters["keys_checked"] == "all"', "if False"),
    Fault("checks-all-keys", "LV-10", 'if parameters["keys_checked"] == "all"', "if True"),
    # estimates
    Fault("weights-off-by-one", "GV-2", 'zip(weighting["weights"], rows, strict=True)',
          'zip(weighting["weights"][1:], rows, strict=False)'),
    Fault("weights-reversed", "GV-2", 'zip(weighting["weights"], rows, strict=True)',
          'zip(weighting["weights"][::-1], rows, strict=True)'),
    Fault("square-root-rounded", "GV-2", "w * math.isqrt(square(g))", "w * round(math.sqrt(square(g)))"),
    Fault("norm-of-the-sum", "GV-2", "sum(w * math.isqrt(square(g)) for w, g in pairs)",
          "math.isqrt(square(found[-self.d :]))"),
    Fault("no-estimate-self-check", "GV-4", "if self.held.get((v, self.me), own) != own:", "if False:"),
    Fault("estimates-not-compared", "GV-4",
          "if any(report != reports[0] for report in reports):\n"
          '                self.alarm("INCONSISTENT_ESTIMATES"',
          'if False:\n                self.alarm("INCONSISTENT_ESTIMATES"'),
    Fault("optimality-not-squared", "GV-5", 'weighting["optimality"] ** 2:', 'weighting["optimality"]:'),
    Fault("lengths-added-then-squared", "GV-6", "square([lhat for _ghat, lhat in pairs])",
          "square([sum(lhat for _ghat, lhat in pairs)])"),
    # agreement and the end
    Fault("alarms-do-not-persist", "SA-3", '"value": bool(self.alarms)}',
          '"value": bool(self.alarms if r == 1 else\n'
          '                [a for a in self.alarms if (a["phase"], a["round"]) == (AGREE, r - 1)])}'),
    Fault("agreement-forgets-earlier-phases", "SA-2", '"value": bool(self.alarms)}',
          '"value": any(a["phase"] == AGREE for a in self.alarms)}'),
    Fault("agreement-one-round-short", "SA-1", '"value": bool(self.alarms)}}',
          '"value": bool(self.alarms)} if r < self.n - 1 else None}'),
    Fault("neighbours-alarm-ignored", "SA-3", "if (reason, u) not in known:",
          'if (reason, u) not in known and reason != "NEIGHBOUR_ALARM":'),
    Fault("model-of-an-invalid-agent", "VA-2", "self.own[-1][0] if valid else None", "self.own[-1][0]"),
    Fault("model-of-the-round-before", "LM-6", "self.own[-1][0] if valid", "self.own[-2][0] if valid"),
    Fault("alarms-withdrawn", "MO-7", '"model": model, "alarms": self.alarms}',
          '"model": model, "alarms": [a for a in self.alarms if a["phase"] == AGREE]}'),
    Fault("alarms-twice", "MO-7", '"model": model, "alarms": self.alarms}',
          '"model": model, "alarms": self.alarms * 2}'),
    Fault("always-valid", "VA-2", 'return {"valid": valid,', 'return {"valid": True,'),
    # the protocol of the pipe
    Fault("does-not-reset", "CF-4", "self.alarms: list[Reply] = []\n        self.reported = 0",
          'self.alarms: list[Reply] = getattr(self, "alarms", [])\n'
          "        self.reported = len(self.alarms)"),
    Fault("crashes-on-garbage", "CF-12", 'if message["kind"] != "learning":', "if False:"),
    Fault("chatters", "CF-1", 'sys.stdout.write(json.dumps(reply) + "\\n")',
          'sys.stdout.write("a reply:\\n" + json.dumps(reply) + "\\n")'),
    Fault("falls-asleep", "CF-13", "request = json.loads(line)",
          'request = json.loads(line)\n        while request["op"] == "end":\n            pass'),
    Fault("reply-of-another-form", "CF-8", 'return {"alarms": new}', "return {}"),
    Fault("floats-as-integers", "CF-7", 'message = {"kind": "learning", "model": x,',
          'message = {"kind": "learning", "model": [float(e) for e in x],'),
)  # fmt: skip


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
