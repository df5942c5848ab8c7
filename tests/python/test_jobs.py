"""Jobs: many workers, one file of results."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import homaes
import pytest
from conftest import AES_KEY, World, ctr
from homaes import modes

MESSAGE = bytes(range(256)) * 20
MODE = modes.CTR(bytes(16))


@pytest.fixture
def place(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with keys and a message of twenty batches."""
    monkeypatch.chdir(tmp_path)
    world.keys.eval.save("eval.hek")
    world.wrapped.save("key.hwk")
    Path("c").write_bytes(ctr(MESSAGE))
    return tmp_path


def plan(out: str = "job", **more: int) -> homaes.Job:
    return homaes.Job.plan(
        "c", MODE, eval_key="eval.hek", wrapped_key="key.hwk", out=out, **more
    )


@pytest.fixture
def expected(world: World, place: Path) -> bytes:
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        return t.run("c", MODE, reproducible=True).to_bytes()


def test_the_whole_way(world: World, place: Path, expected: bytes) -> None:
    job = plan(shard_batches=3)
    assert (job.shards, job.batches, job.shard_batches) == (7, 20, 3)
    assert (job.set, job.layout, job.part_count) == (world.set, "sliced", 1)
    assert (job.bytes, job.file_bytes) == (len(MESSAGE), len(expected))
    assert job == plan(shard_batches=3) == homaes.Job.open("job")
    with pytest.raises(homaes.JobError, match="7 of 7 shards are missing"):
        job.results()

    assert job.run_shard(4, threads=1) == "written"
    assert job.run_shard(4) == "there"
    status = job.status()
    assert status.present == [range(4, 5)]
    assert status.missing == [range(0, 4), range(5, 7)]
    assert (status.done, status.is_complete, status.wrong) == (1, False, {})

    seen: list[homaes.JobProgress] = []
    report = job.run(shards=range(2, 6), progress=seen.append)
    assert (report.shards, report.there, report.evaluated) == (4, 1, 3)
    assert report.by_others == 0
    assert [event.shard for event in seen] == [2, 3, 5]
    assert [event.done for event in seen] == [2, 3, 4]
    assert all(event.seconds > 0 and event.outcome == "written" for event in seen)
    report = job.run(progress=True)
    assert (report.shards, report.there, report.evaluated) == (7, 4, 3)
    assert job.run(shards=[]).shards == 0
    assert job.status().is_complete

    results = job.results()
    assert results.to_bytes() == expected
    assert results.batches == 20 and results.job == job.location and results.path is None
    assert f"of the job at {place}/job" in repr(results)
    again = pickle.loads(pickle.dumps(results))
    for one in (results, again, "job", homaes.Ciphertexts.open("job")):
        assert world.keys.secret.decrypt(one) == MESSAGE
    assert job.merge("o.hct").path is not None
    assert Path("o.hct").read_bytes() == expected
    results.save("p.hct")
    assert Path("p.hct").read_bytes() == expected
    with pytest.raises(FileExistsError):
        job.merge("o.hct")
    job.merge("o.hct", force=True)
    job.remove()
    assert not Path("job").joinpath("job.json").exists()
    with pytest.raises(homaes.JobError, match="not a job"):
        homaes.Job.open("job")


def test_every_cut_gives_the_same(place: Path, expected: bytes) -> None:
    for batches, shards in [(1, 20), (2, 10), (7, 3), (20, 1), (1000, 1)]:
        job = plan(f"job{batches}", shard_batches=batches)
        assert job.shards == shards
        job.run(threads=1)
        assert job.results().to_bytes() == expected


def test_one_worker_for_many_calls(world: World, place: Path, expected: bytes) -> None:
    job = plan(shard_batches=2)
    with pytest.raises(TypeError, match="found one"):
        job.worker(eval_key=world.keys.eval)
    with job.worker(eval_key=world.keys.eval, wrapped_key=world.wrapped) as worker:
        assert worker.threads >= 1 and worker.job is job
        outcome, seconds = worker.evaluate(0)
        assert outcome == "written" and seconds > 0
        assert worker.run(shards={9, 8, 1}).evaluated == 3
        assert worker.verify(1.0) == homaes.JobVerified(4, 4, 6, {})
        with pytest.raises(homaes.ParametersError, match="there is no shard 10"):
            worker.run(shards=[10])
        with pytest.raises(homaes.ParametersError, match="there is no shard 10"):
            worker.run_shard(10)
        with pytest.raises(ValueError, match="found -1"):
            worker.run(shards=[-1])
        for wrong in (-1, 1 << 64):
            with pytest.raises(ValueError, match=f"found {wrong}"):
                worker.run_shard(wrong)
        with pytest.raises(TypeError):
            worker.run(shards=["a"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="sample"):
            worker.verify(1.5)
    with pytest.raises(ValueError, match="JobWorker is closed"):
        worker.run()
    other = world.keys.secret.wrap(AES_KEY)
    with pytest.raises(homaes.KeyMismatchError, match="not those of the plan"):
        job.worker(eval_key=world.keys.eval, wrapped_key=other)


def test_many_parts(world: World, place: Path) -> None:
    texts = {"a": b"first", "b": MESSAGE}
    for number, (name, text) in enumerate(texts.items()):
        Path(name).write_bytes(ctr(text, bytes([number + 1] + 15 * [0])))
    message = homaes.Message.of_files(
        (name, modes.CTR(bytes([number + 1] + 15 * [0])))
        for number, name in enumerate(texts)
    )
    job = homaes.Job.plan(
        message,
        eval_key=homaes.EvalKey.load("eval.hek"),
        wrapped_key=homaes.WrappedKey.load("key.hwk"),
        out="job",
    )
    assert job.part_count == 2
    job.run()
    for name, text in texts.items():
        assert world.keys.secret.decrypt(job.results(), part=name) == text


def test_what_is_refused(world: World, place: Path) -> None:
    with pytest.raises(TypeError, match="workers read the message of a job from files"):
        homaes.Job.plan(
            b"bytes", MODE, eval_key="eval.hek", wrapped_key="key.hwk", out="job"
        )
    with pytest.raises(ValueError, match="eval_key: is in memory"):
        homaes.Job.plan(
            "c", MODE, eval_key=world.keys.eval, wrapped_key="key.hwk", out="job"
        )
    with pytest.raises(ValueError, match="the tag|tag: in a file"):
        homaes.Job.plan(
            "c",
            modes.GCM(bytes(12), tag=bytes(16)),
            eval_key="eval.hek",
            wrapped_key="key.hwk",
            out="job",
        )
    for name in ("c", "eval.hek"):
        with pytest.raises(FileNotFoundError) as missing:
            homaes.Job.plan(
                "none" if name == "c" else "c",
                MODE,
                eval_key="none" if name == "eval.hek" else "eval.hek",
                wrapped_key="key.hwk",
                out="job",
            )
        assert missing.value.filename == "none"
    for wrong in (0, -1, 1 << 70):
        with pytest.raises(ValueError, match=f"shard_batches: found {wrong}"):
            plan(shard_batches=wrong)
    Path("empty").write_bytes(b"")
    with pytest.raises(homaes.ParametersError, match="at least one byte"):
        homaes.Job.plan(
            "empty", MODE, eval_key="eval.hek", wrapped_key="key.hwk", out="job"
        )
    assert not Path("job", "job.json").exists()
    with pytest.raises(homaes.JobError, match="not a job") as none:
        homaes.Job.open("job")
    assert none.value.remedy is not None and "Job.plan" in none.value.remedy
    with pytest.raises(homaes.HomaesError):
        homaes.Job.open("http://host/job")
    plan(shard_batches=2)
    with pytest.raises(homaes.JobError, match="holds another job"):
        plan(shard_batches=3)


def test_changes_are_named(place: Path) -> None:
    job = plan(shard_batches=4)
    job.run(shards=[0, 2])
    data = bytearray(Path("c").read_bytes())
    data[300 * 4] ^= 1
    Path("c").write_bytes(data)
    with pytest.raises(homaes.JobError, match="changed since the job was planned") as no:
        job.run()
    assert os.fspath(no.value.path or "").endswith("c") and not no.value.temporary
    Path("c").write_bytes(ctr(MESSAGE))
    shard = Path("job/shards/000002.hcs")
    good = shard.read_bytes()
    shard.write_bytes(good[:-1])
    assert job.status().wrong == {2: len(good) - 1}
    with pytest.raises(homaes.ShardMismatchError, match="truncated") as cut:
        job.run()
    assert (cut.value.found, cut.value.expected) == (len(good) - 1, len(good))
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 16
    shard.write_bytes(flipped)
    found = job.verify()
    assert list(found.wrong) == [2] and found.shards == 1 and found.missing == 3
    job.run(shards=[1, 3, 4])
    with pytest.raises(homaes.HomaesError):
        job.merge("o.hct")
    assert not Path("o.hct").exists()


def test_workers_share(place: Path, expected: bytes) -> None:
    job = plan(shard_batches=1)
    with job.worker(threads=1) as one, job.worker(threads=1) as two:
        reports: list[homaes.JobReport] = []
        threads = [
            threading.Thread(target=lambda w=w: reports.append(w.run()))
            for w in (one, two)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(report.evaluated for report in reports) == 20
    assert job.results().to_bytes() == expected
    logs = [
        json.loads(line)["shard"]
        for log in Path("job/log").iterdir()
        for line in log.read_text().splitlines()
    ]
    assert sorted(logs) == list(range(20))


CHILD = """
import sys, time
import homaes
def tell(event):
    print("begun", flush=True)
try:
    homaes.Job.open("job").run(threads=1, progress=tell)
except KeyboardInterrupt:
    print(time.time(), flush=True)
    sys.exit(3)
"""


def test_ctrl_c(place: Path) -> None:
    Path("c").write_bytes(bytes(10**7))
    job = plan(shard_batches=50)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    sent = time.time()
    child.send_signal(signal.SIGINT)
    lines = iter(child.stdout.readline, "")
    raised = float(next(line for line in lines if line != "begun\n"))
    assert raised - sent < 1, f"{raised - sent:.2f} s"
    assert child.wait() == 3
    child.stdout.close()
    done = job.status().done
    assert 0 < done < job.shards
    left = {path.name for path in Path("job/shards").iterdir()}
    assert len(left) == done and not any(name.startswith(".") for name in left)


PLANNER = """
import time
import homaes
from homaes import modes
print("begun", flush=True)
try:
    homaes.Job.plan("c", modes.CTR(bytes(16)), eval_key="eval.hek", wrapped_key="key.hwk",
                    out="job", shard_batches=10**6, ignore_space=True)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def test_ctrl_c_while_planning(place: Path) -> None:
    os.truncate("c", 1 << 34)
    child = subprocess.Popen([sys.executable, "-c", PLANNER], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    raised = float(child.stdout.readline())
    assert raised - sent < 1, f"{raised - sent:.2f} s"
    assert child.wait() == 0
    child.stdout.close()
    assert not Path("job", "job.json").exists()


def test_cancel_from_another_thread(place: Path) -> None:
    Path("c").write_bytes(bytes(10**7))
    job = plan(shard_batches=60)
    with job.worker(threads=1) as worker:
        ended: list[BaseException] = []

        def run() -> None:
            try:
                worker.run()
            except homaes.Cancelled as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(0.3)
        worker.cancel()
        thread.join(1)
        assert not thread.is_alive() and len(ended) == 1
        # and the next call goes on
        assert worker.run(shards=[1]).evaluated == 1


def test_a_job_travels_by_name(place: Path) -> None:
    job = plan(shard_batches=5)
    copy = pickle.loads(pickle.dumps(job))
    assert copy.id == job.id and Path(copy.location).is_absolute()
    text = pickle.dumps(job)
    job.remove()
    plan(shard_batches=5)
    assert pickle.loads(text).id == job.id
    homaes.Job.open("job").remove()
    Path("c").write_bytes(bytes(1000))
    plan(shard_batches=5)
    with pytest.raises(homaes.JobError, match="another job than when it was pickled"):
        pickle.loads(text)


def test_jobs_stay_where_they_are(
    world: World, place: Path, expected: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    # one that is not there any more, and another one in its place
    again = plan("../job", shard_batches=3)
    for call in (job.run, job.remove, lambda: job.run_shard(1)):
        with pytest.raises(homaes.JobError, match="holds another job|not those of the plan"):
            call()
    assert again.status().done == 0
    assert Path(job.location, "job.json").exists()


def test_shards_that_go_while_it_runs_are_missed(place: Path) -> None:
    job = plan(shard_batches=2)

    def follow(event: homaes.JobProgress) -> None:
        if event.done == 5:
            os.remove("job/shards/000001.hcs")

    with pytest.raises(homaes.JobError, match="1 of 10 shards are missing"):
        job.run(progress=follow)
    assert job.run().evaluated == 1


def test_keys_are_those_that_were_loaded(world: World, place: Path) -> None:
    wrapped = homaes.WrappedKey.load("key.hwk")
    ct = homaes.Transcipher(world.keys.eval, wrapped).run("c", MODE, "o.hct")
    text = pickle.dumps(wrapped), pickle.dumps(ct)
    world.keys.secret.wrap(bytes(16)).save("key.hwk", force=True)
    Path("o.hct").write_bytes(Path("o.hct").read_bytes())
    for call in (
        lambda: pickle.dumps(wrapped),
        lambda: pickle.dumps(ct),
        lambda: world.keys.secret.decrypt(ct),
        lambda: list(ct),
        lambda: homaes.Job.plan("c", MODE, eval_key="eval.hek", wrapped_key=wrapped, out="j"),
    ):
        with pytest.raises(homaes.FileFormatError, match="changed since it was opened"):
            call()
    # the one that is open in this process
    assert pickle.loads(text[0]) is wrapped
    # it is the same one wherever the process goes
    again = homaes.Ciphertexts.open("o.hct")
    os.chdir("/")
    assert again.path is not None and os.path.isabs(again.path)
    assert world.keys.secret.decrypt(again) == MESSAGE
