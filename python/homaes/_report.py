"""What runs and files tell, as plain values."""

from __future__ import annotations

import builtins
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import modes

#: One row for the key addition, number 0, and for each round of AES.
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
    """What a run did and measured."""

    scheme: str
    layout: str
    bytes: int
    blocks: int
    batches: int
    #: Batches that earlier runs left.
    resumed: int
    threads: int
    #: Batches of this run by device: "cpu", "cuda:0".
    devices: dict[str, int]
    setup_seconds: float
    #: Of evaluating and writing.
    seconds: float
    file_bytes: int
    #: log2 of the bound on the probability that any batch decrypts wrongly; None for an empty message.
    log2_p_fail: float | None
    #: Of all steps of AES: seconds averaged over batches, the worst noise of any.
    steps: npt.NDArray[np.void]
    #: What the scheme counted, such as transforms and rotations.
    counts: dict[str, int]

    @staticmethod
    def _of(found: dict[str, Any]) -> Report:
        return Report(**{**found, "steps": steps_of(found["steps"])})


@dataclass(frozen=True)
class DecryptReport:
    """What a decryption found."""

    bytes: int
    #: Least bits between noise and failure; None for an empty message.
    margin_bits: float | None
    #: log2 of the bound on the probability that any batch decrypts wrongly; None for an empty message.
    log2_p_fail: float | None
    #: "verified", "unchecked", or "none" where the mode has no tag.
    tag: str
    mode: str
    iv: builtins.bytes
    aad_bytes: int


@dataclass(frozen=True)
class PartInfo:
    """A part of a message; its only one has no name."""

    name: str | None
    bytes: int
    mode: modes.Mode

    @staticmethod
    def _of(found: dict[str, Any]) -> PartInfo:
        mode = modes.of_name(
            found["mode"], found["iv"], tag=found["tag"], aad=found["aad"]
        )
        return PartInfo(found["name"], found["bytes"], mode)


@dataclass(frozen=True)
class Progress:
    """Where a run stands, after a step of AES."""

    batch: int
    batches: int
    #: The round that is done, 0 for the key addition.
    round: int
    rounds: int
    seconds: float
    level: int
    noise_bits: float
    capacity_bits: float

    @property
    def fraction(self) -> float:
        """How much of the run is done, if batches come one after the other."""
        done = self.batch * (self.rounds + 1) + self.round + 1
        return done / (self.batches * (self.rounds + 1))


@dataclass(frozen=True)
class SetCard:
    """A parameter set: what it is for, and what it costs."""

    name: str
    scheme: str
    #: "secure", "paper" or "toy". Only secure ones protect anything.
    purpose: str
    paper: str
    security_bits_claimed: int | None
    #: What the claim assumes beyond those of other sets, in sentences.
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
    """What is in a file, every checksum of which is right."""

    path: os.PathLike[str] | str
    kind: str
    set: str
    key_id: str
    file_bytes: int
    is_protected: bool
    #: Of results: what the message is.
    parts: list[PartInfo]
    #: Of results: layout, level, noise, failure probability; of a wrapped key: bits and layouts; of values: the label,
    #: form, count and width of each.
    details: dict[str, Any]
    #: Of results: the steps of AES.
    steps: npt.NDArray[np.void]

    @staticmethod
    def _of(path: os.PathLike[str] | str, found: dict[str, Any]) -> Inspection:
        messages = found.pop("messages")
        details = dict(messages or found["wrapped"] or {})
        del found["wrapped"]
        values = found.pop("values")
        if values:
            details["values"] = values
        parts = [PartInfo._of(part) for part in details.pop("parts", [])]
        steps = steps_of(details.pop("steps", []))
        return Inspection(path, **found, parts=parts, details=details, steps=steps)
