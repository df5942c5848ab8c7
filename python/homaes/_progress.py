"""Progress: callbacks and bars."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, Union

from ._report import JobProgress, Progress

__all__ = ["Follow", "FollowShards", "follower_of", "shards_follower_of"]

Follow: TypeAlias = Union[bool, Callable[[Progress], object], None]
FollowShards: TypeAlias = Union[bool, Callable[[JobProgress], object], None]


class Follower:
    """Calls a function with each step."""

    def __init__(self, call: Callable[[Progress], object]) -> None:
        self._call = call

    def step(self, *event: Any) -> None:
        self._call(Progress(*event))

    def kept(self, batches: int, of: int, lost: int) -> None:
        """Batches are on the disk, at the start those of earlier runs."""

    def close(self) -> None:
        """The run has ended."""


class _Bar(Follower):
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


def _batch_line(event: Progress) -> None:
    if event.round == event.rounds:
        _print(f"batch {event.batch + 1} of {event.batches}")


def follower_of(progress: Follow) -> Follower | None:
    if progress is None or progress is False:
        return None
    if progress is not True:
        return Follower(progress)
    tqdm = _tqdm()
    return Follower(_batch_line) if tqdm is None else _Bar(tqdm)


class ShardsFollower:
    """Calls a function with each shard."""

    def __init__(self, call: Callable[[JobProgress], object], bar: Any = None) -> None:
        self.step = call
        self._bar = bar

    def close(self) -> None:
        """The run has ended."""
        if self._bar is not None:
            self._bar.close()


def _shard_line(event: JobProgress) -> None:
    place = "" if event.node is None else f" on {event.node}"
    _print(f"{event.done} of {event.shards} shards, {event.shard} {event.outcome}{place}")


def shards_follower_of(progress: FollowShards, done: int, of: int) -> ShardsFollower:
    """``done`` shards of ``of`` are finished at the start."""
    if progress is None or progress is False:
        return ShardsFollower(lambda event: None)
    if progress is not True:
        return ShardsFollower(progress)
    tqdm = _tqdm()
    if tqdm is None:
        return ShardsFollower(_shard_line)
    bar = tqdm(unit="shard", desc="transciphering", initial=done, total=of)
    return ShardsFollower(lambda event: bar.update(event.done - bar.n), bar)


def _print(what: str) -> None:
    print(f"transciphering: {what}", file=sys.stderr)


def _tqdm() -> Any:
    try:
        return import_module("tqdm.auto").tqdm
    except ImportError:
        return None
