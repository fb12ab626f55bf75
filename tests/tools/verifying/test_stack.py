"""Stack of library functions, read from their machine code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npu_dialect.machine import Toolchain
from npu_tools.verifying.library_stack import Code, library_stack, taken
from npu_tools.verifying.stack import CallGraph, StackUse, measure_stack

ARM = """\
00008000 g     F .text\t0000000e .hidden __aeabi_fadd
00008000 g     F .text\t0000000e __addsf3
00008100 l     F .text\t0000000a helper
00009100 g       *ABS*\t00000000 end

00008000 <__addsf3>:
    8000:\tpush\t{r4, r5, r6, lr}
    8002:\tsub\tsp, #24
    8004:\tbl\t8100 <helper>
    8008:\tbeq.n\t8002 <__addsf3+0x2>
    800a:\tldr\tr0, [pc, #4]\t@ (8100 <data>)
    800c:\tb.n\t8200 <other+0x10>

00008100 <helper>:
    8100:\tstr.w\tr4, [sp, #-8]!
    8104:\tvpush\t{d8-d10}
    8108:\tbx\tlr

000081f0 <other>:
    81f0:\tstmdb\tsp!, {r4, lr}
    8200:\tadd\tsp, #8

00008300 <pointer>:
    8300:\tblx\tr3

00008400 <asks>:
    8400:\tbl\t8300 <pointer>

00008500 <again>:
    8500:\tbl\t8510 <and_again>

00008510 <and_again>:
    8510:\tbl\t8500 <again>
"""

RISCV = """\
10000000 <f>:
10000000:\tjal\tt0,10000100 <__riscv_save_4>
10000002:\taddi\tsp,sp,-16
10000004:\tauipc\tra,0x0
10000008:\tjalr\t-34(ra) # 10000200 <g>
1000000c:\tadd\ta5,a5,-1 # f7ffffff <__bss_end+0xd7ffffff>
10000010:\tj\t10000180 <__riscv_restore_4>

10000100 <__riscv_save_4>:
10000100:\tsub\tsp,sp,t1

10000200 <g>:
10000200:\tadd\tsp,sp,-32

10000300 <h>:
10000300:\tsub\tsp,sp,a5

10000400 <i>:
10000400:\tjalr\ta5
"""


def test_arm() -> None:
    code = Code.parse(ARM)
    assert code.frames["__addsf3"] == 16 + 24
    assert code.calls["__addsf3"] == ("helper", "other")
    assert code.deepest("helper") == 8 + 3 * 8
    assert code.deepest("__aeabi_fadd") == code.deepest("__addsf3") == 40 + 32


@pytest.mark.parametrize("name", ["pointer", "asks", "again", "not there"])
def test_what_is_not_known(name: str) -> None:
    """The stack is unknown for calls through registers, recursion, and functions not linked."""
    assert Code.parse(ARM).deepest(name) is None


def test_riscv() -> None:
    code = Code.parse(RISCV.replace("10000180 <__riscv_restore_4>", "10000200 <g>"))
    assert code.deepest("f") == 32 + 16 + 32
    assert code.deepest("h") is None
    assert code.deepest("i") is None


@pytest.mark.parametrize(
    ("instruction", "size"),
    [
        ("push {lr}", 4),
        ("vpush {s16-s19}", 16),
        ("sub.w sp, sp, #1032", 1032),
        ("subw sp, sp, #4100", 4100),
        ("strd r4, r5, [sp, #-16]!", 16),
        ("c.addi16sp sp,sp,-64", 64),
        ("addi sp,sp,64", 0),
        ("add sp, #16", 0),
        ("ldr r0, [sp, #-8]", 0),
    ],
)
def test_bytes_of_an_instruction(instruction: str, size: int) -> None:
    assert taken(instruction) == size


def test_what_it_means_for_a_network() -> None:
    graph = CallGraph({"run": 16, "f": 0, "g": 0}, {"run": ("f", "g")}, ("f", "g"))
    known = graph.using({"f": 24})
    assert known.deepest("run") == 40
    assert known.foreign == ("g",)
    assert str(StackUse(40, without=("g",))) == "40 bytes, and what g may take"
    assert str(StackUse(40)) == "40 bytes"


@pytest.mark.parametrize("target", ["cortex-m0", "fe310"])
def test_real_libraries(target: str) -> None:
    toolchain = Toolchain.load(target)
    assert toolchain is not None
    compiler = shutil.which(toolchain.compiler)
    if compiler is None:
        pytest.skip(f"{toolchain.compiler} is not installed")
    found = library_stack(toolchain, compiler, ["expf", "memmove", "sqrtf"])
    assert found.keys() == {"expf", "memmove", "sqrtf"}
    assert 16 <= found["expf"] <= 256
    assert library_stack(toolchain, compiler, ["expf", "no_such_function"]).keys() == {"expf"}
    assert library_stack(toolchain, compiler, []) == {}


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_libraries_of_the_host_are_named(tmp_path: Path) -> None:
    """The host's libraries are linked when the program starts, so their stack is unknown."""
    text = "extern float expf(float);\nfloat net_run(float x) { return expf(x) + 1; }\n"
    use = measure_stack({"net.c": text, "net.h": ""}, "net", "host")
    assert use.bytes is not None
    assert use.without == ("expf",)
