"""Runs of AES under encryption."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Self, Any, TypeAlias, Union


import numpy as np
import numpy.typing as npt

from ._ciphertexts import Ciphertexts
from ._homaes import EvalKey, Runner, WrappedKey
from ._report import Progress, Report
from .modes import Mode, public_of

if TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    # of the standard library from Python 3.12 on
    Buffer = object

__all__ = ["Data", "Follow", "Message", "Transcipher"]

Path: TypeAlias = Union[str, os.PathLike[str]]
Follow: TypeAlias = Union[bool, Callable[[Progress], object], None]
Bytes: TypeAlias = Union[Buffer, npt.NDArray[np.uint8]]
_Given: TypeAlias = tuple[Union[str, None], Union[Path, Bytes], Mode]


@dataclass(frozen=True)
class Message:
    """Parts under one AES key, one after the other; blocks of several share a batch."""

    parts: list[_Given]

    @staticmethod
    def of_files(files: Iterable[tuple[Path, Mode]]) -> Message:
        """One message of many files, each with its mode. A file's name, without its folder, names its part."""
        return Message([(os.path.basename(path), path, mode) for path, mode in files])

    @staticmethod
    def of_parts(parts: Iterable[tuple[str, Path | Bytes, Mode]]) -> Message:
        """One message of files and buffers, each with its name and its mode."""
        return Message([(name, data, mode) for name, data, mode in parts])


Data: TypeAlias = Union[Path, Bytes, Message]


class Transcipher:
    """Turns AES ciphertexts into FHE ciphertexts.

    What is prepared for the first run serves the next ones. Several threads may call ``run``: one run goes on at a time, the others wait.
    """

    def __init__(
        self,
        eval_key: EvalKey,
        wrapped_key: WrappedKey,
        *,
        threads: int | None = None,
        layout: str | None = None,
    ) -> None:
        self._runner = Runner(eval_key, wrapped_key, threads, layout)

    @property
    def threads(self) -> int:
        """Threads that work."""
        return self._runner.threads

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
    ) -> Ciphertexts:
        """Evaluate AES on ``data``, encrypted in ``mode``, into the file ``out``, or in memory.

        Bytes are read where they are, without a copy of all of them. ``resume``: keep what is done beside ``out``,
        and go on from there. ``reproducible``: the same bytes in every run. ``progress``: True for a bar, or what is
        to be called, in this thread, after every step of AES of every batch; an exception from it ends the run.
        """
        if resume and out is None:
            raise ValueError("resume: there is no file to go on with, expected out")
        parts = [
            (name, given, *public_of(how)) for name, given, how in _parts(data, mode)
        ]
        follower = _follower(progress)
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


def _parts(data: Data, mode: Mode | None) -> list[_Given]:
    if isinstance(data, Message):
        if mode is not None:
            raise TypeError("mode: a Message has the mode of each part, expected None")
        return data.parts
    if mode is None:
        raise TypeError("mode: found None, expected one of homaes.modes")
    return [(None, data, mode)]


class _Follower:
    """Calls what is to be called."""

    def __init__(self, call: Callable[[Progress], object]) -> None:
        self._call = call

    def step(self, *event: Any) -> None:
        self._call(Progress(*event))

    def kept(self, batches: int, of: int, lost: int) -> None:
        """Batches are on the disk: at the start those of earlier runs."""

    def close(self) -> None:
        """The run has ended."""


class _Bar(_Follower):
    """A bar of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        super().__init__(self._show)
        self._bar = tqdm(unit="step", desc="transciphering")
        self._resumed: int | None = None

    def kept(self, batches: int, of: int, lost: int) -> None:
        if self._resumed is None:
            self._resumed = batches

    def _show(self, event: Progress) -> None:
        steps = event.rounds + 1
        self._bar.total = event.batches * steps
        if self._resumed:
            self._bar.update(self._resumed * steps)
            self._resumed = 0
        self._bar.update(1)

    def close(self) -> None:
        self._bar.close()


class _Lines(_Follower):
    """A line on standard error for every batch."""

    def __init__(self) -> None:
        super().__init__(self._show)

    def _show(self, event: Progress) -> None:
        if event.round == event.rounds:
            print(
                f"transciphering: batch {event.batch + 1} of {event.batches}",
                file=sys.stderr,
            )


def _follower(progress: Follow) -> _Follower | None:
    if progress is None or progress is False:
        return None
    if progress is not True:
        return _Follower(progress)
    try:
        return _Bar(import_module("tqdm.auto").tqdm)
    except ImportError:
        return _Lines()
