"""The command ``homaes`` of the wheel, which is the one in Rust."""

import sys

from ._homaes import run_command


def main() -> None:
    """Run the command with the arguments of this process."""
    sys.exit(run_command(sys.argv))
