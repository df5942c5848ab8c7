"""Runs of AES under encryption."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from ._ciphertexts import Ciphertexts
from ._devices import Device, word_of
from ._homaes import EvalKey, Runner, WrappedKey
from ._progress import Follow, follower_of
from ._report import Report
from .modes import Mode, public_of

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    # the standard library has it since Python 3.12
    Buffer = object

__all__ = ["Data", "Message", "Transcipher"]

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


class Transcipher(Runner):
    """Turns AES ciphertexts into FHE ciphertexts.

    It prepares the circuit in the first run and keeps it. Several threads may call ``run``; one evaluates at a time.

    ``device``: "cpu"; "cuda" for all NVIDIA GPUs; "cuda:0,1" or a list for some of them; "auto" for all usable GPUs, or
    else the processor. The default is HOMAES_DEVICE, or else "auto". The ciphertexts do not depend on the device.
    """

    def __new__(
        cls,
        eval_key: EvalKey,
        wrapped_key: WrappedKey,
        *,
        threads: int | None = None,
        layout: str | None = None,
        device: Device = None,
    ) -> Self:
        return super().__new__(cls, eval_key, wrapped_key, threads, layout, word_of(device))

    def run(
        self,
        data: Data,
        mode: Mode | None = None,
        out: Path | None = None,
        *,
        progress: Follow = None,
        resume: bool = False,
        reproducible: bool = False,
        force: bool = False,
        raw: bool = False,
    ) -> Ciphertexts:
        """Evaluate AES on ``data``, encrypted in ``mode``, into the file ``out`` or in memory.

        Bytes are read in place, without a copy. ``progress``: True for a bar, or a function to call after every step
        of AES of every batch, in this thread; an exception in it ends the run. ``resume``: keep finished batches next
        to ``out`` and continue from them. ``reproducible``: produce the same bytes in every run. ``force``: replace an
        existing file, but no input and no secret key. ``raw``: accept data that begin like another format, such as
        ``openssl enc`` with a password, as bare AES ciphertext.
        """
        if resume and out is None:
            raise ValueError("resume: there is no file to continue, expected out")
        parts = given_of(data, mode, raw)
        follower = follower_of(progress)
        step = None if follower is None else follower.step
        kept = None if follower is None else follower.kept
        try:
            held, found = self._run(parts, out, force, step, kept, resume, reproducible)
        finally:
            if follower is not None:
                follower.close()
        return Ciphertexts(held, Report._of(found))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<homaes.Transcipher under {self.set}, {self.threads} threads>"


def given_of(data: Data, mode: Mode | None, raw: bool) -> list[tuple[Any, ...]]:
    """The parts of a message in the form that the extension takes."""
    return [(name, given, *public_of(how), raw) for name, given, how in _parts_of(data, mode)]


def _parts_of(data: Data, mode: Mode | None) -> list[_Given]:
    if isinstance(data, Message):
        if mode is not None:
            raise TypeError("mode: a Message has the mode of each part, expected None")
        return data.parts
    if mode is None:
        raise TypeError("mode: found None, expected one of homaes.modes")
    return [(None, data, mode)]


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
    try:
        if isinstance(path, bytes):
            raise TypeError
        return os.fsdecode(os.path.basename(path))
    except TypeError:
        found = type(path).__name__
        raise TypeError(f"parts: found {found}, expected a str or an os.PathLike") from None
