"""The texts of --set."""

from decimal import Decimal

import pytest

from npu_tools.exploring.space import space_of
from npu_tools.shared.errors import UserError


def test_ranges() -> None:
    space = space_of(
        [
            "sram_bytes=64K:256K:x2,1M",
            "dma_bytes_per_cycle=0.5,4:8:2",
            "pipeline=off-chip,tails",
            "stream_input=true,false",
            "sram-bytes=3000",
            "macs_per_cycle.i8=2:5:+1.5",
        ]
    )
    assert space.axes == {
        "sram_bytes": (65536, 131072, 262144, 2**20, 3000),
        "dma_bytes_per_cycle": (Decimal("0.5"), 4, 6, 8),
        "pipeline": ("off-chip", "tails"),
        "stream_input": (True, False),
        "macs_per_cycle.i8": (2, Decimal("3.5"), 5),
    }
    assert space.size == 5 * 4 * 2 * 2 * 3
    settings = list(space.settings())
    assert len(settings) == space.size
    assert settings[0].machine["sram_bytes"] == 2**20, "the largest first"
    assert settings[0].machine["macs_per_cycle"] == {"i8": 2}


def test_a_pipeline_without_a_name_is_one_value() -> None:
    text = "npu-bufferize,npu-assign-sram-offsets{strategy=greedy}"
    assert space_of([f"pipeline={text}"]).axes == {"pipeline": (text,)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sram=1K", "unknown key 'sram': expected target, pipeline, sram_bytes"),
        ("sram_bytes", "expected KEY=RANGE"),
        ("sram_bytes=", "the range is empty"),
        ("sram_bytes=2M:64K:x2", "the range is empty"),
        ("sram_bytes=1K,,2K", "the range is empty"),
        ("sram_bytes=1K:2K:x1", "expected a range that grows"),
        ("sram_bytes=1K:2K:0", "expected a range that grows"),
        ("sram_bytes=1:1G", "expected A:B:xN or A:B:+N"),
        ("sram_bytes=1:1G:1", "expected at most 100000 values"),
        ("sram_bytes=1.5", "expected an integer such as 65536 or 64K, got '1.5'"),
        ("sram_bytes=-5", "expected an integer"),
        ("dma_bytes_per_cycle=fast", "expected a number such as 8 or 0.25, got 'fast'"),
        ("strategy=best", "expected greedy or exact"),
    ],
)
def test_bad_ranges(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        space_of([text])
    assert str(error.value).startswith(f"--set {text}: ")
    assert message in str(error.value)
