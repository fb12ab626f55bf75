"""What people start: npu-opt, npu-compile, npu-run, npu-quantize, npu-report; the ONNX importer."""
