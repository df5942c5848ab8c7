"""Measure what resuming, jobs, Python and Ray cost: seconds of work over those of a plain run of the same batches.

    python tools/measure/overheads.py target/release/homaes --set bgv/aes128 --batches 8 --rounds 3

Needs the package homaes in this Python, and ray for Ray.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import homaes
from homaes import modes

IV = bytes(16)

# must be set before ray is imported: its ports are open to the network
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", os.urandom(32).hex())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("homaes", type=Path, help="the command, built for release")
    parser.add_argument("--set", default="bgv/aes128")
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    command = given.homaes.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        measure(command, given)


def measure(command: Path, given: argparse.Namespace) -> None:
    keys = homaes.keygen(given.set, accept_insecure=True)
    keys.save("keys")
    keys.secret.wrap(os.urandom(16)).save("key.hwk")
    card = next(card for card in homaes.sets() if card.name == given.set)
    Path("c").write_bytes(bytes(16 * card.blocks_per_batch * given.batches))

    def transcipher(*more: str) -> float:
        line = [command, "transcipher", "--eval", "keys/eval.hek", "--wrapped-key", "key.hwk"]
        line += ["--mode", "ctr", "--iv", IV.hex(), "c", "-o", "o.hct", "--force", *more]
        return last_event([*line, "--progress", "json"])["report"]["seconds"]

    def job() -> homaes.Job:
        shutil.rmtree("job", ignore_errors=True)
        paths = {"eval_key": "keys/eval.hek", "wrapped_key": "key.hwk", "out": "job"}
        return homaes.Job.plan("c", modes.CTR(IV), **paths, shard_batches=max(given.batches // 4, 1))

    def run_job() -> float:
        job()
        return last_event([command, "job", "run", "job", "--progress", "json"])["seconds"]

    def python() -> float:
        evaluation = homaes.EvalKey.load("keys/eval.hek")
        with homaes.Transcipher(evaluation, homaes.WrappedKey.load("key.hwk")) as t:
            return t.run("c", modes.CTR(IV), "o.hct", force=True).report.seconds

    def ray() -> float:
        import homaes.ray

        report = homaes.ray.run(job())
        return report.seconds - report.setup_seconds

    ways = {
        "transcipher": transcipher,
        "transcipher --resume": lambda: transcipher("--resume"),
        "job run": run_job,
        "Python": python,
        "Ray": ray,
    }
    if find_spec("ray") is None:
        print("Ray: skipped, the package ray is not installed")
        del ways["Ray"]
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.rounds):
        for name, way in ways.items():
            seconds[name].append(way())
    plain = statistics.median(seconds["transcipher"])
    print(f"{given.set}, {given.batches} batches, {os.cpu_count()} cores, medians of {given.rounds}")
    for name, all_seconds in seconds.items():
        median = statistics.median(all_seconds)
        spread = max(all_seconds) / min(all_seconds)
        print(f"{name:22}{median:8.2f} s{100 * (median / plain - 1):+8.2f} %   spread {spread:.3f}")


def last_event(line: list[object]) -> dict[str, object]:
    """Run a command, and return its last JSON event."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    events = [text for text in (done.stdout + done.stderr).splitlines() if text.startswith("{")]
    return json.loads(events[-1])


if __name__ == "__main__":
    main()
