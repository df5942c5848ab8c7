"""Where AES is evaluated. Without a GPU: "auto" is the processor, and GPUs that are asked for are refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import homaes
import pytest
from conftest import CTR, World, plan, python, refused

DATA = bytes(range(200)) * 3


def made(world: World, device: Any) -> homaes.Transcipher:
    return homaes.Transcipher(world.keys.eval, world.wrapped, device=device)


def test_devices_make_the_same_bytes(world: World) -> None:
    found = set()
    for device in ["cpu", "auto", None, *([one.device] for one in homaes.devices())]:
        with made(world, device) as t:
            assert t.device == ("auto" if device is None else device if isinstance(device, str) else device[0])
            ct = t.run(DATA, CTR, reproducible=True)
            assert sum(ct.report.devices.values()) == ct.report.batches == 3
            found.add(ct.to_bytes())
    assert len(found) == 1


def test_what_names_no_device_is_refused(world: World) -> None:
    for device in ["gpu", "cuda:", [], [0, 0], ["cuda:x"], [-1]]:
        with pytest.raises(homaes.ParametersError, match="expected auto, cpu, cuda") as caught:
            made(world, device)
        assert caught.value.remedy == "homaes.devices() lists GPUs"
    bits = partial(homaes.Transcipher, world.keys.eval, world.keys.secret.wrap(bytes(16), layouts=["bits"]))
    refused(
        *((TypeError, "device: found", partial(made, world, wrong)) for wrong in (b"cuda", 0, object())),
        (homaes.ParametersError, "layout bits does not run on GPUs", partial(bits, device="cuda", layout="bits")),
    )


def test_gpus_that_are_not_there_are_refused(world: World) -> None:
    missing = len(homaes.devices())
    for device in (f"cuda:{missing}", [missing], [f"cuda:{missing}"]):
        refused((homaes.HomaesError, f"device cuda:{missing}: ", lambda: made(world, device)))


def test_jobs_take_devices(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, DATA)
    job = plan(tmp_path, shard_batches=1)
    assert job.run_shard(1, device="cpu") == "written"
    assert job.run(device="auto").evaluated == 2
    refused((homaes.HomaesError, "device cuda:99: ", lambda: job.run_shard(0, device=[99])))


def test_nvrtc_is_found_among_packages(tmp_path: Path) -> None:
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    program = "import os, sys; sys.path.insert(0, sys.argv[1]); import homaes; print(os.environ['HOMAES_NVRTC'])"
    assert python(program, str(tmp_path), text=True, check=True).stdout.strip() == str(library)
