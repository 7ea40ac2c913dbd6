"""The hash against everything else that computes it, and against the two roofs."""

import importlib.util
import time
from collections.abc import Callable

import numpy as np

from benchmarks import rivals, roofs
from benchmarks.machine import has_ifma, is_quiet
from benchmarks.report import Claim, Section
from benchmarks.timing import Sample, interleaved, ratio, scaled
from valid_ref.kernels import Backend, PolyHash

PRIME = 2**61 - 1
KEYS = tuple(pow(3, 10**6 + i, PRIME) for i in range(20))
OURS = "compiled loops, 20 keys"
GALOIS = "galois GF(2^61 - 1), entries and powers prepared"
ROOF = "roof: six multiply-adds an element and key, in registers"


def measure(quick: bool) -> Section:
    """Nanoseconds an element and key, and ratios to the compiled loops in the same turn."""
    n = 10**5 if quick else 10**6
    repeats = 5 if quick else 11
    vector = np.random.default_rng(0).integers(-(2**62), 2**62, n)
    actions, sizes = _actions(vector)
    seconds = interleaved(actions, repeats, burst=3)
    found = {name: scaled(seconds[name], 1e9 / sizes[name]) for name in actions}
    ours = found[OURS]
    against = {name: ratio(sample, ours) for name, sample in found.items()}
    rows: list[tuple[object, ...]] = [
        (name, sizes[name], found[name], against[name]) for name in actions
    ]
    rows.append(
        ("two processors against one, wall clock", n * 20, "", _two_processors(vector, repeats))
    )
    parallel = _two_processors(np.tile(vector, 4), repeats)
    rows.append(("the same, four times as many entries", 4 * n * 20, "", parallel))
    return Section(
        f"The hash over p = 2^61 - 1: {n} entries, 20 keys, one processor",
        ("form", "elements times keys", "ns an element and key", "times as long as the loops"),
        tuple(rows),
        _claims(against, parallel),
        (
            "Rivals get their input prepared; the loops make their table of powers in the time. "
            "Starting a thread costs some tenths of a millisecond, which few entries do not repay. "
            f"The roof loop has {roofs.fused_instructions()} fused multiply-adds of 52 bits.",
        ),
    )


def _actions(vector: np.ndarray) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    n, rows = len(vector), vector[np.newaxis]
    loops = PolyHash(KEYS, Backend.NUMBA)
    single = PolyHash(KEYS[:1], Backend.NUMBA)
    factors = np.arange(2**30, 2**30 + 6, dtype=np.uint64)
    steps = n * 20 // roofs.ELEMENT_KEYS_PER_STEP
    short, tiny = vector[: n // 50], vector[:2000]
    actions: dict[str, tuple[int, Callable[[], object]]] = {
        OURS: (n * 20, lambda: loops.hash(rows, 1)),
        "compiled loops, 1 key": (n, lambda: single.hash(rows, 1)),
        "roof: reading the vector once": (n * 20, vector.sum),
        ROOF: (n * 20, lambda: roofs.multiplier_roof(steps, factors)),
        "numpy, limbs in float64 matrices": (n * 20, rivals.by_limbs(KEYS, vector)),
        "pure Python": (len(short), rivals.by_python(KEYS[:1], short)),
        GALOIS: (len(tiny), rivals.by_galois(KEYS[:1], tiny)),
        "the definition, in Python integers": (200, rivals.by_definition(KEYS[:1], tiny[:200])),
    }
    if importlib.util.find_spec("flint"):
        actions["python-flint nmod_poly"] = (n * 20, rivals.by_flint_polynomial(KEYS, vector))
        actions["python-flint nmod_mat"] = (n * 20, rivals.by_flint_matrix(KEYS, vector))
        blocks = rivals.by_flint_matrix(KEYS, vector, 2048)
        actions["python-flint nmod_mat, blocks of 2048"] = (n * 20, blocks)
    if importlib.util.find_spec("torch"):
        actions["torch, limbs in float64 matrices"] = (n * 20, rivals.by_torch(KEYS, vector))
    _refuse_differences(vector)
    return {k: v[1] for k, v in actions.items()}, {k: v[0] for k, v in actions.items()}


def _refuse_differences(vector: np.ndarray) -> None:
    """No ratio is worth anything unless all compute the same."""
    part, keys = vector[:500], KEYS[:2]
    expected = rivals.by_python(keys, part)()
    forms = [rivals.by_galois, rivals.by_definition, rivals.by_limbs]
    if importlib.util.find_spec("flint"):
        forms += [rivals.by_flint_polynomial, rivals.by_flint_matrix]
        forms.append(lambda keys, vector: rivals.by_flint_matrix(keys, vector, 64))
    if importlib.util.find_spec("torch"):
        forms.append(rivals.by_torch)
    if any(form(keys, part)() != expected for form in forms):
        raise RuntimeError("two forms of the hash differ")


def _two_processors(vector: np.ndarray, repeats: int) -> Sample:
    loops, rows = PolyHash(KEYS, Backend.NUMBA), vector[np.newaxis]
    actions = {"one": lambda: loops.hash(rows, 1), "two": lambda: loops.hash(rows, 2)}
    seconds = interleaved(actions, repeats, time.perf_counter, burst=5)
    return ratio(seconds["two"], seconds["one"])


def _claims(against: dict[str, Sample], parallel: Sample) -> tuple[Claim, ...]:
    flint = [sample.median for name, sample in against.items() if "flint" in name]
    roof, galois = against[ROOF].median, against[GALOIS].median
    speed_up = 1 / parallel.median
    faster = 2 if has_ifma() else 1.1
    return (
        Claim(
            f"at least {faster} times as fast as the best of python-flint"
            + ("" if has_ifma() else " (2 times on processors with AVX-512 IFMA)"),
            f"{min(flint):.2f} times" if flint else "python-flint is not installed",
            min(flint) >= faster if flint else None,
        ),
        Claim(
            "at least 1000 times as fast as galois over the same field",
            f"{galois:.0f} times",
            galois >= 1000,
        ),
        Claim(
            "at least 80 % of the multiplier roof (processors with AVX-512 IFMA)",
            f"{100 * roof:.0f} %",
            roof >= 0.8 if has_ifma() else None,
        ),
        Claim(
            "two processors at least 1.8 times as fast as one (4 times the entries, quiet)",
            f"{speed_up:.2f} times",
            speed_up >= 1.8 if is_quiet() else None,
        ),
    )
