"""How lit runs these tests: `lit lit-tests -v` from the root of the repository.

The tools (npu-opt, npu-run, npu-compile, xdsl-opt, filecheck) are those beside the Python that runs
lit.
Words that a RUN line can use:

    NPU_ROUNDTRIP    print and parse the file in both forms, then check the custom form
    NPU_GENERIC      print and parse the file in both forms, then check the generic form
    NPU_DIAGNOSTICS  check the diagnostic of each `// -----` part of the file
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

formats: Any = import_module("lit.formats")  # without type stubs
config: Any = globals()["config"]  # lit runs this file with `config` among its globals

config.name = "npu-dialect"
config.test_format = formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Output", "Inputs"]
config.test_source_root = str(Path(__file__).parent)
tools = str(Path(sys.executable).parent)
config.environment["PATH"] = os.pathsep.join((tools, config.environment["PATH"]))

config.substitutions.extend(
    (
        ("NPU_ROUNDTRIP", "npu-opt %s | npu-opt --print-op-generic | npu-opt | filecheck %s"),
        (
            "NPU_GENERIC",
            "npu-opt %s --print-op-generic | npu-opt | npu-opt --print-op-generic | filecheck %s",
        ),
        (
            "NPU_DIAGNOSTICS",
            "npu-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file"
            " | filecheck %s",
        ),
    )
)

# Quoted, so that a checkout in a folder whose name has blanks works.
config.substitutions.append(("%s", '"%S/%{s:basename}"'))
