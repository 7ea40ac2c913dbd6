"""The words at the top of every file: how numbers and messages are written, what refusals are."""

NUMBERS = (
    "Integers of the protocol (entries of vectors, steps, keys, primes, hashes, limits, weights, "
    "thresholds, squares) are JSON strings of decimal digits, of any size and either sign: read "
    "them into an integer type that holds them.",
    "Agents, rounds, counts of bits, lengths and rows are JSON numbers in 0..2^31-1; -1 is the "
    "slot of a key.",
    "Rationals are strings NUMERATOR/DENOMINATOR in lowest terms, the denominator positive. "
    "Doubles are strings of 16 hex digits: the 64 bits of an IEEE 754 binary64, highest first.",
)

REFUSALS = (
    "A case with `expected` passes if the result equals it, field by field. A case with `refused` "
    "passes if the input is refused with a typed error; the value is the clause that demands it. "
    "An input that breaks several clauses may be refused by any of them; the cases here break one. "
    "An error of the harness itself is neither: it must stop the test.",
)

_ALARMS = (
    "An alarm is reason, clause, phase, round, sender (null for a check over many reports) and "
    "what it is about as text (`2` an agent, `2/0` a pair or a tag, `2/key` a key, else the name "
    "of a weighting). Phase, round and order are those of MO-12 of spec/model.md.",
)

_PARAMETERS = (
    "Parameters have the names of VA-9 of spec/valid.md: `mixing` "
    "are a_1..a_T and `gradient` A_1..A_T, `model_limit` is X_max and `gradient_limit` G_max, "
    "`start_model` is x_0; `bounds` are the squares of B_t and C_t, null if there is no norm "
    "check; `optimality` and `heterogeneity` of a weighting are Theta_opt and Theta_het; "
    "`without` are the errata whose repairs are turned off.",
)

_MESSAGES = (
    "A message is null (silence) or has a kind, as in RE-4 of spec/recording.md: `learning` "
    "(with its two vectors in place, of a wrong length too), `flag` (an alarm state), `entries` "
    "(a broadcast message: `keys` has [source, key], `rows` [source, slot, row of the case's "
    "table], `nulls` and `malformed` the tags [source, slot] whose value is null or of no "
    "admitted form, `unknown_tags` whether there is an entry with a tag that does not exist; a tag "
    "that stands twice in these lists stands twice in the message, VB-9), "
    "`other` (of no form that the phase admits; the text is for people). For what is malformed "
    "or other feed anything that your receiver must call so.",
)

FURTHER = {
    "parameters": _PARAMETERS,
    "broadcast": (*_MESSAGES, *_ALARMS),
    "agreement": (*_MESSAGES, *_ALARMS),
    "local-checks": (*_PARAMETERS, *_ALARMS),
    "global-checks": (*_PARAMETERS, *_ALARMS),
    "runs-honest": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
    "runs-attacks": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
    "runs-errata": (*_PARAMETERS, *_MESSAGES, *_ALARMS),
}
"""Further words of the families that need them."""
