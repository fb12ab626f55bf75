"""Ops on packed words in C: the same bits on every machine, single instructions on some."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from helpers.c_harness import write_files
from helpers.dsp_program import OPS, Case, expected, program
from helpers.emulated import require
from helpers.kernel_roads import BYTES, lowered
from helpers.parsing import emit, emit_text, parse
from helpers.plain_c import computes
from npu_dialect.dsp import DSP, FLOAT_REGISTERS, MOST_COPIED, MOST_FLOATS, PAIR
from npu_dialect.interpreters import run_function
from npu_passes.emit.c.dsp_helpers import HELPERS
from npu_passes.emit.c.rescaled import RESCALE_NAMES
from npu_tools.verifying.emulators import run_on
from npu_tools.verifying.emulators.build import compiler_of

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wcast-qual")
NAMES: tuple[str, ...] = ("a", "b", "acc", "x", "low", "high")

STEPS = 6
"""How many words each iteration of the loop in `ORDERED` reads of each buffer."""

ORDERED = f"""
"memref.global"() <{{sym_name = "w", sym_visibility = "private", type = memref<64xi8>,
    initial_value = dense<{list(range(-30, 34))}> : tensor<64xi8>, constant}}> : () -> ()
func.func private @layer(%m: memref<64xi8>, %y: memref<1xi32>) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0 : i32
  %w = memref.get_global @w : memref<64xi8>
  %sum = scf.for %i = %c0 to %c24 step %c4 iter_args(%t0 = %zero) -> (i32) {{
    {
    "".join(
        f'''
    %o{step} = arith.constant {4 * step} : index
    %j{step} = arith.addi %i, %o{step} : index
    %x{step} = dsp.load_word %m[%j{step}] : memref<64xi8> -> i32
    %v{step} = dsp.load_word %w[%j{step}] : memref<64xi8> -> i32
    %a{step} = dsp.sxtb16 %x{step} rotate 0 : i32
    %b{step} = dsp.sxtb16 %v{step} rotate 8 : i32
    %t{step + 1} = dsp.smlad %a{step}, %b{step}, %t{step} : i32
    dsp.keep_order'''
        for step in range(STEPS)
    )
}
    scf.yield %t{STEPS} : i32
  }}
  memref.store %sum, %y[%c0] : memref<1xi32>
  func.return
}}
func.func @k(%m: memref<64xi8>, %y: memref<1xi32>) {{
  func.call @layer(%m, %y) : (memref<64xi8>, memref<1xi32>) -> ()
  func.return
}}
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_plain_c_computes_what_numpy_does(language: str) -> None:
    case = Case.of(seed=1)
    computes(program(), "words", case.arrays, expected(case), language)


@pytest.mark.parametrize("machine", ["cortex-m4", "cortex-m0"])
def test_processors_compute_what_numpy_does(machine: str, tmp_path: Path) -> None:
    require(machine)
    case = Case.of(seed=2)
    write_files(tmp_path, emit_text(program(), "words"), "words")
    inputs = dict(zip(NAMES, case.arrays, strict=True))
    (run,) = run_on(machine, tmp_path / "words.c", [inputs]).runs
    for name, wanted in zip(("words", "stored"), expected(case), strict=True):
        np.testing.assert_array_equal(run.outputs[name], wanted.ravel())


def assembly(text: str, folder: Path, flags: Sequence[str] = ("-O2",)) -> list[str]:
    """The instructions for a Cortex-M4, with a rotation or shift of the last operand."""
    require("cortex-m4")
    write_files(folder, emit_text(text, "k"), "k")
    compiler, machine = compiler_of("cortex-m4")
    command = [compiler, *machine, *FLAGS, *flags, "-S", "-o", "-", "k.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.findall(
        r"^\s+([a-z]\S*)\s.*?(?:, (ror|lsl|asr) #\d+)?(?:\s*@.*)?$", done.stdout, re.M
    )
    return [f"{name} {shift}".strip() for name, shift in found]


def copies(element: str) -> str:
    """A program that copies all of `%x`, then moves it down by four words, in blocks of words."""
    kind = f"memref<{TOTAL * (4 if element == 'i8' else 1)}x{element}, #npu.sram>"
    each = 4 if element == "i8" else 1
    blocks, place = list[str](), 0
    for words in range(1, MOST_COPIED + 1):
        at = f"%c{place}"
        blocks.append(f"{at} = arith.constant {place * each} : index")
        blocks.append(f"dsp.copy_words {words} from %x[{at}] to %y[{at}] : {kind}, {kind}")
        place += words
    blocks.append(f"%four = arith.constant {4 * each} : index")
    blocks.append(f"dsp.copy_words 16 from %y[%four] to %y[%c0] : {kind}, {kind}")
    inner = "\n".join(blocks)
    return f"""
    func.func @copies(
        %x: {kind} {{sram.input, sram.offset = 0 : i64}},
        %y: {kind} {{sram.output, sram.offset = {4 * TOTAL} : i64}}
    ) attributes {{sram.arena = {8 * TOTAL} : i64}} {{
      {inner}
      func.return
    }}"""


TOTAL = sum(range(1, MOST_COPIED + 1))
"""The words that `copies` copies."""


@pytest.mark.parametrize("element", ["i8", "f32"])
@pytest.mark.parametrize("machine", ["", "cortex-m4", "cortex-m0"])
def test_copies_of_every_length(element: str, machine: str, tmp_path: Path) -> None:
    bits = np.random.default_rng(5).integers(-128, 128, 4 * TOTAL).astype(np.int8)
    x = bits if element == "i8" else np.arange(TOTAL, dtype=np.float32)
    wanted, step = x.copy(), x.size // TOTAL
    wanted[: 16 * step] = x[4 * step : 20 * step]
    if not machine:
        computes(copies(element), "copies", (x,), (wanted,), "c++")
        return
    require(machine)
    write_files(tmp_path, emit_text(copies(element), "copies"), "copies")
    (run,) = run_on(machine, tmp_path / "copies.c", [{"x": x}]).runs
    np.testing.assert_array_equal(run.outputs["y"], wanted)


def test_copies_take_two_instructions(tmp_path: Path) -> None:
    used = assembly(copies("f32").replace("@copies", "@k"), tmp_path)
    assert used.count("vldmia") == used.count("vstmia") == MOST_COPIED + 1


FLOATS = sum(range(PAIR, MOST_FLOATS + 1))
"""How many floats there are if each number of them is moved once."""
FLOATS_KIND = f"memref<{FLOATS}xf32, #npu.sram>"


def from_x_to_y(name: str, lines: Sequence[str]) -> str:
    """A function with some lines, that reads `%x` and writes `%y`."""
    inner = "\n".join(lines)
    return f"""
    func.func @{name}(
        %x: {FLOATS_KIND} {{sram.input, sram.offset = 0 : i64}},
        %y: {FLOATS_KIND} {{sram.output, sram.offset = {4 * FLOATS} : i64}}
    ) attributes {{sram.arena = {8 * FLOATS} : i64}} {{
      {inner}
      func.return
    }}"""


def float_loads() -> str:
    """A program that copies `%x` in loads of every length, to the first or the last registers."""
    kind, lines, place = FLOATS_KIND, list[str](), 0
    for count in range(PAIR, MOST_FLOATS + 1):
        names = [f"%v{place + each}" for each in range(count)]
        register = FLOAT_REGISTERS - count if count % 2 else 0
        lines.append(f"%i{place} = arith.constant {place} : index")
        lines.append(
            f"{', '.join(names)} = dsp.load_floats %x[%i{place}] to {register} : {kind} -> "
            + ", ".join(["f32"] * count)
        )
        for each, name in enumerate(names):
            at = f"%i{place}" if each == 0 else f"%i{place + each}"
            if each:
                lines.append(f"{at} = arith.constant {place + each} : index")
            lines.append(f"memref.store {name}, %y[{at}] : {kind}")
        place += count
    return from_x_to_y("loads", lines)


def float_stores() -> str:
    """A program that copies `%x` with loads and stores of every length, in equal registers."""
    kind, lines, place = FLOATS_KIND, list[str](), 0
    for count in range(PAIR, MOST_FLOATS + 1):
        register = FLOAT_REGISTERS - count if count % 2 else 0
        names, types = (
            ", ".join(each) for each in ([f"%v{place + n}" for n in range(count)], ["f32"] * count)
        )
        lines += [
            f"%i{place} = arith.constant {place} : index",
            f"{names} = dsp.load_floats %x[%i{place}] to {register} : {kind} -> {types}",
            f"dsp.store_floats {names} from {register} to %y[%i{place}] : {types} to {kind}",
        ]
        place += count
    return from_x_to_y("stores", lines)


@pytest.mark.parametrize("machine", ["", "cortex-m4", "cortex-m0"])
@pytest.mark.parametrize("name", ["loads", "stores"])
def test_loads_and_stores_of_several_floats(name: str, machine: str, tmp_path: Path) -> None:
    text = float_loads() if name == "loads" else float_stores()
    x = np.arange(FLOATS, dtype=np.float32)
    if not machine:
        module = parse(text)
        module.verify()
        np.testing.assert_array_equal(run_function(module, name, (x,))[0], x)
        computes(text, name, (x,), (x,), "c++")
        return
    require(machine)
    write_files(tmp_path, emit_text(text, name), name)
    (run,) = run_on(machine, tmp_path / f"{name}.c", [{"x": x}]).runs
    np.testing.assert_array_equal(run.outputs["y"], x)


def test_functions_with_loads_of_several_floats_keep_their_order() -> None:
    kind = "memref<4xf32>"
    source = emit_text(
        f"""
        func.func private @layer(%x: {kind}, %y: {kind}) {{
          %c0 = arith.constant 0 : index
          %v, %w = dsp.load_floats %x[%c0] to 4 : {kind} -> f32, f32
          memref.store %w, %y[%c0] : {kind}
          func.return
        }}
        func.func @k(%x: {kind}, %y: {kind}) {{
          func.call @layer(%x, %y) : ({kind}, {kind}) -> ()
          func.return
        }}""",
        "k",
    ).source
    assert "static NPU_IN_ORDER void k_layer(" in source
    assert "static NPU_INLINE void npu_dsp_load_2_s4(" in source
    assert "{s4-s5}" in source
    assert "NPU_IN_ORDER" not in emit_text(ORDERED, "k").source


def test_a_load_of_several_floats_takes_one_instruction(tmp_path: Path) -> None:
    used = assembly(float_loads().replace("@loads", "@k"), tmp_path)
    assert used.count("vldmia") == MOST_FLOATS - PAIR + 1
    assert "vldr.32" not in used


def test_an_instruction_for_each_op(tmp_path: Path) -> None:
    used = assembly(program(), tmp_path)
    for name in (
        *("sxtb16", "sxtb16 ror", "uxtb16", "uxtb16 ror"),
        *("sxtab16", "sxtab16 ror", "uxtab16", "uxtab16 ror"),
        *("smlabb", "smlatt"),
        *("pkhbt lsl", "pkhbt", "pkhtb asr"),
    ):
        assert used.count(name) == 1, name
    assert used.count("smlad") == 2
    assert used.count("vcvtr.s32.f32") == 1 + 2 * 3  # two in each of the three scaled pairs
    assert used.count("ldrd") == 2
    assert used.count("ssat") == 2
    assert used.count("usat") == 2 + 2  # two in the pair of bytes
    assert used.count("smlabt") + used.count("smlatb") == 2  # GCC swaps operands
    assert not {"ldrb", "strb", "vstr.32", "smulbb"} & set(used)


def test_loads_stay_between_their_fences(tmp_path: Path) -> None:
    """Loads of constant weights stay, too. Without the fences GCC would move them."""
    kept = [name for name in assembly(ORDERED, tmp_path) if name in ("ldr", "smlad")]
    assert kept[-3 * STEPS :] == ["ldr", "ldr", "smlad"] * STEPS
    free = assembly(ORDERED, tmp_path, ("-O2", "-DNPU_KEEP_ORDER()="))
    free = [name for name in free if name in ("ldr", "smlad")]
    assert free[-3 * STEPS :] != ["ldr", "ldr", "smlad"] * STEPS


def test_only_functions_that_are_used() -> None:
    text = emit_text(ORDERED, "k").source
    printed = re.findall(r"^static inline \w+ (npu_dsp_\w+)\(", text, re.M)
    assert printed == [
        *("npu_dsp_load_word", "npu_dsp_sxtb16", "npu_dsp_sxtb16_ror8", "npu_dsp_smlad"),
    ]
    assert "arm_acle" not in emit_text("func.func @f() {\n  func.return\n}").source


def test_the_program_has_every_op() -> None:
    named = {op.partition(" ")[0] for op in OPS}
    named |= {"dsp.store_word", "dsp.keep_order", "dsp.copy_words"}
    named |= {"dsp.load_floats", "dsp.store_floats", "dsp.opaque"}
    assert named == {op.name for op in DSP.operations}
    printed = set(re.findall(r"npu_dsp_\w+(?=\()", emit_text(program()).source))
    assert printed == {*HELPERS, *RESCALE_NAMES, "npu_dsp_rescale_38_0_m128_127"}


OPAQUE = """
func.func @sums(
    %x: memref<15xi32, #npu.sram> {sram.input, sram.offset = 0 : i64},
    %y: memref<8xi32, #npu.sram> {sram.output, sram.offset = 64 : i64}
) attributes {sram.arena = 96 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %part = memref.subview %x[%i] [8] [1]
      : memref<15xi32, #npu.sram> to memref<8xi32, strided<[1], offset: ?>, #npu.sram>
    %pixels = dsp.opaque %part : memref<8xi32, strided<[1], offset: ?>, #npu.sram>
    %a = memref.load %pixels[%c0] : memref<8xi32, strided<[1], offset: ?>, #npu.sram>
    %b = memref.load %pixels[%c7] : memref<8xi32, strided<[1], offset: ?>, #npu.sram>
    %sum = arith.addi %a, %b : i32
    memref.store %sum, %y[%i] : memref<8xi32, #npu.sram>
  }
  func.return
}
"""


@pytest.mark.parametrize("machine", ["", "cortex-m4", "fe310"])
def test_an_opaque_buffer_is_the_same(machine: str, tmp_path: Path) -> None:
    x = np.arange(15, dtype=np.int32) ** 2
    wanted = x[:8] + x[7:]
    assert "NPU_OPAQUE(pixels);" in emit_text(OPAQUE, "sums").source
    if not machine:
        computes(OPAQUE, "sums", (x,), (wanted,), "c++")
        return
    require(machine)
    write_files(tmp_path, emit_text(OPAQUE, "sums"), "sums")
    (run,) = run_on(machine, tmp_path / "sums.c", [{"x": x}]).runs
    np.testing.assert_array_equal(run.outputs["y"], wanted)


@pytest.mark.parametrize(
    ("size", "middle"), [(64, 0), (128, 0), (129, 16), (144, 16), (240, 112), (241, 0)]
)
def test_a_pointer_to_bytes_points_into_their_middle(size: int, middle: int) -> None:
    """A vector is loaded up to 127 bytes in front of its pointer or behind it."""
    type_ = f"memref<{size}xi8, #npu.sram>"
    source = emit_text(
        f"""
func.func @run(%x: {type_} {{sram.input, npu.name = "x", sram.offset = 0 : i64}},
    %y: memref<16xi8, #npu.sram> {{sram.output, npu.name = "y", sram.offset = 256 : i64}})
    attributes {{sram.arena = 272 : i64}} {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %near = dsp.opaque %x : {type_}
  %v = mve.load %near[%c32] : {type_} -> vector<16xi8>
  mve.store %v, %y[%c0] : vector<16xi8>, memref<16xi8, #npu.sram>
  func.return
}}
""",
        "run",
    ).source
    found = re.search(r"= (\w+)(?: \+ (\d+))?; NPU_OPAQUE\((\w+)\);", source)
    assert found is not None
    assert int(found[2] or 0) == middle
    assert f"(&{found[3]}[{32 - middle}])" in source


@pytest.mark.parametrize(("element", "size"), [("i32", 50), ("i32", 200), ("f32", 60), ("i16", 90)])
def test_a_pointer_to_other_numbers_points_to_the_first_one(element: str, size: int) -> None:
    """Their vectors have bytes of their own to reach, so their pointers stay."""
    type_ = f"memref<{size}x{element}, #npu.sram>"
    source = emit_text(
        f"""
func.func @run(%x: {type_} {{sram.input, npu.name = "x", sram.offset = 0 : i64}},
    %y: memref<1x{element}, #npu.sram> {{sram.output, npu.name = "y", sram.offset = 1024 : i64}})
    attributes {{sram.arena = 1040 : i64}} {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %near = dsp.opaque %x : {type_}
  %v = memref.load %near[%c32] : {type_}
  memref.store %v, %y[%c0] : memref<1x{element}, #npu.sram>
  func.return
}}
""",
        "run",
    ).source
    found = re.search(r"= (\w+); NPU_OPAQUE\((\w+)\);", source)
    assert found is not None
    assert f"{found[2]}[32]" in source


def test_sums_in_front_of_a_barrier_stay_in_registers(tmp_path: Path) -> None:
    """Three pixels and four filters on a core with 31 registers: no sum goes to the stack."""
    require("fe310")
    text = """
    "memref.global"() <{sym_name = "w", sym_visibility = "private", constant,
        type = memref<8x32x1x1xi8, #npu.flash>,
        initial_value = dense<1> : tensor<8x32x1x1xi8>}> : () -> ()
    func.func @k(%x: memref<1x32x6x6xi8, strided<[1152, 1, 192, 32]>, #npu.sram>,
                 %y: memref<1x8x6x6xi32, strided<[288, 1, 48, 8]>, #npu.sram>) {
      %w = memref.get_global @w : memref<8x32x1x1xi8, #npu.flash>
      npu.conv2d ins(%x, %w : memref<1x32x6x6xi8, strided<[1152, 1, 192, 32]>, #npu.sram>,
          memref<8x32x1x1xi8, #npu.flash>)
        outs(%y : memref<1x8x6x6xi32, strided<[288, 1, 48, 8]>, #npu.sram>) zero_points [0, 0]
      func.return
    }"""
    loops = lowered(parse(text), BYTES)
    write_files(tmp_path, emit(loops, "k"), "k")
    compiler, machine = compiler_of("fe310")
    command = [compiler, *machine, "-O2", "-S", "-o", "-", "k.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    blocks = re.split(r"^\.L\d+:", done.stdout, flags=re.M)
    (inner,) = (each for each in blocks if each.count("\tmul\t") == 48)
    assert "(sp)" not in re.split(r"\tb\w+\t", inner)[0]
