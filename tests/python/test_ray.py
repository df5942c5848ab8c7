"""Jobs on a cluster of Ray: two nodes, on this machine. Without ray these tests are skipped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import homaes
import pytest
from conftest import World, ctr, interrupted, plan, python, refused

ray: Any = pytest.importorskip("ray", reason="the package ray is not installed")

import homaes.ray  # noqa: E402

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def job(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> homaes.Job:
    """Forty shards of six batches."""
    monkeypatch.chdir(tmp_path)
    world.save(tmp_path, ctr(bytes(40 * 6 * 256)))
    return plan(shard_batches=6)


@pytest.fixture
def expected(world: World, job: homaes.Job) -> bytes:
    return world.run("c", reproducible=True).to_bytes()


def log() -> list[dict[str, Any]]:
    """What workers evaluated, in the order of time in each."""
    return [
        json.loads(line)
        for name in sorted(Path("job/log").iterdir())
        for line in name.read_text().splitlines()
    ]


def once(job: homaes.Job) -> None:
    """No shard was evaluated to its end twice."""
    assert sorted(line["shard"] for line in log()) == list(range(job.shards))


def test_workers_and_machines_are_lost(
    cluster: Any, job: homaes.Job, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray.init(address=cluster.address, log_to_driver=False)
    puts = []
    put = ray.put
    monkeypatch.setattr(ray, "put", lambda value: puts.append(put(value)) or puts[-1])
    held = []
    second = cluster.list_all_nodes()[1]

    def follow(event: homaes.JobProgress) -> None:
        assert event.node is not None
        if event.done == 10:
            # a worker of the other machine, in its shard
            here = {line["process"] for line in log() if line["shard"] == event.shard}
            (other,) = {line["process"] for line in log()} - here
            os.kill(other, signal.SIGKILL)
        if event.done == 20:
            locations = ray.experimental.get_object_locations(puts)
            held.extend(sorted(locations[ref]["node_ids"]) for ref in puts)
            cluster.remove_node(second, allow_graceful=False)

    report = homaes.ray.run(job, progress=follow)
    assert (report.shards, report.evaluated, report.there) == (40, 40, 0)
    assert sum(report.nodes.values()) == 40 and len(report.nodes) == 2
    assert min(report.nodes.values()) >= 5
    # the worker and the machine
    assert len(report.failures) >= 2
    # two keys, each brought once to each of two machines
    assert len(puts) == 2
    assert [len(nodes) for nodes in held] == [2, 2] and held[0] == held[1]
    assert job.results().to_bytes() == expected
    once(job)
    # what Ray was before it is still
    assert ray.is_initialized()
    assert homaes.ray.run(job).there == 40


DRIVER = """
import homaes.ray
homaes.ray.run("job", address=sys.argv[1], progress=lambda event: event.done < 4 or begun())
"""


def test_the_driver_is_lost(cluster: Any, job: homaes.Job, expected: bytes) -> None:
    program = f"import homaes.ray; homaes.ray.run('job', address='{cluster.address}')"
    for ends_after in (8, 20):
        with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as child:
            while job.status().done < ends_after:
                assert child.poll() is None
                time.sleep(0.05)
            child.kill()
        # its workers are ended by Ray
        time.sleep(2)
        assert ends_after <= job.status().done < 40
    assert python(program).returncode == 0
    assert job.results().to_bytes() == expected
    once(job)


def test_ctrl_c(cluster: Any, world: World, job: homaes.Job) -> None:
    assert interrupted(DRIVER, cluster.address, ends=60) == 3
    # nothing is half-written, and nobody goes on
    left = [path.name for path in Path("job/shards").iterdir()]
    assert all(name.endswith(".hcs") and not name.startswith(".") for name in left)
    done = job.status().done
    assert done == len(left) and job.verify().wrong == {}
    time.sleep(0.5)
    assert job.status().done == done and job.status().claimed == 0


def test_a_shard_that_fails_ends_the_run(cluster: Any, job: homaes.Job) -> None:
    ray.init(address=cluster.address, log_to_driver=False)
    data = bytearray(Path("c").read_bytes())
    data[-1] ^= 1
    Path("c").write_bytes(data)
    with pytest.raises(homaes.JobError, match="shard 39 failed 3 times") as failed:
        homaes.ray.run(job, shards=[39])
    assert "changed since the job was planned" in str(failed.value)
    assert isinstance(failed.value.__cause__, homaes.JobError)
    assert homaes.ray.run(job, shards=[0, 1]).evaluated == 2
    assert job.status().present == [range(2)]
    Path("eval.hek").write_bytes(Path("eval.hek").read_bytes()[:-1])
    refused(
        (homaes.JobError, "no machine can work", lambda: homaes.ray.run(job)),
        (homaes.JobError, "no machine can work", lambda: homaes.ray.run(job, nodes=["none"])),
        (ValueError, "retries", lambda: homaes.ray.run(job, retries=0)),
        (homaes.ParametersError, "there is no shard 40", lambda: homaes.ray.run(job, shards=[40])),
    )


def test_local(job: homaes.Job, expected: bytes) -> None:
    report = homaes.ray.run("job", threads_per_node=1, progress=True)
    assert report.evaluated == 40 and report.setup_seconds > 0 and not report.failures
    assert not ray.is_initialized() and job.results().to_bytes() == expected


@pytest.mark.skipif(bool(homaes.devices()), reason="there is a GPU")
def test_workers_of_gpus_say_that_there_is_none(cluster: Any, job: homaes.Job) -> None:
    with pytest.raises(ValueError, match="gpus_per_node: found 0"):
        homaes.ray.run(job, gpus_per_node=0)
    with pytest.raises(homaes.JobError, match="the cluster has no such machine"):
        homaes.ray.run(job, address=cluster.address, gpus_per_node=1)
    ray.shutdown()
    cluster.add_node(**NODE, num_gpus=2)
    cluster.wait_for_nodes()
    with pytest.raises(homaes.JobError, match="device cuda:0: CUDA's driver is not installed") as caught:
        homaes.ray.run(job, address=cluster.address, gpus_per_node=2, retries=2)
    assert "no machine can work" in str(caught.value)
