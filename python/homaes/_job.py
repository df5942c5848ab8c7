"""Jobs: runs that many workers share, on one machine or on many."""

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
    """The state of the shards of a job."""

    shards: int
    batches: int
    #: Numbers of the finished shards.
    present: list[range]
    #: Numbers of shards with a wrong length, and this length.
    wrong: dict[int, int]
    #: Names of files that are no shards.
    others: list[str]
    #: Shards that workers evaluate now; 0 if this is unknown, as in a bucket.
    claimed: int
    #: Size of the finished shards.
    bytes: int

    @property
    def done(self) -> int:
        """Number of finished shards."""
        return sum(map(len, self.present))

    @property
    def missing(self) -> list[range]:
        """Numbers of the shards that are missing or incomplete."""
        gaps, start = [], 0
        for there in [*self.present, range(self.shards, self.shards)]:
            if start < there.start:
                gaps.append(range(start, there.start))
            start = there.stop
        return gaps

    @property
    def is_complete(self) -> bool:
        """Whether all shards are finished."""
        return self.done == self.shards


@dataclass(frozen=True)
class JobReport:
    """The result of a run of a job."""

    #: Shards that the call asked for, all finished now.
    shards: int
    #: Shards that this run evaluated.
    evaluated: int
    #: Shards that were finished when the run started.
    there: int
    seconds: float
    #: Shards that each machine of a cluster evaluated.
    nodes: dict[str, int] = field(default_factory=dict)
    #: Seconds until the first machine of a cluster had its keys.
    setup_seconds: float = 0.0
    #: Failures in a cluster whose work was repeated, in order of time.
    failures: list[str] = field(default_factory=list)

    @property
    def by_others(self) -> int:
        """Shards that other workers evaluated during the run."""
        return self.shards - self.evaluated - self.there


@dataclass(frozen=True)
class JobVerified:
    """The result of verifying the shards of a job."""

    #: Shards that are right.
    shards: int
    #: Shards that were evaluated again and compared.
    evaluated: int
    missing: int
    #: Numbers of wrong shards, each with the error.
    wrong: dict[int, str]


Shards: TypeAlias = Union[Iterable[int], None]


class Job:
    """A message, keys and a location for results. Any number of workers evaluate its shards in any order.

    A location is a path, ``file:///path`` or ``s3://bucket/key``. The file of results is the same, byte for byte, for
    any number of workers.
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
        """Plan a job at ``out``. Planning the same job again returns the existing one.

        ``data``: files or objects, but no bytes, because the workers read them. ``eval_key``, ``wrapped_key``: their
        locations, or keys that were loaded from there. ``shard_batches``: batches per shard, at most 8 by default.
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
        # the files that were read must still be those of the keys
        for name, key in keys.items():
            _place_of(key, name)
        return Job(made)

    @staticmethod
    def open(place: Path, /) -> Job:
        """Open the job at a location."""
        return Job(_homaes.Job.open(place))

    @property
    def location(self) -> str:
        """Its location, a path or a URI."""
        return self._job.location

    @property
    def id(self) -> str:
        """The id of the work, in hex."""
        return self._job.id

    @property
    def set(self) -> str:
        """The name of the parameter set."""
        return self._job.set

    @property
    def layout(self) -> str:
        """How ciphertexts hold the bytes: "packed", "sliced" or "bits"."""
        return self._job.layout

    @property
    def shards(self) -> int:
        """Number of shards."""
        return self._job.shards

    @property
    def batches(self) -> int:
        """Number of batches in all shards."""
        return self._job.batches

    @property
    def shard_batches(self) -> int:
        """Batches per shard; the last shard may have fewer."""
        return self._job.shard_batches

    @property
    def part_count(self) -> int:
        """Number of parts of the message."""
        return self._job.part_count

    @property
    def bytes(self) -> int:
        """Length of the message in bytes."""
        return self._job.bytes

    @property
    def file_bytes(self) -> int:
        """Length of the file of results in bytes."""
        return self._job.file_bytes

    def status(self) -> JobStatus:
        """Look at the shards."""
        found = self._job.status()
        found["present"] = [range(*ends) for ends in found["present"]]
        found["wrong"] = dict(found["wrong"])
        return JobStatus(**found)

    def key_files(self, cache: Path | None = None) -> tuple[str, str]:
        """The paths of its evaluation key and its wrapped key.

        Keys in a bucket are copied to ``cache``, or to the user's cache.
        """
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
        """Make a worker, which evaluates shards in one call after the other.

        ``eval_key`` and ``wrapped_key``: loaded keys; by default, the worker reads those of the plan.
        ``device``: as for ``Transcipher``; workers of one job may use different devices.
        """
        if (eval_key is None) != (wrapped_key is None):
            raise TypeError("keys: found one, expected both eval_key and wrapped_key, or neither")
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
        """Evaluate the missing shards, or those of ``shards`` that are missing, and wait for those of other workers.

        ``progress``: True for a bar, or a function to call for every shard, in this thread. Ctrl-C ends the run within
        a second. Finished shards stay, and the same call continues.
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
        """Evaluate a shard if it is missing. Returns "written", "same" or "there", as in ``JobProgress.outcome``."""
        with self.worker(threads=threads, device=device, cache=cache) as worker:
            return worker.run_shard(number)

    def verify(
        self,
        sample: float | None = None,
        *,
        threads: int | None = None,
        cache: Path | None = None,
    ) -> JobVerified:
        """Verify the checksums of all finished shards.

        ``sample``: also evaluate this share of them again, at least one, drawn at random, and compare. This finds the
        errors of a broken processor and forged shards, whose checksums are right.
        """
        if sample is None:
            return _verified(self._job.verify())
        with self.worker(threads=threads, device="cpu", cache=cache) as worker:
            return worker.verify(sample)

    def results(self) -> Ciphertexts:
        """The results. They are read from the shards."""
        return Ciphertexts(self._job.results())

    def merge(self, path: Path, /, *, force: bool = False) -> Ciphertexts:
        """Write the file of results."""
        self._job.merge(path, force)
        return Ciphertexts.open(path)

    def remove(self) -> None:
        """Remove the plan, the shards and the logs of the workers. Workers stop.

        Other files in the folder stay.
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
    """Evaluates shards of a job and keeps the prepared circuit between them. Several threads may share one."""

    def __init__(self, job: Job, worker: _homaes.JobWorker) -> None:
        self._job = job
        self._worker = worker

    @property
    def job(self) -> Job:
        """The job."""
        return self._job

    @property
    def threads(self) -> int:
        """Number of threads."""
        return self._worker.threads

    def run(self, *, shards: Shards = None, progress: FollowShards = None) -> JobReport:
        """As ``Job.run``. A call to this worker inside ``progress`` waits until this run has ended."""
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
        """As ``run_shard``, with the seconds of the evaluation."""
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
        """End the calls in other threads within a second. They raise ``Cancelled``."""
        self._worker.cancel()

    def close(self) -> None:
        """Refuse further calls, and free the prepared circuit."""
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
    """The numbers of shards as sorted ranges without duplicates; all shards for None."""
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
            raise ValueError(f"shards: found {number}, expected numbers from 0, below 2^64")
        if ranges and ranges[-1].stop == number:
            ranges[-1] = range(ranges[-1].start, number + 1)
        else:
            ranges.append(range(number, number + 1))
    job._job.check([(one.start, one.stop) for one in ranges])
    return ranges


def missing_of(status: JobStatus, asked: list[range]) -> list[range]:
    """The missing shards among ``asked``."""
    common = (
        range(max(gap.start, one.start), min(gap.stop, one.stop))
        for gap in status.missing
        for one in asked
    )
    return [one for one in common if one]


def _place_of(key: Any, name: str) -> Any:
    """The location of a key. Raises an error if its file has changed since it was loaded."""
    if not isinstance(key, (EvalKey, WrappedKey)):
        return key
    key._check_file()
    if key.path is None:
        raise ValueError(
            f"{name}: is in memory, but workers read it from a file: save it, and pass its path"
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
            remedy="pickle the job again",
        )
    return job
