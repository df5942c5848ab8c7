"""Files of what was computed on results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from ._homaes import Circuit, Vector
from ._homaes import save_values as _save_values

__all__ = ["save_values"]


def save_values(
    path: str | os.PathLike[str],
    values: Mapping[str, Vector | Iterable[Vector]],
    circuit: Circuit,
    *,
    force: bool = False,
) -> None:
    """Write vectors under labels to a ``.hcv`` file, for ``SecretKey.open_values`` and ``homaes decrypt --json``.

    A value is a vector or several, whose slots then follow each other. All slots are in the file, also those without a block: multiply by a
    public mask what the owner of the key must not see.
    """
    given = [
        (label, [value] if isinstance(value, Vector) else list(value))
        for label, value in values.items()
    ]
    _save_values(path, given, circuit, force)
