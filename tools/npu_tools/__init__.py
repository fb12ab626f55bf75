"""The commands npu-opt, npu-compile, npu-run, npu-quantize, npu-report, and the ONNX importer."""
