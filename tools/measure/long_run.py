"""Interrupt a long run, and measure how true its time estimate was and how much memory it took.

    python tools/measure/long_run.py target/release/homaes --set bgv/aes128 --blocks 1000000 --interruptions 3

Runs `transcipher --resume`, interrupts it at moments spread over the run, and restarts it. Prints the estimate after
5 % and the actual seconds of work, the peak memory of every start, and the output's digest. --check compares the output
with an uninterrupted run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import homaes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("homaes", type=Path, help="the command, built for release")
    parser.add_argument("--set", default="bgv/aes128")
    parser.add_argument("--blocks", type=int, default=1_000_000)
    parser.add_argument("--interruptions", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=Path, default=Path("long_run"))
    given = parser.parse_args()
    command = given.homaes.resolve()
    given.folder.mkdir(exist_ok=True)
    os.chdir(given.folder)
    if not Path("key.hwk").exists():
        keys = homaes.keygen(given.set, accept_insecure=True)
        keys.save("keys", force=True)
        keys.secret.wrap(bytes(16)).save("key.hwk", force=True)
    Path("c").write_bytes(bytes(16 * given.blocks))
    for name in (".o.hct.homaes-part", ".o.hct.homaes-journal", "o.hct", "p.hct"):
        Path(name).unlink(missing_ok=True)
    parts = given.interruptions + 1
    stops = [(number + random.uniform(0.3, 0.7)) / parts for number in range(given.interruptions)]
    # not before the estimate is read
    stops = [max(stop, 0.06) for stop in stops] + [2.0]
    estimate: tuple[float, float] | None = None
    worked = 0.0
    for stop in stops:
        run = Run(command, "o.hct", "--resume")
        for event in run.events():
            now = worked + run.seconds()
            if estimate is None and event["fraction"] >= 0.05 and event["eta_seconds"] is not None:
                estimate = (now, event["eta_seconds"])
            if event["fraction"] >= stop:
                run.child.send_signal(signal.SIGINT)
        worked += run.seconds()
        ended = run.child.wait()
        said = run.said.strip().splitlines()
        print(f"start: {run.seconds():.0f} s, exit code {ended}, peak {run.peak >> 20} MiB; {said[-1][:150] if said else ''}", flush=True)
        if ended != (130 if stop < 1 else 0):
            raise SystemExit(run.said)
    if estimate is not None:
        at, eta = estimate
        truth = worked - at
        print(f"after 5 %: {eta:.0f} s left by the estimate, {truth:.0f} s in truth: {100 * (eta / truth - 1):+.1f} %")
    print(f"output: {Path('o.hct').stat().st_size} bytes, SHA-256 {digest('o.hct')}")
    if given.check:
        run = Run(command, "p.hct", "--reproducible")
        for _ in run.events():
            pass
        print(f"uninterrupted: exit code {run.child.wait()}, peak {run.peak >> 20} MiB, the same bytes: {digest('p.hct') == digest('o.hct')}")


class Run:
    """One start of the command, with its events."""

    def __init__(self, command: Path, out: str, how: str) -> None:
        line = [command, "transcipher", "--eval", "keys/eval.hek", "--wrapped-key", "key.hwk"]
        line += ["--mode", "ctr", "--iv", bytes(16).hex(), "c", "-o", out, how, "--progress", "json"]
        self.child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.begun: float | None = None
        self.last = time.monotonic()
        self.peak = 0
        self.said = ""

    def events(self):
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.last = time.monotonic()
            if not line.startswith("{"):
                self.said += line
                continue
            event = json.loads(line)
            if event["event"] != "round":
                continue
            # the estimate excludes the reading of keys, so time starts with the first round
            if self.begun is None:
                self.begun = self.last
            self.peak = max(self.peak, memory(self.child.pid))
            yield event

    def seconds(self) -> float:
        return 0.0 if self.begun is None else self.last - self.begun


def memory(process: int) -> int:
    """Peak memory of a process so far, in bytes."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    peak = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak[0]) << 10 if peak else 0


def digest(name: str) -> str:
    with open(name, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
