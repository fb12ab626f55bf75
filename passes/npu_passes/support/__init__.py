"""Helpers for any pass: loop builder, integer arithmetic, transfers, symbols, error messages."""
