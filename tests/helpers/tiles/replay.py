"""Runs an emitted program, with or without its arithmetic, and counts traffic layer by layer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint

from helpers.c_harness import build, execute, write_files
from helpers.tiles.chain import function_of
from npu_dialect.attributes import LAYER
from npu_dialect.dma import ReadsOp, StartOp, WritesOp
from npu_dialect.npu.layer import LayerOp
from npu_passes.emit.c import CFiles
from npu_tools.reports.off_chip import TransferTotal

MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "{prefix}.h"
static npu_dma_counters seen[64];
static int layers;
static void layer_begins(npu_dma *dma) {{ seen[layers++] = dma->counters; }}
#define npu_dma_reads layer_begins
#include "{prefix}.c"

static unsigned char *block(size_t bytes)
{{
    unsigned char *const made = (unsigned char *)calloc(bytes + 16, 1);
    if (made == NULL) {{
        exit(10);
    }}
    return made + (16 - (size_t)made % 16) % 16;
}}

int main(void)
{{
    static const size_t sizes[] = {{{sizes}}};
    enum {{ COUNT = sizeof sizes / sizeof *sizes }};
    static npu_dma dma;
    float *a[COUNT];
    unsigned char *weights = block({weights});
    FILE *file = fopen("inputs.bin", "rb");
    int status;
    for (int i = 0; i < COUNT; ++i) {{
        a[i] = (float *)(void *)block(sizes[i]);
        if (file != NULL && i < COUNT - 1 && fread(a[i], 1, sizes[i], file) != sizes[i]) {{
            return 11;
        }}
    }}
    npu_dma_init(&dma);
    (void)weights;
    status = {prefix}_run({arguments});
    layer_begins(&dma);
    for (int i = 0; i + 1 < layers; ++i) {{
        const npu_dma_counters *const from = &seen[i], *const to = &seen[i + 1];
        const unsigned long long bytes =
            (to->weight_bytes - from->weight_bytes)
            + (to->feature_map_read_bytes - from->feature_map_read_bytes)
            + (to->feature_map_write_bytes - from->feature_map_write_bytes);
        printf("%llu %llu\\n", bytes, (unsigned long long)(to->transfers - from->transfers));
    }}
    file = fopen("outputs.bin", "wb");
    if (file == NULL || fwrite(a[COUNT - 1], 1, sizes[COUNT - 1], file) != sizes[COUNT - 1]) {{
        return 12;
    }}
    fclose(file);
    return status != 0 ? 20 + status : npu_dma_mistakes(&dma) != 0 ? 13 : 0;
}}
"""


def mark_layers(module: ModuleOp) -> list[str]:
    """Leave one `dma.reads` at the beginning of each layer, where main() stores its counters.

    Returns the names of the layers that transfer, in their order.
    """
    function, names = function_of(module), list[str]()
    for op in list(function.walk()):
        if isinstance(op, ReadsOp | WritesOp):
            op.detach()
            op.erase()
    for op in list(function.body.block.ops):
        for name in layers_in(op):
            if name not in names:
                names.append(name)
                Builder(InsertPoint.before(op)).insert(ReadsOp(function.args[0]))
            assert name == names[-1], "layers are mixed"
    return names


def layers_in(op: Operation) -> list[str]:
    """The layer names of the transfers inside an op."""
    starts = (inner for inner in op.walk() if isinstance(inner, StartOp))
    found = map(LAYER.get, starts)
    return [name for name in found if name is not None]


def without_arithmetic(module: ModuleOp) -> None:
    """Erase all layers. Only transfers are left."""
    for op in list(module.walk()):
        if isinstance(op, LayerOp):
            op.detach()
            op.erase()


def run(
    files: CFiles, sizes: Sequence[int], inputs: bytes = b"", flags: Sequence[str] = ()
) -> tuple[list[TransferTotal], bytes]:
    """Run a program; returns what each layer has moved, and the bytes of the last argument.

    `sizes`: the bytes of each argument. Without `inputs` the arguments hold zeros.
    """
    upper = files.prefix.upper()
    arguments = [f"a[{index}]" for index in range(len(sizes))]
    arguments += [f"block({upper}_ARENA_BYTES)", f"block({upper}_DRAM_BYTES)", "&dma"]
    arguments += [] if files.weights is None else ["weights"]
    text = MAIN.format(
        prefix=files.prefix,
        sizes=", ".join(map(str, sizes)),
        weights=0 if files.weights is None else len(files.weights),
        arguments=", ".join(arguments),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_files(path, files, files.prefix)
        (path / "main.c").write_text(text)
        if inputs:
            (path / "inputs.bin").write_bytes(inputs)
        build(path, ["main.c"], "c", flags)
        lines = execute(path).splitlines()
        output = (path / "outputs.bin").read_bytes()
    return [TransferTotal(*map(int, line.split())) for line in lines], output
