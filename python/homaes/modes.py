"""Modes of operation with their public values. Modes of the package ``cryptography`` work in their place.

The name of a counter mode says how it counts: in all 128 bits or in the last 64 or 32, big-endian; with ``_LE`` in the
first bits, little-endian.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import ClassVar, Protocol, TypeAlias, Union, runtime_checkable

__all__ = [
    "CBC",
    "CFB",
    "CTR",
    "CTR32",
    "CTR32_LE",
    "CTR64",
    "CTR64_LE",
    "CTR_LE",
    "ECB",
    "GCM",
    "Mode",
    "of_name",
]


@dataclass(frozen=True)
class _Checked:
    _lengths: ClassVar[dict[str, int | None]] = {}

    def __post_init__(self) -> None:
        """Copy the bytes of a mode, and refuse a wrong length."""
        for name in (field.name for field in fields(self)):
            given, expected = getattr(self, name), self._lengths.get(name, 16)
            if given is None and name == "tag":
                continue
            try:
                found = memoryview(given).tobytes()
            except TypeError:
                raise TypeError(f"{name}: found {type(given).__name__}, expected bytes") from None
            if expected is not None and len(found) != expected:
                kind = type(self).__name__
                raise ValueError(f"{kind}: found {len(found)} bytes of {name}, expected {expected}")
            object.__setattr__(self, name, found)


@dataclass(frozen=True)
class ECB:
    """Electronic codebook."""


@dataclass(frozen=True)
class CBC(_Checked):
    """Cipher block chaining; the IV has 16 bytes."""

    iv: bytes


@dataclass(frozen=True)
class CFB(_Checked):
    """Cipher feedback with segments of 128 bits; the IV has 16 bytes."""

    iv: bytes


@dataclass(frozen=True)
class CTR(_Checked):
    """Counter mode in 128 bits, big-endian, as in OpenSSL; the nonce is the first counter block of 16 bytes."""

    nonce: bytes


@dataclass(frozen=True)
class CTR64(CTR):
    """Counter mode in the last 64 bits, big-endian."""


@dataclass(frozen=True)
class CTR32(CTR):
    """Counter mode in the last 32 bits, big-endian."""


@dataclass(frozen=True)
class CTR_LE(CTR):
    """Counter mode in 128 bits, little-endian, as in WinZip."""


@dataclass(frozen=True)
class CTR64_LE(CTR):
    """Counter mode in the first 64 bits, little-endian."""


@dataclass(frozen=True)
class CTR32_LE(CTR):
    """Counter mode in the first 32 bits, little-endian, as in GCM-SIV."""


@dataclass(frozen=True)
class GCM(_Checked):
    """Galois/counter mode; the nonce has 12 bytes.

    The tag of 16 bytes follows the ciphertext if it is not given here.
    """

    _lengths = {"nonce": 12, "aad": None}
    nonce: bytes
    tag: bytes | None = None
    aad: bytes = field(default=b"", repr=False)


@runtime_checkable
class Named(Protocol):
    """A mode of the package ``cryptography``: it has a name and a nonce or IV."""

    @property
    def name(self) -> str: ...


Mode: TypeAlias = Union[ECB, CBC, CFB, CTR, GCM, Named]

_NAMES: dict[type, str] = {
    ECB: "ecb",
    CBC: "cbc",
    CFB: "cfb",
    GCM: "gcm",
    CTR: "ctr",
    CTR64: "ctr64",
    CTR32: "ctr32",
    CTR_LE: "ctr-le",
    CTR64_LE: "ctr64-le",
    CTR32_LE: "ctr32-le",
}

# name, nonce or IV, tag, associated data
Public: TypeAlias = tuple[str, bytes, bytes | None, bytes]


def public_of(mode: Mode) -> Public:
    """The mode in the form that the extension takes."""
    if isinstance(mode, GCM):
        return "gcm", mode.nonce, mode.tag, mode.aad
    # also of a derived class
    for kind in type(mode).__mro__:
        if kind in _NAMES:
            iv = getattr(mode, "iv", b"") or getattr(mode, "nonce", b"")
            return _NAMES[kind], iv, None, b""
    name = getattr(mode, "name", None)
    if name == "ECB":
        return "ecb", b"", None, b""
    if name == "CTR":
        return "ctr", bytes(getattr(mode, "nonce")), None, b""
    if name in ("CBC", "CFB", "GCM"):
        iv = bytes(getattr(mode, "initialization_vector"))
        tag = getattr(mode, "tag", None)
        return name.lower(), iv, None if tag is None else bytes(tag), b""
    raise TypeError(
        f"mode: found {mode!r}, expected one of homaes.modes, or ECB, CBC, CFB, CTR or GCM of cryptography"
    )


def of_name(
    name: str, iv: bytes = b"", *, tag: bytes | None = None, aad: bytes = b""
) -> Mode:
    """The mode with this name, as in the command and in ``PartInfo.mode``."""
    if name == "ecb":
        return ECB()
    if name == "gcm":
        return GCM(iv, tag, aad)
    for kind, known in _NAMES.items():
        if known == name:
            return kind(iv)  # type: ignore[no-any-return]
    raise ValueError(f"mode: found {name!r}, expected ecb, cbc, cfb, gcm or a counter mode")
