"""Outputs that overwrite what their layers have read: less memory, the same numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto

from helpers.onnx_models import Array, model, node
from npu_tools.commands.compile import main
from npu_tools.shared.installed import context  # noqa: F401
