"""From an experiment and one of its jobs to a program that the engine runs."""

import hashlib
import json
import sys
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import numpy.typing as npt
import torch

from torch_backend.attacks import NoAttack
from torch_backend.calibrate import StatisticsSetting, segment_check, weighting_name
from torch_backend.config.experiment import (
    ConstantMixing,
    DetectionOptions,
    Experiment,
    GivenStart,
    Job,
    ZeroStart,
)
from torch_backend.data.batches import device_data
from torch_backend.data.dataset import Dataset
from torch_backend.data.partition import Split
from torch_backend.errors import ConfigError, DataError, ModelError
from torch_backend.models import MODELS
from torch_backend.models.model import Model, OwnModel
from torch_backend.models.trial import require_model
from torch_backend.program import Program
from valid_ref.coins import Coins
from valid_ref.document import unstructure
from valid_ref.graph import AgentGraph
from valid_ref.guarantees.bounds import configured_bounds
from valid_ref.hashing import PrimeField
from valid_ref.lattice import default_limits, to_lattice
from valid_ref.named_parts import asking, name_of
from valid_ref.protocols.parameters import (
    LeanParameters,
    ValidParameters,
    Weighting,
    estimate_limit,
    exponential_weights,
    make_weighting,
)
from valid_ref.scenario.build import graph_of
from valid_ref.scenario.parts import NoBounds
from valid_ref.schedule import Schedule, StepSize, constant, inverse_root, make_schedule
from valid_ref.schedule import experiment as harmonic

NO_THRESHOLD = 1e30
"""A threshold that no statistic reaches: a run only measures, and is judged afterwards."""


def load_data(experiment: Experiment, folder: Path | None) -> Dataset:
    """The data set of an experiment."""
    with asking(experiment.data, "load(folder)", DataError, clause="EX-20"):
        found: object = experiment.data.load(folder)
    if not isinstance(found, Dataset):
        raise DataError(f"{name_of(experiment.data)}: load gave {type(found).__name__}, no Dataset")
    return found


def tried_model(experiment: Experiment, dataset: Dataset) -> Model:
    """The model of an experiment; one that somebody brought is tried on a few images.

    Implements: EX-20.
    """
    return _built_model(experiment, dataset, tried=True)


def _built_model(experiment: Experiment, dataset: Dataset, *, tried: bool = False) -> Model:
    part, shape = experiment.model, (dataset.features, dataset.classes)
    with asking(part, "build(features, classes)", ModelError, clause="EX-20"):
        model = part.build(*shape)
    if type(part) in MODELS.known:
        return model
    if tried:
        require_model(model, *shape, name_of(part))
    return OwnModel(name_of(part), model)


def _dealt(experiment: Experiment, dataset: Dataset, agents: int, seed: int) -> Split:
    """Who has which images.

    Implements: EX-20.
    """
    part = experiment.partition
    with asking(part, "split(dataset, agents, seed)", DataError, clause="EX-20"):
        found: object = part.split(dataset, agents, seed)
    if not isinstance(found, Split):
        raise DataError(
            f"{name_of(part)}: split gives a {type(found).__name__}, no Split", clause="EX-20"
        )
    return found


def own_sources(experiment: Experiment) -> dict[str, str | None]:
    """The SHA-256 of the files in which the parts stand that somebody brought.

    Implements: EX-20.
    """
    found = {}
    for _place, part, parts in experiment.parts():
        if type(part) not in parts.known:
            file = getattr(sys.modules.get(type(part).__module__), "__file__", None)
            content = None if file is None else Path(file).read_bytes()
            found[name_of(part)] = None if content is None else hashlib.sha256(content).hexdigest()
    return found


def data_digest(dataset: Dataset) -> str:
    """SHA-256 of all images and labels, in one order and form."""
    digest = hashlib.sha256()
    for name in ("train_images", "train_labels", "test_images", "test_labels"):
        array = np.ascontiguousarray(getattr(dataset, name))
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def build_graph(experiment: Experiment) -> AgentGraph:
    """The network.

    Implements: EX-1.
    """
    return graph_of(experiment.graph)


def build_schedule(experiment: Experiment, images: int) -> Schedule:
    """The integers a_t and A_t; `images` is how many an agent has, which an epoch goes through.

    Implements: EX-6.
    """
    steps, mixing = experiment.steps, experiment.steps.mixing
    by_round = harmonic(steps.initial)

    def by_epoch(t: int) -> Fraction | float | int:
        return by_round((t - 1) * experiment.batch // images)

    eta: StepSize = (
        constant(mixing.eta) if isinstance(mixing, ConstantMixing) else inverse_root(mixing.eta0, 1)
    )
    alpha = by_epoch if steps.counts == "epoch" else by_round
    return make_schedule(experiment.rounds, alpha, eta, experiment.precision)


def start_values(experiment: Experiment, model: Model, seed: int) -> npt.NDArray[np.float64]:
    """x_0 as real numbers.

    Implements: EX-7.
    """
    match experiment.start:
        case ZeroStart():
            return np.zeros(model.dimension)
        case GivenStart(file=file):
            try:
                found = np.load(file, allow_pickle=False)
            except (OSError, ValueError) as error:
                raise ConfigError(f"start: cannot read {file}: {error}", clause="EX-7") from None
            if found.shape != (model.dimension,) or found.dtype.kind not in "fiu":
                raise ConfigError(
                    f"start: {file} has shape {found.shape} and dtype {found.dtype}; "
                    f"{model.dimension} real numbers are needed",
                    clause="EX-7",
                )
            return np.asarray(found, dtype=np.float64)
    return model.initial(seed)


def build_parameters(
    experiment: Experiment, model: Model, images: int, seed: int, weightings: tuple[Weighting, ...]
) -> ValidParameters:
    """The public parameters of a run."""
    graph, schedule = build_graph(experiment), build_schedule(experiment, images)
    lattice = default_limits(model.dimension, schedule, graph.max_degree, experiment.prime)
    start = to_lattice(
        start_values(experiment, model, seed), lattice.precision, lattice.model_limit
    )
    part = experiment.bounds
    bounds = (
        None
        if isinstance(part, NoBounds)
        else configured_bounds(part.model, part.gradient, experiment.rounds, lattice.precision)
    )
    field = PrimeField(experiment.prime)
    parameters = ValidParameters(
        graph=graph,
        lattice=lattice,
        start_model=start,
        field=field,
        bounds=bounds,
        weightings=weightings,
    )
    return parameters if experiment.validation == "paper" else within_lean_range(parameters)


def within_lean_range(parameters: ValidParameters) -> ValidParameters:
    """The same with the largest G_max, up to that of AR-10, under which no sum can wrap.

    Implements: LE-3, EX-17.
    """

    def limited(limit: int) -> ValidParameters:
        return attrs.evolve(
            parameters, lattice=attrs.evolve(parameters.lattice, gradient_limit=limit)
        )

    def fits(limit: int) -> bool:
        found = limited(limit)
        reach = max((estimate_limit(found, w) for w in found.weightings), default=0)
        return 2 * found.graph.agents * reach < found.field.prime

    low, high = 1, parameters.lattice.gradient_limit
    if fits(high):
        return parameters
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return limited(low)


def calibration_setting(experiment: Experiment) -> StatisticsSetting:
    """What the statistics of an experiment are measured with."""
    return statistics_setting(experiment.rounds, experiment.detection)


def statistics_setting(rounds: int, part: DetectionOptions) -> StatisticsSetting:
    """The same, from what it depends on.

    Implements: EX-10.
    """
    return StatisticsSetting(
        rounds=rounds,
        bits=part.bits,
        gammas=part.gammas,
        level=part.level,
        tails=part.tails,
        pilots=part.pilots,
        runs=part.rehearsals,
    )


def measuring_weightings(experiment: Experiment) -> tuple[Weighting, ...]:
    """One weighting per gamma, with thresholds that nothing reaches; of every segment, if any.

    Rounds after the end of a segment weigh nothing in it.

    Implements: EX-10, EX-21.
    """
    bits, rounds, response = experiment.detection.bits, experiment.rounds, experiment.response
    ends = (rounds,) if response is None else response.ends(rounds)
    return tuple(
        make_weighting(
            weighting_name(gamma) if response is None else segment_check(end, gamma),
            exponential_weights(end, gamma, bits) + (0,) * (rounds - end),
            build_graph(experiment).agents,
            experiment.precision.fraction_bits,
            optimality=NO_THRESHOLD,
            heterogeneity=NO_THRESHOLD,
        )
        for end in ends
        for gamma in experiment.detection.gammas
    )


def job_coins(experiment: Experiment, job: Job) -> Coins:
    """The coins of a job's keys or openings, and of the name of its run.

    Of seed and whole configuration, so that no two jobs share them.

    Implements: LV-3, LE-4, EX-11.
    """
    document = unstructure(experiment)
    for name in ("rules", "attacks", "seeds"):
        del document[name]  # what other jobs do
    if experiment.response is None:
        del document["response"]
    whole = {"experiment": document, "job": unstructure(job)}
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return Coins.of_text("valid-torch/job", text)


def build_program(
    experiment: Experiment,
    job: Job,
    dataset: Dataset,
    device: torch.device,
    weightings: tuple[Weighting, ...] = (),
) -> Program:
    """The program of a job; the same seed gives the same data, batches and start to every rule.

    Implements: EX-9, EX-10, EX-12.
    """
    graph = build_graph(experiment)
    drawn = experiment.drawn_from(job.seed)
    split = _dealt(experiment, dataset, graph.agents, drawn)
    model = _built_model(experiment, dataset)
    images = len(dataset.train_labels) // graph.agents
    coins = job_coins(experiment, job)
    parameters = build_parameters(experiment, model, images, drawn, weightings)
    if experiment.validation == "lean":
        lean = LeanParameters(experiment.kappa, coins.child("run").secret.hex())
        parameters = attrs.evolve(parameters, lean=lean)
    return Program(
        parameters=parameters,
        model=model,
        data=device_data(dataset, split, experiment.pixels, device),
        split=split,
        batch=experiment.batch,
        rule=job.rule,
        attack=None if isinstance(job.attack, NoAttack) else job.attack,
        byzantine=experiment.byzantine if job.attacked else (),
        seed=job.seed,
        coins=coins,
        device=device,
        estimate="counted" if weightings else "none",
    )
