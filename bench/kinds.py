"""Instructions of whole int8 networks of kinds that no kernel was tuned for, beside CMSIS-NN's.

    python bench/kinds.py [NAME ...] [--target cortex-m55] [--check]

MobileNetV2, MobileNetV3, EfficientNet, SqueezeNet and a small Inception are those of
examples/networks, quantised with random images. The others are built here with random weights:
inverted bottlenecks with large windows, groups and dilation, two images at once, filters that share
a channel, and an autoencoder of vectors. Each is compiled with npu-compile, built with -O2 and -O3,
and run on seeded random numbers; the build with fewer instructions counts. ROM is text and rodata.
The figures of CMSIS-NN are those of peers.toml, also the better ones of -O2 and -O3. `--check`
compares the outputs of those built here with onnxruntime's, which must be equal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import onnx
from layer_networks import Net, Shape
from layers import compare, run

from npu_passes.pipelines import DEFAULT
from npu_tools.shared.text import columns

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.networks.int8 import saved_int8

PEERS = Path(__file__).with_name("peers.toml")
TITLES = ("network", "MACs", "arena", "ROM", "instructions", "per MAC", "CMSIS-NN", "ours in %")
TARGETS = ("cortex-m4", "cortex-m55")


def bottlenecks() -> onnx.ModelProto:
    """Inverted bottlenecks with depthwise windows of 3, 5 and 7, as searches for MCUs find them."""
    net = Net()
    x = net.conv(net.input((1, 3, 64, 64)), "stem", Shape((1, 3, 64, 64), 16, stride=2))
    blocks = ((3, 3, 1, 16), (3, 7, 2, 24), (4, 5, 1, 24), (3, 7, 2, 40), (5, 5, 1, 40))
    for number, (expansion, kernel, stride, filters) in enumerate((*blocks, (4, 3, 2, 96))):
        wide = expansion * net.shapes[x][1]
        x = net.pointwise(x, f"expand{number}", wide)
        spread = Shape(shape_of(net, x), wide, kernel, stride, groups=wide)
        x = net.conv(x, f"depthwise{number}", spread)
        x = net.pointwise(x, f"project{number}", filters)
    return net.model([x])


def grouped() -> onnx.ModelProto:
    """Convolutions of several groups, some with their taps apart."""
    net = Net()
    x = net.conv(net.input((1, 3, 48, 48)), "stem", Shape((1, 3, 48, 48), 32, stride=2))
    for number, (filters, kernel, stride, dilation, groups) in enumerate(
        ((32, 3, 1, 1, 4), (48, 5, 1, 2, 2), (48, 3, 2, 1, 6), (64, 3, 1, 3, 4), (64, 3, 1, 1, 8))
    ):
        shape = Shape(shape_of(net, x), filters, kernel, stride, dilation, groups)
        x = net.pointwise(net.conv(x, f"grouped{number}", shape), f"mixed{number}", filters)
    return net.model([x])


def batch() -> onnx.ModelProto:
    """Two images at once."""
    net = Net()
    x = net.conv(net.input((2, 3, 24, 24)), "stem", Shape((2, 3, 24, 24), 12))
    x = net.conv(x, "middle", Shape(shape_of(net, x), 20, stride=2))
    x = net.conv(x, "last", Shape(shape_of(net, x), 32, stride=2))
    return net.model([net.pointwise(x, "scores", 10)])


def multipliers() -> onnx.ModelProto:
    """Several filters for each channel, and groups of odd numbers of channels."""
    net = Net()
    x = net.conv(net.input((1, 1, 40, 40)), "stem", Shape((1, 1, 40, 40), 10, 5, 2))
    x = net.conv(x, "twice", Shape(shape_of(net, x), 20, groups=10))
    x = net.conv(net.pointwise(x, "mixed", 18), "groups", Shape((1, 18, 20, 20), 30, groups=6))
    x = net.conv(
        net.pointwise(x, "narrow", 14), "thrice", Shape((1, 14, 20, 20), 42, 5, 2, groups=14)
    )
    return net.model([net.pointwise(x, "scores", 10)])


def autoencoder() -> onnx.ModelProto:
    """Fully connected layers 512, 96, 8, 96, 512."""
    net = Net()
    x = net.input((1, 512, 1, 1))
    for number, features in enumerate((96, 8, 96, 512)):
        x = net.pointwise(x, f"dense{number}", features)
    return net.model([x])


def shape_of(net: Net, map: str) -> tuple[int, int, int, int]:
    """The shape of a map of four axes."""
    images, channels, rows, columns_ = net.shapes[map]
    return images, channels, rows, columns_


def quantised(name: str, **options: object) -> onnx.ModelProto:
    """A network of examples/networks in integers."""
    with tempfile.TemporaryDirectory() as folder:
        path = saved_int8(Path(folder), name, **options)
        return onnx.ModelProto.FromString(path.read_bytes())


def mobilenet() -> onnx.ModelProto:
    """MobileNetV2 0.35 for images of 96x96."""
    return quantised("mobilenet_v2", width=0.35, multiple=8, size=(96, 96), classes=10)


def squeezenet() -> onnx.ModelProto:
    """SqueezeNet for images of 64x64, with a quarter of its channels."""
    return quantised("squeezenet1_1", width=0.25, size=(64, 64), classes=10)


def mobilenet_v3() -> onnx.ModelProto:
    """MobileNetV3 0.25 for images of 96x96, with tables of hard swish and with gates."""
    return quantised("mobilenet_v3", width=0.25, multiple=8, size=(96, 96), classes=10)


def efficientnet() -> onnx.ModelProto:
    """EfficientNet-B0 for images of 64x64, with a quarter of its channels."""
    return quantised("efficientnet", width=0.25, multiple=8, size=(64, 64), classes=10)


def inception() -> onnx.ModelProto:
    """All modules of Inception-V3, with few channels; some have average pools."""
    return quantised("inception_small")


KINDS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    each.__name__: each
    for each in (
        *(mobilenet, bottlenecks, squeezenet, grouped, batch, multipliers, autoencoder),
        *(mobilenet_v3, efficientnet, inception),
    )
}
EXACT = ("bottlenecks", "grouped", "batch", "multipliers", "autoencoder")
"""The networks that are built here of integers, whose results are those of onnxruntime."""


def recorded(name: str, target: str) -> int | None:
    """The fewest instructions of CMSIS-NN for a network; None if they are not recorded."""
    with PEERS.open("rb") as file:
        kinds = tomllib.load(file)["kind"]
    found = [each for each in kinds if (each["name"], each["target"]) == (name, target)]
    return min((peer["instructions"] for each in found for peer in each["peers"]), default=None)


def measured(name: str, target: str, *, check: bool) -> tuple[str, ...]:
    """The row of a network."""
    model = KINDS[name]()
    found = run(
        model, DEFAULT, layers=False, io="model" if name in EXACT else "int8", target=target
    )
    if check and name in EXACT:
        compare(model, found)
    macs = sum(layer.macs for layer in found.layers)
    count = found.best.runs[0].instructions
    rom = found.best.sizes.text + found.best.sizes.rodata
    peer = recorded(name, target)
    against = ("-", "-") if peer is None else (str(peer), f"{100 * count / peer:.0f}")
    return name, *map(str, (macs, found.arena, rom, count)), f"{count / macs:.2f}", *against


def table(names: Iterable[str], target: str, *, check: bool) -> str:
    """The table of some networks on a machine."""
    return "\n".join(columns([TITLES, *(measured(name, target, check=check) for name in names)], 1))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("networks", nargs="*", default=list(KINDS), metavar="NAME")
    parser.add_argument("--target", choices=TARGETS, default=TARGETS[0])
    parser.add_argument("--check", action="store_true", help="compare with onnxruntime")
    options = parser.parse_args()
    if unknown := set(options.networks) - set(KINDS):
        parser.error(f"no network {', '.join(sorted(unknown))}: expected {', '.join(KINDS)}")
    print(table(options.networks, options.target, check=options.check))
    return 0


if __name__ == "__main__":
    sys.exit(main())
