"""Registers and instructions of each GPU kernel, in doubles for the H100 and in integers for the RTX 40, for sets in R
and in K.

    python3 tools/gpu/static.py                 # prints the table
    python3 tools/gpu/static.py --check         # compares it with static.txt
    python3 tools/gpu/static.py > tools/gpu/static.txt

Needs no GPU. Installs NVRTC and the disassembler from PyPI into target/nvrtc. Their versions are fixed,
as the numbers depend on them. src/kernels.rs of homaes-cuda has the kernels' files and options.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATE = ROOT / "crates/homaes-cuda"
TABLE = ROOT / "tools/gpu/static.txt"
TOOLS = ROOT / "target/nvrtc"
PACKAGES = ["nvidia-cuda-nvrtc==13.0.88", "nvidia-cuda-nvdisasm==13.5.37"]
# architecture by arithmetic, as in the names of kernel files
TARGETS = {"double": "sm_90", "u64": "sm_89"}
# definitions of the secure sets by ring
RINGS = {"R": "-DCOLS=256 -DHALVES=1 -DPRIME_BITS=47", "K": "-DCOLS=256 -DHALVES=2 -DPRIME_BITS=48"}
PIPES = {
    "double": "DADD DFMA DMUL DSETP DMNMX",
    "shuffle": "SHFL",
    "shared": "LDS STS",
    "global": "LDG STG LD ST",
    "local": "LDL STL",
    "branch": "BRA BRX EXIT BAR BSSY BSYNC CALL RET WARPSYNC YIELD",
    "nothing": "NOP",
}
PIPE = {op: pipe for pipe, ops in PIPES.items() for op in ops.split()}
COLUMNS = ["double", "integer", "shuffle", "shared", "global", "local", "branch"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="only install the tools")
    parser.add_argument("--check", action="store_true", help="compare the table with static.txt")
    args = parser.parse_args()
    install()
    if args.install:
        return 0
    text = "\n".join(table(target, ring) for ring in RINGS for target in TARGETS)
    if not args.check:
        sys.stdout.write(text)
        return 0
    want = TABLE.read_text()
    lines = [t.splitlines(True) for t in (want, text)]
    sys.stdout.writelines(difflib.unified_diff(*lines, str(TABLE), "these kernels"))
    if text != want:
        print("the table differs; if this is intended, run: python3 tools/gpu/static.py > tools/gpu/static.txt")
    return int(text != want)


def install() -> None:
    have = {p.name for p in TOOLS.glob("*.dist-info")}
    want = {f"{p.replace('-', '_').replace('==', '-')}.dist-info" for p in PACKAGES}
    if not want <= have:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target", TOOLS]
        if subprocess.run(pip + PACKAGES, stdout=sys.stderr).returncode:
            sys.exit("pip cannot install the compiler and the disassembler; they need x86-64 and PyPI")


def source(target: str, ring: str) -> tuple[str, list[str]]:
    """The text of the kernels in one arithmetic, and the compiler's options."""
    rust = (CRATE / "src/kernels.rs").read_text()
    files = re.findall(r'include_str!\("\.\./kernels/([^"]*)"\)', rust)
    others = tuple(f"_{other}.h" for other in TARGETS if other != target)
    files = [f for f in files if not f.endswith(others)]
    (options,) = re.findall(r"OPTIONS[^=]*= &?\[(.*?)\];", rust, re.DOTALL)
    (most,) = re.findall(r"MOST_PRIMES: usize = (\d+);", rust)
    options = [*re.findall(r'"(.*?)"', options), *RINGS[ring].split(), f"-DMOST_PRIMES={most}"]
    return "".join((CRATE / "kernels" / f).read_text() for f in files), options


def compiled(target: str, text: str, options: list[str]) -> tuple[bytes, str]:
    """The program for the GPU, and the assembler's log."""
    (builtins,) = TOOLS.glob("nvidia/cu13/lib/libnvrtc-builtins.so*")
    ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(TOOLS / "nvidia/cu13/lib/libnvrtc.so.13")
    program = ctypes.c_void_p()
    options = [f"--gpu-architecture={TARGETS[target]}", "--ptxas-options=-v", *options]
    array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), array)

    def output(name: str) -> bytes:
        size = ctypes.c_size_t()
        getattr(nvrtc, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
        out = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, f"nvrtcGet{name}")(program, out)
        return out.raw

    log = output("ProgramLog").decode()
    if failed:
        sys.exit(f"the compiler refuses the kernels:\n{log}")
    return output("CUBIN"), log


def table(target: str, ring: str) -> str:
    binary, log = compiled(target, *source(target, ring))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        disassembler = [TOOLS / "nvidia/cu13/bin/nvdisasm", "-c", file.name]
        listing = subprocess.run(disassembler, stdout=subprocess.PIPE, text=True, check=True)
    head = ["kernel", "registers", "spilled", "shared", "all", *COLUMNS, "loop", "double"]
    rows = [head, *(row(name, code, log) for name, code in sorted(functions(listing.stdout).items()))]
    widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
    rows = [[name.ljust(widths[0]), *map(str.rjust, numbers, widths[1:])] for name, *numbers in rows]
    notes = [
        f"Kernels of homaes-cuda in {ring}, {target}, for {TARGETS[target]} by {', '.join(PACKAGES)}.",
        "Registers per thread; bytes spilled to local memory; bytes of static shared memory; instructions in total and",
        "by pipe, with `integer` for the rest; instructions of the longest loop, and its double ones.",
    ]
    return "\n".join([*notes, "", *map("  ".join, rows)]) + "\n"


def functions(listing: str) -> dict[str, list[str]]:
    """Lines of each kernel."""
    out: dict[str, list[str]] = {}
    for line in listing.splitlines():
        if section := re.match(r"\.text\.(\w+):", line):
            code = out.setdefault(section[1], [])
        elif out and re.match(r"\s+/\*[0-9a-f]+\*/|\.L_", line):
            code.append(line)
    return out


def row(name: str, code: list[str], log: str) -> list[str]:
    facts = rf"Compiling entry function '{name}'.*?(\d+) bytes spill stores.*?Used (\d+) registers([^\n]*)"
    spilled, registers, rest = re.search(facts, log, re.DOTALL).groups()
    shared = re.search(r"(\d+) bytes smem", rest)
    ops, labels, loop = [], {}, (0, 0)
    for line in code:
        if label := re.match(r"(\.L_\w+):", line):
            labels[label[1]] = len(ops)
            continue
        instruction = re.search(r"\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)(.*)", line)
        ops.append(PIPE.get(instruction[1], "integer"))
        target = re.search(r"\(\.L_\w+\)", instruction[2])
        if instruction[1] == "BRA" and target and target[0][1:-1] in labels:
            body = ops[labels[target[0][1:-1]] :]
            # a program ends with a branch to itself
            loop = max(loop, (len(body), body.count("double"))) if len(body) > 1 else loop
    count = collections.Counter(ops)
    numbers = [sum(count.values()) - count["nothing"], *(count[c] for c in COLUMNS), *loop]
    return [name, registers, spilled, shared[1] if shared else "0", *map(str, numbers)]


if __name__ == "__main__":
    sys.exit(main())
