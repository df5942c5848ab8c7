"""Runs that many workers share, on one machine or on many."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias, Union

from . import _homaes
from ._ciphertexts import Ciphertexts
from ._devices import Device, word_of
from ._homaes import EvalKey, WrappedKey
from ._progress import FollowShards, JobProgress, shards_follower_of
from ._transcipher import Message, Path, given_of
from .errors import JobError
from .modes import Mode

__all__ = ["Job", "JobReport", "JobStatus", "JobVerified", "JobWorker"]


@dataclass(frozen=True)
class JobStatus:
    """Which shards of a job are there."""

    shards: int
    batches: int
    #: Numbers of the shards that are there, of the right length.
    present: list[range]
    #: Numbers of those that are there with another length, and that length.
    wrong: dict[int, int]
    #: Names of files among the shards that are none.
    others: list[str]
    #: Shards that workers are evaluating; 0 where that cannot be told, as in a bucket.
    claimed: int
    #: Of the shards that are there.
    bytes: int

    @property
    def done(self) -> int:
        """Number of shards that are there."""
        return sum(map(len, self.present))

    @property
    def missing(self) -> list[range]:
        """Numbers of the shards that are not there, or not whole."""
        gaps, start = [], 0
        for there in [*self.present, range(self.shards, self.shards)]:
            if start < there.start:
                gaps.append(range(start, there.start))
            start = there.stop
        return gaps

    @property
    def is_complete(self) -> bool:
        """Whether all shards are there."""
        return self.done == self.shards


@dataclass(frozen=True)
class JobReport:
    """What a run of a job did."""

    #: Shards that were asked for: all of them are there.
    shards: int
    #: Those that this run evaluated.
    evaluated: int
    #: Those that were there before.
    there: int
    seconds: float
    #: Of a cluster: how many shards each machine evaluated.
    nodes: dict[str, int] = field(default_factory=dict)
    #: Of a cluster: seconds until the first machine had its keys.
    setup_seconds: float = 0.0
    #: Of a cluster: what went wrong and was done again, in the order of time.
    failures: list[str] = field(default_factory=list)

    @property
    def by_others(self) -> int:
        """Shards that other workers evaluated meanwhile."""
        return self.shards - self.evaluated - self.there


@dataclass(frozen=True)
class JobVerified:
    """What was found of the shards of a job."""

    #: Shards that are there and right.
    shards: int
    #: Those of them that were evaluated again and compared.
    evaluated: int
    missing: int
    #: Numbers of wrong shards, and what is wrong with them.
    wrong: dict[int, str]


Shards: TypeAlias = Union[Iterable[int], None]


class Job:
    """A message, keys and a place for results: the work is cut into shards, which any number of workers evaluate in any order.

    A place is a path, which is the same one wherever the process goes, ``file:///path``, or ``s3://bucket/key``. The file of results is the same, byte for byte,
    however many workers there were.
    """

    def __init__(self, job: _homaes.Job) -> None:
        if not isinstance(job, _homaes.Job):
            raise TypeError("a Job is made by Job.plan, or opened by Job.open(place)")
        self._job = job

    @staticmethod
    def plan(
        data: Path | Message,
        mode: Mode | None = None,
        *,
        eval_key: Path | EvalKey,
        wrapped_key: Path | WrappedKey,
        out: Path,
        layout: str | None = None,
        shard_batches: int | None = None,
        ignore_space: bool = False,
        cache: Path | None = None,
        raw: bool = False,
    ) -> Job:
        """Plan a job at ``out``. To plan the same job again gives the one that is there.

        ``data``: files or objects, not bytes: workers read them where they are. Keys are given by where they are, too, or as keys that were
        loaded from there. ``shard_batches``: batches of a shard, 8 or fewer unless it is given.
        ``raw``: as in ``Transcipher.run``.
        """
        parts = given_of(data, mode, raw)
        keys = {"eval_key": eval_key, "wrapped_key": wrapped_key}
        made = _homaes.Job.plan(
            parts,
            _place_of(eval_key, "eval_key"),
            _place_of(wrapped_key, "wrapped_key"),
            out,
            layout,
            shard_batches,
            ignore_space,
            cache,
        )
        # the files that were read are those that the keys were loaded from
        for name, key in keys.items():
            _place_of(key, name)
        return Job(made)

    @staticmethod
    def open(place: Path, /) -> Job:
        """The job that is at a place."""
        return Job(_homaes.Job.open(place))

    @property
    def location(self) -> str:
        """Where it is: a path, or a URI."""
        return self._job.location

    @property
    def id(self) -> str:
        """Names what it computes, in hex."""
        return self._job.id

    @property
    def set(self) -> str:
        """Name of the parameter set."""
        return self._job.set

    @property
    def layout(self) -> str:
        """Where the bytes will lie in the ciphertexts: "packed", "sliced" or "bits"."""
        return self._job.layout

    @property
    def shards(self) -> int:
        """Number of shards."""
        return self._job.shards

    @property
    def batches(self) -> int:
        """Number of batches of all shards."""
        return self._job.batches

    @property
    def shard_batches(self) -> int:
        """Batches of all shards but the last one, which may have fewer."""
        return self._job.shard_batches

    @property
    def part_count(self) -> int:
        """Number of parts of the message."""
        return self._job.part_count

    @property
    def bytes(self) -> int:
        """Bytes of the message."""
        return self._job.bytes

    @property
    def file_bytes(self) -> int:
        """Length of the file of results."""
        return self._job.file_bytes

    def status(self) -> JobStatus:
        """Which shards are there."""
        found = self._job.status()
        found["present"] = [range(*ends) for ends in found["present"]]
        found["wrong"] = dict(found["wrong"])
        return JobStatus(**found)

    def key_files(self, cache: Path | None = None) -> tuple[str, str]:
        """The files of its evaluation key and of its wrapped key; of those in a bucket, copies in ``cache``, or in the user's cache."""
        evaluation, wrapped = self._job.key_files(cache)
        return os.fspath(evaluation), os.fspath(wrapped)

    def worker(
        self,
        *,
        threads: int | None = None,
        eval_key: EvalKey | None = None,
        wrapped_key: WrappedKey | None = None,
        device: Device = None,
        cache: Path | None = None,
    ) -> JobWorker:
        """What evaluates shards, one call after the other.

        ``eval_key`` and ``wrapped_key``: keys that are loaded; otherwise they are read from where the plan says.
        ``device``: as for ``Transcipher``; workers of one job may have different ones.
        """
        if (eval_key is None) != (wrapped_key is None):
            raise TypeError("keys: found one, expected both eval_key and wrapped_key, or none")
        word = word_of(device)
        worker = _homaes.JobWorker(self._job, eval_key, wrapped_key, threads, word, cache)
        return JobWorker(self, worker)

    def run(
        self,
        *,
        threads: int | None = None,
        shards: Shards = None,
        progress: FollowShards = None,
        device: Device = None,
        cache: Path | None = None,
    ) -> JobReport:
        """Evaluate the shards that are not there, all of them or those numbered ``shards``, and wait for those that other workers are at.

        ``progress``: True for a bar, or what is to be called, in this thread, with every shard. Ctrl-C ends it within a second; what is there
        stays, and the same call goes on.
        """
        with self.worker(threads=threads, device=device, cache=cache) as worker:
            return worker.run(shards=shards, progress=progress)

    def run_shard(
        self,
        number: int,
        /,
        *,
        threads: int | None = None,
        device: Device = None,
        cache: Path | None = None,
    ) -> str:
        """Evaluate a shard unless it is there: "written", "same" or "there", as ``JobProgress.outcome``."""
        with self.worker(threads=threads, device=device, cache=cache) as worker:
            return worker.run_shard(number)

    def verify(
        self,
        sample: float | None = None,
        *,
        threads: int | None = None,
        cache: Path | None = None,
    ) -> JobVerified:
        """Verify the checksums of all shards that are there.

        ``sample``: evaluate that share of them again, at least one, drawn at random, and compare: what a broken processor computed, or somebody
        forged, has right checksums.
        """
        if sample is None:
            return _verified(self._job.verify())
        with self.worker(threads=threads, device="cpu", cache=cache) as worker:
            return worker.verify(sample)

    def results(self) -> Ciphertexts:
        """The results, read from the shards."""
        return Ciphertexts(self._job.results())

    def merge(self, path: Path, /, *, force: bool = False) -> Ciphertexts:
        """Write the file of results."""
        self._job.merge(path, force)
        return Ciphertexts.open(path)

    def remove(self) -> None:
        """Remove the plan, so that workers stop, the shards and the logs of workers. Where results were written, the job is done.

        What else is in its folder stays.
        """
        self._job.remove()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Job):
            return NotImplemented
        return (self.location, self.id) == (other.location, other.id)

    def __hash__(self) -> int:
        return hash((self.location, self.id))

    def __reduce__(self) -> tuple[Any, ...]:
        place = self.location
        if "://" not in place:
            place = os.path.abspath(place)
        return _reopen, (place, self.id, self.shard_batches)

    def __repr__(self) -> str:
        return (
            f"<homaes.Job at {self.location}: {self.bytes} bytes under {self.set}, {self.layout},"
            f" {self.batches} batches in {self.shards} shards>"
        )


class JobWorker:
    """Evaluates shards of a job. What is prepared for the first one serves the next ones; several threads may share one."""

    def __init__(self, job: Job, worker: _homaes.JobWorker) -> None:
        self._job = job
        self._worker = worker

    @property
    def job(self) -> Job:
        """The job."""
        return self._job

    @property
    def threads(self) -> int:
        """Threads that work."""
        return self._worker.threads

    def run(self, *, shards: Shards = None, progress: FollowShards = None) -> JobReport:
        """As ``Job.run``. A call of this worker inside of ``progress`` waits until this one has ended."""
        start = time.monotonic()
        asked = asked_of(self._job, shards)
        status = self._job.status()
        wanted = sum(map(len, asked))
        there = wanted - sum(map(len, missing_of(status, asked)))
        follower = shards_follower_of(progress, there, wanted)
        done, evaluated = there, 0

        def each(number: int, outcome: str, seconds: float) -> None:
            nonlocal done, evaluated
            done += 1
            evaluated += outcome != "there"
            follower.step(JobProgress(number, outcome, seconds, done, wanted))

        try:
            if wanted:
                self._worker.run([(one.start, one.stop) for one in asked], each)
        finally:
            follower.close()
        return JobReport(wanted, evaluated, there, time.monotonic() - start)

    def run_shard(self, number: int, /) -> str:
        """As ``Job.run_shard``."""
        return self.evaluate(number)[0]

    def evaluate(self, number: int, /) -> tuple[str, float]:
        """As ``run_shard``, with the seconds of evaluating it."""
        asked_of(self._job, [number])
        _, outcome, seconds = self._worker.shard(number)
        return outcome, seconds

    def verify(self, sample: float, /) -> JobVerified:
        """As ``Job.verify``."""
        if isinstance(sample, bool) or not isinstance(sample, (int, float)):
            raise TypeError(f"sample: found {type(sample).__name__}, expected a number")
        if not 0 < sample <= 1:
            raise ValueError(f"sample: found {sample}, expected a share above 0, up to 1")
        return _verified(self._worker.verify(sample))

    def cancel(self) -> None:
        """End the calls that go on in other threads, within a second: they raise ``Cancelled``."""
        self._worker.cancel()

    def close(self) -> None:
        """Let no further call begin, and free what was prepared."""
        self._worker.close()

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
        return f"<homaes.JobWorker of {self._job.location}, {self.threads} threads>"


def asked_of(job: Job, numbers: Shards) -> list[range]:
    """Numbers of shards as ranges, in order and each once; all of them for None."""
    if numbers is None:
        return [range(job.shards)]
    if isinstance(numbers, (str, bytes, bytearray)) or not isinstance(numbers, Iterable):
        raise TypeError(f"shards: found {type(numbers).__name__}, expected numbers of shards")
    numbers = list(numbers)
    if any(isinstance(number, bool) for number in numbers):
        raise TypeError("shards: found bool, expected numbers of shards")
    ranges: list[range] = []
    for number in sorted({index(number) for number in numbers}):
        if not 0 <= number < 1 << 64:
            raise ValueError(f"shards: found {number}, expected numbers from 0 on, below 2^64")
        if ranges and ranges[-1].stop == number:
            ranges[-1] = range(ranges[-1].start, number + 1)
        else:
            ranges.append(range(number, number + 1))
    job._job.check([(one.start, one.stop) for one in ranges])
    return ranges


def missing_of(status: JobStatus, asked: list[range]) -> list[range]:
    """Of some shards, those that are not there."""
    common = (
        range(max(gap.start, one.start), min(gap.stop, one.stop))
        for gap in status.missing
        for one in asked
    )
    return [one for one in common if one]


def _place_of(key: Any, name: str) -> Any:
    """Where a key is; an error if something else than what was loaded is there."""
    if not isinstance(key, (EvalKey, WrappedKey)):
        return key
    key._check_file()
    if key.path is None:
        raise ValueError(
            f"{name}: is in memory, and workers read it from a file: save it, and give its path"
        )
    return key.path


def _verified(found: tuple[int, int, int, list[tuple[int, str]]]) -> JobVerified:
    shards, evaluated, missing, wrong = found
    return JobVerified(shards, evaluated, missing, dict(wrong))


def _reopen(place: str, id: str, shard_batches: int) -> Job:
    job = Job.open(place)
    found, expected = (
        f"{id}, {count} batches a shard"
        for id, count in ((job.id, job.shard_batches), (id, shard_batches))
    )
    if found != expected:
        raise JobError(
            f"{place}: holds another job than when it was pickled: found {found}, expected {expected}",
            path=place,
            found=found,
            expected=expected,
            remedy="pickle the job that is there now",
        )
    return job
