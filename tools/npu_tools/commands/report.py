"""npu-report: report on a network.

    npu-report html model.onnx --target fe310 -o report.html

shows how the network is compiled, as one page (`report_html.py`).

    npu-report zero-blocks model.onnx --image picture.png --block-size 4 --threshold 0.1 -o out.png

prints a table of the network's feature maps: their zero blocks, and the bytes of the map before
compression, of its index, and after compression. It draws the kept and skipped blocks of some maps
over the picture, as figure 5 of paper 003 does. The picture is written after everything is checked
and computed. A user's mistake gives one message and exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npu_tools.commands.arguments import ShowVersion, positive, usage_error
from npu_tools.commands.report_html import html_options
from npu_tools.shared.errors import UserError, guarded
from npu_tools.shared.text import say

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npu_dialect.interpreters import Port
    from npu_tools.reports.zero_block_maps import BlockMap

TOOL = "npu-report"
PANELS = 11
"""Most maps that are drawn without --layer. With the input they fill three rows of panels."""


def main(args: Sequence[str] | None = None) -> int:
    """Run npu-report; returns the exit code."""
    model: list[str] = []

    def body() -> int:
        options = argument_parser().parse_args(sys.argv[1:] if args is None else args)
        model.append(str(options.model))
        report: Callable[[argparse.Namespace], int] = options.run
        return report(options)

    return guarded(TOOL, body, lambda: model[0] if model else None)


def argument_parser() -> argparse.ArgumentParser:
    """The argument parser with all reports and their options."""
    parser = argparse.ArgumentParser(TOOL, description="Report on a neural network.")
    parser.error = usage_error
    parser.add_argument("-v", "--version", action=ShowVersion)
    reports = parser.add_subparsers(metavar="REPORT", required=True)
    blocks = reports.add_parser("zero-blocks", help="which blocks of maps are zero")
    blocks.error = usage_error
    zero_block_options(blocks)
    blocks.set_defaults(run=zero_blocks)
    page = reports.add_parser("html", help="a page that shows how a network is compiled")
    page.error = usage_error
    html_options(page)
    return parser


def zero_block_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `npu-report zero-blocks`."""
    add = parser.add_argument
    add("model", type=Path, help="an .onnx model, or a .pt2 file of torch.export")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--image", type=Path, metavar="picture.png", help="a picture of the input's H x W"
    )
    source.add_argument(
        "--input",
        type=Path,
        metavar="data.npz",
        help="an array for each input: one sample, or several along the first axis",
    )
    add(
        "--mean",
        type=colours,
        metavar="M[,M,M]",
        default=[],
        help="subtracted from the picture's colours, which go from 0 to 1 (default: 0)",
    )
    add(
        "--std",
        type=deviations,
        metavar="S[,S,S]",
        default=[],
        help="divides the colours after --mean (default: 1)",
    )
    add("--block-size", type=positive, default=4, metavar="N", help="N x N (default: %(default)s)")
    add(
        "--threshold",
        type=threshold,
        metavar="T",
        help="set blocks behind a ReLU to zero if all their values are below T (default: none)",
    )
    add(
        "--layer",
        action="append",
        default=[],
        metavar="NAME",
        help="draw the map of this layer or with this name; may be repeated (default: for each map "
        f"size the last one behind a ReLU, at most {PANELS})",
    )
    add("-o", dest="picture", type=Path, metavar="out.png", help="write a picture (first sample)")
    add("--json", action="store_true", help="print the table as JSON")
    add("--input-dim", action="append", default=[], metavar="NAME=N", help="a dynamic dimension")


def colours(text: str) -> list[float]:
    """Parse finite numbers with commas in between; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(map(isfinite, values)):
        raise argparse.ArgumentTypeError(f"expected numbers with commas in between, got {text!r}")
    return values


def deviations(text: str) -> list[float]:
    """Parse finite numbers above 0 with commas in between; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    values = colours(text)
    if min(values) <= 0:
        raise argparse.ArgumentTypeError(f"expected numbers above 0, got {text!r}")
    return values


def threshold(text: str) -> float:
    """Parse a finite number of at least 0; a `type` for argparse.

    Raises: argparse.ArgumentTypeError for any other text.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value


def zero_blocks(options: argparse.Namespace) -> int:
    """Run the network, write the picture of -o, print the table; returns the exit code."""
    from npu_dialect.interpreters import Signature, find_function
    from npu_tools.importers.frontends import load, parse_input_dims
    from npu_tools.reports.zero_block_input import need_matplotlib
    from npu_tools.reports.zero_block_maps import measure, prepare
    from npu_tools.shared.files import replaceable, write_files

    check_options(options)
    if options.picture is not None or options.image is not None:
        need_matplotlib("-o" if options.image is None else "--image")
    path = None if options.picture is None else replaceable(options.picture)
    module = load(options.model, parse_input_dims(options.input_dim)).module
    ports = Signature.of(find_function(module, None)).inputs
    inputs = load_samples(options, ports)
    prepare(module, options.block_size, options.threshold)
    check_layers(options.layer, options.block_size, module)
    maps = measure(module, inputs, options.block_size)
    shown = chosen(maps, options.layer)
    if path is not None:
        write_files(path.parent, {path.name: drawn(options, inputs[0], shown)})
    report(options, maps)
    if path is not None:
        say(f"\nwrote {options.picture}", sys.stderr if options.json else sys.stdout)
    return 0


def check_options(options: argparse.Namespace) -> None:
    """Check that the options fit each other.

    Raises: UserError for --mean or --std without --image, or --layer without -o.
    """
    if options.image is None and (options.mean or options.std):
        raise UserError("--mean and --std are for --image")
    if options.layer and options.picture is None:
        raise UserError("--layer says what to draw: expected -o out.png as well")


def load_samples(options: argparse.Namespace, ports: Sequence[Port]) -> list[list[Any]]:
    """The inputs of each run of the network: an array for each port.

    Raises: UserError if the file does not hold arrays or a picture that fit the inputs.
    """
    from npu_tools.reports.zero_block_input import picture, samples

    if options.image is None:
        return samples(options.input, ports)
    return [[picture(options.image, ports, options.mean or [0.0], options.std or [1.0])]]


def check_layers(names: Sequence[str], block: int, module: ModuleOp) -> None:
    """Check that each name of --layer is that of a map at least as large as a block.

    Raises: UserError if no map has the name, or if a map has fewer rows and fewer columns than a
    block.
    """
    from npu_dialect.npu.maps import shape_of
    from npu_tools.reports.zero_block_maps import map_layers, value_name

    layers = map_layers(module)
    known = [name for op in layers for name in (op.layer_name, value_name(op)) if name]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            raise UserError(
                f"--layer {name}: expected a layer with a map of its own, or the name of the map"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        for op in layers:
            rows, columns = shape_of(op.output)[2:]
            if name in (op.layer_name, value_name(op)) and block > max(rows, columns):
                raise UserError(
                    f"--block-size {block}: larger than the map of {name}, {rows} x {columns}"
                )


def chosen(maps: Sequence[BlockMap], names: Sequence[str]) -> list[BlockMap]:
    """The maps to draw: the named ones, or for each size (H, W) the last one behind a ReLU.

    If no map is behind a ReLU, all maps count.
    """
    if names:
        return [each for name in names for each in maps if name in (each.layer, each.value)]
    behind = [each for each in maps if each.relu] or list(maps)
    last = {each.shape[2:]: each for each in behind if max(each.shape[2:]) >= each.block}
    return sorted(last.values(), key=maps.index)[:PANELS]


def drawn(options: argparse.Namespace, sample: Sequence[Any], shown: Sequence[BlockMap]) -> bytes:
    """The picture as a PNG file: the first sample, and the blocks of some maps over it.

    Raises: UserError if no input has the shape [N, C, H, W].
    """
    from npu_tools.pictures.zero_block_picture import png
    from npu_tools.reports.zero_block_input import visible

    pictures = [array for array in sample if array.ndim == 4]
    if not pictures:
        raise UserError("-o: expected an input [N, C, H, W] to draw on")
    return png(visible(pictures[0]), shown, title(options))


def title(options: argparse.Namespace) -> str:
    """The heading of the table and of the picture: model, block size and threshold."""
    size = options.block_size
    pruned = "" if options.threshold is None else f", pruned below {options.threshold:g}"
    return f"{options.model.name}: zero blocks of {size} x {size}{pruned}"


def report(options: argparse.Namespace, maps: Sequence[BlockMap]) -> None:
    """Print the table, or the JSON of --json."""
    from npu_tools.reports.zero_block_table import as_dict, table

    if options.json:
        head = {
            "model": options.model.name,
            "block_size": options.block_size,
            "threshold": options.threshold,
        }
        print(json.dumps({**head, **as_dict(maps)}, indent=2))
        return
    count = maps[0].samples
    say(f"{title(options)}; bytes of {f'{count} samples' if count > 1 else 'one pass'}\n")
    say("\n".join(table(maps)))
    left = [each.layer for each in maps if each.relu and not each.pruned]
    if options.threshold is not None and left:
        say(f"\nnot pruned, as no layer works on them: {', '.join(left)}")


if __name__ == "__main__":
    sys.exit(main())
