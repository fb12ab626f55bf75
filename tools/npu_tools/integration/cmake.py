"""`--emit=cmake`: a CMakeLists.txt with a library target named like the network.

add_subdirectory(out)
target_link_libraries(app PRIVATE lenet5)
"""

from __future__ import annotations

from npu_tools.integration.network import MARK, Network

RESERVED = frozenset(
    "all ALL_BUILD clean depend edit_cache help install package package_source preinstall "
    "rebuild_cache RUN_TESTS test ZERO_CHECK".split()
)
"""Names of CMake's own targets."""

TEXT = """\
# {mark}.
#
# The neural network {name} as a library:
#
#     add_subdirectory(PATH/OF/THIS/FOLDER)
#     target_link_libraries(app PRIVATE {target})
#
# ISO C99 keeps gcc from contracting products and sums, so results are the same on every machine. To
# trade that for speed in float layers: target_compile_options({target} PRIVATE -ffp-contract=fast).
cmake_minimum_required(VERSION 3.13...3.31)
if(NOT DEFINED PROJECT_NAME)
  project({target} C)
endif()
enable_language(C)

add_library({target} STATIC
{sources}
)
add_library(npu::{target} ALIAS {target})
target_include_directories({target} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
set_target_properties({target} PROPERTIES
  C_STANDARD 99
  C_STANDARD_REQUIRED ON
  C_EXTENSIONS OFF
)
"""

MATH = """\
if(NOT MSVC)
  target_link_libraries({target} PUBLIC m)
endif()
"""

WEIGHTS = """\
# The weights are a file that the program loads: ${{{variable}}}
set({variable} "${{CMAKE_CURRENT_SOURCE_DIR}}/{file}" CACHE INTERNAL "weights of {target}")
"""


def target_name(network: Network) -> str:
    """The name of the library target; it differs from the network's if CMake reserves that."""
    return f"{network.name}_network" if network.name in RESERVED else network.name


def cmake_files(network: Network) -> dict[str, str]:
    """The file for CMake: path below the output folder to text."""
    target = target_name(network)
    sources = "\n".join(f"  {name}" for name in (*network.sources, *network.headers))
    text = TEXT.format(mark=MARK, name=network.name, target=target, sources=sources)
    text += MATH.format(target=target) if network.needs_math else ""
    for file in network.blobs:
        variable = f"{network.name.upper()}_WEIGHTS_FILE"
        text += WEIGHTS.format(variable=variable, file=file, target=target)
    return {"CMakeLists.txt": text}
