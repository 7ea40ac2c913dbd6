"""Random numbers drawn on the host from explicit integers, the same on every device."""

import enum

import numpy as np

from torch_backend.errors import ConfigError


class Stream(enum.IntEnum):
    """What the numbers are for; streams that share seed, agent and round stay independent."""

    PARTITION = 100
    BATCHES = 101
    START = 102
    ROTATION = 103
    TEST_ROTATION = 104
    TEST_SPLIT = 106


def generator(seed: int, stream: Stream, *keys: int) -> np.random.Generator:
    """A Philox generator that is a function of these integers, all of which are at least 0.

    Implements: EX-11.
    """
    entropy = [seed, int(stream), *keys]
    if min(entropy) < 0:
        raise ConfigError(f"seed and keys {entropy} must not be negative", clause="EX-11")
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(entropy)))
