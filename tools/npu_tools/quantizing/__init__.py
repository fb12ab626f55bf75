"""Post-training quantisation, for npu-quantize."""
