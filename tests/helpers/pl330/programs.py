"""A program that is known to work, and random programs that the dialect can express."""

from __future__ import annotations

from hypothesis import strategies as st

REFERENCE = """
pl330.program @tile channel 0 {
  pl330.mov ccr src 4x3 inc dst 4x3 inc
  pl330.mov sar 0x00100ca8
  pl330.mov dar 0xfffc0000
  pl330.loop 5 {
    pl330.loop 7 {
      pl330.ld
      pl330.st
      pl330.addh sar 20
    }
    pl330.addh sar 736
  }
  pl330.wmb
  pl330.sev 0
  pl330.end
}
"""
REFERENCE_BYTES = bytes.fromhex(
    "bc0125400900bc00a80c1000bc020000fcff220420060408541400380554e0023c0c13340000"
)
"""The bytes of `REFERENCE`, verified by execution on an emulated PL-330."""

PLAIN = "ld lds ldb st sts stb stz rmb wmb nop".split()
REGISTERS = st.sampled_from(("sar", "dar"))
FIVE_BITS = st.integers(0, 31)
WORDS = st.integers(0, 2**32 - 1)


@st.composite
def sides(draw: st.DrawFn) -> str:
    """The source or destination half of the register CCR."""
    beat = draw(st.sampled_from([1 << n for n in range(8)]))
    text = f"{beat}x{draw(st.integers(1, 16))}"
    text += draw(st.sampled_from(("", " inc")))
    text += draw(st.sampled_from(("", " prot 2", " prot 7")))
    return text + draw(st.sampled_from(("", " cache 1", " cache 7")))


SWAPS = st.sampled_from(("", " swap 16", " swap 32", " swap 64", " swap 128"))
INSTRUCTIONS = st.one_of(
    st.sampled_from(PLAIN),
    st.builds("mov {} {}".format, REGISTERS, WORDS),
    st.builds("mov ccr src {} dst {}{}".format, sides(), sides(), SWAPS),
    st.builds("addh {} {}".format, REGISTERS, st.integers(0, 65535)),
    st.builds("adnh {} {}".format, REGISTERS, st.integers(-65536, -1)),
    st.builds("sev {}".format, FIVE_BITS),
    st.builds("wfe {}{}".format, FIVE_BITS, st.sampled_from(("", " invalid"))),
    st.builds("flushp {}".format, FIVE_BITS),
    st.builds("wfp {} {}".format, FIVE_BITS, st.sampled_from(("single", "burst", "periph"))),
    st.builds(
        "{} {} {}".format,
        st.sampled_from(("ldp", "stp")),
        FIVE_BITS,
        st.sampled_from(("single", "burst")),
    ),
)
CONDITIONS = st.sampled_from(("", " while single", " while burst"))


@st.composite
def bodies(draw: st.DrawFn, counters: tuple[int, ...] = (0, 1), forever: bool = True) -> str:
    """Random instructions, with loops of these counters, and at most one endless loop per nest."""
    lines = [f"pl330.{line}" for line in draw(st.lists(INSTRUCTIONS, max_size=4))]
    for _ in range(draw(st.integers(0, 2))):
        if counters and draw(st.booleans()):
            counter = draw(st.sampled_from(counters))
            inner = draw(bodies(tuple(c for c in counters if c != counter), forever))
            head = f"pl330.loop {draw(st.integers(1, 256))} counter {counter}{draw(CONDITIONS)}"
        elif forever:
            inner = draw(bodies(counters, False))
            kinds = st.sampled_from(("", " counter 0", " while single", " while burst"))
            head = f"pl330.loop_forever{draw(kinds)}"
        else:
            continue
        lines.insert(draw(st.integers(0, len(lines))), f"{head} {{\n{inner}\n}}")
    return "\n".join(lines)


def program(body: str, name: str = "p", channel: int = 0) -> str:
    """The text of a program for a channel."""
    return f"pl330.program @{name} channel {channel} {{\n{body}\npl330.end\n}}\n"


PROGRAMS = st.builds(program, bodies())
