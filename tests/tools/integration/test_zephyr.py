"""`npu-compile --emit=zephyr`: the files are read by YAML, Kconfig and CMake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.builds import FILES, compiled, needs, network_of, run
from npu_tools.integration import KINDS
from npu_tools.shared.files import write_files


def test_zephyr_module() -> None:
    yaml: Any = pytest.importorskip("yaml")
    files = KINDS["zephyr"](network_of(FILES))
    module = yaml.safe_load(files["zephyr/module.yml"])
    # Only keys of Zephyr's schema of module.yml, and paths below the module.
    assert module == {"name": "net", "build": {"cmake": "zephyr", "kconfig": "zephyr/Kconfig"}}
    assert f"{module['build']['cmake']}/CMakeLists.txt" in files
    assert module["build"]["kconfig"] in files


def test_zephyr_kconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kconfiglib: Any = pytest.importorskip("kconfiglib")
    write_files(tmp_path, KINDS["zephyr"](network_of(FILES)))
    (tmp_path / "Kconfig").write_text('mainmenu "app"\nsource "zephyr/Kconfig"\n')
    monkeypatch.setenv("srctree", str(tmp_path))
    config = kconfiglib.Kconfig("Kconfig", warn_to_stderr=False)
    assert config.warnings == []
    symbol = config.syms["NPU_NET"]
    assert symbol.str_value == "n"
    symbol.set_value("y")
    assert symbol.str_value == "y"
    text = symbol.nodes[0].help
    assert "arena of 64 bytes" in text
    assert "file of 12 bytes" in text


ZEPHYR = """\
cmake_minimum_required(VERSION 3.13)
project(app C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
add_library(zephyr_interface INTERFACE)
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
set(CONFIG_NPU_NET @)
add_subdirectory(out/zephyr)
add_executable(app main.c)
target_link_libraries(app PRIVATE npu_net zephyr_interface m)
"""


@pytest.mark.parametrize("set_to", ["y", '""'])
def test_zephyr_cmake(small: Path, set_to: str) -> None:
    """With stand-ins for Zephyr's functions, the library is built only if it is configured."""
    cmake, top = needs("cmake"), small.parent
    compiled(small, "--emit=zephyr")
    (top / "CMakeLists.txt").write_text(ZEPHYR.replace("@", set_to))
    (top / "main.c").write_text(
        '#include "net.h"\nint main(void) { return net_run(0, 0, 0) == 1 ? 0 : 1; }\n'
    )
    run(cmake, "-S", top, "-B", top / "build")
    if set_to == "y":
        run(cmake, "--build", top / "build")
        run(top / "build/app")
    else:
        assert "npu_net" not in run(cmake, "--build", top / "build", "--target", "help")
