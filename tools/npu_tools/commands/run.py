"""npu-run: run a function of a module on numpy arrays, with the interpreter.

    npu-run lenet5.mlir --inputs digits.npz -o outputs.npz
    npu-run lenet5.onnx --seed 0

It works at every stop of the road: tensors, buffers at their offsets, loops. In an .npz file an
input has its `npu.name`, or `input0`, `input1`, ...; outputs are called the same way.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
from numpy.lib.format import write_array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.universe import Universe

from npu_dialect.interpreters import Signature, find_function, run_function
from npu_passes.support.safe_text import SafeParser
from npu_tools.commands.arguments import natural, usage_error
from npu_tools.importers.frontends import MODELS, load, parse_input_dims
from npu_tools.shared.arrays import read_npy, read_npz
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.files import write_files

TOOL = "npu-run"

Array: TypeAlias = npt.NDArray[Any]


def argument_parser() -> argparse.ArgumentParser:
    """All options of npu-run."""
    parser = argparse.ArgumentParser(prog=TOOL, description="Run a function on numpy arrays")
    parser.error = usage_error
    parser.add_argument(
        "-v", "--version", action="version", version=f"{TOOL} {version('npu-dialect')}"
    )
    parser.add_argument("file", type=Path, help="a .mlir file, or a model")
    parser.add_argument("--function", metavar="NAME", help="default: the only public function")
    parser.add_argument(
        "--input", action="append", type=Path, default=[], metavar="FILE.npy", help="the next input"
    )
    parser.add_argument(
        "--inputs", type=Path, metavar="FILE.npz", help="all inputs, by their names"
    )
    parser.add_argument("--seed", type=natural, default=0, help="of inputs that are not given")
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
    """The verified module of a file.

    Raises: UserError, OSError, or what a parser or importer finds.
    """
    if path.suffix.removeprefix(".") in MODELS:
        return load(path, parse_input_dims(input_dims))[1]
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not MLIR text: byte {error.start} is not UTF-8") from None
    context = Context()
    for name, dialect in Universe.get_multiverse().all_dialects.items():
        context.register_dialect(name, dialect)
    module = SafeParser(context, text, str(path)).parse_module()
    module.verify()
    return module


def load_inputs(options: argparse.Namespace, signature: Signature) -> list[Array]:
    """The inputs from the files of the command line, or random ones.

    Raises: UserError for a file that does not hold them.
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
    """Run, print the outputs, and write them if asked to."""
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
        print(f"{name}: {array.dtype} {list(array.shape)}")
        print(np.array2string(array, threshold=40, edgeitems=3, precision=6))
    return 0


def archived(arrays: Mapping[str, Array]) -> bytes:
    """The arrays as an .npz file; numpy's own `savez` takes neither all names nor a fixed date."""
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
