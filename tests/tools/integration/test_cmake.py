"""`npu-compile --emit=cmake`: configured, built and run by CMake."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.builds import compiled, needs, run
from npu_tools.commands import compile

MAIN = """\
#include "net.h"
#include "test.h"
#ifdef __cplusplus
#define ALIGNED alignas(16)
#else
#define ALIGNED _Alignas(16)
#endif
int main(void) {
  ALIGNED static unsigned char a[NET_ARENA_BYTES], b[TEST_ARENA_BYTES];
  float *const x = (float *)(void *)a, *const y = (float *)(void *)b;
  return net_run(x, x, a) + test_run(y, y, b);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("language", ["C", "CXX"])
def test_cmake_builds_two_networks(small: Path, language: str) -> None:
    cmake, top = needs("cmake"), small.parent
    compiled(small, "--emit=cmake")
    # The name of the network is a target that CMake reserves.
    other = [str(small), "--target", "host", "--prefix", "test", "-o", str(top / "other")]
    assert compile.main([*other, "--emit=cmake"]) == 0
    main = f"main.{'c' if language == 'C' else 'cc'}"
    (top / main).write_text(MAIN)
    (top / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\n"
        f"project(app {language})\n"
        "enable_testing()\n"
        "add_subdirectory(out)\n"
        "add_subdirectory(other)\n"
        f"add_executable(app {main})\n"
        "set_property(TARGET app PROPERTY CXX_STANDARD 17)\n"
        "target_link_libraries(app PRIVATE npu::net test_network -Wl,--fatal-warnings)\n"
    )
    said = run(cmake, "-S", top, "-B", top / "build", "-Werror=dev", "-DCMAKE_C_FLAGS=-Werror")
    assert "Warning" not in said
    said = run(cmake, "--build", top / "build", "--verbose")
    assert "-std=c99" in said
    run(top / "build/app")


def test_cmake_builds_a_network_by_itself(small: Path) -> None:
    cmake = needs("cmake")
    out = compiled(small, "--emit=cmake", "--prefix=alone", "--weights=bin")
    run(cmake, "-S", out, "-B", out / "build")
    run(cmake, "--build", out / "build")
    assert (out / "build/libalone.a").exists()
    assert f"={out}/alone_weights.bin\n" in (out / "build/CMakeCache.txt").read_text()
