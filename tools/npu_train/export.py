"""Trained networks to ONNX files that npu-compile takes without torch.

Decision: the evaluation form is written, with the fixed thresholds of Zebra; the threshold
networks stay behind. The batch is 1; batch norms are left to npu-compile, or folded by torch.

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

    Its input is `input`, its result `output`. The network stays as it is, in its mode too. Masks of
    `npu_train.pruning` must have been made permanent by `finish`.

    Raises: UserError if torch cannot export the network, or onnxscript is missing.
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
    """The model without the exporter's notes, which name files of this machine."""
    graph = proto.graph
    for holder in (proto, graph, *graph.node, *graph.input, *graph.output, *graph.value_info):
        holder.ClearField("metadata_props")
        holder.ClearField("doc_string")
    return proto
