"""Emitted C without a C library: `-ffreestanding -nostdlib`, and integers without floats.

The C may call memcpy, memmove and memset, since compilers add such calls themselves, and the
functions of libm that the network computes with. libgcc supplies what the core lacks: 64-bit
products on a Cortex-M0, floats without an FPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from helpers.paths import LENET5
from helpers.quantized.networks import residual
from npu_dialect.machine import Toolchain
from npu_tools.compiling.driver import Job, compile_model
from npu_tools.shared.files import write_files

TARGETS = ("cortex-m0", "cortex-m4", "cortex-m7", "fe310")
BLOCKS = {"memcpy", "memmove", "memset"}
LIBGCC = {
    "cortex-m0": r"__aeabi_(lmul|llsl|llsr|lasr|u?idiv(mod)?)|__gnu_thumb1_case_\w+",
    "fe310": r"__(ashr|ashl|lshr|mul)di3",
}
"""Integer functions of libgcc that a core needs: 64-bit shifts, on an M0 also 64-bit products."""

MAIN = """\
#include <stddef.h>
#include "net.h"
void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  volatile unsigned char *at = to;
  const unsigned char *source = from;
  while (bytes-- != 0) *at++ = *source++;
  return to;
}
void *memmove(void *to, const void *from, size_t bytes) {
  volatile unsigned char *at = to;
  const unsigned char *source = from;
  if (source > (const unsigned char *)to) return memcpy(to, from, bytes);
  while (bytes-- != 0) at[bytes] = source[bytes];
  return to;
}
void *memset(void *to, int value, size_t bytes) {
  volatile unsigned char *at = to;
  while (bytes-- != 0) *at++ = (unsigned char)value;
  return to;
}
static _Alignas(16) unsigned char arena[NET_ARENA_BYTES];
int start(void) { return net_run((void *)arena, (void *)arena, arena); }
"""


def tools_of(target: str) -> tuple[str, tuple[str, ...]]:
    """The compiler and the flags of its core."""
    toolchain = Toolchain.load(target)
    assert toolchain is not None
    if shutil.which(toolchain.compiler) is None:
        pytest.skip(f"{toolchain.compiler} is not installed")
    return toolchain.compiler, toolchain.flags


@cache
def files_of(model: Path, target: str) -> Mapping[str, str | bytes]:
    """The C of a model: LeNet-5 with floats, any other model with integer inputs and outputs."""
    if model == LENET5:
        return compile_model(Job(model, target, prefix="net")).files
    return compile_model(Job(model, target, prefix="net", io="int8", requantize="fixed")).files


def objects(target: str, model: Path, folder: Path, level: str) -> Path:
    """Compile a model to C, and its C with -ffreestanding; returns the object file."""
    write_files(folder, files_of(model, target))
    compiler, core = tools_of(target)
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", level, "-ffreestanding")
    flags += ("-Wstack-usage=4096",)  # also warns of frames of unknown size
    subprocess.run([compiler, *core, *flags, "-c", "net.c"], cwd=folder, check=True)
    return folder / "net.o"


def undefined(target: str, program: Path) -> set[str]:
    """Symbols that an object file takes from elsewhere."""
    nm = tools_of(target)[0].removesuffix("gcc") + "nm"
    done = subprocess.run([nm, "-u", program], capture_output=True, text=True, check=True)
    return {text.split()[-1] for text in done.stdout.splitlines() if text.strip()}


def link(target: str, folder: Path, *more: str) -> None:
    """Link an object file with our own memcpy, memmove and memset only."""
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    compiler, core = tools_of(target)
    plain = [flag for flag in core if not flag.startswith("--specs")]
    command = [compiler, *plain, "-std=c11", "-O1", "-ffreestanding", "-fno-builtin"]
    command += ["-nostdlib", "-Wl,-e,start", "main.c", "net.o", *more]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quantised network with every layer that has an integer form."""
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    path.write_bytes(residual().SerializeToString())
    return path


@pytest.mark.parametrize("level", ["-O2", pytest.param("-O3", marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS)
def test_integers_only(target: str, level: str, quantised: Path, tmp_path: Path) -> None:
    program = objects(target, quantised, tmp_path, level)
    needed = undefined(target, program) - BLOCKS
    assert all(re.fullmatch(LIBGCC.get(target, ""), name) for name in needed)
    link(target, tmp_path, *(["-lgcc"] if target in LIBGCC else []))
    objdump = tools_of(target)[0].removesuffix("gcc") + "objdump"
    command = [objdump, "-d", "--no-show-raw-insn", program]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    mnemonics = set(re.findall(r"^ *[0-9a-f]+:\t([a-z][\w.]*)", text, re.MULTILINE))
    assert len(mnemonics) > 10
    assert not {each for each in mnemonics if each.startswith(("v", "f")) and each != "fence"}


@pytest.mark.parametrize("target", [*TARGETS, "cortex-m55", "cortex-m85"])
def test_floats(target: str, tmp_path: Path) -> None:
    """Without exp the network needs no libm; with an FPU it needs no libgcc."""
    program = objects(target, LENET5, tmp_path, "-O2")
    needed = undefined(target, program) - BLOCKS
    if target not in ("cortex-m0", "fe310"):
        assert not needed
    assert all(name.startswith("__") for name in needed)
    link(target, tmp_path, "-lgcc")


def test_the_source_has_no_float(quantised: Path) -> None:
    files = files_of(quantised, "cortex-m4")
    for name in ("net.c", "net.h"):
        code = re.sub(r"/\*.*?\*/", "", str(files[name]), flags=re.DOTALL)
        code = re.sub(r"^#define \w+_SCALE .*$", "", code, flags=re.MULTILINE)
        assert not re.search(r"\b(float|double)\b|math\.h|\d\.\d", code)
