"""The last pass before another back end: our ops and memory spaces become upstream MLIR."""
