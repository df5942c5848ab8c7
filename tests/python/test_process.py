"""What concerns the whole process: signals, threads, memory, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import homaes
import pytest
from conftest import AES_KEY, CTR, World, ctr, interrupted

CHILD = """
import sys, time
import homaes
from homaes import modes
evaluation = homaes.EvalKey.load("eval.hek")
wrapped = homaes.WrappedKey.load("key.hwk")
t = homaes.Transcipher(evaluation, wrapped, threads=1)
out = None if sys.argv[1] == "-" else sys.argv[1]
def tell(progress):
    if progress.batch == 0 and progress.round == 0:
        print("begun", flush=True)
try:
    t.run(bytes(10**8), modes.CTR(bytes(16)), out, progress=tell)
except KeyboardInterrupt:
    print(time.time(), flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize(("place", "pause"), [("-", 0.0), ("o.hct", 0.05), ("o.hct", 0.2)])
def test_ctrl_c(place: str, pause: float, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world.save(tmp_path, b"")
    before = sorted(tmp_path.iterdir())
    assert interrupted(CHILD, place, pause=pause) == 3
    assert sorted(tmp_path.iterdir()) == before


def count_for(seconds: float) -> float:
    """How often a Python loop goes round in a second."""
    start, count = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        for _ in range(1000):
            count += 1
    return count / seconds


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core is shared by both threads")
def test_other_threads_go_on(world: World) -> None:
    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        best = 0.0
        # other processes may take a core: one good try of five shows it
        for _ in range(5):
            idle = count_for(0.4)
            done = threading.Event()

            def stop(_: homaes.Progress) -> None:
                if done.is_set():
                    raise InterruptedError

            def run() -> None:
                with pytest.raises(InterruptedError):
                    t.run(bytes(10**7), CTR, progress=stop)

            thread = threading.Thread(target=run)
            thread.start()
            time.sleep(0.1)
            busy = count_for(0.4)
            done.set()
            thread.join()
            best = max(best, busy / idle)
            if best >= 0.8:
                break
    assert best >= 0.8, f"{best:.2f} of the idle speed"


MEMORY = """
import resource, sys
import homaes
from homaes import modes

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

class Enough(Exception):
    pass

def stop(progress):
    if progress.batch == 20:
        raise Enough

evaluation = homaes.EvalKey.load("eval.hek")
wrapped = homaes.WrappedKey.load("key.hwk")
t = homaes.Transcipher(evaluation, wrapped, threads=1)
def run(data):
    try:
        t.run(data, modes.CTR(bytes(16)), "o", progress=stop)
    except Enough:
        pass
data = bytearray(1 << 26)
data[::4096] = b"x" * (1 << 14)
run(memoryview(data)[: 1 << 16])
before = peak()
run(memoryview(data))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit")
def test_buffers_are_not_copied(world: World, tmp_path: Path) -> None:
    world.save(tmp_path, b"")
    child = subprocess.run(
        [sys.executable, "-c", MEMORY], cwd=tmp_path, capture_output=True, text=True
    )
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) < 1024, f"{child.stdout} KiB more"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_a_forked_process_is_told(world: World) -> None:
    with homaes.Transcipher(world.keys.eval, world.wrapped) as t:
        t.run(b"", CTR)
        child = os.fork()
        if child == 0:
            try:
                t.run(b"x", CTR)
            except ValueError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from homaes._command import main; main()"]
    return subprocess.run([*program, *line.split()], capture_output=True, text=True, cwd=folder)


def test_the_command_is_in_the_wheel(world: World, tmp_path: Path) -> None:
    shown = command("--version", tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.split() == ["homaes", homaes.__version__]
    wrong = command("no-such-command", tmp_path)
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ")
    # files are the same for both
    world.keys.save(tmp_path / "keys")
    (tmp_path / "aes").write_bytes(AES_KEY)
    (tmp_path / "c").write_bytes(ctr(b"both ways"))
    circuit = homaes.bgv.Circuit(world.keys.eval)
    homaes.save_values(tmp_path / "x.hcv", {"é": circuit.load(world.run(ctr(bytes(16))))[0]}, circuit)
    for line in (
        "wrap-key --secret keys/secret.hsk --key-file aes -o key.hwk",
        f"transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {'00' * 16} c -o o.hct",
        "decrypt --json --secret keys/secret.hsk x.hcv",
    ):
        done = command(line, tmp_path)
        assert done.returncode == 0, done.stderr
    assert [value["label"] for value in json.loads(done.stdout)["values"]] == ["é"]
    assert world.keys.secret.decrypt(tmp_path / "o.hct") == b"both ways"
