"""One HTML page that shows a compiled network: `npu-report html` and `npu-compile --html`."""
