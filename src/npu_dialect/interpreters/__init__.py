"""What each op means, in numpy, for xDSL's interpreter."""

from npu_dialect.interpreters.runner import register_implementations, run_function

__all__ = ["register_implementations", "run_function"]
