"""The target `c`: one C file and its header out of a module of loops."""

from npu_passes.emit.c.target import CFiles, CTarget, emit

__all__ = ["CFiles", "CTarget", "emit"]
