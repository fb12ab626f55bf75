"""npu-quantize: quantise a float32 ONNX model to integers of 8 or 16 bits.

    npu-quantize model.onnx --calibrate data.npz -o model_int8.onnx

It does post-training static quantisation with onnxruntime, and prints how far the outputs and the
layers are from those of the float model. The file is written at the end, or not at all. A user's
mistake gives one message and exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from npu_tools.commands.arguments import ShowVersion, usage_error
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.text import say

if TYPE_CHECKING:
    from npu_tools.quantizing.quality import Quality
    from npu_tools.quantizing.quantize_model import Recipe

TOOL = "npu-quantize"


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-quantize; returns the exit code."""
    model: list[str] = []

    def body() -> int:
        options = argument_parser().parse_args(sys.argv[1:] if args is None else args)
        model.append(str(options.model))
        return run(options)

    return guarded(TOOL, body, lambda: model[0] if model else None)


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all options of npu-quantize."""
    parser = argparse.ArgumentParser(TOOL, description="Quantise a float32 ONNX model to integers.")
    parser.error = usage_error
    add = parser.add_argument
    add("-v", "--version", action=ShowVersion)
    add("model", type=Path, help="an .onnx model, or a .pt2 file of torch.export")
    add(
        "--calibrate",
        type=Path,
        required=True,
        metavar="data.npz",
        help="typical inputs: an array for each input, samples along the first axis",
    )
    add(
        "-o",
        dest="output",
        type=Path,
        required=True,
        metavar="model_int8.onnx",
        help="where to write",
    )
    add_recipe_options(parser)
    add(
        "--evaluate",
        type=Path,
        metavar="data.npz",
        help="other inputs on which the outputs are compared; with an array y of class numbers, "
        "also the accuracy",
    )
    add("--json", action="store_true", help="print the comparison as JSON, and nothing else")
    add("--input-dim", action="append", default=[], metavar="NAME=N", help="a dynamic dimension")
    return parser


def add_recipe_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that become the fields of `Recipe`."""
    add = parser.add_argument
    add(
        "--format",
        choices=("qdq", "operators"),
        default="qdq",
        help="qdq: QuantizeLinear and DequantizeLinear around float operators; operators: integer "
        "operators with their scales as inputs, such as QLinearConv (default: %(default)s)",
    )
    filters = parser.add_mutually_exclusive_group()
    filters.add_argument(
        "--per-channel",
        action="store_true",
        default=True,
        help="one scale for each filter of a weight tensor (the default)",
    )
    filters.add_argument(
        "--per-tensor",
        action="store_false",
        dest="per_channel",
        help="one scale for each weight tensor",
    )
    add(
        "--activations",
        choices=("int8", "uint8"),
        default="int8",
        help="element type of feature maps (default: %(default)s); weights are int8",
    )
    add(
        "--int16",
        nargs="?",
        choices=("all", "auto"),
        const="all",
        default="none",
        help="16 bits for all maps, or `auto`: for those that --goal-db needs; weights stay int8",
    )
    add(
        "--goal-db",
        type=float,
        default=30.0,
        metavar="DB",
        help="the signal to noise that --int16 auto wants for each output (default: %(default)s)",
    )
    add(
        "--method",
        choices=("minmax", "mse", "percentile"),
        default="minmax",
        help="the range of a map: all of its calibration values, the range with the least squared "
        "error, or 99.999 %% of the values (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Quantise and check the model, write it, and print what it costs; returns the exit code."""
    from npu_tools.quantizing.quantize_model import need_quantiser
    from npu_tools.shared.files import write_files

    need_quantiser()
    recipe = recipe_of(options)
    place = place_for(options.output, options.model)
    data, quality = quantised_bytes(options, recipe)
    write_files(place.parent, {place.name: data})
    for warning in quality.warnings:
        say(f"{TOOL}: warning: {options.model}: {warning}", sys.stderr)
    if options.json:
        written = {"model": str(options.model), "output": str(options.output), "bytes": len(data)}
        print(json.dumps({**written, **asdict(recipe), **quality.data()}, indent=2))
        return 0
    say(quality.text())
    say(f"\nwrote {options.output}: {len(data)} bytes")
    return 0


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The recipe that the options ask for.

    Raises: UserError if options do not fit each other.
    """
    from npu_tools.quantizing.quantize_model import Recipe

    if options.int16 != "none" and options.format != "qdq":
        raise UserError(
            f"--int16 with --format {options.format}: ONNX has no operators of int16 with scales "
            "as inputs; expected --format qdq"
        )
    if not isfinite(options.goal_db):
        raise UserError(f"--goal-db {options.goal_db}: expected a number of decibels")
    return Recipe(
        options.format,
        options.activations,
        options.method,
        options.per_channel,
        options.int16,
        options.goal_db,
    )


def place_for(output: Path, model: Path) -> Path:
    """The path to write to, with symbolic links resolved.

    Raises: UserError if the name does not end with .onnx, if its folder is missing, if it is no
    regular file, or if it is the model itself.
    """
    from npu_tools.shared.files import replaceable

    if output.suffix != ".onnx":
        raise UserError(f"-o {output}: expected a name that ends with .onnx")
    place = replaceable(output)
    if model.exists() and place.exists() and place.samefile(model):
        raise UserError(f"-o {output}: this is the model itself; expected another file")
    return place


def quantised_bytes(options: argparse.Namespace, recipe: Recipe) -> tuple[bytes, Quality]:
    """The quantised model as the bytes of an ONNX file, and how far it is from the float model.

    The model is imported before, and the result after quantisation, so npu-compile accepts both.
    The second import warns about nodes that stay in float32.

    Raises: UserError if the model or the data cannot be used.
    """
    from npu_tools.importers.frontends import load, parse_input_dims
    from npu_tools.importers.onnx import import_model
    from npu_tools.importers.onnx.load import model_inputs
    from npu_tools.quantizing.quality import measured
    from npu_tools.quantizing.quantize_data import calibration_runs, labelled_runs
    from npu_tools.quantizing.quantize_model import check_floats, quantised

    model = load(options.model, parse_input_dims(options.input_dim)).model
    if model is None:
        raise UserError(f"{options.model}: expected an .onnx or .pt2 model")
    shapes = {
        value.name: tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in model_inputs(model)
    }
    runs = calibration_runs(options.calibrate, shapes)
    others = labelled_runs(options.evaluate, shapes) if options.evaluate else None
    try:
        check_floats(model)
        prepared, result = quantised(model, runs, recipe)
    except UserError as error:
        raise UserError(f"{options.model}: {error}") from error
    data = result.SerializeToString(deterministic=True)
    import_model(data, name=f"{options.model}, quantised", base_dir=None)
    goal = recipe.goal_db if recipe.int16 == "auto" else None
    return data, measured(prepared, result, runs, others, goal)


if __name__ == "__main__":
    sys.exit(main())
