"""`--emit=arduino`: a library for Arduino's IDE and arduino-cli, in a folder of its own.

    out/arduino/lenet5/library.properties
    out/arduino/lenet5/keywords.txt
    out/arduino/lenet5/src/lenet5.c, lenet5.h
    out/arduino/lenet5/examples/lenet5_once/lenet5_once.ino

Arduino compiles only what lies in `src/`, so the C is copied there. The sketch runs the network
once. Programs with transfers, with a file of weights, or with an input in rows get no sketch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from npu_tools.integration.network import MARK, Network

LONGEST = 63
"""Most characters of the name of a library or sketch, which is also its folder's."""

PROPERTIES = """\
# {mark}.
name={library}
version=1.0.0
author=npu-dialect
maintainer=npu-dialect
sentence=The neural network {name}, compiled to C.
paragraph=Call {calls} with {arenas}. Nothing is allocated, {kept}.
category=Data Processing
url=https://example.com/
architectures=*
includes={name}.h
"""

SKETCH = """\
// {mark}.
//
// Run the neural network {name} once, on zeros, and print its outputs and its time.
#include <{name}.h>

static uint8_t arena[{upper}_ARENA_BYTES] __attribute__((aligned(16)));

void setup() {{
  Serial.begin(115200);
  // Inputs and outputs lie in the arena, so that nothing is copied.
{pointers}
{fills}
{reset}  const unsigned long before = micros();
  const int status = {name}_run({arguments}arena);
  const unsigned long after = micros();
  Serial.print("{name}_run: ");
  Serial.print(status);
  Serial.print(" (0 is good), microseconds: ");
  Serial.println(after - before);
{prints}
}}

void loop() {{}}
"""

POINTER = "  {kind} *const {name} = reinterpret_cast<{kind} *>(arena + {macro}_OFFSET);"
FILL = "  for (size_t i = 0; i < {macro}_ELEMENTS; ++i) {name}[i] = 0;"
PRINT = "  for (size_t i = 0; i < {macro}_ELEMENTS; ++i) Serial.println({name}[i]);"

PARAMETER = re.compile(r"(const )?(\w+) \*(?:restrict )?(\w+)")


def arduino_files(network: Network) -> dict[str, str]:
    """The files of the library: path below the output folder to text."""
    library = library_name(network.name)
    root = f"arduino/{library}"
    files = {
        f"{root}/library.properties": PROPERTIES.format(
            mark=MARK,
            library=library,
            name=network.name,
            calls=", ".join(f"{name}()" for name in network.functions),
            arenas=network.arenas,
            kept=kept(network),
        ),
        f"{root}/keywords.txt": "".join(keywords(network)),
    }
    for name in (*network.sources, *network.headers):
        files[f"{root}/src/{name}"] = str(network.files[name])
    if (text := sketch(network)) is not None:
        name = f"{library[: LONGEST - 5]}_once"
        files[f"{root}/examples/{name}/{name}.ino"] = text
    return files


def kept(network: Network) -> str:
    """What stays between runs, in words."""
    found = ["states"] * network.has_states + ["copies of constants"] * network.has_copies
    return f"{' and '.join(found) or 'nothing'} {'are' if found else 'is'} kept"


def library_name(name: str) -> str:
    """The name of the library. Names that begin with `arduino` are reserved and get a prefix."""
    free = f"npu_{name}" if name.lower().startswith("arduino") else name
    return free[:LONGEST]


def keywords(network: Network) -> Iterator[str]:
    """The lines of keywords.txt: the functions and macros, which the editor colours."""
    yield f"# {MARK}.\n"
    for name in network.functions:
        yield f"{name}\tKEYWORD2\n"
    if network.has_states:
        yield f"{network.name}_reset\tKEYWORD2\n"
    if network.has_copies:
        yield f"{network.name}_init\tKEYWORD2\n"
    pattern = rf"^#define ({network.name.upper()}_\w+) "
    for macro in re.findall(pattern, network.header, re.MULTILINE):
        yield f"{macro}\tLITERAL1\n"


def sketch(network: Network) -> str | None:
    """The text of the example sketch; None if an argument of the program is not in the arena."""
    upper = network.name.upper()
    run = re.search(rf"^int {network.name}_run\(([^)]*)\);", network.header, re.MULTILINE)
    if run is None:
        return None
    parameters = [" ".join(text.split()) for text in run[1].split(",")]
    if parameters.pop() != "void *arena":
        return None
    matches = [PARAMETER.fullmatch(text) for text in parameters]
    macros = re.findall(rf"^#define ({upper}_\w+)_OFFSET \d+$", network.header, re.MULTILINE)
    if network.has_states:
        del macros[len(parameters) :]  # states come last
    if None in matches or len(macros) != len(parameters):
        return None
    arguments: list[tuple[bool, dict[str, str]]] = []
    for match, macro in zip(filter(None, matches), macros, strict=True):
        is_input = match[1] is not None
        name = f"{'input' if is_input else 'output'}_{len(arguments)}"
        arguments.append((is_input, {"kind": match[2], "name": name, "macro": macro}))
    return SKETCH.format(
        mark=MARK,
        name=network.name,
        upper=upper,
        pointers="\n".join(POINTER.format(**names) for _, names in arguments),
        fills="\n".join(FILL.format(**names) for is_input, names in arguments if is_input),
        reset=f"  {network.name}_init(arena);\n" * network.has_copies
        + f"  {network.name}_reset(arena);\n" * network.has_states,
        arguments="".join(f"{names['name']}, " for _, names in arguments),
        prints="\n".join(PRINT.format(**names) for is_input, names in arguments if not is_input),
    )
