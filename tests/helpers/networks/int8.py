"""The networks of the int8 tables of docs/memory.md, quantised with random images.

No figure of memory depends on the weights, so they need not be those of trained networks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.networks.zoo import build, image
from npu_tools.quantizing.quantize_model import Recipe, quantised

NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "LeNet-5 of paper 002": ("lenet5", {}),
    "int8 network of paper 002": ("cifar10", {}),
    "ResNet-8": ("resnet8", {}),
    "DS-CNN": ("ds_cnn", {}),
    "MobileNetV1 0.25, 96x96": ("mobilenet_v1", {}),
    "MobileNetV2 0.35, 96x96": (
        "mobilenet_v2",
        {"width": 0.35, "multiple": 8, "size": (96, 96), "classes": 2},
    ),
}
"""The builder in examples/networks of each name in a table, and its options."""

IMAGES = 2
"""How many images calibrate."""


def saved_int8(folder: Path, name: str, **options: Any) -> Path:
    """The file of a network of `examples/networks`, quantised to int8."""
    model = build(name, **options)
    images = [{"image": image(model, seed)} for seed in range(IMAGES)]
    path = folder / f"{name}.onnx"
    path.write_bytes(quantised(model, images, Recipe())[1].SerializeToString())
    return path
