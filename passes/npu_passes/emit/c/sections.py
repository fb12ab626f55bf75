"""The macros by which a program says where its constants go.

#ifndef NET_ROM_SECTION
#define NET_ROM_SECTION
#endif
static const float net_taps[72] NET_ROM_SECTION = { ... };

With one read-only memory, or with none in the machine's file, there is `ID_WEIGHTS_SECTION`; with
several, one macro with the name of each in which constants lie.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from npu_dialect.npu.attributes import MemorySpace

SECTION = """\
/* Where the weights go: define it as __attribute__((section("..."))) to choose. */
#ifndef {0}
#define {0}
#endif

"""

ALIGNED_SECTION = """\
/* Where the weights go: define it as __attribute__((section("..."))) to choose. An engine may count
 * on weights that begin at multiples of its beats. */
#ifndef {0}
#if defined(__GNUC__) || defined(__clang__)
#define {0} __attribute__((aligned({1})))
#else
#define {0}
#endif
#endif

"""


def section_of(type_: Attribute, prefix: str) -> str:
    """The macro of the section of a constant, by the type of its buffer."""
    space = type_.memory_space if isinstance(type_, MemRefType) else None
    memory = space.memory if isinstance(space, MemorySpace) else "weights"
    return f"{prefix}_{memory}_section".upper()


def sections_in(module: ModuleOp, prefix: str) -> set[str]:
    """The macros of the sections of all constants of a module, and the usual one."""
    found = {section_of(op.type, prefix) for op in module.ops if isinstance(op, memref.GlobalOp)}
    return {*found, f"{prefix}_weights_section".upper()}


def section_text(macro: str, alignment: int | None) -> str:
    """The C that defines the macro of a section, unless the user has.

    `alignment`: that of constants that transfers move, in bytes.
    """
    return (SECTION if alignment is None else ALIGNED_SECTION).format(macro, alignment)
