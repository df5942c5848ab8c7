"""Count instructions of a transform of conductor 65535 on aarch64 under qemu, for portable and NEON kernels.

    python tools/measure/instructions.py

Needs what .ci/aarch64 installs. The counts say nothing about the time that a processor takes.
"""

from __future__ import annotations

import json
import os
import subprocess

TARGET = "aarch64-unknown-linux-gnu"
EMULATOR = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
TEST = "transform::tests::transforms_to_count"


def main() -> None:
    program = built()
    each = {}
    for kernels in ["portable", "neon"]:
        # the difference excludes what precedes the transforms
        one, three = (counted(program, kernels, count) for count in [1, 3])
        each[kernels] = (three - one) // 2
        print(f"{kernels}: {each[kernels]:,} instructions a transform", flush=True)
    print(f"portable over neon: {each['portable'] / each['neon']:.2f}")


def built() -> str:
    """Build the test program of homaes-math."""
    linker = {"CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc"}
    command = ["cargo", "test", "--release", "--target", TARGET, "-p", "homaes-math", "--lib", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, env=os.environ | linker, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    programs = [message.get("executable") for message in map(json.loads, lines)]
    (program,) = filter(None, programs)
    return program


def counted(program: str, kernels: str, count: int) -> int:
    """Instructions of the program for `count` transforms: qemu logs a line for each."""
    environ = os.environ | {"HOMAES_BACKEND": kernels, "HOMAES_TRANSFORMS": str(count)}
    log = ["-d", "exec,nochain", one_instruction()]
    command = [*EMULATOR, *log, program, "--ignored", "--exact", TEST, "--test-threads=1"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        lines = subprocess.run(["grep", "-c", "^Trace"], stdin=run.stderr, stdout=subprocess.PIPE, check=True).stdout
    if run.returncode != 0:
        raise SystemExit(f"qemu-aarch64 ended with exit code {run.returncode}")
    return int(lines)


def one_instruction() -> str:
    """The option for blocks of one instruction, which newer versions of qemu renamed."""
    text = subprocess.run(["qemu-aarch64", "-h"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return "-one-insn-per-tb" if "-one-insn-per-tb" in text else "-singlestep"


if __name__ == "__main__":
    main()
