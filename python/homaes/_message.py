"""Messages of many parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from .modes import Mode

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    # the standard library has it since Python 3.12
    Buffer = object

__all__ = ["Data", "Message"]

Path: TypeAlias = Union[str, os.PathLike[str]]
Bytes: TypeAlias = Union[Buffer, npt.NDArray[np.uint8]]
_Given: TypeAlias = tuple[Union[str, None], Union[Path, Bytes], Mode]


@dataclass(frozen=True)
class Message:
    """Parts under one AES key, in order. Their blocks share batches."""

    parts: list[_Given]

    @staticmethod
    def of_files(files: Iterable[tuple[Path, Mode]]) -> Message:
        """One message of many files, given as ``(path, mode)``. A part is named after its file, without the folder."""
        return Message([(_name_of(path), path, mode) for path, mode in _rows(files, 2)])

    @staticmethod
    def of_parts(parts: Iterable[tuple[str, Path | Bytes, Mode]]) -> Message:
        """One message of files and buffers, given as ``(name, path or bytes, mode)``."""
        return Message([(name, data, mode) for name, data, mode in _rows(parts, 3)])


Data: TypeAlias = Union[Path, Bytes, Message]


def _rows(given: Iterable[Any], fields: int) -> list[tuple[Any, ...]]:
    """The rows as tuples of ``fields`` fields."""
    expected = "(path, mode)" if fields == 2 else "(name, path or bytes, mode)"
    rows = []
    for row in given:
        if not isinstance(row, (tuple, list)) or len(row) != fields:
            raise TypeError(f"parts: found {type(row).__name__}, expected {expected} for each")
        rows.append(tuple(row))
    return rows


def _name_of(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        found = type(path).__name__
        raise TypeError(f"parts: found {found}, expected a str or an os.PathLike")
    return os.fsdecode(os.path.basename(path))
