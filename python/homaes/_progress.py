"""Progress: callbacks and bars."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias, Union

from ._report import JobProgress, Progress

__all__ = ["Follow", "FollowShards", "Follower", "follower_of", "shards_follower_of"]

Follow: TypeAlias = Union[bool, Callable[[Progress], object], None]
FollowShards: TypeAlias = Union[bool, Callable[[JobProgress], object], None]


class Follower:
    """Calls a function with each event."""

    def __init__(self, call: Callable[[Any], object], bar: Any = None) -> None:
        self.call = call
        self._bar = bar
        #: Batches of earlier runs; None until they are counted.
        self.resumed: int | None = None

    def kept(self, batches: int, of: int, lost: int) -> None:
        """Batches are on the disk, at the start those of earlier runs."""
        if self.resumed is None:
            self.resumed = batches

    def close(self) -> None:
        """The run has ended."""
        if self._bar is not None:
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
    if tqdm is None:
        return Follower(_batch_line)
    bar = tqdm(unit="step", desc="transciphering")

    def show(event: Progress) -> None:
        steps = event.rounds + 1
        bar.total = event.batches * steps
        bar.update((follower.resumed or 0) * steps + 1)
        follower.resumed = 0

    follower = Follower(show, bar)
    return follower


def _shard_line(event: JobProgress) -> None:
    place = "" if event.node is None else f" on {event.node}"
    _print(f"{event.done} of {event.shards} shards, {event.shard} {event.outcome}{place}")


def shards_follower_of(progress: FollowShards, done: int, of: int) -> Follower:
    """``done`` shards of ``of`` are finished at the start."""
    if progress is None or progress is False:
        return Follower(lambda event: None)
    if progress is not True:
        return Follower(progress)
    tqdm = _tqdm()
    if tqdm is None:
        return Follower(_shard_line)
    bar = tqdm(unit="shard", desc="transciphering", initial=done, total=of)
    return Follower(lambda event: bar.update(event.done - bar.n), bar)


def _print(what: str) -> None:
    print(f"transciphering: {what}", file=sys.stderr)


def _tqdm() -> Any:
    try:
        return import_module("tqdm.auto").tqdm
    except ImportError:
        return None
