"""Imports model files and microcode as modules of IR."""
