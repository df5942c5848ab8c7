"""GPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from operator import index
from typing import TypeAlias, Union

from . import _homaes

__all__ = ["Device", "DeviceInfo", "devices", "find_nvrtc", "word_of"]

#: "auto", "cpu", "cuda", "cuda:0,1"; or GPUs, each by its number or as "cuda:0". None: HOMAES_DEVICE, or "auto".
Device: TypeAlias = Union[str, Sequence[Union[int, str]], None]

#: The compiler of CUDA in the wheels of its makers.
_NVRTC = ["cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"]


@dataclass(frozen=True)
class DeviceInfo:
    """A GPU."""

    #: "cuda:0"
    device: str
    name: str
    memory_bytes: int
    #: What it computes with, and how fast it does that.
    arithmetic: str


def devices() -> list[DeviceInfo]:
    """The GPUs that AES can be evaluated on; the command ``homaes devices`` says why there are none."""
    return [DeviceInfo(f"cuda:{number}", *about) for number, about in _homaes.gpus()]


def word_of(device: Device) -> str | None:
    """Devices as one word."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, (bytes, bytearray)) or not isinstance(device, Sequence):
        found = type(device).__name__
        raise TypeError(f"device: found {found}, expected a str or a sequence of GPUs")
    words = [one if isinstance(one, str) else str(index(one)) for one in device]
    numbers = [word.removeprefix("cuda:") for word in words]
    return "cuda:" + ",".join(numbers)


def find_nvrtc() -> None:
    """Names the compiler of CUDA to the extension, if it is installed as a package."""
    spec = find_spec("nvidia") if "HOMAES_NVRTC" not in os.environ else None
    for folder in (spec and spec.submodule_search_locations) or []:
        for name in _NVRTC:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                os.environ["HOMAES_NVRTC"] = path
                return
