"""Exceptions. What the operating system refuses stays an ``OSError``, with ``errno`` and ``filename``."""

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
    """Every error of this package that is not the operating system's.

    ``path``, ``found`` and ``expected`` are there where they are known; ``remedy`` says what to do, and is the end of the message too.
    ``temporary``: the same call may succeed later. An ``OSError`` of this package has it too, and its ``strerror`` says what to do.
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
    """A file, or bytes of one, are damaged or not what they should be."""


class KeyMismatchError(HomaesError, ValueError):
    """Keys, or keys and ciphertexts, that do not go together."""


class ParametersError(HomaesError, ValueError):
    """Something was asked for that there is not."""


class InsecureParametersError(ParametersError):
    """Keys were asked for of a set that protects nothing, and that was not accepted."""


class NoiseError(HomaesError, ArithmeticError):
    """The noise is too close to the modulus for the result to be trusted."""

    @property
    def needed(self) -> str | int | float | None:
        """Bits between noise and failure that are asked for; in circuits, multiplications."""
        return self.expected

    @property
    def left(self) -> str | int | float | None:
        """Bits between noise and failure that are there; in circuits, multiplications."""
        return self.found


class AuthenticationError(HomaesError):
    """The message is not shown to be the one that was encrypted: its GCM tag is wrong, or was not checked."""


class PaddingError(HomaesError):
    """The message does not end with PKCS#7 padding."""


class JobError(HomaesError):
    """There is no such job, or a job or what a stopped run left is of another run, incomplete, damaged, or does not go with its input."""


class ShardMismatchError(JobError):
    """A shard of another run, another shard, or one that is not what this machine computes."""


class StoreError(HomaesError):
    """A bucket or its service refused, or could not be reached."""


class Cancelled(HomaesError):
    """The run was cancelled."""
