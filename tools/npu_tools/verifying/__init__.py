"""Runs emitted C on the host and on emulated boards, and compares it with onnxruntime."""
