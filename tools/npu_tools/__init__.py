"""What people start: npu-opt, npu-compile, npu-run, and the ONNX importer."""
