"""Networks as people bring them: built with torch, with random weights, exported to ONNX.

    pip install '.[train]'
    python examples/zoo/zoo.py -o zoo                  # by torch's old exporter
    python examples/zoo/zoo.py -o zoo --exporter new   # by torch.onnx.export(dynamo=True)
    python examples/zoo/zoo.py -o zoo --exporter pt2 vit unet_nearest

Batch statistics are random too, so that no normalisation is one without effect.
"""

# torch is typed in part; it need not be installed.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import attention
import branches
import classic
import image
import mixed
import sequences
import torch
from torch import nn

Shape = tuple[int, ...]
EXPORTERS = ("old", "new", "pt2")
NEWER = EXPORTERS[1:]


@dataclass(frozen=True)
class Entry:
    """A network of the zoo: how it is made, and the shapes of its inputs."""

    make: Callable[[], nn.Module]
    shapes: Sequence[Shape]
    exporters: Sequence[str] = EXPORTERS
    """The exporters that take it; torch's old one knows not all of torch's own layers."""


RGB32, RGB64, GREY = (1, 3, 32, 32), (1, 3, 64, 64), (1, 1, 32, 32)

ZOO: dict[str, Entry] = {
    "autoencoder": Entry(classic.autoencoder, [(1, 640)]),
    "bc_resnet": Entry(sequences.bc_resnet, [(1, 1, 40, 24)]),
    "cct": Entry(attention.CompactTransformer, [RGB32]),
    "conformer": Entry(mixed.Conformer, [(1, 24, 40)]),
    "convnext": Entry(classic.convnext, [RGB32]),
    "crnn": Entry(sequences.Spotter, [(1, 1, 40, 20)]),
    "deconvolution": Entry(image.deconvolution, [GREY]),
    "deeplab": Entry(image.SpatialPyramid, [RGB32]),
    "denoiser": Entry(mixed.Denoiser, [GREY]),
    "densenet": Entry(classic.densenet, [RGB32]),
    "ds_cnn": Entry(classic.ds_cnn, [(1, 1, 49, 10)]),
    "ecg": Entry(sequences.ecg, [(1, 1, 96)]),
    "efficientnet": Entry(classic.efficientnet, [RGB32]),
    "encoder": Entry(attention.encoder, [(1, 16, 24)], NEWER),
    "encoder_first": Entry(attention.encoder_first, [(1, 16, 24)], NEWER),
    "espcn": Entry(image.espcn, [(1, 1, 16, 16)]),
    "fsrcnn": Entry(image.fsrcnn, [(1, 1, 16, 16)]),
    "fused_attention": Entry(attention.Fused, [(1, 12, 16)]),
    "ghostnet": Entry(classic.ghostnet, [RGB32]),
    "graph": Entry(mixed.GraphConvolution, [(1, 12, 8), (1, 12, 12)]),
    "group_norm": Entry(classic.group_norm, [RGB32]),
    "gru": Entry(sequences.gru, [(1, 20, 20)]),
    "hrnet": Entry(branches.HighResolution, [RGB32]),
    "inception": Entry(branches.inception, [RGB32]),
    "keyword_transformer": Entry(attention.KeywordTransformer, [(1, 24, 40)]),
    "kws_1d": Entry(sequences.kws_1d, [(1, 40, 98)]),
    "leaky": Entry(classic.leaky, [RGB32]),
    "lenet": Entry(branches.lenet, [GREY]),
    "lstm": Entry(sequences.lstm, [(1, 20, 20)]),
    "matchbox": Entry(sequences.matchbox, [(1, 64, 48)]),
    "mixer": Entry(attention.MlpMixer, [RGB32]),
    "mobilenet_v1": Entry(classic.mobilenet_v1, [RGB64]),
    "mobilenet_v2": Entry(classic.mobilenet_v2, [RGB64]),
    "mobilenet_v3": Entry(classic.mobilenet_v3, [RGB64]),
    "mobilevit": Entry(mixed.MobileViT, [RGB32]),
    "pads_and_cuts": Entry(image.PadsAndCuts, [RGB32]),
    "parametric": Entry(classic.parametric, [RGB32]),
    "pointnet": Entry(sequences.Points, [(1, 3, 64)]),
    "pointnet_turned": Entry(sequences.TurnedPoints, [(1, 3, 64)]),
    "regnet": Entry(branches.regnet, [RGB32]),
    "repvgg": Entry(branches.repvgg, [RGB32]),
    "resnet8": Entry(classic.resnet8, [RGB32]),
    "resnet8_batch": Entry(classic.resnet8, [(3, 3, 32, 32)]),
    "shufflenet_v2": Entry(classic.shufflenet_v2, [RGB64]),
    "squeezenet": Entry(branches.squeezenet, [RGB32]),
    "squeezenext": Entry(classic.squeezenext, [RGB32]),
    "ssd": Entry(mixed.SingleShot, [RGB32]),
    "style": Entry(mixed.style, [(1, 3, 24, 24)]),
    "swin": Entry(mixed.Swin, [RGB32]),
    "tcn": Entry(sequences.tcn, [(1, 20, 50)]),
    "twins": Entry(mixed.Twins, [GREY, GREY]),
    "two_inputs": Entry(image.TwoInputs, [GREY, GREY]),
    "unet_1d": Entry(sequences.UNet1d, [(1, 1, 128)]),
    "unet_bilinear": Entry(image.unet_bilinear, [RGB32]),
    "unet_nearest": Entry(image.unet_nearest, [RGB32]),
    "unet_transposed": Entry(image.unet_transposed, [RGB32]),
    "variational": Entry(mixed.Variational, [(1, 64), (1, 8)]),
    "vgg": Entry(classic.vgg, [RGB32]),
    "vit": Entry(attention.ViT, [RGB32]),
    "vit_batch": Entry(attention.ViT, [(2, 3, 32, 32)]),
    "wavenet": Entry(sequences.WaveNet, [(1, 1, 64)]),
    "xception": Entry(branches.xception, [RGB32]),
    "yolo": Entry(image.Yolo, [RGB64]),
}
"""The networks by name."""


def built(name: str) -> nn.Module:
    """A network with seeded random weights and statistics, in inference."""
    torch.manual_seed(sum(map(ord, name)))
    torch.backends.mha.set_fastpath_enabled(False)  # one operator of torch's own, without export
    module = ZOO[name].make().eval()
    for layer in module.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            assert layer.running_mean is not None
            assert layer.running_var is not None
            layer.running_mean.normal_(0, 0.2)
            layer.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias, 0, 0.2)
    return module


def exported(name: str, exporter: str, folder: Path) -> Path:
    """Write a network to a folder; returns the file."""
    module = built(name)
    inputs = tuple(torch.randn(shape) for shape in ZOO[name].shapes)
    path = folder / f"{name}.{'pt2' if exporter == 'pt2' else 'onnx'}"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if exporter == "pt2":
            torch.export.save(torch.export.export(module, inputs), path)
        elif exporter == "old":
            torch.onnx.export(module, inputs, str(path), opset_version=17, dynamo=False)
        else:
            modern = {"dynamo": True, "external_data": False, "verbose": False}
            torch.onnx.export(module, inputs, str(path), **modern)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the networks that are named, or all; returns 1 if an exporter fails for one."""
    parser = argparse.ArgumentParser(description="Write the networks of the zoo.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ZOO))
    parser.add_argument("-o", "--out", type=Path, default=Path("zoo"), metavar="DIR")
    parser.add_argument("--exporter", choices=EXPORTERS, default="old")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in ZOO]:
        parser.error(f"unknown networks {', '.join(unknown)}; expected {', '.join(ZOO)}")
    options.out.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    failed = 0
    for name in options.names or ZOO:
        if options.exporter not in ZOO[name].exporters:
            print(f"{name}: left out, the {options.exporter} exporter cannot", file=sys.stderr)
            continue
        try:
            print(exported(name, options.exporter, options.out), flush=True)
        except Exception as error:  # an exporter's own limit, of many types
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
