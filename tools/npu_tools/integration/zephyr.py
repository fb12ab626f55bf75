"""`--emit=zephyr`: files that make the output folder a Zephyr module.

    west build ... -- -DEXTRA_ZEPHYR_MODULES=/path/of/out        and CONFIG_NPU_LENET5=y in prj.conf

All of these files lie in `zephyr/`, where Zephyr looks for them.
"""

from __future__ import annotations

from npu_tools.integration.network import MARK, Network

MODULE = """\
# {mark}.
#
# west build ... -- -DEXTRA_ZEPHYR_MODULES=PATH/OF/THE/FOLDER/ABOVE
name: {name}
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
"""

KCONFIG = """\
# {mark}.

config {symbol}
\tbool "Neural network {name}"
\thelp
\t  The neural network {name}, compiled to C by npu-dialect: call
\t  {calls} of {name}.h with {arenas}.
\t  {constants}
"""

CMAKE = """\
# {mark}.
if(CONFIG_{symbol})
  zephyr_library_named(npu_{name})
  zephyr_library_sources(
{sources}
  )
  zephyr_include_directories(${{CMAKE_CURRENT_LIST_DIR}}/..)
endif()
"""


def zephyr_files(network: Network) -> dict[str, str]:
    """The files of the module: path below the output folder to text."""
    symbol = f"NPU_{network.name.upper()}"
    weights = network.macro("WEIGHTS_BYTES")
    constants = f"Its weights take {weights} bytes of flash."
    if network.blobs:
        constants = f"Its weights are a file of {weights} bytes, which the program loads."
    sources = "\n".join(f"    ${{CMAKE_CURRENT_LIST_DIR}}/../{name}" for name in network.sources)
    return {
        "zephyr/module.yml": MODULE.format(mark=MARK, name=network.name),
        "zephyr/Kconfig": KCONFIG.format(
            mark=MARK,
            symbol=symbol,
            name=network.name,
            calls=", ".join(f"{name}()" for name in network.functions),
            arenas=network.arenas,
            constants=constants,
        ),
        "zephyr/CMakeLists.txt": CMAKE.format(
            mark=MARK, symbol=symbol, name=network.name, sources=sources
        ),
    }
