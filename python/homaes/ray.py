"""Jobs on a cluster of Ray: one worker on each machine, and shards handed out one at a time.

A shard is a function of job and keys, and is written once. A worker, a machine or the driver may fail at any time:
finished shards stay, and the others are evaluated again.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from importlib import import_module
from operator import index
from typing import Any

import numpy as np

from ._homaes import EvalKey, Job, JobWorker, WrappedKey
from ._message import Path
from ._progress import Follower, FollowShards, shards_follower_of
from ._report import JobProgress, JobReport
from .errors import JobError

__all__ = ["run"]

#: Seconds between two looks at finished tasks, and the longest time until Ctrl-C takes effect.
_SLICE = 0.2
#: Seconds between two looks at the machines of the cluster.
_LOOK = 2.0
#: Bytes of a key that go to the object store at once; Ctrl-C waits for each of these pieces.
_PIECE = 1 << 25
#: Seconds until workers are killed that do not end by themselves.
_END = 0.6
#: Longest pause in seconds before a temporary failure is retried.
_PAUSE = 30.0
#: Seconds without any worker until a warning.
_PATIENCE = 60.0


def run(
    job: Job | Path,
    *,
    address: str = "local",
    nodes: Sequence[str] | None = None,
    threads_per_node: int | None = None,
    gpus_per_node: int | None = None,
    shards: Iterable[int] | None = None,
    retries: int = 3,
    progress: FollowShards = None,
    cache: Path | None = None,
) -> JobReport:
    """Evaluate the missing shards of a job on the machines of a cluster.

    Ctrl-C ends the run within a second, and the same call continues it. Each machine gets the keys once. Job and
    message must be in a folder that all machines share, or in a bucket.

    ``address``: as in ``ray.init``: "local" starts Ray on this machine for the call, "auto" joins the cluster of this
    machine. If Ray is already initialized, the run uses it and leaves it running.
    ``nodes``: ids of the machines to use; by default all, also those that join later.
    ``threads_per_node``: by default the number of processors of the machine.
    ``gpus_per_node``: start one worker for each of up to this many GPUs per machine. These workers share the threads
    of the machine. Machines without a GPU are not used.
    ``retries``: number of failures of one shard that end the run.
    """
    if isinstance(nodes, str):
        raise TypeError("nodes: found a str, expected a sequence of ids of machines")
    counts = {"retries": retries, "threads_per_node": threads_per_node, "gpus_per_node": gpus_per_node}
    for name, count in counts.items():
        if count is not None and index(count) < 1:
            raise ValueError(f"{name}: found {count}, expected 1 at least")
    ray = _ray()
    if not isinstance(job, Job):
        job = Job.open(job)
    asked = job._asked(shards)
    wanted = sum(map(len, asked))
    left = _missing(job, asked)
    if not left:
        return JobReport(shards=wanted, evaluated=0, there=wanted, seconds=0.0)
    started = not ray.is_initialized()
    if started:
        # no usage reports to Ray's makers by default
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        only = {"include_dashboard": False} if address == "local" else {}
        ray.init(address=address, log_to_driver=False, **only)
    follower = shards_follower_of(progress, wanted - len(left), wanted)
    try:
        work = _Run(ray, job, left, wanted, nodes, retries, follower, threads_per_node, gpus_per_node)
        return work.run(job.key_files(cache))
    finally:
        follower.close()
        if started:
            ray.shutdown()


def _missing(job: Job, asked: Iterable[Iterable[int]]) -> list[int]:
    """The missing shards among ``asked``."""
    there = {number for some in job.status().present for number in some}
    return [number for some in asked for number in some if number not in there]


def _ray() -> Any:
    try:
        return import_module("ray")
    except ImportError as error:
        raise ImportError(
            "homaes.ray needs the package ray: python -m pip install 'homaes[ray]'"
        ) from error


class _Actor:
    """A worker."""

    def __init__(self) -> None:
        self._worker: JobWorker | None = None

    def start(
        self,
        job: Job,
        threads: int,
        device: str,
        count: int,
        *pieces: Any,
    ) -> None:
        # arrays of bytes; the first ``count`` form the evaluation key
        self._worker = job.worker(
            threads=threads,
            device=device,
            eval_key=EvalKey.load(b"".join(pieces[:count])),
            wrapped_key=WrappedKey.load(b"".join(pieces[count:])),
        )

    def evaluate(self, number: int) -> tuple[str, float]:
        assert self._worker is not None
        return self._worker.evaluate(number)

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.cancel()


@dataclass
class _Machine:
    """A machine of the cluster, and a worker there: its only one, or that of a GPU."""

    node: str
    number: int
    actor: Any
    is_ready: bool = False
    #: The shard that is evaluated.
    shard: int | None = None


@dataclass
class _Run:
    """A call of ``run``."""

    ray: Any
    job: Job
    #: The shards that are missing at the start.
    first: list[int]
    wanted: int
    nodes: Sequence[str] | None
    retries: int
    follower: Follower
    threads_per_node: int | None
    gpus_per_node: int | None
    machines: dict[tuple[str, int], _Machine] = field(default_factory=dict)
    #: The machine of each running task.
    busy: dict[Any, _Machine] = field(default_factory=dict)
    looked: float = 0.0
    failed_shards: Counter[int] = field(default_factory=Counter)
    failed_nodes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    evaluated: Counter[str] = field(default_factory=Counter)
    start: float = field(default_factory=time.monotonic)
    #: When a worker was last ready; None after the warning.
    waits: float | None = field(default_factory=time.monotonic)
    setup: float | None = None

    def __post_init__(self) -> None:
        #: A heap of the times from which shards may be evaluated, and their numbers.
        self.left = [(0.0, number) for number in self.first]
        self.done = self.wanted - len(self.first)

    def run(self, key_files: tuple[str, str]) -> JobReport:
        there = self.done
        try:
            # the object store sends them to each machine once
            evaluation, wrapped = (self._put(path) for path in key_files)
            self.keys = (len(evaluation), *evaluation, *wrapped)
            while self.left or any(machine.shard is not None for machine in self.machines.values()):
                self._hire()
                self._warn()
                self._hand_out()
                if not self.busy:
                    time.sleep(_SLICE)
                    continue
                ready, _ = self.ray.wait(list(self.busy), num_returns=1, timeout=_SLICE)
                for ref in ready:
                    self._take(ref, self.busy.pop(ref))
        finally:
            self._dismiss()
        self._check()
        return JobReport(
            shards=self.wanted,
            evaluated=self.evaluated.total(),
            there=there,
            seconds=time.monotonic() - self.start,
            nodes=dict(self.evaluated),
            setup_seconds=self.setup or 0.0,
            failures=self.failures,
        )

    def _put(self, path: str) -> list[Any]:
        """Put a file into the object store, piece by piece."""
        pieces = []
        with open(path, "rb") as file:
            while piece := file.read(_PIECE):
                pieces.append(self.ray.put(np.frombuffer(piece, dtype=np.uint8)))
        return pieces

    def _hire(self) -> None:
        """Start a worker on each machine or GPU that has none."""
        now = time.monotonic()
        if now - self.looked < _LOOK and self.machines:
            return
        self.looked = now
        alive = {node["NodeID"]: node for node in self.ray.nodes() if node["Alive"]}
        for name, node in alive.items():
            processors, gpus = (int(node["Resources"].get(kind, 0)) for kind in ("CPU", "GPU"))
            is_chosen = self.nodes is None or name in self.nodes
            is_refused = self.failed_nodes[name] >= self.retries
            if processors < 1 or not is_chosen or is_refused:
                continue
            workers = 1 if self.gpus_per_node is None else min(self.gpus_per_node, gpus)
            for number in range(workers):
                if (name, number) not in self.machines:
                    self._start_worker(name, number, workers, processors)
        if not self.machines:
            what = self.failures[-1] if self.failures else "the cluster has no such machine"
            raise _stopped(f"{self.job.location}: no machine can work: {what}")

    def _start_worker(self, name: str, number: int, workers: int, processors: int) -> None:
        """Start one of ``workers`` workers of a machine."""
        strategies = import_module("ray.util.scheduling_strategies")
        threads = max(1, (self.threads_per_node or processors) // workers)
        # Ray shows an actor only the GPUs that it asked for
        device, gpus = ("cpu", 0) if self.gpus_per_node is None else ("cuda:0", 1)
        actor = self.ray.remote(_Actor).options(
            num_cpus=min(threads, max(1, processors // workers)),
            num_gpus=gpus,
            max_restarts=0,
            # one thread evaluates, one cancels
            max_concurrency=2,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(name, soft=False),
        )
        machine = _Machine(name, number, actor.remote())
        self.machines[name, number] = machine
        started = machine.actor.start.remote(self.job, threads, device, *self.keys)
        self.busy[started] = machine

    def _warn(self) -> None:
        """Warn once if all workers wait, for example for processors in use."""
        if any(machine.is_ready for machine in self.machines.values()):
            self.waits = time.monotonic()
        elif self.waits is not None and time.monotonic() - self.waits > _PATIENCE:
            self.waits = None
            warnings.warn(
                "homaes.ray: no worker has started yet; each waits for all processors of its machine",
                stacklevel=4,
            )

    def _hand_out(self) -> None:
        now = time.monotonic()
        for machine in self.machines.values():
            if machine.is_ready and machine.shard is None and self.left and self.left[0][0] <= now:
                _, machine.shard = heappop(self.left)
                self.busy[machine.actor.evaluate.remote(machine.shard)] = machine

    def _take(self, ref: Any, machine: _Machine) -> None:
        """Handle the result of a task."""
        exceptions = import_module("ray.exceptions")
        number, machine.shard = machine.shard, None
        try:
            found = self.ray.get(ref)
        except exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            self._failed(machine, number, cause)
        except exceptions.RayError as error:
            # the worker or its machine is gone
            self._let_go(machine)
            self._failed(machine, number, error)
        else:
            if number is None:
                machine.is_ready = True
                if self.setup is None:
                    self.setup = time.monotonic() - self.start
                return
            outcome, seconds = found
            self.done += 1
            self.evaluated[machine.node] += outcome != "there"
            event = JobProgress(number, outcome, seconds, self.done, self.wanted, machine.node)
            self.follower.call(event)

    def _failed(self, machine: _Machine, number: int | None, error: Exception) -> None:
        """Record that a worker did not start or a shard failed."""
        first = str(error).strip().partition("\n")[0]
        what = f"{type(error).__name__}: {first}"
        if number is None:
            self.failures.append(f"machine {machine.node}: {what}")
            self.failed_nodes[machine.node] += 1
            self._let_go(machine)
            return
        self.failures.append(f"shard {number} on machine {machine.node}: {what}")
        self.failed_shards[number] += 1
        failed = self.failed_shards[number]
        if failed >= self.retries:
            raise _stopped(
                f"{self.job.location}: shard {number} failed {failed} times: {what}"
            ) from error
        pause = min(2.0**failed, _PAUSE) if getattr(error, "temporary", False) else 0.0
        heappush(self.left, (time.monotonic() + pause, number))

    def _let_go(self, machine: _Machine) -> None:
        self.machines.pop((machine.node, machine.number), None)
        self.ray.kill(machine.actor)
        # look for others at once
        self.looked = 0.0

    def _dismiss(self) -> None:
        """End all tasks and all workers."""
        at_work = {ref: machine for ref, machine in self.busy.items() if machine.is_ready}
        for machine in at_work.values():
            machine.actor.stop.remote()
        if at_work:
            self.ray.wait(list(at_work), num_returns=len(at_work), timeout=_END)
        for machine in self.machines.values():
            self.ray.kill(machine.actor)

    def _check(self) -> None:
        """Check that the shards of the workers exist."""
        missing = _missing(self.job, [self.first])
        if missing:
            raise _stopped(
                f"{self.job.location}: {len(missing)} shards were written but are missing:"
                " a machine has another folder of this name"
            )


def _stopped(message: str) -> JobError:
    return JobError(message, remedy="fix the cause, and run it again: finished shards stay")
