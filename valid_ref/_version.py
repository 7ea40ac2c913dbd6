"""The version, read by the build and by `valid-ref --version`."""

__version__ = "0.1.0"
