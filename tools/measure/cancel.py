"""Measure how long Ctrl-C takes at random moments of a run: in the command, in Python, and with Ray.

    python tools/measure/cancel.py target/release/homaes --set bgv/aes128 --moments 20

Needs the package homaes in this Python, and ray for Ray. Makes keys once and keeps them in --folder. Prints the longest
time from the signal to the exception (Python) or the end of the process (command). Fails if anything is left behind.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import homaes
from homaes import modes

# must be set before ray is imported: its ports are open to the network
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", os.urandom(32).hex())

PYTHON = """
import sys, time
import homaes
from homaes import modes
evaluation, wrapped = homaes.EvalKey.load("keys/eval.hek"), homaes.WrappedKey.load("key.hwk")
with homaes.Transcipher(evaluation, wrapped) as t:
    print("ready", flush=True)
    try:
        t.run("c", modes.CTR(bytes(16)), "o.hct")
    except KeyboardInterrupt:
        print(time.time(), flush=True)
"""

RAY = """
import sys, time
import homaes, homaes.ray, ray
ray.init(address="local", log_to_driver=False, include_dashboard=False)
print("ready", flush=True)
try:
    homaes.ray.run("job")
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("homaes", type=Path, help="the command, built for release")
    parser.add_argument("--set", default="bgv/aes128")
    parser.add_argument("--blocks", type=int, help="of the message; two batches unless given")
    parser.add_argument("--seconds", type=float, default=8.0, help="the last moment, from the start of the work")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--ways", default="command,python,ray")
    parser.add_argument("--folder", type=Path, default=Path("cancel"))
    given = parser.parse_args()
    command = given.homaes.resolve()
    folder = given.folder / given.set.replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    if not Path("key.hwk").exists():
        keys = homaes.keygen(given.set, accept_insecure=True)
        keys.save("keys", force=True)
        keys.secret.wrap(os.urandom(16)).save("key.hwk", force=True)
    card = next(card for card in homaes.sets() if card.name == given.set)
    Path("c").write_bytes(bytes(16 * (given.blocks or 2 * card.blocks_per_batch)))
    if not Path("job/job.json").exists():
        homaes.Job.plan("c", modes.CTR(bytes(16)), eval_key="keys/eval.hek", wrapped_key="key.hwk", out="job")
    line = [command, "transcipher", "--eval", "keys/eval.hek", "--wrapped-key", "key.hwk"]
    line += ["--mode", "ctr", "--iv", bytes(16).hex(), "c", "-o", "o.hct", "--progress", "json"]
    lines: dict[str, list[object]] = {
        "command": line,
        "python": [sys.executable, "-c", PYTHON],
        "ray": [sys.executable, "-c", RAY],
    }
    for way in given.ways.split(","):
        taken = [moment(lines[way], way, given.seconds) for _ in range(given.moments)]
        print(f"{given.set}, {way}: worst {max(taken):.2f} s of {given.moments} moments", flush=True)


def moment(line: list[object], way: str, last: float) -> float:
    """Seconds from a signal at a random moment to its effect."""
    before = sorted(os.listdir("."))
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(random.uniform(0.0, last))
    sent = time.time()
    child.send_signal(signal.SIGINT)
    if way == "command":
        child.communicate()
        ended, code = time.time(), 130
    else:
        said = child.stdout.readline()
        if not said:
            raise SystemExit(f"{way}: ended before the signal; use more --blocks")
        ended, code = float(said), 0
        child.communicate()
    if child.returncode != code:
        raise SystemExit(f"{way}: exit code {child.returncode}, expected {code}")
    left = sorted(set(os.listdir(".")) - set(before))
    if left:
        raise SystemExit(f"{way}: left behind: {left}")
    return ended - sent


if __name__ == "__main__":
    main()
