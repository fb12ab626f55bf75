"""Emitted C against onnxruntime, on the host and on emulators."""
