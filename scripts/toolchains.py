"""Finds the compilers and emulators that the tests use, and installs missing ones if possible.

    python scripts/toolchains.py           install what is missing (Debian, root), else say how
    python scripts/toolchains.py --list    only say what is missing

The script never fails. A test that needs a missing tool is skipped by name, or fails if CI=true.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    """A Debian package, and the command that succeeds if the package is installed."""

    package: str
    probe: tuple[str, ...]

    def is_there(self) -> bool:
        """Whether the tool is installed: its probe succeeds."""
        if shutil.which(self.probe[0]) is None:
            return False
        run = subprocess.run(self.probe, input=b"", capture_output=True, check=False, timeout=60)
        return run.returncode == 0


HEADER = ("-E", "-x", "c", "-include", "math.h", "-")
"""Options with which gcc only checks that a C library is installed."""

LLVM = "19"
"""The version of LLVM; `tools/npu_tools/verifying/upstream.py` names the same."""

TOOLS = (
    Tool("gcc", ("gcc", "--version")),
    Tool("g++", ("g++", "--version")),
    Tool("cmake", ("cmake", "--version")),
    Tool("arduino-builder", ("arduino-builder", "-version")),
    Tool("qemu-system-arm", ("qemu-system-arm", "--version")),
    Tool("qemu-system-misc", ("qemu-system-riscv32", "--version")),
    Tool("gcc-arm-none-eabi", ("arm-none-eabi-gcc", "--version")),
    Tool("libnewlib-arm-none-eabi", ("arm-none-eabi-gcc", *HEADER)),
    Tool("gcc-riscv64-unknown-elf", ("riscv64-unknown-elf-gcc", "--version")),
    Tool(
        "picolibc-riscv64-unknown-elf",
        ("riscv64-unknown-elf-gcc", "--specs=picolibc.specs", *HEADER),
    ),
    Tool("chromium", ("chromium", "--version")),
    Tool("chromium-driver", ("chromedriver", "--version")),
    Tool(f"mlir-{LLVM}-tools", (f"mlir-opt-{LLVM}", "--version")),
    Tool(f"llvm-{LLVM}", (f"opt-{LLVM}", "--version")),
    Tool(f"clang-{LLVM}", (f"clang-{LLVM}", "--version")),
)


def missing() -> list[str]:
    """The Debian packages whose tools are missing, in the order of TOOLS."""
    return [tool.package for tool in TOOLS if not tool.is_there()]


def install(packages: list[str]) -> bool:
    """Install Debian packages; returns whether that worked for all.

    The package lists are updated only if the first attempt fails. If the second one fails too, each
    package is installed on its own: one that this Debian has not would keep the others out.
    """
    if apt("install", *packages):
        return True
    apt("update")
    if apt("install", *packages):
        return True
    return all([apt("install", package, say=True) for package in packages])


def apt(action: str, *packages: str, say: bool = False) -> bool:
    """Run `apt-get` without questions; returns whether it worked, and if `say`, says why not."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    more = ("-y", "--no-install-recommends", *packages) if packages else ()
    command = ["apt-get", action, "-q", *more]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode and say:
        print(run.stderr.strip(), file=sys.stderr)
    return run.returncode == 0


def main() -> int:
    """Install missing packages if possible, and name those still missing; returns 0."""
    parser = argparse.ArgumentParser(description="compilers and emulators that the tests use")
    parser.add_argument("--list", action="store_true", help="install nothing")
    arguments = parser.parse_args()
    packages = missing()
    may_install = hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get")
    if packages and may_install and not arguments.list:
        print(f"installing {' '.join(packages)}", flush=True)
        install(packages)
        packages = missing()
    if packages:
        print("missing compilers and emulators; the tests that need them are skipped by name.")
        print(f"to install them: sudo apt-get install {' '.join(packages)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
