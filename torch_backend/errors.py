"""Typed refusals of the backend: each names the value and the clause it breaks."""

from typing import ClassVar

from valid_ref.errors import ValidRefError


class BackendError(ValidRefError):
    """Anything the backend refuses."""


class DataError(BackendError):
    """A data set, a file or a partition that cannot be used; the message says what to do."""

    default_clause: ClassVar[str] = "EX-3"


class ModelError(BackendError):
    """A model whose shape does not fit the data or its own parameters."""

    default_clause: ClassVar[str] = "EX-2"


class ConfigError(BackendError):
    """An unknown name, an unknown option, or an option with a value it cannot have."""

    default_clause: ClassVar[str] = "EX-12"


class ScreeningError(BackendError):
    """A rule that screens more models than an agent of this graph receives."""

    default_clause: ClassVar[str] = "EX-9"


class BackendAttackError(BackendError):
    """An attack that the graph, the Byzantine set or the range of the lattice does not admit."""

    default_clause: ClassVar[str] = "EX-8"


class DeviceError(BackendError):
    """A device that is not there, or a computation that would not be exact on it."""

    default_clause: ClassVar[str] = "EX-11"
