"""Jobs: many workers, one file of results."""

from __future__ import annotations

import os
import pickle
import time
from functools import partial
from pathlib import Path
from typing import Any

import homaes
import pytest
from conftest import AES_KEY, CTR, World, at_once, ctr, interrupted, plan, refused
from homaes import modes

MESSAGE = bytes(range(256)) * 20


@pytest.fixture
def place(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with keys and a message of twenty batches."""
    monkeypatch.chdir(tmp_path)
    world.save(tmp_path, ctr(MESSAGE))
    return tmp_path


@pytest.fixture
def expected(world: World, place: Path) -> bytes:
    return world.run("c", reproducible=True).to_bytes()


def test_the_whole_way(world: World, place: Path, expected: bytes) -> None:
    job = plan(shard_batches=3)
    assert (job.shards, job.batches, job.shard_batches) == (7, 20, 3)
    assert (job.set, job.layout, job.part_count) == (world.set, "sliced", 1)
    assert (job.bytes, job.file_bytes) == (len(MESSAGE), len(expected))
    assert job == plan(shard_batches=3) == homaes.Job.open("job")
    assert hash(job) == hash(homaes.Job.open("job")) and job != "job"
    assert "5120 bytes under bgv/toy-255, sliced, 20 batches in 7 shards" in repr(job)
    refused((homaes.JobError, "7 of 7 shards are missing", job.results))

    assert (job.run_shard(4, threads=1), job.run_shard(4)) == ("written", "there")
    status = job.status()
    assert (status.present, status.missing) == ([range(4, 5)], [range(0, 4), range(5, 7)])
    assert (status.done, status.is_complete, status.wrong) == (1, False, {})

    seen: list[homaes.JobProgress] = []
    report = job.run(shards=range(2, 6), progress=seen.append)
    assert (report.shards, report.there, report.evaluated, report.by_others) == (4, 1, 3, 0)
    assert [(event.shard, event.done) for event in seen] == [(2, 2), (3, 3), (5, 4)]
    assert all(event.seconds > 0 and event.outcome == "written" for event in seen)
    report = job.run(progress=True)
    assert (report.shards, report.there, report.evaluated) == (7, 4, 3)
    assert job.run(shards=[]).shards == 0 and job.status().is_complete

    results = job.results()
    assert results.to_bytes() == expected
    assert results.batches == 20 and results.job == job.location and results.path is None
    assert f"of the job at {place}/job" in repr(results)
    for one in (results, pickle.loads(pickle.dumps(results)), "job", homaes.Ciphertexts.open("job")):
        assert world.keys.secret.decrypt(one) == MESSAGE
    assert job.merge("o.hct").path is not None
    results.save("p.hct")
    assert Path("o.hct").read_bytes() == Path("p.hct").read_bytes() == expected
    refused((FileExistsError, "", lambda: job.merge("o.hct")))
    job.merge("o.hct", force=True)
    job.remove()
    assert not Path("job").joinpath("job.json").exists()
    refused((homaes.JobError, "not a job", lambda: homaes.Job.open("job")))


def test_one_worker_for_many_calls(world: World, place: Path) -> None:
    job = plan(shard_batches=2)
    refused((TypeError, "found one", lambda: job.worker(eval_key=world.keys.eval)))
    with job.worker(eval_key=world.keys.eval, wrapped_key=world.wrapped) as worker:
        assert worker.threads >= 1 and worker.job is job
        outcome, seconds = worker.evaluate(0)
        assert outcome == "written" and seconds > 0
        assert worker.run(shards={9, 8, 1}).evaluated == 3
        assert worker.verify(1.0) == homaes.JobVerified(4, 4, 6, {})
        refused(
            (homaes.ParametersError, "there is no shard 10", lambda: worker.run(shards=[10])),
            (homaes.ParametersError, "there is no shard 10", lambda: worker.run_shard(10)),
            (ValueError, "found -1", lambda: worker.run(shards=[-1])),
            (ValueError, "found -1", lambda: worker.run_shard(-1)),
            (ValueError, f"found {1 << 64}", lambda: worker.run_shard(1 << 64)),
            (TypeError, "", lambda: worker.run(shards=["a"])),  # type: ignore[list-item]
            (ValueError, "sample", lambda: worker.verify(1.5)),
        )
    refused((ValueError, "JobWorker is closed", worker.run))
    other = world.keys.secret.wrap(AES_KEY)
    with pytest.raises(homaes.KeyMismatchError, match="not those of the plan"):
        job.worker(eval_key=world.keys.eval, wrapped_key=other)


def test_what_is_refused(world: World, place: Path) -> None:
    def planned(data: Any = "c", mode: modes.Mode = CTR, **how: Any) -> homaes.Job:
        keys: dict[str, Any] = {"eval_key": "eval.hek", "wrapped_key": "key.hwk"}
        return homaes.Job.plan(data, mode, **keys | how, out="job")

    tagged = modes.GCM(bytes(12), tag=bytes(16))
    Path("empty").write_bytes(b"")
    refused(
        (TypeError, "workers read the message of a job from files", lambda: planned(b"bytes")),
        (ValueError, "eval_key: is in memory", lambda: planned(eval_key=world.keys.eval)),
        (ValueError, "in a file of a job the tag follows", lambda: planned(mode=tagged)),
        *((ValueError, f"shard_batches: found {n}", partial(planned, shard_batches=n)) for n in (0, -1, 1 << 70)),
        (homaes.ParametersError, "at least one byte", lambda: planned("empty")),
        (homaes.HomaesError, "", lambda: homaes.Job.open("http://host/job")),
        (FileNotFoundError, "'none'", lambda: planned(data="none")),
        (FileNotFoundError, "'none'", lambda: planned(eval_key="none")),
        (homaes.JobError, "not a job.*Job.plan", lambda: homaes.Job.open("job")),
    )
    planned(shard_batches=2)
    refused((homaes.JobError, "holds another job", lambda: planned(shard_batches=3)))


def test_wrong_shards_are_to_be_removed(world: World, place: Path) -> None:
    job = plan(shard_batches=10)
    job.run()
    shard, remedy = Path("job/shards/000001.hcs"), "remove it, and evaluate it again with Job.run"
    good = shard.read_bytes()
    calls = (partial(job.merge, "o"), lambda: job.results().save("o"), lambda: world.keys.secret.decrypt("job"))
    for wrong in (good[:-1] + bytes([good[-1] ^ 1]), good[:-1]):
        shard.write_bytes(wrong)
        refused(*((homaes.HomaesError, f"000001.hcs.*; {remedy}$", call) for call in calls))
        assert not Path("o").exists() and list(job.verify().wrong) == [1]
    assert job.status().wrong == {1: len(good) - 1}
    with pytest.raises(homaes.ShardMismatchError, match="truncated") as cut:
        job.run()
    assert (cut.value.found, cut.value.expected) == (len(good) - 1, len(good))
    # a folder in its place
    shard.unlink()
    (shard / "in").mkdir(parents=True)
    (shard / "in" / "x").write_bytes(b"x")
    assert job.status().wrong == {1: 0} and not job.status().is_complete
    for call in (job.run, partial(job.run_shard, 1)):
        refused((homaes.ShardMismatchError, "000001.hcs: not a regular file", call))
    assert "not a regular file" in job.verify().wrong[1]


def test_workers_share(place: Path, expected: bytes) -> None:
    job = plan(shard_batches=1)
    with job.worker(threads=1) as one, job.worker(threads=1) as two:
        reports = at_once(one.run, two.run)
    assert sum(report.evaluated for report in reports) == 20
    assert job.results().to_bytes() == expected


PLAN = """
begun()
homaes.Job.plan("c", modes.CTR(bytes(16)), eval_key="eval.hek", wrapped_key="key.hwk",
                out="job", shard_batches=10**6, ignore_space=True)
"""


def test_ctrl_c(place: Path) -> None:
    Path("c").write_bytes(bytes(10**7))
    job = plan(shard_batches=50)
    assert interrupted('homaes.Job.open("job").run(threads=1, progress=begun)') == 3
    done = job.status().done
    assert 0 < done < job.shards
    left = {path.name for path in Path("job/shards").iterdir()}
    assert len(left) == done and not any(name.startswith(".") for name in left)


def test_ctrl_c_while_planning(place: Path) -> None:
    os.truncate("c", 1 << 34)
    assert interrupted(PLAN, pause=0.5) == 3
    assert not Path("job", "job.json").exists()


def test_cancel_from_another_thread(place: Path) -> None:
    Path("c").write_bytes(bytes(10**7))
    job = plan(shard_batches=60)
    with job.worker(threads=1) as worker:

        def run() -> float:
            refused((homaes.Cancelled, "", worker.run))
            return time.monotonic()

        def cancel() -> float:
            time.sleep(0.3)
            worker.cancel()
            return time.monotonic()

        cancelled, ended = sorted(at_once(run, cancel))
        assert ended - cancelled < 1
        # and the next call goes on
        assert worker.run(shards=[1]).evaluated == 1


def test_a_job_travels_by_name(place: Path) -> None:
    job = plan(shard_batches=5)
    text = pickle.dumps(job)
    copy = pickle.loads(text)
    assert copy.id == job.id and Path(copy.location).is_absolute()
    job.remove()
    plan(shard_batches=5)
    assert pickle.loads(text).id == job.id
    homaes.Job.open("job").remove()
    plan(shard_batches=4)
    refused((homaes.JobError, "another job than when it was pickled", lambda: pickle.loads(text)))


def test_jobs_stay_where_they_are(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = plan(shard_batches=5)
    (place / "other").mkdir()
    monkeypatch.chdir(place / "other")
    for name in ("c", "eval.hek", "key.hwk"):
        os.link(place / name, name)
    other = plan(shard_batches=4)
    other.run()
    assert job.run(shards=[0]).evaluated == 1 and other.verify().wrong == {}
    job.remove()
    assert other.status().is_complete


def test_shards_that_go_while_it_runs_are_missed(place: Path) -> None:
    job = plan(shard_batches=4)

    def follow(event: homaes.JobProgress) -> None:
        if event.done == 3:
            os.remove("job/shards/000001.hcs")

    refused((homaes.JobError, "1 of 5 shards are missing", lambda: job.run(progress=follow)))
    assert job.run().evaluated == 1


def test_keys_are_those_that_were_loaded(world: World, place: Path) -> None:
    wrapped = homaes.WrappedKey.load("key.hwk")
    ct = homaes.Transcipher(world.keys.eval, wrapped).run("c", CTR, Path("o.hct"))
    text = pickle.dumps(wrapped), pickle.dumps(ct)
    world.keys.secret.wrap(bytes(16)).save("key.hwk", force=True)
    Path("o.hct").write_bytes(Path("o.hct").read_bytes())
    job = partial(homaes.Job.plan, "c", CTR, eval_key="eval.hek", wrapped_key=wrapped, out="j")
    calls = (partial(pickle.dumps, wrapped), partial(pickle.dumps, ct), partial(world.keys.secret.decrypt, ct), job)
    refused(*((homaes.FileFormatError, "changed since it was opened", call) for call in (*calls, partial(list, ct))))
    # the one that is open in this process
    assert pickle.loads(text[0]) is wrapped
    # it is the same one wherever the process goes
    again = homaes.Ciphertexts.open("o.hct")
    os.chdir("/")
    assert again.path is not None and os.path.isabs(again.path)
    assert world.keys.secret.decrypt(again) == MESSAGE
