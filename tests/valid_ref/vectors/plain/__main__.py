"""`python plain DIR` replays the vectors in a directory with the second implementation.

It has no switches for the printed text, so it skips cases with a `without`. Alarms are compared as
sorted lists: the text does not fix the order of those of one round.
"""

import json
import sys
from pathlib import Path

from checks import CHECKS, sorted_alarms
from lean import LEAN, lean_run
from network import NETWORKS
from units import UNITS, RefusedError


def passes(case):
    """Whether a case comes out as it should; None if it is skipped."""
    given, operation = case["input"], case["operation"]
    if given.get("without") or given.get("parameters", {}).get("without"):
        return None
    networks = NETWORKS | {"lean-run": lean_run}
    if operation in networks:
        return networks[operation](case)
    wanted = case.get("expected")
    if isinstance(wanted, dict) and "alarms" in wanted:
        wanted = sorted_alarms(wanted.pop("alarms"), **wanted)
    try:
        return (UNITS | CHECKS | LEAN)[operation](**given) == wanted
    except RefusedError as refusal:
        return str(refusal) == case.get("refused")


def main(directory):
    failed, skipped, passed = [], [], 0
    for path in sorted(Path(directory).glob("*.json")):
        if path.name.endswith(".schema.json"):
            continue
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            found = passes(case)
            passed += found is True
            if not found:
                (skipped if found is None else failed).append(case["id"])
    json.dump({"passed": passed, "skipped": skipped, "failed": failed}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
