"""The hashes of all transcripts of a run under all keys, in one pass over the files.

A report needs two polynomials a round, of the model and of the scaled gradient. For an honest
agent the second follows from the first: hashing is linear, its files hold its models alone, and
its scaled gradients are defined from them by the relation (AR-6). `derive=False` hashes both.
On a GPU the hashes are made there, in tensors; on the processor by compiled loops. All are equal.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch

from torch_backend.delivery import find_problems
from torch_backend.estimates import Row
from torch_backend.hashing import ShortHash, hash_rows
from torch_backend.program import Program
from torch_backend.transcripts import Line, StoredTranscripts
from valid_ref import modular
from valid_ref.hashing import PrimeField
from valid_ref.kernels.polyhash import combine_rounds, round_polynomials
from valid_ref.lattice import MERSENNE_61, IntVector
from valid_ref.modular import Residues

SHORT = 32
"""Entries of so many bits, with the sign, are stored and hashed as such."""

PAYS_FROM = 1 << 23
"""From so many products of an entry and a key on the loading of compiled loops pays."""

Keys = tuple[int, ...]
Reports = Mapping[Row, tuple[int, ...]]


Hasher = Callable[[IntVector], Residues]
"""The polynomials of rows of 64-bit integers under the keys of a run, [rows, keys]."""


def reports(
    transcripts: StoredTranscripts, keys: Keys, *, derive: bool = True, tensors: bool | None = None
) -> Reports:
    """For every transcript the four hashes under every key, in the order of key owners.

    `tensors` hashes on the device of the run; None does where that is a GPU.

    Implements: LV-5, LV-6, HA-10.
    """
    parameters = transcripts.program.parameters
    chosen = transcripts.program.device.type == "cuda" if tensors is None else tensors
    hasher = device_hasher(transcripts.program, keys) if chosen else None
    models, gammas = _polynomials(transcripts, keys, hasher)
    if derive:
        _derive(transcripts, models, gammas)
    else:
        _hash_gradients(transcripts, keys, gammas, hasher)
    found: dict[Row, tuple[int, ...]] = {}
    for row, polynomials in models.items():
        hashes = combine_rounds(
            field=parameters.field,
            keys=keys,
            dimension=parameters.lattice.dimension,
            schedule=parameters.lattice.schedule,
            models=polynomials,
            gradients=gammas[row],
        )
        found[row] = tuple(entry for four in hashes for entry in four)
    return found


def device_hasher(program: Program, keys: Keys) -> Hasher | None:
    """The hash in tensors on the device of a run, for the prime that it knows."""
    if program.parameters.field.prime != MERSENNE_61:
        return None

    def hashed(rows: IntVector) -> Residues:
        found: Residues = hash_rows(torch.from_numpy(rows).to(program.device), keys).cpu().numpy()
        return found.astype(np.uint64)

    return hashed


def rows_of(transcripts: StoredTranscripts) -> tuple[Row, ...]:
    """The transcripts that differ: of every agent to all, then of edges that ever got another."""
    edges = {(s, r) for line in transcripts.lines for s, r, _row in line.edges}
    return (*range(transcripts.program.graph.agents), *sorted(edges))


def _polynomials(
    transcripts: StoredTranscripts, keys: Keys, hasher: Hasher | None
) -> tuple[dict[Row, Residues], dict[Row, Residues]]:
    """P_0..P_T of every transcript, and R_1..R_T of those of Byzantine agents, [rounds, keys]."""
    program, parameters = transcripts.program, transcripts.program.parameters
    rows, T = rows_of(transcripts), transcripts.rounds
    zero = modular.residues(parameters.field.prime, np.zeros((T + 1, len(keys)), dtype=np.int64))
    models: dict[Row, Residues] = {row: zero.copy() for row in rows}
    gammas: dict[Row, Residues] = {row: zero[1:].copy() for row in rows}
    start = np.asarray(parameters.start_model)[np.newaxis]
    first = round_polynomials(parameters.field, keys, start)[0]
    for polynomials in models.values():
        polynomials[0] = first
    for t, hashes in _honest(transcripts, keys, hasher):
        for agent, polynomial in zip(program.honest, hashes, strict=True):
            models[agent][t] = polynomial
    for line in transcripts.lines:
        _said(
            transcripts=transcripts,
            line=line,
            keys=keys,
            models=models,
            gammas=gammas,
            hasher=hasher,
        )
    return models, gammas


def _honest(
    transcripts: StoredTranscripts, keys: Keys, hasher: Hasher | None
) -> Iterator[tuple[int, Residues]]:
    """For every round t the polynomials P_t of the honest agents, [H, keys]."""
    field, d = transcripts.program.parameters.field, transcripts.program.lattice.dimension
    count = len(transcripts.program.honest) * transcripts.rounds
    short = short_hasher(field, keys, d, count) if hasher is None else None
    for line in transcripts.lines:
        rows = transcripts.models(line.t)
        if short is not None and line.bits <= SHORT:
            yield line.t, short.hash(rows, torch.get_num_threads(), line.bits)
        else:
            yield line.t, _hashed(field, keys, rows.astype(np.int64), hasher)


def _hashed(field: PrimeField, keys: Keys, rows: IntVector, hasher: Hasher | None) -> Residues:
    return round_polynomials(field, keys, rows) if hasher is None else hasher(rows)


def short_hasher(field: PrimeField, keys: Keys, length: int, rows: int) -> ShortHash | None:
    """The faster hash of 32-bit entries, where it exists and its loading pays."""
    if field.prime != MERSENNE_61 or rows * length * len(keys) < PAYS_FROM:
        return None
    if importlib.util.find_spec("numba") is None:
        return None
    for key in keys:
        field.check_key(key)
    return ShortHash(keys, length)


def _said(
    transcripts: StoredTranscripts,
    line: Line,
    keys: Keys,
    models: dict[Row, Residues],
    gammas: dict[Row, Residues],
    hasher: Hasher | None,
) -> None:
    """What Byzantine agents said in a round; zero stays where nothing usable came."""
    parameters = transcripts.program.parameters
    said, edges = transcripts.byzantine_words(line)
    problems, edge_problems = find_problems(parameters.lattice, line.silent, said, edges)
    usable: dict[Row, tuple[torch.Tensor, torch.Tensor]] = {
        agent: pair for agent, pair in said.items() if agent not in problems
    }
    usable |= {e: pair for e, pair in edges.items() if pair is not None and e not in edge_problems}
    if usable:
        both = np.concatenate([torch.stack(pair).numpy() for pair in usable.values()])
        hashes = _hashed(parameters.field, keys, both, hasher)
        for index, row in enumerate(usable):
            models[row][line.t], gammas[row][line.t - 1] = hashes[2 * index : 2 * index + 2]
    for row in models:
        if isinstance(row, tuple) and row not in edges:
            models[row][line.t] = models[row[0]][line.t]
            gammas[row][line.t - 1] = gammas[row[0]][line.t - 1]


def _derive(
    transcripts: StoredTranscripts, models: Mapping[Row, Residues], gammas: dict[Row, Residues]
) -> None:
    """R_t of honest agents: 2^k (P_(t-1) - P_t) + a_t sum_u (P_(t-1) of u - P_(t-1)) modulo p.

    Implements: AR-6, HA-9.
    """
    program = transcripts.program
    p, T = program.parameters.field.prime, transcripts.rounds
    scale = modular.residues(p, [1 << program.lattice.precision.step_bits])
    steps = modular.residues(p, list(program.lattice.schedule.mixing[:T]))[:, np.newaxis]
    for agent in program.honest:
        before, after = models[agent][:-1], models[agent][1:]
        moved = modular.multiply(p, _less(p, before, after), scale)
        pulls = [
            _less(p, _heard(models, sender, agent)[:-1], before)
            for sender in program.graph.neighbours(agent)
        ]
        gammas[agent] = modular.add(p, moved, modular.multiply(p, _sum(p, pulls), steps))
        for line in transcripts.lines:
            if agent in line.silent:
                gammas[agent][line.t - 1] = 0


def _heard(models: Mapping[Row, Residues], sender: int, receiver: int) -> Residues:
    own = models.get((sender, receiver))
    return models[sender] if own is None else own


def _less(p: int, left: Residues, right: Residues) -> Residues:
    negative: Residues = (np.uint64(p) if right.dtype == np.uint64 else p) - right
    return modular.add(p, left, negative)


def _sum(p: int, terms: Sequence[Residues]) -> Residues:
    total = terms[0]
    for term in terms[1:]:
        total = modular.add(p, total, term)
    return total


def _hash_gradients(
    transcripts: StoredTranscripts, keys: Keys, gammas: dict[Row, Residues], hasher: Hasher | None
) -> None:
    """R_t of honest agents from their scaled gradients themselves."""
    parameters = transcripts.program.parameters
    honest = list(transcripts.program.honest)
    for said in transcripts.said():
        hashes = _hashed(parameters.field, keys, said.gammas[honest].numpy(), hasher)
        for index, agent in enumerate(honest):
            gammas[agent][said.t - 1] = hashes[index]
