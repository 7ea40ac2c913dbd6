"""valid-ref: the reference implementation of VALID, validated decentralised learning."""

from valid_ref._version import __version__

__all__ = ["__version__"]
