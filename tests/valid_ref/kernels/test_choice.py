"""The compiled form is an option: never at import, never for little work, never required."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from valid_ref.kernels import Backend, KernelError, PolyHash
from valid_ref.kernels.choice import VARIABLE, compiled, settle

HASH = """
import sys
{hide}
import numpy as np
from valid_ref.hashing import PrimeField
from valid_ref.kernels.polyhash import round_polynomials
rows = np.arange({columns}).reshape(1, -1)
print(round_polynomials(PrimeField(), (3,), rows)[0, 0], "numba" in sys.modules)
"""


def run(columns: int, hide: str = "", **environment: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", HASH.format(hide=hide, columns=columns)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return result.stdout.strip()


def test_the_front_door_loads_neither_compiler_nor_field() -> None:
    program = """
import sys
from valid_ref import AgentGraph, Alarm, Reading, Scenario, execute, load_scenario, run
import valid_ref.kernels, valid_ref.oracle, valid_ref.protocols.valid
print({"galois", "numba", "networkx", "torch"} & set(sys.modules))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_little_work_does_not_load_the_compiler() -> None:
    assert run(4) == f"{1 * 3 + 2 * 9 + 3 * 27} False"


def test_without_numba_large_work_is_done_by_numpy() -> None:
    expected = str(PolyHash((3,), Backend.NUMPY).hash(np.arange(500_000).reshape(1, -1))[0, 0])
    assert run(500_000, "sys.modules['numba'] = None") == f"{expected} True"
    assert run(500_000, **{VARIABLE: "numpy"}) == f"{expected} False"


def settled(wanted: Backend, work: int) -> Backend:
    return settle("no such loops in memory", wanted, work, pays_from=10)


def test_the_caller_and_the_environment_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert settled(Backend.AUTO, 9) is Backend.NUMPY
    assert settled(Backend.AUTO, 10) is Backend.NUMBA
    monkeypatch.setenv(VARIABLE, "numpy")
    assert settled(Backend.AUTO, 10) is Backend.NUMPY
    assert settled(Backend.NUMBA, 9) is Backend.NUMBA
    monkeypatch.setenv(VARIABLE, "numba")
    assert settled(Backend.AUTO, 9) is Backend.NUMBA
    assert settled(Backend.NUMPY, 10) is Backend.NUMPY
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(KernelError, match="VALID_REF_KERNELS = 'fast' is none of"):
        PolyHash((1,)).hash(np.zeros((1, 1), np.int64))


def test_loops_in_memory_are_used_for_little_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    compiled("hash61", Backend.NUMBA)
    assert settle("hash61", Backend.AUTO, 1, pays_from=10) is Backend.NUMBA


def test_numba_asked_for_and_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(KernelError, match="numba was asked for and is not installed"):
        compiled("hash61", Backend.NUMBA)
    assert settled(Backend.AUTO, 10**12) is Backend.NUMPY


def test_loops_are_compiled_without_a_place_for_a_cache() -> None:
    """Numba has no place for a cache of code that is in no file."""
    import numba

    from valid_ref.kernels.loops import compiled as jit
    from valid_ref.kernels.loops import entry

    made: dict[str, Any] = {}
    exec("def double(x):\n    x[0] = 2 * x[0]", made)
    for function in (jit(made["double"]), entry(numba.int64[::1])(made["double"])):
        values = np.array([21])
        function(values)
        assert values.tolist() == [42]
