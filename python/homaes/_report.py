"""Reports about runs and files, as plain values."""

from __future__ import annotations

import builtins
import os
from dataclasses import dataclass
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

    @staticmethod
    def _of(found: dict[str, Any]) -> Report:
        return Report(**{**found, "steps": steps_of(found["steps"])})


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

    @staticmethod
    def _of(found: dict[str, Any]) -> PartInfo:
        mode = modes.of_name(
            found["mode"], found["iv"], tag=found["tag"], aad=found["aad"]
        )
        return PartInfo(found["name"], found["bytes"], mode)


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
