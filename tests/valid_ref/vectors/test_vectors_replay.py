"""Every published vector, replayed from its file; nothing here imports the generator."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.valid_ref.vectors.reading import Json, files, load
from tests.valid_ref.vectors.replay_protocols import PROTOCOLS
from tests.valid_ref.vectors.replay_units import NEARLY, UNITS
from valid_ref.errors import ValidRefError

ROOT = Path(__file__).resolve().parents[3]


def outcome(family: str, case: Json) -> Json:
    """What the reference makes of a case: a result, or the clause of a typed refusal."""
    try:
        if family in NEARLY:
            return {
                "expected": NEARLY[family][case["operation"]](case["input"], case.get("expected"))
            }
        return {"expected": (UNITS | PROTOCOLS)[family][case["operation"]](case["input"])}
    except ValidRefError as error:
        return {"refused": error.clause}


@pytest.mark.checks("VE-2", "VE-4", "VE-7")
@pytest.mark.parametrize("family", files())
def test_every_case_comes_out_as_its_file_says(family: str) -> None:
    cases = load(family)["cases"]
    assert cases
    for case in cases:
        wanted = {key: case[key] for key in ("expected", "refused") if key in case}
        assert outcome(family, case) == wanted, case["id"]


def test_the_replayer_knows_no_generator() -> None:
    program = (
        "import sys, tests.valid_ref.vectors.test_vectors_replay\n"
        "print([name for name in sys.modules if name.startswith('valid_ref.vectors')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
