"""The mutants: every check of the protocols turned off, one by one.

A mutant is a place in a file, the words it has, the words it gets, and the tests that must notice.
"""

import attrs

LEARN = ("tests/valid_ref/protocols/test_learn.py",)
LATTICE = ("tests/valid_ref/test_lattice.py",)
BROADCAST = ("tests/valid_ref/protocols/test_broadcast.py",)
AGREEMENT = ("tests/valid_ref/protocols/test_agreement.py",)
LOCAL = (
    "tests/valid_ref/protocols/test_local_validate.py",
    "tests/valid_ref/protocols/test_local_validate_attacks.py",
    "tests/valid_ref/protocols/test_local_validate_errata.py",
)
GLOBAL = ("tests/valid_ref/protocols/test_global_validate.py",)
VALID = ("tests/valid_ref/protocols/test_valid.py",)
HASH = ("tests/valid_ref/test_hashing.py",)
MACHINE = ("tests/valid_ref/test_machine.py",)


@attrs.frozen
class Mutant:
    """One check turned off."""

    name: str
    clause: str
    file: str
    words: str
    instead: str
    tests: tuple[str, ...]


def _mutant(
    clause: str, name: str, file: str, words: str, instead: str, tests: tuple[str, ...]
) -> Mutant:
    return Mutant(name, clause, f"valid_ref/{file}", words, instead, tests)


_L, _B, _A = "protocols/learn.py", "protocols/broadcast.py", "protocols/agreement.py"
_V, _G, _W = "protocols/local_validate.py", "protocols/global_validate.py", "protocols/valid.py"

MUTANTS = (
    _mutant("AR-10", "no range rule", "lattice.py", "if largest >= self.budget:", "if False:",
            LATTICE),
    _mutant("AR-10", "models may leave the range", "lattice.py",
            'check_range(x, parameters.model_limit, "model")', "pass", LATTICE),
    _mutant("AR-10", "scaled gradients may leave the range", "lattice.py",
            'check_range(gamma, parameters.gradient_limit, "scaled gradient")', "pass", LATTICE),
    _mutant("AR-3", "NaN is a number", "lattice.py", "if not finite.all():", "if False:", LATTICE),
    _mutant("AR-3", "numbers of any size have a place", "lattice.py", "if not inside.all():\n        index = int(np.argmin(inside))\n        raise LatticeError(\n            f\"entry {index} is {real[index]}, beyond",
            "if False:\n        index = int(np.argmin(inside))\n        raise LatticeError(\n            f\"entry {index} is {real[index]}, beyond", LATTICE),
    _mutant("AR-5", "ties are rounded down", "lattice.py",
            "remainder += quotient & 1  # a tie goes up", "pass  # a tie goes down", LATTICE),
    _mutant("AR-8", "gradients are truncated, not floored", "lattice.py",
            "gradient: IntVector = gamma // parameters.schedule.A(t)",
            "gradient: IntVector = np.fix(gamma / parameters.schedule.A(t)).astype(np.int64) + 2",
            LATTICE),
    _mutant("MO-8", "a missing learning message is no alarm", _L,
            "return Alarm.MISSING_MESSAGE", "return None", LEARN),
    _mutant("MO-8", "a learning message of another type is no alarm", _L,
            "if not isinstance(message, LearningMessage):\n            return Alarm.MALFORMED_MESSAGE",
            "if not isinstance(message, LearningMessage):\n            return None", LEARN),
    _mutant("AR-11", "the dtype of a vector is not checked", _L,
            "if not isinstance(vector, np.ndarray) or vector.dtype != np.int64:",
            "if not isinstance(vector, np.ndarray):", LEARN),
    _mutant("AR-11", "the shape of a vector is not checked", _L,
            "if vector.shape != (self.parameters.dimension,):", "if False:", LEARN),
    _mutant("AR-11", "the range of a received vector is not checked", _L,
            "return Alarm.OUT_OF_RANGE", "return None", LEARN),
    _mutant("AR-14", "an own update out of range is no alarm", _L,
            "return attrs.evolve(state, message=None, alarms=(*state.alarms, raised))",
            "return attrs.evolve(state, message=None)", LEARN),
    _mutant("VB-7", "agents adopt in the compare round", _B,
            "elif not self._compares(round_number):", "else:", BROADCAST),
    _mutant("VB-7", "the compare round sends only what is new", _B,
            "if self._compares(round_number) or not self.reading.P22:",
            "if not self.reading.P22:", BROADCAST),
    _mutant("VB-2", "one round too few", _B, "return n if self.reading.P01 else",
            "return n - 1 if self.reading.P01 else", BROADCAST),
    _mutant("VB-6", "a different value is no alarm", _B, "if held[tag] != value:", "if False:",
            BROADCAST),
    _mutant("VB-8", "null at the end is no alarm", _B, "if tag not in held:", "if False:",
            BROADCAST),
    _mutant("VB-9", "a missing broadcast message is no alarm", _B,
            "object_to(Alarm.MISSING_MESSAGE, sender, None)", "pass", BROADCAST),
    _mutant("VB-9", "a malformed broadcast message is no alarm", _B,
            "object_to(Alarm.MALFORMED_MESSAGE, sender, None)", "pass", BROADCAST),
    _mutant("VB-9", "an unknown tag is no alarm", _B,
            "object_to(Alarm.UNKNOWN_TAG, sender, None)", "pass", BROADCAST),
    _mutant("VB-9", "an ill-formed value is no alarm", _B,
            "object_to(Alarm.MALFORMED_VALUE, sender, tag)", "pass", BROADCAST),
    _mutant("VB-9", "an ill-formed value is adopted", _B, "if self.well_formed(tag, value):",
            "if True:", BROADCAST),
    _mutant("LV-2", "models of any length", _V,
            "if model > parameters.bounds.model_squared[t - 1]:", "if False:", LOCAL),
    _mutant("LV-2", "gradients of any length", _V,
            "if gradient > parameters.bounds.gradient_squared[t - 1]:", "if False:", LOCAL),
    _mutant("LV-4", "keys outside the field", _V,
            "return type(value) is int and 0 <= value < prime", "return type(value) is int",
            (*LOCAL, "tests/valid_ref/protocols/test_valid_malformed.py")),
    _mutant("LV-5", "the mixing input has the wrong index", _V,
            "eta_shift=1 if parameters.reading.P14 else 0", "eta_shift=0", LOCAL),
    _mutant("LV-7", "reporters may differ", _V, "if len(seen) > 1:", "if False:", LOCAL),
    _mutant("LV-8", "relations are not checked", _V,
            "if difference % parameters.field.prime:", "if False:", LOCAL),
    _mutant("LV-8", "only neighbours are checked", _V,
            "return range(graph.agents) if parameters.reading.P08 else graph.neighbours(agent)",
            "return graph.neighbours(agent)", LOCAL),
    _mutant("LV-9", "no self-check of hashes", _V,
            "if hashes.get((reporter, agent), own) != own:", "if False:", LOCAL),
    _mutant("LV-10", "nobody checks under its own key", _V,
            "return (agent,) if own_only else range(parameters.graph.agents)",
            "return () if own_only else range(parameters.graph.agents)", LOCAL),
    _mutant("GV-2", "norms are rounded up", _G, "math.isqrt(squared)\n", "math.isqrt(squared) + 1\n",
            GLOBAL),
    _mutant("GV-3", "estimates of any size", _G,
            "if not 0 <= length <= total * norm or max(map(abs, vector)) > total * largest:",
            "if False:", (*GLOBAL, "tests/valid_ref/protocols/test_valid_malformed.py")),
    _mutant("GV-4", "estimates may differ", _G, "if len(set(reports)) > 1:", "if False:", GLOBAL),
    _mutant("GV-4", "no self-check of estimates", _G,
            "if estimates.get((reporter, agent), own) != own:", "if False:", GLOBAL),
    _mutant("GV-5", "no optimality check", _G, "if optimality > weighting.optimality**2:",
            "if False:", GLOBAL),
    _mutant("GV-6", "no heterogeneity check", _G,
            "if heterogeneity > weighting.heterogeneity:", "if False:", GLOBAL),
    _mutant("SA-1", "one agreement round too few", _A, "return self.graph.agents - 1 if",
            "return self.graph.agents - 2 if", AGREEMENT),
    _mutant("SA-3", "a neighbour's alarm is ignored", _A,
            "return Alarm.NEIGHBOUR_ALARM if message else None", "return None", AGREEMENT),
    _mutant("SA-3", "alarms do not persist", _A,
            "heard_alarm or state.alarmed if self.reading.P04 else heard_alarm", "heard_alarm",
            AGREEMENT),
    _mutant("SA-4", "a missing state is no alarm", _A, "return Alarm.MISSING_MESSAGE",
            "return None", AGREEMENT),
    _mutant("SA-4", "a state that is no boolean is no alarm", _A,
            "return Alarm.MALFORMED_MESSAGE", "return None", AGREEMENT),
    _mutant("VA-1", "norm alarms do not carry over", _W,
            "return memory.alarmed_by(state.alarms + tuple(norms))",
            "return memory.alarmed_by(state.alarms)", LOCAL + VALID),
    _mutant("VA-2", "an invalid agent outputs its model", _W,
            "return None if state.memory.invalid or not own else own[-1].model",
            "return own[-1].model if own else None", VALID),
    _mutant("HA-1", "a field shorter than the transcript", "hashing.py",
            "if n >= self.prime:", "if False:", HASH),
    _mutant("HA-2", "extension fields are admitted", "hashing.py",
            "if len(primes) == 1:", "if False:", HASH),
    _mutant("LV-3", "keys outside the field are hashed with", "hashing.py",
            "if type(key) is not int or not 0 <= key < self.prime:", "if False:", HASH),
    _mutant("AD-4", "the adversary speaks on foreign edges", "machine.py",
            "if sender not in view.byzantine or receiver not in view.graph.neighbours(sender):",
            "if False:", MACHINE),
)  # fmt: skip
