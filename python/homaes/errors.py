"""Exceptions. Errors of the operating system stay an ``OSError``, with ``errno`` and ``filename``."""

from __future__ import annotations

import os

__all__ = [
    "AuthenticationError",
    "Cancelled",
    "FileFormatError",
    "HomaesError",
    "InsecureParametersError",
    "JobError",
    "KeyMismatchError",
    "NoiseError",
    "PaddingError",
    "ParametersError",
    "ShardMismatchError",
    "StoreError",
]


class HomaesError(Exception):
    """Base class of the errors of this package, except those of the operating system.

    ``path``, ``found`` and ``expected`` are set if they are known. ``remedy`` says what to do, and also ends the
    message. ``temporary``: the same call may succeed later. An ``OSError`` of this package has ``temporary`` too, and
    its ``strerror`` ends with the remedy.
    """

    temporary: bool = False

    path: os.PathLike[str] | str | None
    found: str | int | float | None
    expected: str | int | float | None
    remedy: str | None

    def __init__(
        self,
        message: str,
        *,
        path: os.PathLike[str] | str | None = None,
        found: str | int | float | None = None,
        expected: str | int | float | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message if remedy is None else f"{message}; {remedy}")
        self.path = path
        self.found = found
        self.expected = expected
        self.remedy = remedy


class FileFormatError(HomaesError, ValueError):
    """A file, or the bytes of one, is damaged or of another kind."""


class KeyMismatchError(HomaesError, ValueError):
    """Keys, or keys and ciphertexts, do not belong together."""


class ParametersError(HomaesError, ValueError):
    """The set or the message does not offer what was asked for."""


class InsecureParametersError(ParametersError):
    """The parameter set protects nothing, and ``accept_insecure`` is not set."""


class NoiseError(HomaesError, ArithmeticError):
    """The noise is too close to the modulus to trust the result."""

    @property
    def needed(self) -> str | int | float | None:
        """Required bits between noise and failure; in circuits, multiplications."""
        return self.expected

    @property
    def left(self) -> str | int | float | None:
        """Bits between noise and failure that are left; in circuits, multiplications."""
        return self.found


class AuthenticationError(HomaesError):
    """The message may not be the one that was encrypted: its GCM tag is wrong, or was not checked."""


class PaddingError(HomaesError):
    """The message does not end with PKCS#7 padding."""


class JobError(HomaesError):
    """A job or an unfinished run is missing, damaged, incomplete, of another run, or does not match its input."""


class ShardMismatchError(JobError):
    """A shard is of another run, has another number, or differs from what this machine computes."""


class StoreError(HomaesError):
    """A bucket or its service refused the request, or could not be reached."""


class Cancelled(HomaesError):
    """The run was cancelled."""
