"""Runs emitted C on the host, in a small program that the host's compiler builds.

The program reads samples from a file, each with all inputs of one run in a row. It runs the network
on each sample and writes the outputs to a second file. With a third file it also writes each
layer's OFM, which the `ID_ON_LAYER` hook copies from the arena when the layer is done. Before each
run the arenas are filled with 0xA5, so that reads of bytes that nothing wrote change the outputs.
States are reset before the first run, and keep their bytes from one run to the next.

A program whose input arrives in rows gets them in portions; see `streamed.py`.

A program with transfers also gets off-chip memory and the strict engine of `npu_dma.h`, which
copies only at the wait. It prints the counters of the transfers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npu_dialect.interpreters import Counters
from npu_tools.reports.report import LayerReport, Report
from npu_tools.shared.errors import UserError
from npu_tools.verifying.harness_arenas import FENCE, arena_parts, blocks_of, poison_text
from npu_tools.verifying.ports import Port, ports_of
from npu_tools.verifying.streamed import in_rows, whole_run

Array = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

FLAGS = ("-std=c99", "-O2")
RUNTIME = "npu_dma.h"

ENGINE = """\
static unsigned char dram_memory[{upper}_DRAM_BYTES + 16 + {fence}];
static unsigned char *dram;
static npu_dma engine;

static int engine_failed(void) {{
  return npu_dma_mistakes(&engine) != 0 || broken(dram + {upper}_DRAM_BYTES);
}}
"""

BEFORE = """\
    dram = aligned(dram_memory);
    memset(dram, 0xA5, {upper}_DRAM_BYTES + {fence});
    npu_dma_init(&engine);"""

COUNTER = """\
  printf("{0} %llu\\n", (unsigned long long)engine.counters.{0});"""

CYCLES = """
  printf("cycles %llu %llu\\n", (unsigned long long)engine.clock.compute,
         (unsigned long long)engine.clock.exposed);"""

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

{strict}
static void on_layer(int index);
#define {upper}_ON_LAYER(index, name) on_layer(index)
#include "{name}.c"

{whole}
{buffers}
{arena_memories}
static unsigned char weights_memory[{weights_bytes} + 16];
{arena_pointers}
static unsigned char *weights;
static FILE *layers;
static const int homes[] = {{ {homes} }};
static const unsigned long where[] = {{ {offsets} }};
static const unsigned long sizes[] = {{ {sizes} }};

static void on_layer(int index) {{
  const unsigned char *const arenas[] = {{ {arenas} }};
  if (layers) fwrite(arenas[homes[index]] + where[index], 1, sizes[index], layers);
}}

static int load(const char *path, void *memory, unsigned long bytes) {{
  FILE *file = fopen(path, "rb");
  unsigned long got = file ? fread(memory, 1, bytes, file) : 0;
  if (file) fclose(file);
  return got == bytes;
}}

static unsigned char *aligned(unsigned char *memory) {{
  return memory + (16 - (unsigned long)memory % 16) % 16;
}}

static int broken(const unsigned char *fence) {{
  for (int i = 0; i < {fence}; ++i) {{
    if (fence[i] != 0xA5) return 1;
  }}
  return 0;
}}

static void poison(unsigned long runs) {{
{poison}
}}

{engine}
int main(int argc, char **argv) {{
  FILE *in = argc > 2 ? fopen(argv[1], "rb") : 0;
  FILE *out = argc > 2 ? fopen(argv[2], "wb") : 0;
  layers = argc > 3 ? fopen(argv[3], "wb") : 0;
{aligned}
  weights = aligned(weights_memory);
  if (!in || !out || (argc > 3 && !layers)) return 2;
  if ({weights_bytes} && !load("{name}_weights.bin", weights, {weights_bytes})) return 3;
  for (unsigned long runs = 0; {read}; ++runs) {{
    poison(runs);
{before}
    if ({name}_run({arguments})) return 4;
    if ({broken}{failed}) return 6;
{write}
  }}
{counters}
  if (layers && fclose(layers)) return 5;
  return fclose(out) ? 5 : 0;
}}
"""


@dataclass(frozen=True)
class Harness:
    """The program that runs a compiled network; `built` makes one."""

    program: Path
    report: Report
    ports: Sequence[Port]
    """The inputs, then the outputs."""
    transfers: bool = False
    """Whether the program has transfers; if so, it counts them."""
    in_rows: bool = False
    """Whether the program reads its input in rows."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Run the network on samples; returns the outputs.

        Each input has the network's shape with an axis for samples in front, and so have outputs.

        Raises: UserError if the program fails.
        """
        return self.run_and_count(inputs)[0]

    def run_and_count(self, inputs: Sequence[Array]) -> tuple[list[Array], Counters | None]:
        """Run as `run`; also returns the counters of the transfers, None without transfers.

        Raises: UserError if the program fails.
        """
        outputs, _, printed = self.start(inputs, trace=False)
        return outputs, read_counters(printed) if self.transfers else None

    def trace(self, inputs: Sequence[Array]) -> list[Bytes]:
        """Run samples; returns the bytes of each layer's OFM in the last run, in execution order.

        The elements of an OFM are in the order of the model, wherever they lie in the arena.

        The list is empty if the C does not call the hook, as without `npu-outline-layers`. It is
        also empty for a program with transfers, whose maps are never on chip as a whole.

        Raises: UserError if the program fails.
        """
        if self.transfers:
            return []
        return self.start(inputs, trace=True)[1]

    def start(
        self, inputs: Sequence[Array], *, trace: bool
    ) -> tuple[list[Array], list[Bytes], str]:
        """Run the program; returns the outputs, the bytes of traced layers, and the printed text.

        Raises: UserError if the program fails.
        """
        folder, samples = self.program.parent, inputs[0].shape[0] if inputs else 1
        given = [in_rows(value) for value in inputs] if self.in_rows else inputs
        packed = [
            in_bytes(port.stored(value.reshape(samples, -1)))
            for port, value in zip(self.ports, given)
        ]
        together = np.concatenate(packed, axis=1) if packed else np.empty(0, np.uint8)
        together.tofile(folder / "in.bin")
        command = [str(self.program), "in.bin", "out.bin", *(["layers.bin"] if trace else [])]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"--verify: the C program failed ({failure(done.returncode)})")
        shapes, ports = list(self.report.outputs.values()), self.ports[len(inputs) :]
        values = np.fromfile(folder / "out.bin", np.uint8).reshape(samples, -1)
        sizes = (prod(shape) * port.dtype.itemsize for shape, port in zip(shapes, ports))
        outputs = [
            port.real(np.ascontiguousarray(part).view(port.dtype)).reshape(samples, *shape)
            for part, port, shape in zip(split(values, sizes), ports, shapes, strict=True)
        ]
        if not trace:
            return outputs, [], done.stdout
        layers = self.report.layers
        values = np.fromfile(folder / "layers.bin", np.uint8)
        if values.size != samples * sum(span_of(layer) for layer in layers):
            return outputs, [], done.stdout
        parts = split(values.reshape(samples, -1)[-1:], (span_of(layer) for layer in layers))
        traced = [
            in_model_order(layer, part.reshape(-1))
            for layer, part in zip(layers, parts, strict=True)
        ]
        return outputs, traced, done.stdout


def span_of(layer: LayerReport) -> int:
    """The bytes from the first element of a layer's OFM to its last one."""
    if layer.strides is None or not layer.output_bytes:
        return layer.output_bytes
    last = sum((extent - 1) * step for extent, step in zip(layer.shape, layer.strides, strict=True))
    return (last + 1) * (layer.output_bytes // prod(layer.shape))


def in_model_order(layer: LayerReport, found: Bytes) -> Bytes:
    """The bytes of a layer's OFM, from those that it spans in the arena."""
    if layer.strides is None or not layer.output_bytes:
        return found
    size = layer.output_bytes // prod(layer.shape)
    steps = (*(step * size for step in layer.strides), 1)
    view = np.lib.stride_tricks.as_strided(found, (*layer.shape, size), steps, writeable=False)
    return np.ascontiguousarray(view).reshape(-1)


def failure(code: int) -> str:
    """The meaning of an exit code of the program, for a message."""
    if code == 6:
        return "it wrote behind its memory, or made a mistake with its transfers"
    return f"exit code {code}"


def read_counters(text: str) -> Counters:
    """Parse the counters that a program printed, a name and a number on each line."""
    pairs = (line.split() for line in text.splitlines())
    return Counters(**{name: int(number) for name, number in pairs})


def in_bytes(values: npt.NDArray[Any]) -> Bytes:
    """The values of samples as bytes; the first axis stays the samples."""
    return np.ascontiguousarray(values).view(np.uint8)


def split(values: Bytes, sizes: Iterable[int]) -> Iterator[Bytes]:
    """Cut the last axis into pieces of the given sizes."""
    start = 0
    for size in sizes:
        yield values[:, start : start + size]
        start += size


@contextmanager
def built(
    name: str, files: Mapping[str, str | bytes], report: Report, macros: Sequence[str] = ()
) -> Generator[Harness]:
    """Build the harness of a compiled network in a temporary folder, removed at the end.

    `macros` are defined in front of the program: those of the virtual clock, which prints cycles.

    Raises: UserError if there is no compiler, or if it rejects the C.
    """
    compiler = os.environ.get("CC", "").strip() or "cc"
    if shutil.which(compiler.split()[0]) is None:
        raise UserError(f"--verify needs a C compiler: no {compiler} (set CC to choose another)")
    with tempfile.TemporaryDirectory(prefix="npu-") as place:
        folder = Path(place)
        for file, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (folder / file).write_bytes(data)
        (folder / "main.c").write_text(program_text(name, files, report, macros), encoding="utf-8")
        command = [*compiler.split(), *FLAGS, "main.c", "-o", "program", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"--verify: {compiler} rejects the C:\n{done.stderr.strip()}")
        streamed = bool(whole_run(str(files[f"{name}.h"])))
        kinds = ports(name, files, report)
        yield Harness(folder / "program", report, kinds, RUNTIME in files, streamed)


def ports(name: str, files: Mapping[str, str | bytes], report: Report) -> list[Port]:
    """The inputs and outputs of a program."""
    return ports_of(str(files[f"{name}.h"]), len(report.inputs) + len(report.outputs))


def program_text(
    name: str, files: Mapping[str, str | bytes], report: Report, macros: Sequence[str] = ()
) -> str:
    """The C text of the program."""
    ins = [prod(shape) for shape in report.inputs.values()]
    outs = [prod(shape) for shape in report.outputs.values()]
    kinds = ports(name, files, report)
    taken, given = kinds[: len(ins)], kinds[len(ins) :]
    sizes = zip(taken, ins, strict=True), zip(given, outs, strict=True)
    buffers = [
        f"static {port.ctype} {way}{i}[{size}];"
        for way, pairs in zip(("in", "out"), sizes, strict=True)
        for i, (port, size) in enumerate(pairs)
    ]
    reads = [
        f"fread(in{i}, {port.dtype.itemsize}, {n}, in) == {n}"
        for i, (port, n) in enumerate(zip(taken, ins, strict=True))
    ]
    writes = [
        f"    if (fwrite(out{i}, {port.dtype.itemsize}, {n}, out) != {n}) return 5;"
        for i, (port, n) in enumerate(zip(given, outs, strict=True))
    ]
    arguments = [*(f"in{i}" for i in range(len(ins))), *(f"out{i}" for i in range(len(outs)))]
    blob = files.get(f"{name}_weights.bin")
    names = {"upper": name.upper(), "fence": FENCE}
    arguments += [each.variable for each in blocks_of(report)]
    parts = dict.fromkeys(("strict", "engine", "before", "failed", "counters"), "")
    if RUNTIME in files:
        arguments += ["dram", "&engine"]
        parts |= {
            "strict": "\n".join(f"#define {each}" for each in ("NPU_DMA_STRICT", *macros)),
            "engine": ENGINE.format(**names),
            "before": BEFORE.format(**names),
            "failed": " || engine_failed()",
            "counters": "\n".join(COUNTER.format(field.name) for field in fields(Counters))
            + CYCLES * bool(macros),
        }
    arguments += [] if blob is None else ["weights"]
    return PROGRAM.format(
        **names,
        **parts,
        name=name,
        whole=whole_run(str(files[f"{name}.h"])),
        buffers="\n".join(buffers),
        **arena_parts(report),
        poison=poison_text(name, report, from_file=blob is not None),
        offsets=", ".join(f"{(layer.offset or 0) + layer.start}ul" for layer in report.layers),
        sizes=", ".join(f"{span_of(layer)}ul" for layer in report.layers),
        weights_bytes=len(blob or b""),
        read=" && ".join(reads) or "!runs",
        arguments=", ".join(arguments),
        write="\n".join(writes),
    )
