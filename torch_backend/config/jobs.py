"""The jobs that an experiment stands for: one rule, one attack, one seed each."""

from typing import Any, Literal

import attrs

from torch_backend.attacks import AttackPart
from torch_backend.config.experiment import Experiment
from torch_backend.config.parts import NoAttack
from torch_backend.rules import Plain, RulePart
from valid_ref.document import unstructure

Purpose = Literal["calibrate", "measure"]


@attrs.frozen
class Job:
    """One run: its rule, its attack (or none), its seed, and what it is for."""

    purpose: Purpose
    rule: RulePart
    attack: AttackPart | NoAttack
    seed: int

    @property
    def name(self) -> str:
        """A name that tells the jobs of an experiment apart, fit for a file."""
        words = (label(self.rule), label(self.attack), f"seed={self.seed}")
        prefix = "calibrate_" if self.purpose == "calibrate" else ""
        return prefix + "_".join(words)

    @property
    def attacked(self) -> bool:
        """Whether anybody is Byzantine in it."""
        return not isinstance(self.attack, NoAttack)


def jobs(experiment: Experiment) -> tuple[Job, ...]:
    """All jobs in their order: those that calibrate thresholds first.

    Implements: EX-10, EX-14.
    """
    measured = any(isinstance(rule, Plain) for rule in experiment.rules)
    seeds = experiment.detection.seeds if measured else ()
    calibration = [Job("calibrate", Plain(), NoAttack(), seed) for seed in seeds]
    return (
        *calibration,
        *(
            Job("measure", rule, attack, seed)
            for attack in experiment.attacks
            for rule in experiment.rules
            for seed in experiment.seeds
        ),
    )


def label(part: Any) -> str:
    """The kind of a part and its options that are not at their default: "gaussian+sigma=0.1".

    The strength of noise is named in any case.
    """
    chosen = [
        f"{field.name}={_word(getattr(part, field.name))}"
        for field in attrs.fields(type(part))
        if getattr(part, field.name) != field.default or field.name == "sigma"
    ]
    return "+".join((part.kind, *chosen))


def _word(value: Any) -> str:
    plain = unstructure(value)
    return "x".join(map(str, plain)) if isinstance(plain, list) else str(plain)
