"""The dialect `pl330`: microcode of the Arm PL-330 (DMA-330) DMA controller, an op per instruction.

    pl330.program @tile channel 0 {
      pl330.mov ccr src 4x3 inc dst 4x3 inc
      pl330.mov sar 0x00100ca8
      pl330.mov dar 0xfffc0000
      pl330.loop 5 {
        pl330.ld
        pl330.st
      }
      pl330.wmb
      pl330.sev 0
      pl330.end
    }

The verifiers check that the encoding can express a program; `pl330-check` checks that a given
controller can run it.
"""

from xdsl.ir import Dialect

from npu_dialect.pl330.ccr import Ccr, CcrAttr, Side
from npu_dialect.pl330.enums import RegisterAttr, RequestAttr
from npu_dialect.pl330.events import FlushpOp, GoOp, LdpOp, PeripheralOp, SevOp, StpOp, WfeOp, WfpOp
from npu_dialect.pl330.instruction import REQUESTS, InstructionOp, OneOp
from npu_dialect.pl330.loops import AnyLoopOp, LoopForeverOp, LoopOp
from npu_dialect.pl330.moves import MovesAttr
from npu_dialect.pl330.plain import (
    PLAIN,
    EndOp,
    KillOp,
    LdbOp,
    LdOp,
    LdsOp,
    NopOp,
    PlainOp,
    RmbOp,
    StbOp,
    StOp,
    StsOp,
    StzOp,
    WmbOp,
)
from npu_dialect.pl330.program import ProgramOp
from npu_dialect.pl330.registers import ADDRESSES, AddhOp, AddOp, AdnhOp, MovOp

__all__ = [
    "ADDRESSES",
    "PL330",
    "PLAIN",
    "REQUESTS",
    "AddOp",
    "AddhOp",
    "AdnhOp",
    "AnyLoopOp",
    "Ccr",
    "CcrAttr",
    "EndOp",
    "FlushpOp",
    "GoOp",
    "InstructionOp",
    "KillOp",
    "LdOp",
    "LdbOp",
    "LdpOp",
    "LdsOp",
    "LoopForeverOp",
    "LoopOp",
    "MovOp",
    "MovesAttr",
    "NopOp",
    "OneOp",
    "PeripheralOp",
    "PlainOp",
    "ProgramOp",
    "RmbOp",
    "SevOp",
    "Side",
    "StOp",
    "StbOp",
    "StpOp",
    "StsOp",
    "StzOp",
    "WfeOp",
    "WfpOp",
    "WmbOp",
]

PL330 = Dialect(
    "pl330",
    [
        ProgramOp,
        LoopOp,
        LoopForeverOp,
        MovOp,
        AddhOp,
        AdnhOp,
        *PLAIN,
        SevOp,
        WfeOp,
        WfpOp,
        LdpOp,
        StpOp,
        FlushpOp,
        GoOp,
    ],
    [CcrAttr, MovesAttr, RegisterAttr, RequestAttr],
)
