"""The ONNX importer turns the bytes of a model into npu layers on tensors.

Before (opset 13):

    Conv(input, w, b) -> c ; Relu(c) -> r

After:

    func.func @model(%input: tensor<1x1x4x4xf32> {npu.name = "input"}) -> (...) {
      %w = arith.constant dense<...> : tensor<2x1x3x3xf32>
      %c = npu.conv2d %input, %w, %b strides [1, 1] pads [0, 0, 0, 0]
          {npu.layer = "conv1", npu.value = "c"}
      %r = npu.relu %c {npu.layer = "relu1", npu.value = "r"}

A model is untrusted input. Any fault in it gives one `UserError`.
"""

from npu_tools.importers.onnx.api import (
    build_module,
    import_file,
    import_model,
    load_file,
    load_model,
    read_table,
)

__all__ = [
    "build_module",
    "import_file",
    "import_model",
    "load_file",
    "load_model",
    "read_table",
]
