"""Jobs in a bucket, on a server of moto in this process. Skipped without moto, or in a build without buckets."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import homaes
import pytest
from conftest import CTR, World, at_once, ctr, refused

pytest.importorskip("moto.server", reason="the package moto is not installed")
#: A client of boto3, and the name of a bucket.
Bucket: TypeAlias = tuple[Any, str]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    moto = DomainDispatcherApplication(create_backend_app)
    lock = threading.Lock()

    def one_at_a_time(environ: Any, start_response: Any) -> list[bytes]:
        # moto looks whether an object is there and writes it in two steps, which a service does in one
        with lock:
            return list(moto(environ, start_response))

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "NO_PROXY": "127.0.0.1",
        "HOMAES_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    try:
        homaes.Job.open("s3://jobs/none")
    except homaes.HomaesError as error:
        if "no object stores" in str(error):
            pytest.skip("this build has no buckets: maturin build --features s3")
    client = boto3.client("s3")
    # what one server of this process was told, the next one knows
    name = f"jobs-{uuid.uuid4()}"
    client.create_bucket(Bucket=name)
    yield client, name
    server.shutdown()
    thread.join()


@pytest.fixture
def job(world: World, bucket: Bucket) -> homaes.Job:
    client, name = bucket
    for key, body in {
        "eval.hek": world.keys.eval.to_bytes(),
        "key.hwk": world.wrapped.to_bytes(),
        "c": ctr(bytes(5000)),
    }.items():
        client.put_object(Bucket=name, Key=key, Body=body)
    return planned(f"s3://{name}", "c")


def planned(place: str, data: str) -> homaes.Job:
    keys = {"eval_key": f"{place}/eval.hek", "wrapped_key": f"{place}/key.hwk"}
    return homaes.Job.plan(f"{place}/{data}", CTR, **keys, out=f"{place}/job/", shard_batches=3)


def test_the_whole_way(world: World, job: homaes.Job, tmp_path: Path) -> None:
    assert job.location.endswith("/job") and job.shards == 7
    assert job.run_shard(3, cache=tmp_path / "keys") == "written"
    assert len([key for key in (tmp_path / "keys").iterdir() if key.name[0] != "."]) == 2
    with job.worker() as one, job.worker() as two:
        assert len(at_once(one.run, two.run)) == 2
    assert job.status().is_complete
    assert job.verify(sample=0.5).wrong == {}
    expected = world.run(ctr(bytes(5000)), reproducible=True).to_bytes()
    assert job.merge(tmp_path / "o.hct").to_bytes() == expected
    assert world.keys.secret.decrypt(homaes.Job.open(job.location).results()) == bytes(5000)
    job.remove()
    refused((homaes.JobError, "not a job", lambda: homaes.Job.open(job.location)))


def test_what_is_not_there(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"s3://{bucket[1]}"
    with pytest.raises(FileNotFoundError, match="no such object") as missing:
        planned(place, "none")
    assert missing.value.filename == f"{place}/none"
    for where, what in (("s3://no-such-bucket", ""), (place, "AWS_ALLOW_HTTP=true")):
        with pytest.raises(homaes.StoreError, match=what or None) as error:
            homaes.Job.open(f"{where}/job")
        assert not error.value.temporary
        # nor may an endpoint be without encryption
        monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)


def test_on_a_cluster(world: World, job: homaes.Job) -> None:
    pytest.importorskip("ray", reason="the package ray is not installed")
    import homaes.ray

    report = homaes.ray.run(job, threads_per_node=1)
    assert report.evaluated == 7 and not report.failures
    assert world.keys.secret.decrypt(job.results()) == bytes(5000)
