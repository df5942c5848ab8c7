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
    # of the standard library from Python 3.12 on
    Buffer = object

__all__ = ["Data", "Message", "Transcipher"]

Path: TypeAlias = Union[str, os.PathLike[str]]
Bytes: TypeAlias = Union[Buffer, npt.NDArray[np.uint8]]
_Given: TypeAlias = tuple[Union[str, None], Union[Path, Bytes], Mode]


@dataclass(frozen=True)
class Message:
    """Parts under one AES key, one after the other; blocks of several share a batch."""

    parts: list[_Given]

    @staticmethod
    def of_files(files: Iterable[tuple[Path, Mode]]) -> Message:
        """One message of many files: ``(path, mode)`` for each. A file's name, without its folder, names its part."""
        return Message([(_name_of(path), path, mode) for path, mode in _rows(files, 2)])

    @staticmethod
    def of_parts(parts: Iterable[tuple[str, Path | Bytes, Mode]]) -> Message:
        """One message of files and buffers: ``(name, path or bytes, mode)`` for each."""
        return Message([(name, data, mode) for name, data, mode in _rows(parts, 3)])


Data: TypeAlias = Union[Path, Bytes, Message]


class Transcipher:
    """Turns AES ciphertexts into FHE ciphertexts.

    What is prepared for the first run serves the next ones. Several threads may call ``run``: one run goes on at a time, the others wait.

    ``device``: "cpu", "cuda" for all GPUs of NVIDIA, "cuda:0,1" or a list for some of them; "auto" takes all GPUs that
    can be used, or else the processor. Without it HOMAES_DEVICE counts, or else "auto". The ciphertexts do not depend on it.
    """

    def __init__(
        self,
        eval_key: EvalKey,
        wrapped_key: WrappedKey,
        *,
        threads: int | None = None,
        layout: str | None = None,
        device: Device = None,
    ) -> None:
        self._runner = Runner(eval_key, wrapped_key, threads, layout, word_of(device))

    @property
    def threads(self) -> int:
        """Threads that work."""
        return self._runner.threads

    @property
    def device(self) -> str:
        """Where it evaluates, as asked for: "auto", "cpu", "cuda", "cuda:0,1"."""
        return self._runner.device

    @property
    def set(self) -> str:
        """Name of the parameter set."""
        return self._runner.set

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
        """Evaluate AES on ``data``, encrypted in ``mode``, into the file ``out``, or in memory.

        ``force``: replace a file that is there, but none that is read, and no secret key. Bytes are read where they are, without a copy of all of them. ``resume``: keep what is done beside ``out``,
        and go on from there. ``reproducible``: the same bytes in every run. ``progress``: True for a bar, or what is
        to be called, in this thread, after every step of AES of every batch; an exception from it ends the run.
        ``raw``: take data for bare AES ciphertext even if they begin like another format, such as ``openssl enc`` with
        a password.
        """
        if resume and out is None:
            raise ValueError("resume: there is no file to go on with, expected out")
        parts = given_of(data, mode, raw)
        follower = follower_of(progress)
        step = None if follower is None else follower.step
        kept = None if follower is None else follower.kept
        try:
            held, found = self._runner.run(
                parts, out, force, step, kept, resume, reproducible
            )
        finally:
            if follower is not None:
                follower.close()
        return Ciphertexts(held, Report._of(found))

    def close(self) -> None:
        """Let no further run begin, and free what was prepared."""
        self._runner.close()

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
    """The parts of a message as the extension takes them."""
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
    """Tuples of so many fields each."""
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
