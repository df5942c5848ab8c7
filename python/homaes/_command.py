"""The command ``homaes`` of the wheel: that of Rust."""

import sys

from ._homaes import run_command


def main() -> None:
    """Run the command with the arguments of this process."""
    sys.exit(run_command(sys.argv))
