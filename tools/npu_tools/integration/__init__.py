"""Files with which other build systems build the emitted C: CMake, Zephyr, Arduino.

    npu-compile lenet5.onnx --target cortex-m4 -o out --emit=cmake,zephyr,arduino

    out/lenet5.c, out/lenet5.h             as without --emit
    out/CMakeLists.txt                     a library target
    out/zephyr/module.yml, Kconfig, CMakeLists.txt
    out/arduino/lenet5/                    a library with its own copy of the C, and a sketch

The files are ASCII. All names in them come from `npu-compile`, and they need no files but the C.
"""

from npu_tools.integration.kinds import KINDS, integration_files, parse_kinds

__all__ = ["KINDS", "integration_files", "parse_kinds"]
