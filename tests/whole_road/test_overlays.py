"""Outputs that overwrite what their layers have read: less memory, the same numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.func import CallOp

from helpers.c_harness import needs_compiler
from helpers.every_operator.draw import draw
from helpers.onnx_models import model, node, weights_of
from helpers.road import Road, travel
from npu_passes.analysis.overlaid import claims_of, distance_of
