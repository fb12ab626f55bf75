"""Random windows along an axis."""

from __future__ import annotations

from hypothesis import strategies as st

from npu_dialect.windows import Axis

AXES = st.builds(
    Axis,
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 3),
).filter(lambda axis: axis.outputs > 0)
"""Windows of up to four taps over up to twelve elements; there is at least one output."""
