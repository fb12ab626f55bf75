"""The road from a model to files, its observers, and the checks of meaning."""
