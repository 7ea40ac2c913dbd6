"""Typed refusals of the backend: each names the value and the clause it breaks."""

from valid_ref.errors import ValidRefError


class BackendError(ValidRefError):
    """Anything the backend refuses."""


class DataError(BackendError):
    """A data set, a file or a partition that cannot be used; the message says what to do."""

    def __init__(self, message: str, *, clause: str = "EX-3") -> None:
        super().__init__(message, clause=clause)


class ModelError(BackendError):
    """A model whose shape does not fit the data or its own parameters."""

    def __init__(self, message: str, *, clause: str = "EX-2") -> None:
        super().__init__(message, clause=clause)


class ConfigError(BackendError):
    """An unknown name, an unknown option, or an option with a value it cannot have."""

    def __init__(self, message: str, *, clause: str = "EX-12") -> None:
        super().__init__(message, clause=clause)


class ScreeningError(BackendError):
    """A rule that screens more models than an agent of this graph receives."""

    def __init__(self, message: str, *, clause: str = "EX-9") -> None:
        super().__init__(message, clause=clause)


class AttackError(BackendError):
    """An attack that the graph, the Byzantine set or the range of the lattice does not admit."""

    def __init__(self, message: str, *, clause: str = "EX-8") -> None:
        super().__init__(message, clause=clause)


class DeviceError(BackendError):
    """A device that is not there, or a computation that would not be exact on it."""

    def __init__(self, message: str, *, clause: str = "EX-11") -> None:
        super().__init__(message, clause=clause)
