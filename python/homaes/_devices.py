"""GPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TypeAlias, Union

__all__ = ["Device", "find_nvrtc"]

#: "auto", "cpu", "cuda", "cuda:0,1", or a list of GPUs as numbers or "cuda:0". None: HOMAES_DEVICE, or else "auto".
Device: TypeAlias = Union[str, Sequence[Union[int, str]], None]

#: The compiler of CUDA in NVIDIA's wheels.
_NVRTC = ["cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12"]


def find_nvrtc() -> None:
    """Tell the extension where the compiler of CUDA is, if a package has it."""
    spec = find_spec("nvidia") if "HOMAES_NVRTC" not in os.environ else None
    for folder in (spec and spec.submodule_search_locations) or []:
        for name in _NVRTC:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                os.environ["HOMAES_NVRTC"] = path
                return
