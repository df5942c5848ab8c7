"""What concerns the whole process: signals, threads, memory, and the command."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from pathlib import Path

import homaes
import pytest
from conftest import AES_KEY, CTR, World, ctr, interrupted, python, refused

RUN = """
t = homaes.Transcipher(homaes.EvalKey.load("eval.hek"), homaes.WrappedKey.load("key.hwk"), threads=1)
out = None if sys.argv[1] == "-" else sys.argv[1]
t.run(bytes(10**8), modes.CTR(bytes(16)), out, progress=lambda p: p.batch or p.round or begun())
"""


@pytest.mark.parametrize(("place", "pause"), [("-", 0.0), ("o.hct", 0.05), ("o.hct", 0.2)])
def test_ctrl_c(place: str, pause: float, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    world.save(tmp_path, b"")
    before = sorted(tmp_path.iterdir())
    assert interrupted(RUN, place, pause=pause) == 3
    assert sorted(tmp_path.iterdir()) == before


def test_other_threads_go_on(world: World) -> None:
    with homaes.Transcipher(world.keys.eval, world.wrapped, threads=1) as t:
        thread = threading.Thread(target=t.run, args=[bytes(20_000), CTR])
        thread.start()
        # Python would return from this after the run, if the run kept its lock
        time.sleep(0.01)
        assert thread.is_alive()
        thread.join()


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
    child = python(MEMORY, cwd=tmp_path, text=True)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) < 1024, f"{child.stdout} KiB more"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_a_forked_process_is_told(world: World) -> None:
    circuit = homaes.bgv.Circuit(world.keys.eval)
    wrapped = world.keys.secret.wrap(AES_KEY, levels_left=1)
    with homaes.Transcipher(world.keys.eval, wrapped) as t:
        v = circuit.load(t.run(bytes(16), CTR))[0]
        child = os.fork()
        if child == 0:
            code = 1
            try:
                refused((ValueError, "forked", lambda: t.run(b"x", CTR)), (ValueError, "forked", lambda: v ^ 1))
                # this does not wait for threads either
                del v, circuit
                code = 0
            finally:
                os._exit(code)
        end = time.monotonic() + 30
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
            time.sleep(0.05)
        if ended == (0, 0):
            os.kill(child, 9)
        assert ended[0] == child and os.waitstatus_to_exitcode(ended[1]) == 0


def test_the_command_is_in_the_wheel(world: World, tmp_path: Path) -> None:
    program = "import sys; from homaes._homaes import run_command; sys.exit(run_command())"
    command = partial(python, program, text=True, cwd=tmp_path)
    assert command("--version", check=True).stdout.split() == ["homaes", homaes.__version__]
    wrong = command("no-such-command")
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: ")
    # files are the same for both
    world.keys.save(tmp_path / "keys")
    (tmp_path / "aes").write_bytes(AES_KEY)
    (tmp_path / "c").write_bytes(ctr(b"both ways"))
    for line in (
        "wrap-key --secret keys/secret.hsk --key-file aes -o key.hwk",
        f"transcipher --eval keys/eval.hek --wrapped-key key.hwk --mode ctr --iv {'00' * 16} c -o o.hct",
    ):
        assert command(*line.split()).returncode == 0, line
    assert world.keys.secret.decrypt(tmp_path / "o.hct") == b"both ways"
