"""Tables of functions: what operators of other quantisers compute, as text of ONNX nodes."""
