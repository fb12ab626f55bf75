"""How lit runs these tests: `lit lit-tests -v` from the root of the repository.

The tools (npu-opt, npu-run, npu-compile, xdsl-opt, filecheck) are those beside the Python that runs
lit. Most of the time of a RUN line would go into importing Python modules, 800 times. So npu-opt,
npu-compile and filecheck are forks of one process that has imported them: see fork_server.py, whose
launchers PATH names first. `LIT_REAL_TOOLS=1 lit lit-tests` starts the installed scripts instead.

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
# `lit -D sources=DIRS -D output=DIR`: packages from elsewhere, and a folder to write into.
given: dict[str, str] = globals()["lit_config"].params
if "sources" in given:
    config.environment["PYTHONPATH"] = given["sources"]
    config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
if "output" in given:
    config.test_exec_root = given["output"]
tools = str(Path(sys.executable).parent)
path = [tools, config.environment["PATH"]]
if not os.environ.get("LIT_REAL_TOOLS"):
    sys.path.insert(0, config.test_source_root)
    path.insert(0, import_module("fork_server").tools_on_path())
config.environment["PATH"] = os.pathsep.join(path)

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
