"""Where AES is evaluated. Without a GPU: "auto" is the processor, and GPUs that are asked for are refused."""

import subprocess
import sys

import pytest

import homaes
from homaes import modes

MODE = modes.CTR(bytes(16))
DATA = bytes(range(200)) * 3


@pytest.fixture(scope="module")
def keys():
    return homaes.keygen("bgv/toy-255", accept_insecure=True)


@pytest.fixture(scope="module")
def wrapped(keys):
    return keys.secret.wrap(bytes(16))


def test_devices_make_the_same_bytes(keys, wrapped):
    found = set()
    words = ["cpu", "auto", None, *([one.device] for one in homaes.devices())]
    for device in words:
        with homaes.Transcipher(keys.eval, wrapped, device=device) as t:
            assert t.device == ("auto" if device is None else device if isinstance(device, str) else device[0])
            ct = t.run(DATA, MODE, reproducible=True)
            assert sum(ct.report.devices.values()) == ct.report.batches == 3
            found.add(ct.to_bytes())
    assert len(found) == 1


def test_what_names_no_device_is_refused(keys, wrapped):
    for device in ["gpu", "cuda:", [], [0, 0], ["cuda:x"]]:
        with pytest.raises(homaes.ParametersError, match="expected auto, cpu, cuda") as caught:
            homaes.Transcipher(keys.eval, wrapped, device=device)
        assert caught.value.remedy == "homaes.devices() lists GPUs"
    for device in [b"cuda", 0, object()]:
        with pytest.raises(TypeError, match="device: found"):
            homaes.Transcipher(keys.eval, wrapped, device=device)
    bits = keys.secret.wrap(bytes(16), layouts=["bits"])
    with pytest.raises(homaes.ParametersError, match="layout bits does not run on GPUs"):
        homaes.Transcipher(keys.eval, bits, device="cuda", layout="bits")


def test_gpus_that_are_not_there_are_refused(keys, wrapped):
    missing = f"cuda:{len(homaes.devices())}"
    with pytest.raises(homaes.HomaesError, match=f"device {missing}: "):
        homaes.Transcipher(keys.eval, wrapped, device=missing)


def test_jobs_take_devices(keys, wrapped, tmp_path):
    keys.save(tmp_path)
    wrapped.save(tmp_path / "key.hwk")
    (tmp_path / "data").write_bytes(DATA)
    job = homaes.Job.plan(
        tmp_path / "data",
        MODE,
        eval_key=tmp_path / "eval.hek",
        wrapped_key=tmp_path / "key.hwk",
        out=tmp_path / "job",
        shard_batches=1,
    )
    assert job.run_shard(1, device="cpu") == "written"
    assert job.run(device="auto").evaluated == 2
    with pytest.raises(homaes.HomaesError, match="device cuda:99: "):
        job.run_shard(0, device=[99])


def test_nvrtc_is_found_among_packages(tmp_path):
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    program = "import os, sys; sys.path.insert(0, sys.argv[1]); import homaes; print(os.environ['HOMAES_NVRTC'])"
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(library)
