"""Progress: callbacks and bars."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, Union

from ._report import Progress

__all__ = ["Follow", "FollowShards", "JobProgress", "follower_of", "shards_follower_of"]


@dataclass(frozen=True)
class JobProgress:
    """A shard of a job is finished."""

    shard: int
    #: "written"; "same" if another worker wrote it first; "there" if it was not evaluated here.
    outcome: str
    #: Seconds of the evaluation; 0 if another worker did it.
    seconds: float
    #: Finished shards, of those that the call asked for.
    done: int
    shards: int
    #: The machine, in a cluster.
    node: str | None = None


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


class _Lines(Follower):
    """A line on standard error for every batch."""

    def __init__(self) -> None:
        super().__init__(self._show)

    def _show(self, event: Progress) -> None:
        if event.round == event.rounds:
            print(
                f"transciphering: batch {event.batch + 1} of {event.batches}",
                file=sys.stderr,
            )


def follower_of(progress: Follow) -> Follower | None:
    if progress is None or progress is False:
        return None
    if progress is not True:
        return Follower(progress)
    tqdm = _tqdm()
    return _Lines() if tqdm is None else _Bar(tqdm)


class ShardsFollower:
    """Calls a function with each shard."""

    def __init__(self, call: Callable[[JobProgress], object], bar: Any = None) -> None:
        self.step = call
        self._bar = bar

    def close(self) -> None:
        """The run has ended."""
        if self._bar is not None:
            self._bar.close()


def shards_follower_of(progress: FollowShards, done: int, of: int) -> ShardsFollower:
    """``done`` shards of ``of`` are finished at the start."""
    if progress is None or progress is False:
        return ShardsFollower(lambda event: None)
    if progress is not True:
        return ShardsFollower(progress)
    tqdm = _tqdm()
    if tqdm is None:
        return ShardsFollower(_line)
    bar = tqdm(unit="shard", desc="transciphering", initial=done, total=of)

    def show(event: JobProgress) -> None:
        bar.update(event.done - bar.n)

    return ShardsFollower(show, bar)


def _line(event: JobProgress) -> None:
    place = "" if event.node is None else f" on {event.node}"
    print(
        f"transciphering: {event.done} of {event.shards} shards, {event.shard} {event.outcome}{place}",
        file=sys.stderr,
    )


def _tqdm() -> Any:
    try:
        return import_module("tqdm.auto").tqdm
    except ImportError:
        return None
