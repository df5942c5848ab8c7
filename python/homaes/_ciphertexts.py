"""FHE ciphertexts: results of a run."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Self, Any

import numpy as np
import numpy.typing as npt

from ._homaes import Batch, Results
from ._report import PartInfo, Report, steps_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Ciphertexts"]


class Ciphertexts:
    """FHE ciphertexts of a message: of a run, a ``.hct`` file or a job. Nothing here needs a secret key."""

    def __init__(self, held: Results, report: Report | None = None) -> None:
        self._held = held
        self._report = report
        self._about: dict[str, Any] | None = None
        self._found: dict[str, Any] | None = None

    @staticmethod
    def open(source: str | os.PathLike[str] | Buffer, /) -> Ciphertexts:
        """Open a ``.hct`` file, the bytes of one, or the folder of a job.

        Checks the front of the file now, and the ciphertexts when they are used.
        """
        opened = Ciphertexts(Results(source))
        opened._describe()
        return opened

    def _describe(self) -> dict[str, Any]:
        if self._about is None:
            self._about = self._held.describe()
        return self._about

    def _fact(self, name: str) -> Any:
        """A value from the report of the run, or else from the file."""
        if self._report is not None:
            return getattr(self._report, name)
        return self._describe()[name]

    def _measure(self) -> dict[str, Any]:
        if self._found is None:
            self._found = self._held.measure()
        return self._found

    @property
    def path(self) -> os.PathLike[str] | None:
        """The path of the file; None in memory."""
        return self._held.path

    @property
    def job(self) -> str | None:
        """The location of the job; None for a file or in memory."""
        return self._held.job

    @property
    def set(self) -> str:
        """The name of the parameter set."""
        name: str = self._describe()["set"]
        return name

    @property
    def key_id(self) -> str:
        """The id of the secret key that decrypts them, in hex."""
        name: str = self._describe()["key_id"]
        return name

    @property
    def bytes(self) -> int:
        """Length of the message in bytes."""
        count: int = self._fact("bytes")
        return count

    @property
    def blocks(self) -> int:
        """Number of AES blocks of the message."""
        count: int = self._fact("blocks")
        return count

    @property
    def batches(self) -> int:
        """Number of batches of blocks."""
        count: int = self._fact("batches")
        return count

    @property
    def layout(self) -> str:
        """How ciphertexts hold the bytes: "packed", "sliced" or "bits"."""
        name: str = self._fact("layout")
        return name

    @property
    def level(self) -> int:
        """Level of the ciphertexts, at least 1."""
        level: int = self._describe()["level"]
        return level

    @property
    def key_bits(self) -> int:
        """Length of the AES key in bits."""
        bits: int = self._describe()["key_bits"]
        return bits

    @property
    def parts(self) -> list[PartInfo]:
        """The parts of the message."""
        return [PartInfo._of(part) for part in self._describe()["parts"]]

    @property
    def multiplications_left(self) -> int | None:
        """Multiplications left; None if the scheme bootstraps or the message is empty."""
        left: int | None = self._measure()["multiplications_left"]
        return left

    @property
    def noise_bits(self) -> float | None:
        """log2 of the noise of the worst ciphertext; None for an empty message."""
        bits: float | None = self._measure()["noise_bits"]
        return bits

    @property
    def capacity_bits(self) -> float | None:
        """Bits between this noise and failure; None for an empty message."""
        bits: float | None = self._measure()["capacity_bits"]
        return bits

    @property
    def steps(self) -> npt.NDArray[np.void]:
        """The steps of AES, as in ``Report.steps``."""
        return steps_of(self._measure()["steps"])

    @property
    def report(self) -> Report:
        """The report of the run that made them.

        Raises ``AttributeError`` if they come from a file, which holds only ``steps``.
        """
        if self._report is None:
            raise AttributeError(
                "report: these ciphertexts come from a file, which holds only steps"
            )
        return self._report

    def save(self, path: str | os.PathLike[str], /, *, force: bool = False) -> None:
        """Write a ``.hct`` file."""
        self._held.save(path, force=force)

    def to_bytes(self) -> builtins.bytes:
        """All bytes of the ``.hct`` file."""
        return self._held.to_bytes()

    def __iter__(self) -> Iterator[Batch]:
        """Read the batches in order, one at a time. The whole file is verified once the last batch is read."""
        return self._held.batches()

    def lwe(self, batch: int | Batch, /) -> npt.NDArray[np.uint64]:
        """The LWE ciphertexts of a batch of TFHE, given as ``Batch`` or number: one row per bit, mask before body.

        Row 128·b + 8·i + j encrypts bit j of byte i of block b, lowest bit first, as 2^63 (half the torus) times the
        bit, under the GLWE key read as one vector. In sets of base 16, row 32·b + 2·i + j encrypts four bits, times
        2^59.
        """
        if isinstance(batch, Batch):
            return batch.lwe()
        batch = index(batch)
        if not 0 <= batch < self.batches:
            raise IndexError(f"batch: found {batch}, expected 0 to {self.batches - 1}")
        return next(found for found in self if found.number == batch).lwe()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        return None

    def __copy__(self) -> Ciphertexts:
        return self

    def __deepcopy__(self, memo: object, /) -> Ciphertexts:
        return self

    def __reduce_ex__(self, protocol: Any, /) -> Any:
        from ._pickling import reduce

        return reduce(self, protocol)

    def _repr_html_(self) -> str:
        """A table for notebooks, with the bits between noise and failure after every step of AES."""
        steps = self.steps if self._report is None else self._report.steps
        rows = {
            "bytes": self.bytes,
            "set": self.set,
            "layout": self.layout,
            "batches": self.batches,
            "level": self.level,
            "capacity": _curve(steps["capacity_bits"].tolist()),
        }
        cells = (f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table>{''.join(cells)}</table>"

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else f"in {os.fspath(self.path)}"
        place = place if self.job is None else f"of the job at {self.job}"
        return (
            f"<homaes.Ciphertexts of {self.bytes} bytes, {self.layout},"
            f" {self.batches} batches, {place}>"
        )


def _curve(values: list[float]) -> str:
    """A line chart of values above 0, with the first and last value as text."""
    if not values:
        return "none"
    width, height, top = 160, 40, max(*values, 1.0)
    step = width / max(len(values) - 1, 1)
    points = " ".join(
        f"{number * step:.1f},{height * (1 - value / top):.1f}"
        for number, value in enumerate(values)
    )
    return (
        f"{values[0]:.0f} bits "
        f'<svg width="{width}" height="{height}" role="img">'
        f'<polyline points="{points}" fill="none" stroke="currentColor"/></svg>'
        f" {values[-1]:.0f} bits"
    )
