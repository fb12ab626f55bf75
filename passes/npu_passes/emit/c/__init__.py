"""The target `c`: prints a module of loops as one C file and its header."""

from npu_passes.emit.c.target import CFiles, CTarget, emit

__all__ = ["CFiles", "CTarget", "emit"]
