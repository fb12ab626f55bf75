"""Exports trained networks to ONNX files, which npu-compile reads without torch.

The network is written in evaluation mode with batch 1. Zebra modules have their fixed thresholds
there; the threshold networks are not exported. Batch norms are folded by torch, or by npu-compile.

    before   y = Zebra(relu(x))
    after    MaxPool, GreaterOrEqual, Cast, Resize, Slice, Mul: npu.prune_zero_blocks on import
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import nn

from npu_tools.importers.torch import quiet, reason, required
from npu_tools.shared.errors import UserError
from npu_train.pruning import check_finished


def export(model: nn.Module, path: Path, channels: int, size: int) -> None:
    """Write a network for one image [1, channels, size, size] to an ONNX file.

    The model's input is called `input`, its output `output`. `model` itself does not change. Its
    masks of `npu_train.pruning` must have been made permanent by `finish`.

    Raises: UserError if torch cannot export the network, if it has masks, or if onnxscript is
    missing.
    """
    required("onnxscript", f"write {path}")
    check_finished(model)
    given = next(model.parameters()).new_zeros(1, channels, size, size).cpu()
    network = copy.deepcopy(model).cpu().eval()
    exporter: Any = torch.onnx  # its types are incomplete
    with quiet():
        try:
            found = exporter.export(
                network,
                (given,),
                dynamo=True,
                verbose=False,
                input_names=["input"],
                output_names=["output"],
            )
        except Exception as error:  # the exporter raises its own and Python's exceptions
            raise UserError(
                f"torch.onnx.export cannot export this network: {reason(error)}"
            ) from error
    path.write_bytes(plain(found.model_proto).SerializeToString(deterministic=True))


def plain(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the exporter's metadata, which name files of this machine."""
    graph = proto.graph
    for holder in (proto, graph, *graph.node, *graph.input, *graph.output, *graph.value_info):
        holder.ClearField("metadata_props")
        holder.ClearField("doc_string")
    return proto
