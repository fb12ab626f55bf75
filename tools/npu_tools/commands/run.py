"""npu-run: run a function of a module on numpy arrays, with the interpreter.

    npu-run lenet5.mlir --inputs digits.npz -o outputs.npz
    npu-run lenet5.onnx --seed 0

It runs every level of IR: tensors, buffers at their offsets, loops. In an .npz file the array of an
input is called like its `npu.name`, or else `input0`, `input1`, ...; those of outputs likewise.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
from numpy.lib.format import write_array
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npu_dialect.interpreters import Signature, find_function, run_function
from npu_passes.support.safe_text import SafeParser
from npu_tools.commands.arguments import ShowVersion, natural, usage_error
from npu_tools.importers.frontends import MODELS, load, parse_input_dims
from npu_tools.shared.arrays import read_npy, read_npz
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.files import write_files
from npu_tools.shared.installed import context
from npu_tools.shared.text import say

TOOL = "npu-run"

Array: TypeAlias = npt.NDArray[Any]


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-run."""
    parser = argparse.ArgumentParser(prog=TOOL, description="Run a function on numpy arrays")
    parser.error = usage_error
    parser.add_argument("-v", "--version", action=ShowVersion)
    parser.add_argument("file", type=Path, help="a .mlir file, or a model")
    parser.add_argument("--function", metavar="NAME", help="default: the only public function")
    parser.add_argument(
        "--input",
        action="append",
        type=Path,
        default=[],
        metavar="FILE.npy",
        help="the next input; repeat it for each input of the function",
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="FILE.npz", help="all inputs, by their names"
    )
    parser.add_argument("--seed", type=natural, default=0, help="seed of random inputs")
    parser.add_argument(
        "--input-dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dynamic dimension of a model",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.npz", help="write the outputs")
    return parser


def load_module(path: Path, input_dims: Sequence[str]) -> ModuleOp:
    """Read a .mlir file or import a model; returns the verified module.

    Raises: UserError if a .mlir file is not UTF-8 or a model cannot be imported; OSError if the
    file cannot be read; ParseError or DiagnosticException for wrong IR.
    """
    if path.suffix.removeprefix(".") in MODELS:
        return load(path, parse_input_dims(input_dims)).module
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not MLIR text: byte {error.start} is not UTF-8") from None
    module = SafeParser(context(), text, str(path)).parse_module()
    module.verify()
    return module


def load_inputs(options: argparse.Namespace, signature: Signature) -> list[Array]:
    """The inputs from the files of the command line; without files, random ones for all inputs.

    Raises: UserError if a file holds no array, or if an .npz file lacks an input's name.
    """
    if options.inputs is not None:
        archive = read_npz(options.inputs)
        names = [port.name for port in signature.inputs]
        if missing := [name for name in names if name not in archive]:
            raise UserError(
                f"{options.inputs}: expected arrays {', '.join(names)}: "
                f"{', '.join(missing)} missing, the file has {', '.join(archive) or 'none'}"
            )
        return [archive[name] for name in names]
    if options.input:
        return [read_npy(path) for path in options.input]
    generator = np.random.default_rng(options.seed)
    return [port.random(generator) for port in signature.inputs]


def execute(options: argparse.Namespace) -> int:
    """Run the function, print its outputs, write them with -o; returns the exit code.

    Raises: UserError if both --input and --inputs are given; see the functions called here.
    """
    if options.input and options.inputs:
        raise UserError("expected --input or --inputs, got both")
    module = load_module(options.file, options.input_dim)
    function: FuncOp = find_function(module, options.function)
    signature = Signature.of(function)
    inputs = load_inputs(options, signature)
    outputs = run_function(module, function.sym_name.data, inputs)
    named = {port.name: array for port, array in zip(signature.outputs, outputs, strict=True)}
    if options.output is not None:
        write_files(options.output.parent, {options.output.name: archived(named)})
    for name, array in named.items():
        say(f"{name}: {array.dtype} {list(array.shape)}")
        print(np.array2string(array, threshold=40, edgeitems=3, precision=6))
    return 0


def archived(arrays: Mapping[str, Array]) -> bytes:
    """The arrays as the bytes of an .npz file.

    numpy's `savez` is not used: it rejects some names, and it does not let the date be fixed.
    """
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(ZipInfo(f"{name}.npy"), "w") as file:
                write_array(file, array, allow_pickle=False)
    return buffer.getvalue()


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-run; returns the exit code."""
    file: list[str] = []

    def body() -> int:
        options = argument_parser().parse_args(args)
        file.append(str(options.file))
        return execute(options)

    return guarded(TOOL, body, lambda: file[0] if file else None)


if __name__ == "__main__":
    sys.exit(main())
