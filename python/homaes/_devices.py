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

#: "auto", "cpu", "cuda", "cuda:0,1", or a list of GPUs as numbers or "cuda:0". None: HOMAES_DEVICE, or else "auto".
Device: TypeAlias = Union[str, Sequence[Union[int, str]], None]

#: The compiler of CUDA in NVIDIA's wheels.
_NVRTC = ["cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"]


@dataclass(frozen=True)
class DeviceInfo:
    """A GPU."""

    #: "cuda:0"
    device: str
    name: str
    memory_bytes: int
    #: The arithmetic that it uses, with its speed.
    arithmetic: str


def devices() -> list[DeviceInfo]:
    """List the usable GPUs. If there are none, the command ``homaes devices`` says why."""
    return [DeviceInfo(f"cuda:{number}", *about) for number, about in _homaes.gpus()]


def word_of(device: Device) -> str | None:
    """The devices as one word for the extension."""
    if device is None or isinstance(device, str):
        return device
    if isinstance(device, (bytes, bytearray)) or not isinstance(device, Sequence):
        found = type(device).__name__
        raise TypeError(f"device: found {found}, expected a str or a sequence of GPUs")
    words = [one if isinstance(one, str) else str(index(one)) for one in device]
    numbers = [word.removeprefix("cuda:") for word in words]
    return "cuda:" + ",".join(numbers)


def find_nvrtc() -> None:
    """Tell the extension where the compiler of CUDA is, if a package has it."""
    spec = find_spec("nvidia") if "HOMAES_NVRTC" not in os.environ else None
    for folder in (spec and spec.submodule_search_locations) or []:
        for name in _NVRTC:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                os.environ["HOMAES_NVRTC"] = path
                return
