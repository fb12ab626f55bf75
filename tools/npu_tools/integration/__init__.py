"""Files that bring emitted C into somebody's build: CMake, Zephyr, Arduino.

    npu-compile lenet5.onnx --target cortex-m4 -o out --emit=cmake,zephyr,arduino

    out/lenet5.c, out/lenet5.h             as ever
    out/CMakeLists.txt                     a library target
    out/zephyr/module.yml, Kconfig, CMakeLists.txt
    out/arduino/lenet5/                    a library with its own copy of the C, and a sketch

They are ASCII, hold no names but those that `npu-compile` chose, and depend on nothing else than
the C beside them.
"""

from npu_tools.integration.kinds import KINDS, integration_files, parse_kinds

__all__ = ["KINDS", "integration_files", "parse_kinds"]
