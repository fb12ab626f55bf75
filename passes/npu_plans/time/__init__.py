"""Cycles of layers and transfers, and the schedule that they make."""
