"""Whole runs that show the errata: as printed, and as repaired.

The witnesses of the broadcast and of the agreement (P01, P02, P04, P05, P22, P26) are in those
families, those of the hash (P18, P19, P20) in that of the hash.
"""

import attrs

from valid_ref.adversary.hidden import HiddenTranscripts
from valid_ref.adversary.reports import BalancedReport, HashLiar, LoneVictim
from valid_ref.protocols.parameters import CheckedKeys
from valid_ref.scenario import Scenario, parts
from valid_ref.vectors.document import Case, Family
from valid_ref.vectors.runs import run_case, run_family
from valid_ref.vectors.scenarios import attacked, early_keys, small

HONEST = {
    "P13": "adding Gamma where it must be subtracted breaks honest relations",
    "P14": "eta(t) in place of eta(t+1) breaks honest relations",
    "P15": "hashing X^in where Gamma is meant breaks honest relations",
    "P17": "rounding model and gradient apart breaks honest relations",
}
"""Errata that alarm honest runs."""


def _printed(erratum: str, source: str, comment: str, scenario: Scenario) -> Case:
    """The run with one repair turned off."""
    printed = attrs.evolve(scenario, without=(erratum,))
    identifier = f"erratum/run/{erratum.lower()}-printed"
    return run_case(identifier, source, f"as printed: {comment}", printed)


def _pair(erratum: str, source: str, comment: str, scenario: Scenario) -> tuple[Case, Case]:
    """The run as printed and as repaired."""
    identifier = f"erratum/run/{erratum.lower()}-repaired"
    return (
        _printed(erratum, source, comment, scenario),
        run_case(identifier, source, "repaired: the same inputs", scenario),
    )


def _weighted() -> Scenario:
    """Weights whose printed sum multiplies where it must divide."""
    check = parts.Check("gamma", parts.Exponential(0.875, 8), parts.ConfiguredThresholds(2.0, 4.0))
    return attrs.evolve(small("path:4", 1), checks=(check,))


def family() -> Family:
    """All runs of errata."""
    hidden = attacked(HiddenTranscripts(), "path:6", (0, 1, 4, 5))
    lone = attacked(LoneVictim(4.0), "path:2", (1,))
    balanced = attrs.evolve(
        attacked(BalancedReport(), "cycle:5", (0,)), keys_checked=CheckedKeys.OWN
    )
    liar = attacked(HashLiar(before_keys=True), byzantine=(2,))
    honest = small("path:3", 1)
    return run_family(
        "runs-errata",
        "Whole runs in which the printed text goes wrong, beside the repaired ones.",
        (
            run_case("erratum/run/p06", "P06 AD-6",
                     "Assumption 1 holds, Assumption 1+ does not: two honest agents end valid, "
                     "apart; no guarantee applies", hidden),
            *_pair("P07", "P07 LV-9 GV-4", "a lone agent is drawn away and ends valid", lone),
            *_pair("P08", "P08 LV-8", "a false report balances a broken relation", balanced),
            _printed("P09", "P09 LV-6", "lies in every commitment, and nobody reads them", liar),
            run_case("erratum/run/p11-printed", "P11 LV-1",
                     "as printed: keys known too early hide a broken relation; nobody alarms",
                     early_keys()),
            *(_printed(erratum, f"{erratum} L1", comment, honest)
              for erratum, comment in HONEST.items()),
            run_case("erratum/run/honest-repaired", "P13 P14 P15 P17 L1",
                     "repaired: the same inputs as in the runs of P13, P14, P15 and P17", honest),
            *_pair("P24", "P24 GV-1", "weights that multiply by their sum", _weighted()),
        ),
    )  # fmt: skip
