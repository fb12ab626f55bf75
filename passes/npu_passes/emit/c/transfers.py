"""Transfers as calls of the DMA engine.

    %t = dma.start %rows to %tile channel 1 : ...
    dma.wait %t

becomes

    const npu_dma_token t = npu_dma_start(dma, 1, NPU_DMA_READ, tile, rows, &net_3_runs_of_64);
    npu_dma_wait(dma, t);
    if (npu_dma_result(dma) != 0) {
        return npu_dma_result(dma);
    }

The shape of a transfer is in a table of the C file; target and source are two pointers. A transfer
in blocks calls `npu_dma_start_blocks`, with the map, its index, and one more table.
"""

from __future__ import annotations

from xdsl.ir import Operation

from npu_dialect import dma
from npu_dialect.npu.attributes import DramSpace
from npu_passes.emit.c.body import WIDTH, Body
from npu_passes.emit.c.expr import Expr
from npu_passes.emit.c.types import memref_of, transfer_blocks, transfer_runs


def print_start(body: Body, op: dma.StartOp) -> None:
    """Print the start of a transfer; its token is a constant, unless no op waits for it."""
    body.flush()
    kind = "READ"
    if op.weights is not None:
        kind = "WEIGHTS"
    elif isinstance(memref_of(op.target).memory_space, DramSpace):
        kind = "WRITE"
    sides = f"{body.pointers[op.target].text}, {body.pointers[op.source].text}"
    shape = body.program.shapes[transfer_runs(op)]
    what, blocks = "npu_dma_start", ""
    if (runs := transfer_blocks(op)) is not None:
        whole = ", ".join(body.pointers[value].text for value in op.blocked)
        what, blocks = "npu_dma_start_blocks", f", &{body.program.blocks[runs]}"
        sides = f"{sides}, {whole}"
    call = f"{what}(dma, {op.channel.value.data}, NPU_DMA_{kind}, {sides}, &{shape}{blocks});"
    if not op.token.uses:
        body.line(f"(void){call}")
        return
    name = body.name_for(op.token, "transfer")
    body.values[op.token] = Expr(name)
    line = f"const npu_dma_token {name} = {call}"
    if 4 * body.depth + len(line) <= WIDTH:
        body.line(line)
        return
    body.line(f"const npu_dma_token {name} =")
    body.line(f"    {call}")


def print_wait(body: Body, op: dma.WaitOp) -> None:
    """Print the wait for a transfer."""
    body.flush()
    body.line(f"npu_dma_wait(dma, {body.use(op.token).text});")
    print_result(body)


def print_result(body: Body) -> None:
    """Print the end of the function if the engine has failed; a public one returns why."""
    is_public = any(entry.function is body.function for entry in body.program.entries)
    body.line("if (npu_dma_result(dma) != 0) {")
    body.line(f"    return{' npu_dma_result(dma)' if is_public else ''};")
    body.line("}")


def print_access(body: Body, op: Operation) -> None:
    """Print the call that counts an access to a map: `npu_dma_reads` or `npu_dma_writes`."""
    way = "reads" if isinstance(op, dma.ReadsOp) else "writes"
    body.line(f"npu_dma_{way}(dma);")


def print_work(body: Body, op: dma.WorkOp) -> None:
    """Print the call that advances the virtual clock."""
    body.flush()
    body.line(f"npu_dma_work(dma, {op.cycles.value.data}u);")
