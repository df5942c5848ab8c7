"""Values computed on results, and their files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._homaes import Circuit, EvalKey, Results, Vector, WrappedKey
from ._homaes import matches as _matches
from ._homaes import save_values as _save_values
from ._homaes import scan as _scan
from .modes import Mode, public_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Values", "matches", "save_values", "scan"]


def save_values(
    path: str | os.PathLike[str],
    values: Mapping[str, Vector | Iterable[Vector]],
    circuit: Circuit,
    *,
    force: bool = False,
) -> None:
    """Write vectors under labels to a ``.hcv`` file, for ``SecretKey.open_values`` and ``homaes decrypt --json``.

    A value is one vector, or several whose slots follow each other. The file holds all slots, also those without a
    block: multiply the vector by a public mask if the owner of the key must not see them.
    """
    given = [
        (label, [value] if isinstance(value, Vector) else list(value))
        for label, value in values.items()
    ]
    _save_values(path, given, circuit, force)


class Values:
    """Computed values in memory, for ``SecretKey.open_values``."""

    def __init__(self, held: Results) -> None:
        self._held = held

    def save(self, path: str | os.PathLike[str], /, *, force: bool = False) -> None:
        """Write a ``.hcv`` file."""
        self._held.save(path, force=force)

    def to_bytes(self) -> bytes:
        """All bytes of the ``.hcv`` file."""
        return self._held.to_bytes()

    def __repr__(self) -> str:
        return f"<homaes.Values, {len(self.to_bytes())} bytes>"


def scan(
    data: str | os.PathLike[str] | Buffer | npt.NDArray[np.uint8],
    mode: Mode,
    eval_key: EvalKey,
    wrapped_key: WrappedKey,
    patterns: Mapping[str, Buffer],
    *,
    threads: int | None = None,
    raw: bool = False,
) -> Values:
    """Search AES ciphertext for public patterns at every byte offset, in BGV, without learning what is found.

    The scan finds every occurrence, also across blocks and batches. It reports a false match at a given byte with
    probability 2^-48. Wrap the AES key with ``levels_left=8`` in a set whose slots can be rotated, such as
    ``bgv/aes128+8``. The owner of the key opens the answers with ``SecretKey.open_values``, and ``matches`` returns
    where patterns begin. ``raw``: as in ``Transcipher.run``.
    """
    given = (None, data, *public_of(mode), raw)
    return Values(_scan(given, eval_key, wrapped_key, _pairs(patterns), threads))


def matches(
    values: Mapping[str, npt.NDArray[np.unsignedinteger[Any]]],
    patterns: Mapping[str, Buffer],
    set: str,
) -> dict[str, list[int]]:
    """The byte offsets of each pattern, from the opened answers of ``scan`` under keys of ``set``.

    Pass all ``patterns`` of the scan in the same order; answers to other patterns are refused.
    """
    answers = [(label, numbers.tolist()) for label, numbers in values.items()]
    return dict(zip(patterns, _matches(set, _pairs(patterns), answers)))


def _pairs(patterns: Mapping[str, Buffer]) -> list[tuple[str, bytes]]:
    if not isinstance(patterns, Mapping):
        found = type(patterns).__name__
        raise TypeError(f"patterns: found {found}, expected a dict of labels and bytes")
    for label, pattern in patterns.items():
        if not isinstance(label, str) or isinstance(pattern, str):
            raise TypeError(f"pattern {label!r}: expected a str as label, and bytes")
    return [(label, memoryview(pattern).tobytes()) for label, pattern in patterns.items()]
