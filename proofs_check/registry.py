"""All proofs by name, in the order of the paper; a module is imported when it is asked for."""

import difflib
from collections.abc import Iterable
from importlib import import_module

from proofs_check.coq.gate import headline_theorems
from proofs_check.framework import Proof, ProofError, Reach, Role, Step, ordered

MODULES = (
    "hash",
    "broadcast",
    "agreement",
    "contraction",
    "mixing",
    "perturbation",
    "bounded",
    "consensus",
    "theorem3",
    "weights",
    "drift",
    "heterogeneity",
    "admissible",
    "theorem1",
    "radius",
    "calibration",
    "level",
    "cost",
    "theorem2",
    "remarks",
)
"""One module of this package per statement; each defines PROOF."""


def load(name: str) -> Proof:
    """The proof of this name."""
    if name not in MODULES:
        near = difflib.get_close_matches(name, MODULES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(MODULES)}"
        raise ProofError(f"no proof is called {name!r}; {hint}")
    proof: Proof = import_module(f"proofs_check.{name}").PROOF
    return proof


def load_all() -> tuple[Proof, ...]:
    """Every proof; names that clash, needs and theorems that do not exist, cycles are refused."""
    proofs = tuple(load(name) for name in MODULES)
    known = theorems_of_coq()
    for proof in proofs:
        for theorem in proof.theorems:
            if theorem not in known:
                raise ProofError(f"{proof.name} is said to rest on {theorem}, which is not in Coq")
    ordered(step for proof in proofs for step in proof.steps)
    return proofs


def select(name: str | None = None) -> tuple[Proof, ...]:
    """One proof, or all of them."""
    return load_all() if name is None else (load(name),)


def find_step(name: str) -> Step:
    """The step called `proof.step`."""
    for step in load(name.partition(".")[0]).steps:
        if step.name == name:
            return step
    raise ProofError(f"no step is called {name!r}")


def carrying(proof: Proof) -> tuple[Step, ...]:
    """The steps that carry a proof, and all steps they need, in other proofs too."""
    found: dict[str, Step] = {}
    waiting = [step for step in proof.steps if step.role is Role.PROOF]
    while waiting:
        step = waiting.pop(0)
        if step.name not in found:
            found[step.name] = step
            waiting += [find_step(needed) for needed in step.needs]
    return tuple(found.values())


def theorems_of_coq() -> tuple[str, ...]:
    """The theorems of Coq that name a clause, as `File.theorem`."""
    return tuple(
        f"{file.removesuffix('.v')}.{theorem}"
        for file, theorems in headline_theorems().items()
        for theorem in theorems
    )


def reach(proof: Proof) -> Reach | None:
    """The narrowest reach among the steps that carry a proof; None: theorems of Coq alone do."""
    found = [step.reach for step in carrying(proof)]
    return max(found, key=lambda one: one.narrowness, default=None)


def relies_on(proof: Proof) -> tuple[str, ...]:
    """The other proofs whose steps a proof needs."""
    homes = {step.name.partition(".")[0] for step in carrying(proof)}
    return tuple(name for name in MODULES if name in homes and name != proof.name)


def steps_of(proofs: Iterable[Proof], deep: bool) -> tuple[Step, ...]:
    """The steps to run: without `deep` the fast ones only."""
    return tuple(step for proof in proofs for step in proof.steps if deep or not step.deep)
