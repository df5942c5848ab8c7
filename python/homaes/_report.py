"""Reports about runs and files, as plain values."""

from __future__ import annotations

import builtins
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import modes

#: One row for the key addition (round 0) and for each round of AES.
STEP_DTYPE = np.dtype(
    [
        ("round", np.int64),
        ("seconds", np.float64),
        ("level", np.int64),
        ("noise_bits", np.float64),
        ("capacity_bits", np.float64),
    ]
)


def steps_of(rows: list[tuple[int, float, int, float, float]]) -> npt.NDArray[np.void]:
    return np.array(rows, dtype=STEP_DTYPE)


@dataclass(frozen=True)
class Report:
    """The measurements of a run."""

    scheme: str
    layout: str
    bytes: int
    blocks: int
    batches: int
    #: Batches kept from earlier runs.
    resumed: int
    threads: int
    #: Batches of this run by device: "cpu", "cuda:0".
    devices: dict[str, int]
    setup_seconds: float
    #: Seconds of evaluating and writing.
    seconds: float
    file_bytes: int
    #: log2 of the bound on the probability that any batch decrypts wrongly; None for an empty message.
    log2_p_fail: float | None
    #: The steps of AES: mean seconds and worst noise over all batches.
    steps: npt.NDArray[np.void]
    #: Operations of the scheme, such as transforms and rotations.
    counts: dict[str, int]


@dataclass(frozen=True)
class DecryptReport:
    """The result of a decryption."""

    bytes: int
    #: Fewest bits between noise and failure; None for an empty message.
    margin_bits: float | None
    #: log2 of the bound on the probability that any batch decrypts wrongly; None for an empty message.
    log2_p_fail: float | None
    #: "verified", "unchecked", or "none" if the mode has no tag.
    tag: str
    mode: str
    iv: builtins.bytes
    aad_bytes: int


@dataclass(frozen=True)
class PartInfo:
    """A part of a message. The name is None if a message has one unnamed part."""

    name: str | None
    bytes: int
    mode: modes.Mode


@dataclass(frozen=True)
class Progress:
    """The state of a run after a step of AES."""

    batch: int
    batches: int
    #: The finished round, 0 for the key addition.
    round: int
    rounds: int
    seconds: float
    level: int
    noise_bits: float
    capacity_bits: float

    @property
    def fraction(self) -> float:
        """The finished share of the run, if batches are evaluated in order."""
        done = self.batch * (self.rounds + 1) + self.round + 1
        return done / (self.batches * (self.rounds + 1))


@dataclass(frozen=True)
class SetCard:
    """A parameter set with its purpose and its sizes."""

    name: str
    scheme: str
    #: "secure", "paper" or "toy". Only secure sets protect anything.
    purpose: str
    paper: str
    security_bits_claimed: int | None
    #: Assumptions that other sets do not need, in sentences.
    assumptions: list[str]
    log2_p_fail: float
    layouts: list[str]
    blocks_per_batch: int
    secret_key_bytes: int
    eval_key_bytes: int
    wrapped_key_bytes: int
    ciphertext_bytes_per_batch: int


@dataclass(frozen=True)
class Inspection:
    """The contents of a file whose checksums are all right."""

    path: os.PathLike[str] | str
    kind: str
    set: str
    key_id: str
    file_bytes: int
    is_protected: bool
    #: The parts of the message, for results.
    parts: list[PartInfo]
    #: For results: layout, level, noise, failure probability. For a wrapped key: bits and layouts. For values: label,
    #: form, count and width of each.
    details: dict[str, Any]
    #: The steps of AES, for results.
    steps: npt.NDArray[np.void]


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


@dataclass(frozen=True)
class DeviceInfo:
    """A GPU."""

    #: "cuda:0"
    device: str
    name: str
    memory_bytes: int
    #: The arithmetic that it uses, with its speed.
    arithmetic: str
