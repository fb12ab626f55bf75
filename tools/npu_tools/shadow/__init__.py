"""A checker of memory plans that believes none of the analyses that made them.

    faults = check(module)        // after offsets; best after npu-lower-to-loops

It follows the program access by access. Each byte of a memory knows for which buffer it was written
last. A read of byte b of a buffer must find that byte: not one that another buffer has overwritten,
that nobody has written, or that a transfer still moves. So two buffers may share bytes wherever
they do so without harm, such as an output that overwrites the part of the input that nobody reads
again.

The checker knows addresses, not numbers. It is exact where loops and addresses do not depend on
data. Both branches of a condition on data count as run. A layer that is not lowered reads all of
its inputs before it writes its output. Within one buffer it does not tell old contents from new
ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from npu_dialect import dma, dsp, mve
from npu_dialect.npu.layer import LayerOp
from npu_dialect.target import machine_of
from npu_tools.shadow.builder import is_buffer
from npu_tools.shadow.execute import EVENTS, Execution
from npu_tools.shadow.faults import Fault, Faults, NotFollowed, Stop, place_of
from npu_tools.shadow.memory import VIEWS
from npu_tools.shadow.order import World

__all__ = ["Fault", "NotFollowed", "check"]

FOLLOWED = (
    *EVENTS,
    *VIEWS,
    LayerOp,
    func.ReturnOp,
    scf.ForOp,
    scf.IfOp,
    scf.YieldOp,
    memref.LoadOp,
    memref.StoreOp,
    memref.CopyOp,
    memref.DimOp,
    dsp.LoadWordOp,
    dsp.LoadPairOp,
    dsp.LoadFloatsOp,
    dsp.StoreWordOp,
    dsp.StoreFloatsOp,
    dsp.CopyWordsOp,
    mve.LoadOp,
    mve.StoreOp,
    mve.GatherOp,
    mve.GatherBytesOp,
    mve.ScatterOp,
    mve.ScatterBytesOp,
    mve.MulRowsOp,
    mve.MulRunsOp,
    dma.ReadsOp,
    dma.WritesOp,
)
"""The ops with buffers that the checker knows."""
MOST = 8
"""The most faults that are looked for."""


def check(module: ModuleOp, most: int = MOST) -> Sequence[Fault]:
    """The faults of the plan of each public function of a module; at most `most`.

    Raises: NotFollowed if addresses depend on data, or an op with buffers is unknown.
    """
    for op in module.walk():
        if not isinstance(op, FOLLOWED) and any(map(is_buffer, (*op.operands, *op.results))):
            if not isinstance(op, memref.GetGlobalOp):
                raise NotFollowed(f"expected an op whose accesses are known, got {place_of(op)}")
    machine, faults = machine_of(module), Faults(most)
    try:
        for function in module.ops:
            if isinstance(function, func.FuncOp) and is_entry(function):
                world = World(faults)
                Execution(module, world, machine.alignment if machine else 1).enter(function)
    except Stop:
        pass
    except InterpretationError as error:
        raise NotFollowed(str(error)) from None
    return faults.all


def is_entry(op: Operation) -> bool:
    """Whether an op is a function with a body that others may call."""
    private = StringAttr("private")
    return isinstance(op, func.FuncOp) and not op.is_declaration and op.sym_visibility != private
